"""Data of the scikit-learn examples: ijcnn1 where it is at hand, else something of its shape."""

from __future__ import annotations

import os

import numpy as np
from sklearn.datasets import make_classification

import bocce


def ijcnn1(rows: int | None = None) -> tuple[np.ndarray, np.ndarray, str]:
    """(X, y, name) of some ``rows``, or all. Looks in the folder that BOCCE_DATA names."""
    if os.environ.get("BOCCE_DATA"):
        X, y = bocce.data.load("ijcnn1")
        chosen = np.random.default_rng(0).permutation(y.size)[:rows]
        return X[chosen].toarray(), y[chosen], "ijcnn1"
    X, y = make_classification(
        rows or 35_000, 22, n_informative=12, weights=[0.9], flip_y=0.05, random_state=0
    )
    return X, y, "synthetic (set BOCCE_DATA to a folder with ijcnn1.tr.bz2 for the real one)"
