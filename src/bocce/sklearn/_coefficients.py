"""Coefficients and intercepts of an estimator, filled in output by output."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..problems import Problem
from ..rows import Array
from ..rows.backend import numpy_type
from ..run.columns import Index


class Coefficients:
    """``coef_`` and ``intercept_`` of ``runs`` runs: zeros, or those of the last fit.

    ``columns`` are the columns of X that the runs have; None where they have all.
    """

    def __init__(self, model: Any, X: Any, runs: int, columns: Index | None = None) -> None:
        self.model = model
        self.X = X
        self.columns = columns
        d = X.shape[1] if columns is None else columns.size
        self.coef, self.intercept = model._started(model._outputs(runs), d)

    def point(self, j: int, p: Problem) -> Array:
        """The variables of run j."""
        place = self.model._place(j)
        return p.join_intercept(self.coef[place].T, self.intercept[place])

    def put(self, j: int, w: Array) -> None:
        """Set the variables of run j."""
        place = self.model._place(j)
        self.coef[place] = w[: self.coef.shape[1]].T
        if self.model.fit_intercept:
            self.intercept[place] = w[-1]
        else:
            self.intercept[place] = 0.0

    def rounded(self, j: int, p: Problem) -> Array | None:
        """The variables of run j in the precision of X; None where that rounds nothing."""
        if numpy_type(self.X.dtype) != np.float32:
            return None
        place = self.model._place(j)
        coef = self.coef[place].astype(np.float32)
        return p.join_intercept(coef.T, self.intercept[place].astype(np.float32))

    def fitted(self) -> dict[str, Any]:
        """The attributes of the estimator."""
        fitted: dict[str, Any] = self.model._fitted(self.coef, self.intercept, self.X, self.columns)
        return fitted

    def attributes(self, j: int, w: Array) -> dict[str, Any]:
        """The attributes if run j ended at w."""
        self.put(j, w)
        return self.fitted()
