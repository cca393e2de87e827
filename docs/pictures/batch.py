"""The picture of the README: steps by batch size, and where heavy ball diverges.

python docs/pictures/batch.py docs/_static/batch.png
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import matplotlib
import numpy as np

import bocce

matplotlib.use("Agg")
import matplotlib.pyplot as plt

N, D, KAPPA = 2000, 8, 1000.0
METHODS = {"sgd": "tab:grey", "nesterov": "tab:orange", "shb": "tab:red", "auto": "tab:blue"}
WORDS = {"shb": "shb: the paper's heavy ball", "auto": "auto: ours"}


def steps(problem: bocce.LeastSquares, name: str, b: int) -> float:
    """Steps that divide the root mean square error by 1000, exactly; infinite where it diverges."""
    c = problem.constants()
    L_max, tilde = c.sharpest  # what minimize gives to auto; the others ask for L and mu alone
    known = {"L": c.L, "mu": c.mu, "L_max": L_max, "kappa_tilde": tilde, "n": N, "b": b}
    s = bocce.schedules.REGISTRY[name].build(100_000, known)
    k = int(np.argmax(s.alpha / (1 - s.beta)))  # auto: once its memory has grown
    rate = bocce.exact.mean_square_rate(
        problem, float(s.alpha[k]), float(s.beta[k]), b, theta=float(s.theta[k])
    )
    return math.log(1000.0) / -math.log(rate) if rate < 1.0 else math.inf


def draw(axes: plt.Axes, design: str, title: str) -> None:
    X, y, _ = bocce.data.regression(N, D, KAPPA, design=design, spectrum="sqrt")
    problem = bocce.LeastSquares(X, y)
    few = np.geomspace(1, N, 37).astype(int)
    batches = np.unique([*few, *(N - few[:-1])])
    for name, colour in METHODS.items():
        counts = [steps(problem, name, int(b)) for b in batches]
        axes.loglog(batches, counts, color=colour, lw=2, label=WORDS.get(name, name))
        stable = np.flatnonzero(np.isfinite(counts))
        if stable[0] > 0:
            axes.plot(batches[stable[0]], counts[stable[0]], "X", color=colour, ms=9)
    c = problem.constants()
    shb = bocce.schedules.shb(1, c.L, c.mu)
    critical = bocce.exact.critical_batch_size(problem, float(shb.alpha[0]), float(shb.beta[0]))
    axes.axvspan(1, critical, color="tab:red", alpha=0.08, lw=0)
    axes.text(1.2, 55, f"shb diverges below {critical:.0f} rows", color="tab:red")
    axes.set(
        title=f"{title}, kappa = {c.kappa:.0f}",
        xlabel=f"batch size (n = {N})",
        ylim=(40, 4e5),
        xlim=(1, N * 1.15),
    )


def main(path: str | Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    draw(left, "haar", "ordinary rows")
    draw(right, "heavy", "a few rows dominate")
    left.set_ylabel("steps to an error 1000 times smaller")
    left.plot([], [], "X", color="black", ms=7, label="diverges further left")
    left.legend(loc="upper right", frameon=False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1])
