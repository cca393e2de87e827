"""A linear probe: the best penalty for softmax regression on embeddings, and what it costs.

    python examples/probe.py                      # digits through a random encoder of 256 features
    python examples/probe.py --rows 100000 --columns 384 --classes 100      # a power-law design

The whole path of penalties is run in every fold, without a learning rate to choose; a grid of SGD's
learning rates at the best penalty shows what choosing one would be like.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

from bocce.sklearn import HeavyBallClassifierCV


def digits(columns: int) -> tuple[np.ndarray, np.ndarray]:
    """The digits through cos(X W + b), an encoder of random features."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    W = rng.standard_normal((X.shape[1], columns)) / np.sqrt(X.shape[1])
    return np.cos(scale(X) @ W + rng.uniform(0.0, 2.0 * np.pi, columns)), y


def power_law(rows: int, columns: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings whose spectrum falls as 1/j, and classes drawn from a softmax model of them."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((columns, columns)))[0]
    X = (rng.standard_normal((rows, columns)) * np.arange(1, columns + 1) ** -0.5) @ turn
    z = 3.0 * X @ rng.standard_normal((columns, classes)) + rng.gumbel(size=(rows, classes))
    return X.astype(np.float32), z.argmax(axis=1)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="of a power-law design; digits unless given")
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--classes", type=int, default=100, help="of the power-law design")
    parser.add_argument("--penalties", type=int, default=10)
    options = parser.parse_args(argv)
    if options.rows:
        X, y = power_law(options.rows, options.columns, options.classes)
    else:
        X, y = digits(options.columns)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    before = time.process_time()
    l2s = np.geomspace(1.0, 1e-6, options.penalties)
    probe = HeavyBallClassifierCV(l2s, cv=3, scoring="neg_log_loss").fit(X, y)
    spent = time.process_time() - before
    print(f"{X.shape[0]} x {X.shape[1]}, {probe.classes_.size} classes")
    print(f"{'l2':>8} {'log loss':>10}")
    for l2, score in zip(probe.l2s_, probe.scores_.mean(axis=0)):
        print(f"{l2:>8.0e} {-score:>10.4f}")
    print(f"best: l2 = {probe.l2_:.3g}, accuracy {probe.score(X_test, y_test):.4f}, {spent:.1f} s")
    for rate in (1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        before = time.process_time()
        sgd = SGDClassifier(
            loss="log_loss",
            alpha=probe.l2_,
            learning_rate="constant",
            eta0=rate,
            max_iter=30,
            tol=None,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sgd.fit(X, y)
        spent = time.process_time() - before
        print(f"SGD, rate {rate:g}: accuracy {sgd.score(X_test, y_test):.4f}, {spent:.1f} s")


if __name__ == "__main__":
    main()
