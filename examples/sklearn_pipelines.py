"""Columns of very different size, in a pipeline with StandardScaler and without.

    python examples/sklearn_pipelines.py

Columns of size 1e-4 to 1e4. SGDRegressor diverges on them as they are; HeavyBallRegressor scales
inside and scales back, so that l2 is a penalty on the coefficients you see.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.datasets import make_regression
from sklearn.linear_model import Ridge, SGDRegressor
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bocce.sklearn import HeavyBallRegressor


def main() -> None:
    X, y = make_regression(20_000, 20, n_informative=15, noise=20.0, random_state=0)
    X = X * np.geomspace(1e-4, 1e4, 20) + 3.0
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    l2 = 1e-10
    models = {
        "Ridge (cholesky)": Ridge(alpha=len(y) * l2, solver="cholesky"),
        "HeavyBallRegressor": HeavyBallRegressor(l2, random_state=0),
        "StandardScaler, HeavyBallRegressor": make_pipeline(
            StandardScaler(), HeavyBallRegressor(l2, random_state=0)
        ),
        "SGDRegressor": SGDRegressor(alpha=l2, random_state=0),
        "StandardScaler, SGDRegressor": make_pipeline(
            StandardScaler(), SGDRegressor(alpha=l2, random_state=0)
        ),
    }
    print(f"{'':36} R^2 on test rows")
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SGDRegressor overflows on the raw columns
            try:
                score = f"{model.fit(X, y).score(X_test, y_test):.6g}"
            except ValueError as error:
                score = f"failed: {str(error).splitlines()[0]}"
        print(f"{name:36} {score}")


if __name__ == "__main__":
    main()
