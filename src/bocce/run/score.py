"""How well a fit predicts: accuracy of classes, and the share of the spread of numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._types import Design, Vector
from ..rows import Array
from .result import Result, scores


class Confusion(NamedTuple):
    """Rows of the class ``true`` that were predicted as ``predicted``, counted by their weights."""

    true: object
    predicted: object
    rows: float


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
    >>> score.kind, round(score.value, 3), score.worst(1)
    ('accuracy', 0.667, [Confusion(true='no', predicted='yes', rows=1.0)])
    """

    def __init__(self, result: Result) -> None:
        self.result, self.n = result, 0
        self.weight = self.lost = self.best = self.mean = self.spread = 0.0
        self.classes = None if result.classes is None else np.asarray(result.classes)
        size = 0 if self.classes is None else len(self.classes)
        self.confusion = sparse.csr_array((size, size))

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
        z, c = scores(self.result, X, offset), np.ones(len(y)) if weight is None else weight
        self.n += len(y)
        if self.classes is None:
            self._add_numbers(z, y, c)
            return
        found = z.argmax(axis=1) if z.ndim == 2 else z > 0.0
        true = y if z.ndim == 2 else y > 0.0
        self.weight += float(c.sum())
        self.confusion += sparse.csr_array((c, (true, found)), self.confusion.shape)

    def _add_numbers(self, z: Array, y: Array, c: Array) -> None:
        loss = self.result.loss
        weight, mean = float(c.sum()), float(np.average(y, weights=c))
        gap, joined = mean - self.mean, self.weight + weight
        self.spread += float(c @ np.square(y - mean)) + gap**2 * self.weight * weight / joined
        self.mean += gap * weight / joined
        self.weight = joined
        with np.errstate(over="ignore"):
            lost = loss.value(z, y) - loss.infimum(y) if loss.log_link else np.square(y - z)
        self.lost += float(c @ lost)
        self.best += float(c @ loss.infimum(y)) if loss.log_link else 0.0

    @property
    def kind(self) -> str:
        if self.classes is not None:
            return "accuracy"
        return "D^2" if self.result.loss.log_link else "R^2"

    @property
    def value(self) -> float:
        """NaN where all targets are the same number, which leaves nothing to explain."""
        if self.classes is not None:
            return float(self.confusion.trace()) / self.weight
        spread, loss = self.spread, self.result.loss
        if loss.log_link:  # losses with a log link are linear in y: their mean is that of the mean
            constant = loss.best_constant(self.mean)
            spread = self.weight * float(loss.value(constant, self.mean)) - self.best
        return 1.0 - self.lost / spread if spread > 0.0 else float("nan")

    @property
    def baseline(self) -> float:
        """The accuracy of predicting the most frequent class; 0, that of the mean, for numbers."""
        counts = self.confusion.sum(axis=1)
        return float(counts.max(initial=0.0)) / self.weight

    def worst(self, most: int) -> list[Confusion]:
        """The pairs of classes that are confused most often, at most ``most`` of them."""
        assert self.classes is not None
        pairs = self.confusion.tocoo()
        true, found = pairs.coords
        wrong = (true != found) & (pairs.data > 0.0)
        order = np.argsort(-pairs.data[wrong], kind="stable")[:most]
        names = self.classes.tolist()
        rows = zip(true[wrong][order], found[wrong][order], pairs.data[wrong][order])
        return [Confusion(names[i], names[j], float(count)) for i, j, count in rows]
