"""How well a fit predicts: accuracy of classes, and the share of the spread of numbers."""

from __future__ import annotations

import numpy as np

from .._types import Design, Vector
from ..rows import Array
from .result import Result, scores


class Score:
    """What predictions are worth, from rows that come in parts.

    Classes have an accuracy. Numbers have R^2 = 1 - sum (y - z)^2 / sum (y - mean)^2; with a log
    link they have D^2, the same ratio of deviances. A row of weight k counts as k rows.

    Examples
    --------
    >>> import numpy as np, bocce
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["no", "no", "yes", "yes"])
    >>> score = Score(bocce.minimize(bocce.Logistic(X, y, 0.1, intercept=True), tol=1e-6))
    >>> score.add(np.array([[0.0], [3.0], [3.0]]), np.array(["no", "yes", "no"]))
    >>> score.kind, round(score.value, 3)
    ('accuracy', 0.667)
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        self.n = 0
        self.weight = self.lost = self.best = self.mean = self.spread = 0.0
        self.right = 0.0  # the weight of the rows whose class is predicted
        self.classes = None
        self.counts = np.zeros(0)  # the weight of the rows of each class
        if result.classes is not None:
            self.classes = np.asarray(result.classes)
            self.counts = np.zeros(len(self.classes))

    def add(
        self, X: Design, y: Vector, weight: Array | None = None, offset: Vector | None = None
    ) -> None:
        """Count rows with their targets, as they stand in the data."""
        loss = self.result.loss
        encoded, _ = loss.targets(loss.problem_name, np.asarray(y), self.classes)
        self.add_encoded(X, encoded, weight, offset)

    def add_encoded(
        self, X: Design, y: Array, weight: Array | None = None, offset: Vector | None = None
    ) -> None:
        """Count rows whose targets are as the loss wants them."""
        z = scores(self.result, X, offset)
        c = np.ones(len(y)) if weight is None else weight
        self.n += len(y)
        if self.classes is None:
            self._add_numbers(z, y, c)
            return
        found = z.argmax(axis=1) if z.ndim == 2 else z > 0.0
        true = y if z.ndim == 2 else y > 0.0
        self.weight += float(c.sum())
        self.right += float(c[found == true].sum())
        self.counts += np.bincount(true.astype(np.intp), c, len(self.counts))

    def _add_numbers(self, z: Array, y: Array, c: Array) -> None:
        loss = self.result.loss
        weight = float(c.sum())
        mean = float(np.average(y, weights=c))
        gap = mean - self.mean
        joined = self.weight + weight
        self.spread += float(c @ np.square(y - mean)) + gap**2 * self.weight * weight / joined
        self.mean += gap * weight / joined
        self.weight = joined
        with np.errstate(over="ignore"):
            if loss.log_link:
                lost = loss.value(z, y) - loss.infimum(y)
            else:
                lost = np.square(y - z)
        self.lost += float(c @ lost)
        if loss.log_link:
            self.best += float(c @ loss.infimum(y))
        else:
            self.best += 0.0

    @property
    def kind(self) -> str:
        if self.classes is not None:
            return "accuracy"
        if self.result.loss.log_link:
            return "D^2"
        return "R^2"

    @property
    def value(self) -> float:
        """NaN where all targets are the same number, which leaves nothing to explain."""
        if self.classes is not None:
            return self.right / self.weight
        spread = self.spread
        loss = self.result.loss
        if loss.log_link:  # losses with a log link are linear in y: their mean is that of the mean
            constant = loss.best_constant(self.mean)
            spread = self.weight * float(loss.value(constant, self.mean)) - self.best
        if spread > 0.0:
            return 1.0 - self.lost / spread
        return float("nan")

    @property
    def baseline(self) -> float:
        """The accuracy of predicting the most frequent class; 0, that of the mean, for numbers."""
        return float(self.counts.max(initial=0.0)) / self.weight
