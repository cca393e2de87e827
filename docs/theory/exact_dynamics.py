"""The picture of exact-dynamics.md: what is expected, and one run.

python docs/theory/exact_dynamics.py exact-dynamics.svg
"""

from __future__ import annotations

import sys

import matplotlib
import numpy as np

import bocce
from bocce.exact import expected

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def main(path: str) -> None:
    X, y, _ = bocce.data.regression(2000, 20, 200.0, noise_var=1e-2, mu=10.0, spectrum="sqrt")
    p = bocce.LeastSquares(X, y)
    L, mu, T, share = p.constants().L, p.constants().mu, 2000, 0.5
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    make = bocce.schedules
    for schedule in (make.sgd(T, L), make.shb(T, L, mu), make.two_phase(T, L, mu)):
        curve = expected(p, schedule, share)
        run = bocce.minimize(p, schedule, batch_size=share)
        (line,) = axes.semilogy(np.sqrt(curve.grad2), label=schedule.name, zorder=3)
        axes.semilogy(run.history["k"], run.history["grad_norm"], color=line.get_color(), alpha=0.3)
    axes.set(xlabel="k", ylabel="gradient norm", title="root mean square, and one run (pale)")
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "exact-dynamics.svg")
