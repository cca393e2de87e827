"""``auto`` on logistic regression after few passes, against SGD without tuning, on ten data sets.

    python benchmarks/auto_losses.py [--passes 3] [--batch 32] [--seeds 3]

SGD has the step 1/L at the start and a cosine to 0. Both take the same batches. The figure is
f(w_T) - f*, the mean over seeds; the ratio is that of ``auto`` over that of SGD. l2 = 1/n; dense
columns are divided by their root mean square.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

import bocce  # noqa: E402

ROWS = {"a9a": 1605, "w8a": 5000, "ijcnn1.tr": 10_000, "mushrooms": 8124}
COVTYPE_ROWS = 10_000
SECTOR_COLUMNS = 100  # the most frequent ones


def scaled(X: np.ndarray) -> np.ndarray:
    size = np.sqrt(np.mean(X**2, axis=0))
    return X[:, size > 0.0] / size[size > 0.0]


def data_sets() -> Iterator[tuple[str, object, np.ndarray]]:
    """Names, rows, and labels of two classes."""
    from sklearn.datasets import load_breast_cancer, load_digits

    rng = np.random.default_rng(0)
    for name, rows in ROWS.items():
        X, y = bocce.data.load(name)
        some = rng.permutation(X.shape[0])[:rows]
        yield f"{name}, {some.size} rows", X[some], y[some]
    X, y = bocce.data.load("covtype.libsvm.binary.scale")
    some = rng.permutation(X.shape[0])[:COVTYPE_ROWS]
    yield f"covtype, {COVTYPE_ROWS} rows", X[some], y[some]
    X, y = bocce.data.load("sector.scale")
    frequent = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]))[:SECTOR_COLUMNS]
    yield f"sector, {SECTOR_COLUMNS} columns", X[:, frequent].toarray(), (y <= np.median(y)) * 1.0
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", scaled(X - X.mean(axis=0)), y
    X, y = load_digits(return_X_y=True)
    yield "digits, even", scaled(X), (y % 2) * 1.0
    X = rng.choice([-1.0, 0.0, 1.0], p=[0.3, 0.1, 0.6], size=(11_055, 30))
    yield "like phishing", X, labels(rng, X, 0.5)
    X = rng.standard_normal((10_000, 50)) * np.geomspace(1.0, 0.03, 50)
    yield "synthetic, kappa 1000", X, labels(rng, X, 3.0)


def labels(rng: np.random.Generator, X: np.ndarray, size: float) -> np.ndarray:
    z = size * X @ rng.standard_normal(X.shape[1])
    return (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-z))) * 1.0


def gap(p: bocce.Problem, method: object, T: int, b: int, seeds: int, lowest: float) -> float:
    runs = [bocce.minimize(p, method, T, b, seed=seed, record_every=T) for seed in range(seeds)]
    return float(np.mean([p.value(run.w) - lowest for run in runs]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    b = options.batch
    print("| data | auto | SGD, 1/L and cosine | ratio |\n|---|---|---|---|")
    for name, X, y in data_sets():
        p = bocce.Logistic(X, y, l2=1.0 / X.shape[0])
        lowest = p.value(p.minimiser())
        T = max(1, options.passes * p.n // b)
        turn = np.cos(0.5 * np.pi * np.arange(T) / T) ** 2
        sgd = bocce.schedules.Schedule(turn / p.constants().L, 0.0, name="sgd, cosine")
        ours, theirs = (gap(p, m, T, b, options.seeds, lowest) for m in ("auto", sgd))
        print(f"| {name} | {ours:.2e} | {theirs:.2e} | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
