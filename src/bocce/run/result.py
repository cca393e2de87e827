"""What a run gives back, and what it shows on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .. import _checks, _html, _pictures
from .._pictures import Axes
from .._types import Design, Vector
from ..control.base import Steps
from ..problems._input import check_offset
from ..rows import Array


class Record(NamedTuple):
    """What was measured at a step: the norm of the gradient in the caller's variables;
    ``evaluations`` counts gradients of rows until then."""

    k: float
    value: float
    norm: float
    evaluations: float


class History:
    """A table of records that grows, one at a time or many at once.

    >>> history = History(np.array([[0, 3.0, 1.0, 0]]))
    >>> history.extend(np.array([[1, 2.0, 0.5, 10], [2, 1.0, 0.1, 20]]))
    >>> history.last.norm, history.view()[:, 0].tolist()
    (0.1, [0.0, 1.0, 2.0])
    """

    def __init__(self, table: Array | None = None) -> None:
        self._rows = np.zeros((8, 4))
        self._size = 0
        self._new: list[Record] = []  # not yet in the table
        if table is not None:
            self.extend(table)

    @property
    def first(self) -> Record:
        if self._size == 0:
            return self._new[0]
        return Record(*self._rows[0].tolist())

    @property
    def last(self) -> Record:
        if self._new:
            return self._new[-1]
        return Record(*self._rows[self._size - 1].tolist())

    def add(self, record: Record) -> None:
        self._new.append(record)

    def extend(self, rows: Array) -> None:
        if self._new:
            rows = np.concatenate([self._new, rows])
            self._new = []
        end = self._size + len(rows)
        if end > len(self._rows):
            room = np.zeros((max(end, 2 * len(self._rows)) - self._size, 4))
            self._rows = np.concatenate([self._rows[: self._size], room])
        self._rows[self._size : end] = rows
        self._size = end

    def drop_last(self) -> None:
        if self._new:
            self._new.pop()
        else:
            self._size -= 1

    def view(self) -> Array:
        """The records so far, a row each; they are never written to again."""
        if self._new:
            self.extend(self._rows[:0])
        return self._rows[: self._size]


class Progress(NamedTuple):
    """The state of a run that a callback gets at each recorded step; returning True stops the run.

    Attributes
    ----------
    k : int
        The number of steps so far.
    w, gradient : ndarray
        The weights; the full gradient, where the run knows it.
    grad_norm, value : float
        The norm of the full gradient; the value of the objective.
    intercept : float or ndarray, default 0.0
        The intercept; with softmax, one for each class.
    """

    k: int
    w: Array
    grad_norm: float
    value: float
    gradient: Array | None = None
    intercept: Any = 0.0


class StageRun(NamedTuple):
    """One stage of a run.

    Attributes
    ----------
    method : str
        The name of the method.
    steps, batch : int
        The number of steps taken; the batch size in rows.
    """

    method: str
    steps: int
    batch: int


@dataclass(frozen=True)
class Result:
    """A finished run.

    Attributes
    ----------
    w : ndarray
        The weights; where the run diverged, the last finite iterate.
    status : {"finished", "converged", "diverged"}
        "finished": all steps were taken, or a callback stopped the run. "converged": the gradient
        norm is at most tol times the first one. "diverged": the run overflowed, f ended above its
        start by more than noise explains, or the gap f - f* more than doubled. (Where the start
        was near the minimiser and noise explains the rise: "finished", with a RuntimeWarning.)
    n_iter : int
        The number of steps taken.
    history : dict
        Arrays by name: ``k``, ``grad_norm``, ``value`` and ``gradient_evaluations``, one entry a
        record.
    schedule : Schedule, Policy or None
        The table or policy of the steps taken in batches; None where no step was.
    seed, batch_size : int
        The seed of the batches; the batch size in rows.
    message : str
        What happened, in words, with a remedy where the run failed.
    intercept : float or ndarray, default 0.0
        The intercept; with softmax, one for each class.
    stages : list of StageRun, default []
        The stages of the run: method, steps and batch.
    loss : Loss, optional
        The loss, which predictions need.
    classes : ndarray, optional
        The labels, where the loss is on classes.
    """

    w: Array
    status: str
    n_iter: int
    history: dict[str, Array]
    schedule: Steps | None
    seed: int
    batch_size: int
    message: str
    intercept: Any = 0.0
    stages: list[StageRun] = field(default_factory=list)
    loss: Any = None
    classes: Array | None = None

    def predict(self, X: Design, offset: Vector | None = None) -> Array:
        """Predictions for rows: labels of classes, means of counts and amounts, or numbers.

        Parameters
        ----------
        X : array or sparse matrix
            Rows, of shape (n, d).
        offset : array-like, optional
            A number for each row, added to its score, as in the fit.

        Returns
        -------
        ndarray
            One prediction a row, of shape (n,).

        Raises
        ------
        ValueError
            If X has another number of columns than the fit, or the offset does not fit the rows.

        Examples
        --------
        >>> import numpy as np, bocce
        >>> p = bocce.Logistic(np.array([[0.0], [1.0], [2.0]]), ["no", "no", "yes"], 0.1)
        >>> bocce.minimize(p, tol=1e-6).predict([[-1.0], [3.0]]).tolist()
        ['no', 'yes']
        """
        z = scores(self, X, offset)
        if self.classes is not None:
            if z.ndim == 2:
                places = z.argmax(axis=1)
            else:
                places = (z > 0.0).astype(np.intp)
            return np.asarray(np.asarray(self.classes)[places])
        if self.loss is not None and self.loss.log_link:
            return np.asarray(np.exp(z))
        return z

    def predict_proba(self, X: Design, offset: Vector | None = None) -> Array:
        """Probabilities of the classes, for the logistic and softmax losses.

        Parameters
        ----------
        X, offset : array or sparse matrix, array-like
            As for ``predict``.

        Returns
        -------
        ndarray
            Probabilities of shape (n, K), in the order of ``classes``.

        Raises
        ------
        ValueError
            If the loss has no probabilities, or X has another number of columns than the fit.
        """
        if self.classes is None or self.loss is None or self.loss.model != "likelihood":
            name = None if self.loss is None else self.loss.name
            raise ValueError(
                f"predict_proba: the loss {name!r} has no probabilities of classes, must be "
                "'logistic' or 'softmax'; use predict."
            )
        from scipy.special import expit, softmax

        z = scores(self, X, offset)
        if z.ndim == 2:
            return np.asarray(softmax(z, axis=1))
        return np.column_stack([expit(-z), expit(z)])

    def __repr__(self) -> str:
        final = self.history["grad_norm"]
        shown = f"{final[-1]:.3g}" if final.size else "none"
        return f"Result({self.status}, n_iter={self.n_iter}, grad_norm={shown}: {self.message})"

    def _repr_html_(self) -> str:
        return _html.result(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the relative norm of the gradient against the number of row gradients.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None makes a figure.

        Returns
        -------
        matplotlib Axes
            The axes that were drawn on.

        Examples
        --------
        >>> import bocce
        >>> X, y, _ = bocce.data.regression(n=200, d=5, kappa=10.0)
        >>> bocce.minimize(bocce.LeastSquares(X, y), "shb", T=50).plot().get_xlabel()
        'gradients of rows'
        """
        return _pictures.result(self, ax)


def scores(result: Result, X: Design, offset: Vector | None = None) -> Array:
    """x . w + intercept for each row, a column for each class of a softmax."""
    width = result.w.shape[0]
    if not hasattr(X, "shape"):
        X = _checks.floats("predict", "X", X, "give rows of numbers")
    if X.ndim != 2 or X.shape[1] != width:
        raise ValueError(
            f"predict: X has shape {X.shape}, must have {width} columns as in the fit; give the "
            "same columns in the same order."
        )
    offset = check_offset("predict", offset, (X.shape[0], *result.w.shape[1:]))
    return np.asarray(X @ result.w + result.intercept + (0.0 if offset is None else offset))
