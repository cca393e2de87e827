"""The picture of theory/minimax.md: what momentum is worth, by batch and condition number.

python docs/pictures/phases.py docs/_static/phases.png
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

from bocce import theory

matplotlib.use("Agg")
import matplotlib.pyplot as plt

N, SIZE = 10_000, 33


def share_of_steps(kappa: float, R: float, b: int) -> float:
    """How many steps of the best SGD one of the best heavy ball replaces."""
    return theory.best_heavy_ball(kappa, R, theory.zeta2(N, b)).gain


def batch_for(zeta2: np.ndarray) -> np.ndarray:
    """b/n at which (n - b)/((n - 1) b) is zeta2."""
    return 1.0 / (1.0 + (N - 1) * zeta2)


def draw(axes: plt.Axes, R: float) -> object:
    batches = np.unique(np.geomspace(1, N, SIZE).round().astype(int))
    kappas = np.geomspace(2.0, 1e5, SIZE)
    gains = np.array([[share_of_steps(kappa, R, int(b)) for b in batches] for kappa in kappas])
    levels = [1.0, 1.02, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 400.0]
    colours = matplotlib.colors.BoundaryNorm(levels, 256)
    image = axes.contourf(batches / N, kappas, gains, levels, cmap="viridis", norm=colours)
    mu = 1.0 / kappas
    none = (1.0 - mu * (2.0 - mu)) / ((2.0 - mu) * (R - mu) - (R - 1.0))
    axes.plot(batch_for(none), kappas, color="white", lw=2)
    axes.plot(batch_for(1.0 / (R * np.sqrt(kappas))), kappas, color="white", lw=2, ls="--")
    axes.set(xscale="log", yscale="log", xlim=(1 / N, 1), ylim=(2.0, 1e5), xlabel="b/n")
    axes.set_title(f"L_max = {R:g} lambda_max")
    return image


def words(axes: plt.Axes, places: dict[str, tuple[float, float]], upright: str = "") -> None:
    for word, (x, y) in places.items():
        turn = 90 if word == upright else 0
        axes.text(x, y, word, color="white", ha="center", va="center", fontsize=12, rotation=turn)


def main(path: str | Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    draw(axes[0], 2.0)
    image = draw(axes[1], 100.0)
    words(axes[0], {"none": (1.7e-4, 1e3), "partial": (9e-4, 1e4), "full": (0.1, 30.0)}, "none")
    words(axes[1], {"none": (1e-3, 1e3), "partial": (3.0e-2, 1e4), "full": (0.3, 30.0)})
    axes[0].set_ylabel("condition number kappa")
    bar = figure.colorbar(image, ax=axes, ticks=[1, 2, 5, 10, 20, 50, 100, 200, 400])
    bar.set_label("steps of the best SGD / of the best heavy ball")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1])
