"""The picture of the README: steps by batch size, where heavy ball diverges, and the best table.

python docs/pictures/batch.py docs/_static/batch.png     (about 2 minutes)
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
FALL = 2 * math.log(1000.0)  # of log E||w - w*||^2
LONGEST = 240  # steps of a best table: longer ones take minutes each
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


def best_steps(problem: bocce.LeastSquares, batches: np.ndarray) -> list[float]:
    """Steps of the best table, from large batches to small ones; nan beyond ``LONGEST``.

    The value of the best table is computed at growing T, and log(value) is interpolated in T to
    where the error has fallen 1000 times.
    """
    T, counts = 4, []
    start = float(np.sum(problem.minimiser() ** 2))  # runs begin at 0
    for b in batches[::-1]:
        before, needed = (0, 0.0), math.nan
        while T <= LONGEST:
            found = bocce.exact.best_schedule(problem, T, int(b), of="error", tol=0.5)
            fallen = math.log(start / found.value)
            if fallen >= FALL:
                share = (FALL - before[1]) / (fallen - before[1])
                needed = before[0] + share * (T - before[0])
                break
            before, T = (T, fallen), math.ceil(1.2 * T)
        counts.append(needed)
        T = max(4, before[0])
    return counts[::-1]


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
    fewer = batches[::5]
    best = best_steps(problem, fewer)
    axes.loglog(fewer, best, ":", color="black", lw=2, label="best table: knows the data")
    c = problem.constants()
    shb = bocce.schedules.shb(1, c.L, c.mu)
    critical = bocce.exact.critical_batch_size(problem, float(shb.alpha[0]), float(shb.beta[0]))
    axes.axvspan(1, critical, color="tab:red", alpha=0.08, lw=0)
    axes.text(1.2, 6, f"shb diverges below {critical:.0f} rows", color="tab:red")
    axes.set(
        title=f"{title}, kappa = {c.kappa:.0f}",
        xlabel=f"batch size (n = {N})",
        ylim=(4, 4e5),
        xlim=(1, N * 1.15),
    )


def main(path: str | Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
    draw(left, "haar", "ordinary rows")
    draw(right, "heavy", "a few rows dominate")
    left.set_ylabel("steps to an error 1000 times smaller")
    left.plot([], [], "X", color="black", ms=7, label="diverges further left")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1])
