"""The picture of choosing.md and auto.md: what batch sizes cost, and what a run does.

python docs/pictures/plan.py docs/_static/plan.png
"""

from __future__ import annotations

import sys
from pathlib import Path

import bocce


def main(path: str | Path) -> None:
    X, y, _ = bocce.data.regression(n=10_000, d=20, kappa=200.0, noise_var=0.01)
    bocce.plan(bocce.LeastSquares(X, y)).plot()[0].figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1])
