"""The data set of the gallery that the explorer knows: scikit-learn's digits.

python docs/pictures/explorer_data.py src/bocce/explorer/gallery.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sklearn.datasets import load_digits

import bocce

SOURCE = (
    "bocce.Logistic(__import__('sklearn.datasets').datasets.load_digits().data / 16, "
    "__import__('sklearn.datasets').datasets.load_digits().target >= 5, l2=0.001)"
)


def described() -> dict:
    X, y = load_digits(return_X_y=True)
    p = bocce.Logistic(X / 16.0, y >= 5, l2=0.001)
    return bocce.explorer.describe(p, "digits, 0 to 4 or 5 to 9 (logistic)", SOURCE)


if __name__ == "__main__":
    found = described()
    for key in ("spectrum", "start"):
        found[key] = [float(f"{x:.9g}") for x in found[key]]
    Path(sys.argv[1]).write_text(json.dumps(found) + "\n")
