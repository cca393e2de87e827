"""How long the very first fit waits for a compiler: first and second fit in a fresh process.

    python benchmarks/studies/first_fit.py

Seconds of the first fit, of the second, and their difference, in a new process each, without any
kept kernel (NUMBA_CACHE_DIR is an empty folder); X has up to 1e6 numbers, imports are not counted.
The rule: the first takes at most 1 s more than the second. A minute or two.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

ALLOWED = 1.0  # seconds
CASES = {
    "HeavyBallClassifier, 2 classes": "HeavyBallClassifier().fit(X, X[:, 0] + e > 0)",
    "HeavyBallClassifier, 5 classes": "HeavyBallClassifier().fit(X, five)",
    "HeavyBallClassifier, CSR": "HeavyBallClassifier().fit(S, X[:, 0] + e > 0)",
    "HeavyBallRegressor": "HeavyBallRegressor().fit(X, X[:, 0] + e)",
    "HeavyBallRegressor, huber": "HeavyBallRegressor(loss='huber').fit(X, X[:, 0] + e)",
    "minimize, logistic": "minimize(Logistic(X, sign, l2=1e-3), tol=1e-4)",
    "minimize, least squares": "minimize(LeastSquares(X, e, l2=1e-3), tol=1e-4)",
    "minimize, softmax": "minimize(Problem(X, five, 'softmax', l2=1e-3), tol=1e-4)",
}
SIZES = ((50_000, 20), (1_000, 20))
PROGRAM = """
import time
import numpy as np
import scipy.sparse as sp
from bocce import LeastSquares, Logistic, Problem, minimize
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor

rng = np.random.default_rng(0)
X, e = rng.standard_normal(({n}, {d})), rng.standard_normal({n})
S = sp.csr_array(X * (rng.random(X.shape) < 0.2))
sign = np.where(X[:, 0] + e > 0, 1.0, -1.0)
five = np.digitize(X[:, 0] + e, [-1.5, -0.5, 0.5, 1.5])
for _ in range(2):
    begin = time.perf_counter()
    {call}
    print(time.perf_counter() - begin)
"""


def first_and_second(call: str, n: int, d: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as empty:
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM.format(call=call, n=n, d=d)],
            env={**os.environ, "NUMBA_CACHE_DIR": empty, "OMP_NUM_THREADS": "1"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    first, second = map(float, run.stdout.split())
    return first, second


def main() -> None:
    worst = 0.0
    for n, d in SIZES:
        for name, call in CASES.items():
            first, second = first_and_second(call, n, d)
            worst = max(worst, first - second)
            print(
                f"{n} x {d}  {name:<32} first {first:.3f}  second {second:.3f}  "
                f"difference {first - second:.3f}",
                flush=True,
            )
    verdict = "met" if worst <= ALLOWED else "MISSED"
    print(f"largest difference {worst:.3f} s; at most {ALLOWED:g} s: {verdict}")


if __name__ == "__main__":
    main()
