"""The picture of theory/certificate.md: the largest stable step against the batch.

python docs/pictures/edge.py docs/_static/edge.png
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

from bocce import theory

matplotlib.use("Agg")
import matplotlib.pyplot as plt

N, LAM, L_MAX = 10_000, 1.0, 100.0


def main(path: str | Path) -> None:
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    batches = np.unique(np.geomspace(1, N, 200).round().astype(int))
    zeta2 = [theory.zeta2(N, int(b)) for b in batches]
    for axes, name in zip(panels, ("heavy ball", "with lookahead theta = beta")):
        for colour, beta in enumerate((0.0, 0.5, 0.9, 0.99)):
            theta = beta if "lookahead" in name else 0.0
            known = {"beta": beta, "theta": theta, "lam": LAM, "L_max": L_MAX}
            steps = [theory.edge(zeta2=z, **known) for z in zeta2]
            axes.plot(batches / N, steps, color=f"C{colour}", label=f"beta = {beta:g}")
            if theta == 0.0:
                small = 2.0 * (1.0 - beta) / (np.array(zeta2[:-1]) * L_MAX)
                axes.plot(batches[:-1] / N, small, color=f"C{colour}", ls=":", lw=1)
                axes.axhline(2.0 * (1.0 + beta) / LAM, color=f"C{colour}", ls=":", lw=1)
        axes.set(xscale="log", yscale="log", xlabel="b/n", title=name, ylim=(1e-4, 8.0))
    panels[0].set_ylabel("largest stable alpha lambda")
    panels[0].legend(frameon=False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1])
