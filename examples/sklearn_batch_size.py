"""Choose a batch size with ``bocce.plan``, and see what other sizes do.

    python examples/sklearn_batch_size.py

``plan`` reads the constants of the data and says which batch should reach an accuracy with few
gradients. It plans for the worst that these constants allow, so a larger batch may do better on the
data at hand: the estimator makes the same few passes with that batch and with others.
"""

from __future__ import annotations

import argparse

from _sklearn_data import ijcnn1
from sklearn.preprocessing import StandardScaler

import bocce
from bocce.sklearn import HeavyBallClassifier

L2, PASSES, ACCURACY = 1e-3, 5, 1e-2


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="of the data; all unless given")
    X, y, name = ijcnn1(parser.parse_args(argv).rows)
    X = StandardScaler().fit_transform(X)  # plan looks at the data as they are given
    problem = bocce.Logistic(X, y, l2=L2)
    plan = bocce.plan(problem, accuracy=ACCURACY)
    print(f"data: {name}\n\n{plan}\n")
    best, first = problem.value(problem.minimiser()), problem.value([0.0] * problem.d)
    print(f"{'batch':>8} {'steps':>8} {'(f - f*)/(f(0) - f*)':>22}   after {PASSES} passes")
    n, chosen = len(y), plan.recommended
    for b in sorted({1, max(1, chosen // 8), chosen, min(n, 8 * chosen), n}):
        model = HeavyBallClassifier(
            L2, batch_size=b, max_iter=PASSES, tol=0.0, fit_intercept=False, random_state=0
        ).fit(X, y)
        gap = max(0.0, model.history_["value"].min() - best) / (first - best)  # but for rounding
        mark = "  <- recommended" if b == chosen else ""
        print(f"{b:>8} {model.history_['iteration'][-1]:>8} {gap:>22.1e}{mark}")


if __name__ == "__main__":
    main()
