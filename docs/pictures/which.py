"""The decision picture of choosing.md: questions down the left, answers to the right.

python docs/pictures/which.py docs/_static/which.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

STEPS = [
    (
        "a neural network?",
        "SGD or AdamW, with a cosine",
        "SHB.from_lr(lr=, T=) is level, no better",
    ),
    ("least squares with\nfew columns?", "a direct solver", "or minimize: it is one there"),
    ("a tolerance, and no\nnumber of steps?", "minimize(p, tol=...)", "all else is chosen"),
    ("T steps, whichever\nmethod is best?", 'minimize(p, "auto", T=...)', "tuned to your batch"),
    ("the paper's method:\nbatch above critical?", 'minimize(p, "2p-shb", T=...)', "see plan(p)"),
]
LAST = ("shb_exponential(T, L=L_max, mu=mu)", "slow, and stable at any batch")
QUESTION = {"boxstyle": "round,pad=0.5", "facecolor": "#e8eef7", "edgecolor": "#4a6fa5"}
ARROW = {"arrowstyle": "-|>", "color": "#444444", "lw": 1.3, "shrinkA": 0, "shrinkB": 0}


def answer(axes: plt.Axes, x: float, y: float, what: str, why: str) -> None:
    code = any(sign in what for sign in "(.")
    axes.text(x, y + 0.14, what, family="monospace" if code else None, weight="bold", va="center")
    axes.text(x, y - 0.15, why, color="#444444", va="center")


def main(path: str | Path) -> None:
    plt.rcParams["svg.hashsalt"] = "bocce"  # the same file each time
    figure, axes = plt.subplots(figsize=(6.6, 5.8), layout="constrained")
    for i, (question, what, why) in enumerate(STEPS):
        y = -float(i)
        axes.text(0.0, y, question, ha="center", va="center", bbox=QUESTION)
        axes.annotate("", (1.62, y), (1.02, y), arrowprops=ARROW)
        axes.text(1.3, y + 0.05, "yes", ha="center", va="bottom", color="#444444")
        axes.annotate("", (0.0, y - 0.68), (0.0, y - 0.33), arrowprops=ARROW)
        axes.text(0.08, y - 0.5, "no", va="center", color="#444444")
        answer(axes, 1.72, y, what, why)
    answer(axes, -1.05, -float(len(STEPS)), *LAST)
    axes.set(xlim=(-1.1, 4.25), ylim=(-len(STEPS) - 0.4, 0.5))
    axes.axis("off")
    figure.savefig(path, metadata={"Date": None} if str(path).endswith("svg") else None)


if __name__ == "__main__":
    main(sys.argv[1])
