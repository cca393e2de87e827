"""How well the sizes of columns choose between the identity's metric and the diagonal's.

    python benchmarks/studies/diagonal.py

Sparse ridge regression on 30,000 columns as rare as words are: steps of conjugate gradients in both
metrics until 1e-5 of the fall of f is left, and what ``promises`` chooses. Printed are the factors
over the better metric: the geometric mean, and the largest.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import scipy.sparse as sp

from bocce.plane.metrics.diagonal import promises

COLUMNS = 30_000
ROWS = (1_500, 3_000, 5_000, 8_000, 16_000, 28_000)
FREQUENCIES = ((50, 0.7), (100, 1.0))  # entries a row, and how fast columns get rare
VALUES = ("lognormal", "by rarity", "ones")
SHARES = (1.0, 0.1, 1e-2, 1e-3)  # l2 over the mean square of the columns
MOST_STEPS = 600
LEFT = 1e-5


def rows(n: int, entries: int, power: float, values: str) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    frequencies = np.arange(1.0, COLUMNS + 1.0) ** -power
    frequencies /= frequencies.sum()
    columns = rng.choice(COLUMNS, size=n * entries, p=frequencies)
    numbers = np.ones(columns.size)
    if values == "lognormal":
        numbers = rng.lognormal(size=columns.size)
    elif values == "by rarity":
        numbers = -np.log(frequencies[columns])
    X = sp.csr_array((numbers, (np.repeat(np.arange(n), entries), columns)), shape=(n, COLUMNS))
    X.sum_duplicates()
    z = X @ rng.standard_normal(COLUMNS)
    return X, z / z.std() + 0.5 * rng.standard_normal(n)


def falls(X: sp.csr_array, y: np.ndarray, l2: float, P: np.ndarray) -> np.ndarray:
    """By how much f has fallen after each step of conjugate gradients in the metric P."""
    n = len(y)
    turned = X.T.tocsr()
    r = turned @ y / n
    z = r / P
    p = z.copy()
    size = float(r @ z)
    fell = [0.0]
    for _ in range(MOST_STEPS):
        product_ = turned @ (X @ p) / n + l2 * p
        t = size / float(p @ product_)
        fell.append(fell[-1] + 0.5 * t * size)
        r -= t * product_
        z = r / P
        before, size = size, float(r @ z)
        if size <= 1e-20 * fell[1]:
            break
        p = z + size / before * p
    return np.array(fell)


def steps(fell: np.ndarray, most: float) -> int:
    reached = fell >= (1.0 - LEFT) * most
    return int(np.argmax(reached)) if reached.any() else MOST_STEPS


def main() -> None:
    over: dict[str, list[float]] = {"the choice": [], "the diagonal": [], "the identity": []}
    for n, (entries, power), values in product(ROWS, FREQUENCIES, VALUES):
        X, y = rows(n, entries, power, values)
        squares = np.asarray(X.multiply(X).sum(axis=0)).ravel() / n
        for share in SHARES:
            l2 = share * float(squares.mean())
            plain, scaled = falls(X, y, l2, np.ones(COLUMNS)), falls(X, y, l2, squares + l2)
            most = max(plain[-1], scaled[-1])
            found = {"the identity": steps(plain, most), "the diagonal": steps(scaled, most)}
            chosen = promises(squares, np.full(1, l2), n)
            found["the choice"] = found["the diagonal" if chosen else "the identity"]
            for name, count in found.items():
                over[name].append(count / min(found.values()))
    for name, factors in over.items():
        mean = float(np.exp(np.log(factors).mean()))
        print(f"{name}: {mean:.2f} in the mean, {max(factors):.1f} at most, of {len(factors)}")


if __name__ == "__main__":
    main()
