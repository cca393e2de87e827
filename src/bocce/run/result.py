"""What a run gives back, and what it shows on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .. import _html, _pictures
from .._pictures import Axes
from .._types import Design, Vector
from ..control.base import Steps
from ..rows import Array
from . import model


class Progress(NamedTuple):
    """The state of a run that a callback gets at each recorded step; returning True stops the run.

    Attributes
    ----------
    k : int
        The number of steps so far.
    w : ndarray
        The weights.
    grad_norm, value : float
        The norm of the full gradient; the value of the objective.
    gradient : ndarray, optional
        The full gradient, where the run knows it.
    intercept : float or ndarray, default 0.0
        The intercept; with softmax, one for each class.
    """

    k: int
    w: Array
    grad_norm: float
    value: float
    gradient: Array | None = None
    intercept: Any = 0.0  # with softmax, one for each class


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
        norm is at most tol times the first one. "diverged": the run overflowed, or f ended above
        its start by more than noise explains.
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
    columns : list of str, optional
        The names of the features, where they have names.
    target, weights, offset : str, optional
        The names of the target and of the columns of weights and offsets.
    encoding : Encoding, optional
        How text and dates became numbers, see ``bocce.data.open``.
    imputed : list of float, optional
        The values that stood for missing ones, one a column.
    excluded : list of str, optional
        The names of columns that were left out, which predictions ignore.
    """

    w: Array
    status: str
    n_iter: int
    history: dict[str, Array]
    schedule: Steps | None
    seed: int
    batch_size: int
    message: str
    intercept: Any = 0.0  # with softmax, one for each class
    stages: list[StageRun] = field(default_factory=list)
    loss: Any = None  # what predictions need to know
    classes: Array | None = None  # the labels, where the loss is on classes
    columns: list[str] | None = None  # names of the features, where they have some
    target: str | None = None
    weights: str | None = None
    offset: str | None = None
    encoding: Any = None
    imputed: list[float] | None = None
    excluded: list[str] | None = None

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
        return model.predict(self, X, offset)

    def predict_proba(self, X: Design, offset: Vector | None = None) -> Array:
        """Probabilities of the classes, for the logistic and softmax losses.

        Parameters
        ----------
        X : array or sparse matrix
            Rows, of shape (n, d).
        offset : array-like, optional
            A number for each row, added to its score, as in the fit.

        Returns
        -------
        ndarray
            Probabilities of shape (n, K), in the order of ``classes``.

        Raises
        ------
        ValueError
            If the loss has no probabilities, or X has another number of columns than the fit.
        """
        return model.predict_proba(self, X, offset)

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
