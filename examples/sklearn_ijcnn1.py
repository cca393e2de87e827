"""Logistic regression on ijcnn1: no step size and no batch size to choose.

    python examples/sklearn_ijcnn1.py --out ijcnn1.png

Prints what was done, how near the end is to the minimiser, and where LogisticRegression ends.
"""

from __future__ import annotations

import argparse

import matplotlib

matplotlib.use("Agg")
from _sklearn_data import ijcnn1
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from bocce.sklearn import HeavyBallClassifier


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="draw the history into this file")
    parser.add_argument("--rows", type=int, help="of the data; all unless given")
    options = parser.parse_args(argv)
    X, y, name = ijcnn1(options.rows)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    model = HeavyBallClassifier(random_state=0).fit(X, y)
    print(f"data: {name}")
    print(f"plan_: {model.plan_}")
    print(f"passes {model.n_iter_}, gradient {model.optimality_:.1e} of the first")
    exact = LogisticRegression(C=1 / (len(y) * model.l2), solver="newton-cholesky", tol=1e-10)
    exact.fit(X, y)
    apart = abs(model.predict_proba(X_test) - exact.predict_proba(X_test)).max()
    print(f"accuracy {model.score(X_test, y_test):.4f}, exact {exact.score(X_test, y_test):.4f}")
    print(f"largest difference of a probability from the exact minimiser's: {apart:.1e}")
    if options.out:
        model.plot_history().figure.savefig(options.out, dpi=120, bbox_inches="tight")
        print(f"drawn: {options.out}")


if __name__ == "__main__":
    main()
