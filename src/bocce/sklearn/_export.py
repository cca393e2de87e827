"""``to_sklearn``: the fitted model as scikit-learn's own, for tools that know only those."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import (
    GammaRegressor,
    HuberRegressor,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
)
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted


class Exportable:
    """Mixin: makes the estimator of scikit-learn with the same predictions."""

    def to_sklearn(self) -> Any:
        """The fitted scikit-learn estimator with the same coefficients and predictions.

        Returns
        -------
        estimator
            ``Ridge``, ``HuberRegressor``, ``PoissonRegressor``, ``GammaRegressor``,
            ``QuantileRegressor``, ``LogisticRegression`` or ``LinearSVC``, by the loss. Its penalty
            is that of this fit where scikit-learn's objective is the same.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before ``fit``.

        Examples
        --------
        >>> from bocce.sklearn import HeavyBallClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"]
        >>> model = HeavyBallClassifier(l2=0.1).fit(X, y)
        >>> type(model.to_sklearn()).__name__, model.to_sklearn().predict([[0.0]]).tolist()
        ('LogisticRegression', ['a'])
        """
        check_is_fitted(self)
        made = _empty(self)
        for name in ("coef_", "intercept_", "classes_", "n_features_in_", "feature_names_in_"):
            if name in vars(self):
                value = getattr(self, name)
                setattr(made, name, value.copy() if isinstance(value, np.ndarray) else value)
        if "classes_" in vars(self):
            made.n_iter_ = np.array([self.n_iter_], dtype=np.int32)
        else:
            made.n_iter_ = self.n_iter_
        if hasattr(made, "_get_loss"):
            made._base_loss = made._get_loss()
        return made


def _empty(model: Any) -> Any:
    """With the parameters that give the same objective, on the rows of the last fit."""
    how = {"fit_intercept": model.fit_intercept}
    l2 = model._l2
    if model._seen is None:
        n = None
    else:
        n = model._seen.problems[0].n
    total = 1.0 if n is None else n * l2
    kinds = {
        "squared": lambda: Ridge(alpha=total, **how),
        "huber": lambda: HuberRegressor(alpha=total, **how),
        "poisson": lambda: PoissonRegressor(alpha=l2, **how),
        "gamma": lambda: GammaRegressor(alpha=l2, **how),
        "quantile": lambda: QuantileRegressor(quantile=model.quantile, alpha=0.0, **how),
        "squared_hinge": lambda: LinearSVC(C=1.0 / total if total > 0 else 1e10, **how),
    }
    if model.loss in kinds:
        return kinds[model.loss]()
    return LogisticRegression(C=1.0 / total if total > 0 else np.inf, **how)
