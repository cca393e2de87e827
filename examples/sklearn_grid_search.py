"""Choose l2 by cross-validation, in several processes.

    python examples/sklearn_grid_search.py --jobs 2

The step size and the batch need no search, so the grid is l2 alone.
"""

from __future__ import annotations

import argparse

import numpy as np
from _sklearn_data import ijcnn1
from sklearn.model_selection import GridSearchCV

from bocce.sklearn import HeavyBallClassifier


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="processes of joblib")
    parser.add_argument("--rows", type=int, help="of the data; all unless given")
    options = parser.parse_args(argv)
    X, y, name = ijcnn1(options.rows)
    grid = {"l2": np.logspace(-6, 0, 7)}
    search = GridSearchCV(
        HeavyBallClassifier(random_state=0), grid, scoring="neg_log_loss", n_jobs=options.jobs
    )
    search.fit(X, y)
    print(f"data: {name}")
    print(f"{'l2':>8} {'log loss':>10}")
    for l2, score in zip(grid["l2"], search.cv_results_["mean_test_score"]):
        print(f"{l2:>8.0e} {-score:>10.5f}")
    best = search.best_estimator_
    print(f"best: l2 = {best.l2:g}; refitted in {best.n_iter_} passes over the data")


if __name__ == "__main__":
    main()
