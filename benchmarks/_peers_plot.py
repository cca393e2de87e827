"""The curves of benchmarks/peers.py: suboptimality against time, one panel a cell."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from _peers_race import LEVELS, OURS, Climb, Raced

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator, NullFormatter

LOOKS = {  # colour, marker: a solver looks the same in every panel
    OURS: ("#c1121f", "o"),
    "SGD": ("#b8b8b8", "s"),
    "SGD best": ("#7a7a7a", "s"),
    "sag": ("#52796f", "v"),
    "saga": ("#2a9d8f", "^"),
    "lbfgs": ("#1d4e89", "D"),
    "newton-chol": ("#7b2cbf", "P"),
    "newton-cg": ("#b56576", "h"),
    "liblinear": ("#e09f3e", "X"),
    "lsqr": ("#1d4e89", "d"),
    "sparse_cg": ("#b56576", "h"),
    "cholesky": ("#7b2cbf", "*"),
    "cyanure": ("#2f2f2f", "p"),
    "glum": ("#8d6e63", "o"),
    "skglm": ("#5c6bc0", "s"),
    "adelie": ("#00838f", "v"),
    "snapml": ("#9e9d24", "^"),
    "intelex": ("#0277bd", "<"),
    "statsmodels": ("#6d4c41", ">"),
    "SciPy": ("#546e7a", "D"),
    "torch": ("#d84315", "x"),
}
FLOOR = 1e-9
COLUMNS = 3


def envelope(climbs: list[Climb], label: str) -> tuple[np.ndarray, np.ndarray]:
    """What a label had reached by each time."""
    rungs = [rung for climb in climbs if climb.label == label for rung in climb.rungs]
    kept = []
    for rung in sorted(rungs, key=lambda rung: rung.seconds):
        gap = max(rung.gap, FLOOR)
        if math.isfinite(gap) and (not kept or gap < kept[-1][1]):
            kept.append((rung.seconds, gap))
    return tuple(np.array(kept).reshape(-1, 2).T)


def draw(found: list[Raced], path: Path) -> None:
    rows = -(-(len(found) + 1) // COLUMNS)  # one place is the legend's
    figure, axes = plt.subplots(
        rows, COLUMNS, figsize=(4.0 * COLUMNS, 2.9 * rows), squeeze=False, sharey=True
    )
    handles = {}
    for ax, raced in zip(axes.flat, found):
        handles |= _panel(ax, raced)
    for ax in axes[:, 0]:
        ax.set_ylabel("(f - f*)/(f(0) - f*)", fontsize=9)
    rest = list(axes.flat)[len(found) :]
    for ax in rest:
        ax.axis("off")
    labels = [label for label in LOOKS if label in handles]
    rest[0].legend(
        [handles[label] for label in labels], labels, ncols=2, loc="center", frameon=False,
        title="CPU seconds, one thread", title_fontsize=10, fontsize=10,
    )  # fmt: skip
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _panel(ax: Any, raced: Raced) -> dict[str, Any]:
    handles = {}
    for label in dict.fromkeys(climb.label for climb in reversed(raced.climbs)):
        colour, marker = LOOKS[label]
        bold = label == OURS
        (handles[label],) = ax.loglog(
            *envelope(raced.climbs, label), color=colour, marker=marker, ms=5.5 if bold else 3.5,
            lw=2.8 if bold else 1.1, zorder=5 if bold else 2,
        )  # fmt: skip
    for level in LEVELS:
        ax.axhline(level, color="#dddddd", lw=0.8, zorder=0)
    ax.set_title(f"{raced.data}, {raced.loss}, l2 = {raced.label}", fontsize=10)
    ax.set_ylim(FLOOR / 2, 2.0)
    # short axes too have two labels, and none lie on one another
    ax.xaxis.set_major_locator(LogLocator(10.0, subs=(1.0, 3.0)))
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.spines[["top", "right"]].set_visible(False)
    return handles
