"""A path of penalties, drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..rows import Array


class PathDisplay:
    """Scores of cross-validation, or coefficients, against the penalty.

    Made by :meth:`from_estimator` and :meth:`from_results`.

    Parameters
    ----------
    l2s : array of shape (n_l2s,)
        The penalties.
    lines : array of shape (n_lines, n_l2s)
        What is drawn: scores of the folds, or coefficients.
    l2 : float or None, default=None
        A penalty to mark.
    mean : bool, default=True
        Draw the mean of the lines and a band of one standard deviation, not each line.
    label : str, default="score"
        Of the vertical axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bocce.sklearn import HeavyBallClassifierCV, PathDisplay
    >>> model = HeavyBallClassifierCV(l2s=5).fit(*load_iris(return_X_y=True))
    >>> PathDisplay.from_estimator(model).ax_.get_xscale()
    'log'
    """

    def __init__(
        self,
        l2s: Array,
        lines: Array,
        *,
        l2: float | None = None,
        mean: bool = True,
        label: str = "score",
    ) -> None:
        self.l2s, self.lines, self.l2, self.mean, self.label = l2s, lines, l2, mean, label

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **line: Any) -> PathDisplay:
        """Plot ``scores_`` of a fitted HeavyBallClassifierCV or HeavyBallRegressorCV.

        Parameters
        ----------
        estimator : HeavyBallClassifierCV or HeavyBallRegressorCV
            A fitted estimator.
        ax : matplotlib Axes, default=None
            None makes a figure.
        **line : object
            Keywords of matplotlib's ``plot``.

        Returns
        -------
        PathDisplay
            The display, drawn.
        """
        check_is_fitted(estimator, "scores_")
        display = cls(estimator.l2s_, estimator.scores_, l2=estimator.l2_)
        return display.plot(ax, **line)

    @classmethod
    def from_results(cls, l2s: Any, results: Any, *, ax: Any = None, **line: Any) -> PathDisplay:
        """Plot the coefficients of ``bocce.path(p, l2s)``, a line each.

        Parameters
        ----------
        l2s : array-like
            The penalties.
        results : list of Result
            The results of ``bocce.path`` for these penalties.
        ax : matplotlib Axes, default=None
            None makes a figure.
        **line : object
            Keywords of matplotlib's ``plot``.

        Returns
        -------
        PathDisplay
            The display, drawn.
        """
        lines = np.array([result.w.ravel() for result in results]).T
        display = cls(np.asarray(l2s, dtype=float), lines, mean=False, label="coefficient")
        return display.plot(ax, **line)

    def plot(self, ax: Any = None, **line: Any) -> PathDisplay:
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        **line : object
            Keywords of matplotlib's ``plot``.

        Returns
        -------
        PathDisplay
            The display, drawn.
        """
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots()
        order = np.argsort(self.l2s)
        x, lines = self.l2s[order], self.lines[:, order]
        if self.mean:
            middle, spread = lines.mean(axis=0), lines.std(axis=0)
            ax.fill_between(x, middle - spread, middle + spread, alpha=0.2)
            ax.plot(x, middle, **{"marker": "o", **line})
        else:
            ax.plot(x, lines.T, **{"linewidth": 1.0, **line})
        if self.l2 is not None:
            ax.axvline(self.l2, linestyle="--", color="0.4", label=f"l2 = {self.l2:.3g}")
            ax.legend()
        if (x > 0.0).all():
            ax.set_xscale("log")
        ax.set(xlabel="l2", ylabel=self.label)
        self.ax_, self.figure_ = ax, ax.figure
        return self
