"""What a run gives back, and what it shows on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .. import _html, _pictures
from ..rows import Array
from . import model


class Progress(NamedTuple):
    """What a callback is shown at each recorded step; returning True stops the run.

    ``gradient`` is the full gradient at w where the run has it at hand, else None.
    """

    k: int
    w: Array
    grad_norm: float
    value: float
    gradient: Array | None = None
    intercept: Any = 0.0  # with softmax, one for each class


class StageRun(NamedTuple):
    """A stage as it was run."""

    method: str
    steps: int
    batch: int


@dataclass(frozen=True)
class Result:
    """A finished run. ``status``: "finished" (all steps taken, or a callback said stop),
    "converged" (gradient norm at most tol times the first) or "diverged" (the run overflowed, or f
    ended above its start by more than noise explains; ``w`` is the last finite iterate and
    ``message`` names the remedy).

    ``schedule`` is the table (or policy) of the steps taken in batches, None where there were none;
    ``stages`` says what was run, as (method, steps, batch).
    """

    w: Array
    status: str
    n_iter: int
    history: dict[str, Array]
    schedule: Any
    seed: int
    batch_size: int
    message: str
    intercept: Any = 0.0  # with softmax, one for each class
    stages: list[StageRun] = field(default_factory=list)
    loss: Any = None  # what predictions need to know
    classes: Any = None  # the labels, where the loss is on classes
    columns: list[str] | None = None  # names of the features, where they have some
    target: str | None = None

    def predict(self, X: Any) -> Array:
        """Predictions for rows: labels of classes, means of counts and amounts, or numbers.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)

        Raises
        ------
        ValueError
            If X has another number of columns than the fit.

        Examples
        --------
        >>> import numpy as np, bocce
        >>> p = bocce.Logistic(np.array([[0.0], [1.0], [2.0]]), ["no", "no", "yes"], 0.1)
        >>> bocce.minimize(p, tol=1e-6).predict([[-1.0], [3.0]]).tolist()
        ['no', 'yes']
        """
        return model.predict(self, X)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, for the logistic and softmax losses.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, K)
            In the order of ``classes``.

        Raises
        ------
        ValueError
            If the loss has no probabilities, or X another number of columns.
        """
        return model.predict_proba(self, X)

    def __repr__(self) -> str:
        final = self.history["grad_norm"]
        shown = f"{final[-1]:.3g}" if final.size else "none"
        return f"Result({self.status}, n_iter={self.n_iter}, grad_norm={shown}: {self.message})"

    def _repr_html_(self) -> str:
        return _html.result(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw the gradient's norm, over that of the start, by gradients of rows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None makes a figure.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.

        Examples
        --------
        >>> import bocce
        >>> X, y, _ = bocce.data.regression(n=200, d=5, kappa=10.0)
        >>> bocce.minimize(bocce.LeastSquares(X, y), "shb", T=50).plot().get_xlabel()
        'gradients of rows'
        """
        return _pictures.result(self, ax)
