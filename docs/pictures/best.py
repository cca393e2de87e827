"""The picture of theory/best-schedule.md: best tables, and how far the methods are from them.

python docs/pictures/best.py docs/_static/best.png
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib
import numpy as np

from bocce import exact, schedules

matplotlib.use("Agg")
import matplotlib.pyplot as plt

T, B, N = 150, 1000, 10_000
LAM = np.geomspace(1e-3, 1.0, 200)
NOISES = (0.0, 1e-4, 1e-2, 1.0)
METHODS = ("auto", "auto-shb", "nesterov-exp", "nesterov", "2p-shb", "shb", "sgd-exp")


def main(path: str | Path) -> None:
    figure, panels = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
    regrets = {name: [] for name in METHODS}
    for colour, noise in enumerate(NOISES):
        model = exact.Gaussian(LAM, noise=noise, n=N)
        best = exact.best_schedule(model, T, B)
        s, known = best.schedule, model.schedule_arguments(B)
        auto = schedules.auto(T, **known)
        for table, style in ((s, "-"), (auto, ":")):
            columns = (table.alpha, 1.0 - table.beta, table.alpha * table.theta)
            for axes, column in zip(panels, columns):
                label = f"noise {noise:g}" if style == "-" else None
                axes.plot(column[:-1], style, color=f"C{colour}", lw=1.2, label=label)
        for name in METHODS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                table = schedules.REGISTRY[name].build(T, known)
            regrets[name].append(exact.expected(model, table, B).gap[-1] / best.value)
    for axes, title in zip(panels, ("alpha L", "1 - beta", "alpha theta L")):
        axes.set(yscale="log", title=title, xlabel="step k")
    panels[1].set_ylim(1e-3, 1.2)
    panels[2].set_ylim(1e-2, 4.0)
    panels[0].legend(frameon=False, fontsize=8, title="dotted: auto", title_fontsize=8)
    for colour, _ in enumerate(NOISES):
        values = [regrets[name][colour] for name in METHODS]
        panels[3].plot(values, range(len(METHODS)), "o", color=f"C{colour}")
    panels[3].set(xscale="log", title="gap at T over the best", yticks=range(len(METHODS)))
    panels[3].set_yticklabels(METHODS)
    panels[3].invert_yaxis()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1])
