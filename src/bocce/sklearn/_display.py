"""``history_`` and paths of penalties, drawn."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _checks
from .._pictures import axes_for
from ..rows import Array

LABELS = {
    "iteration": "steps",
    "passes": "passes over the data",
    "value": "objective",
    "gradient_norm": "norm of the gradient (scaled variables)",
}


@dataclass(eq=False, repr=False)
class HistoryDisplay:
    """How a fit went: the gradient's norm, or the objective, against passes or steps.

    Made by ``estimator.plot_history()`` or :meth:`from_estimator`.

    Parameters
    ----------
    history : dict of arrays
        As ``history_``.
    name : str or None, default=None
        What the legend says.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : matplotlib Line2D, or a list of them where there are several outputs

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from bocce.sklearn import HeavyBallRegressor, HistoryDisplay
    >>> model = HeavyBallRegressor().fit(*make_regression(random_state=0))
    >>> display = HistoryDisplay.from_estimator(model)
    >>> display.ax_.get_yscale()
    'log'
    """

    history: dict[str, Array]
    _: KW_ONLY
    name: str | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, name: str | None = None, **keywords: Any
    ) -> HistoryDisplay:
        """Plot the history of a fitted estimator.

        Parameters
        ----------
        estimator : HeavyBallRegressor or HeavyBallClassifier
            A fitted estimator.
        ax, name : matplotlib Axes and str, default=None
            None makes a figure, and is named by the estimator's class.
        **keywords : object
            Keywords of :meth:`plot`.

        Returns
        -------
        HistoryDisplay
            The display, drawn.
        """
        check_is_fitted(estimator, "history_")
        name = type(estimator).__name__ if name is None else name
        return cls(estimator.history_, name=name).plot(ax=ax, **keywords)

    def plot(
        self, ax: Any = None, *, x: str = "passes", y: str = "gradient_norm", **line: Any
    ) -> HistoryDisplay:
        """Draw a line for each output.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        x, y : {"passes", "iteration"} and {"gradient_norm", "value"}
            The quantities of the axes.
        **line : object
            Keywords of matplotlib's ``plot``.

        Returns
        -------
        HistoryDisplay
            The display, drawn.
        """
        x = _checks.choice("plot", "x", x, ["passes", "iteration"])
        y = _checks.choice("plot", "y", y, ["gradient_norm", "value"])
        outputs, lines = np.unique(self.history["output"]), []
        ax = axes_for("HistoryDisplay.plot", ax)
        for output in outputs:
            rows = self.history["output"] == output
            label = self.name if outputs.size == 1 else f"{self.name}, output {output}"
            style = {"label": label, **line}
            lines += ax.plot(self.history[x][rows], self.history[y][rows], **style)
        ax.set(xlabel=LABELS[x], ylabel=LABELS[y])
        if y == "gradient_norm" and (self.history[y] > 0).any():
            ax.set_yscale("log")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        self.line_ = lines[0] if outputs.size == 1 else lines
        return self


@dataclass(eq=False, repr=False)
class PathDisplay:
    """Scores of cross-validation, or coefficients, against the penalty.

    Made by :meth:`from_estimator` and :meth:`from_results`.

    Parameters
    ----------
    l2s, lines : arrays of shape (n_l2s,) and (n_lines, n_l2s)
        The penalties; scores of the folds, or coefficients.
    l2 : float or None, default=None
        A penalty to mark.
    mean : bool, default=True
        Draw the mean of the lines and a band of one standard deviation, not each line.
    label : str, default="score"
        Of the vertical axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bocce.sklearn import HeavyBallClassifierCV, PathDisplay
    >>> model = HeavyBallClassifierCV(l2s=5).fit(*load_iris(return_X_y=True))
    >>> PathDisplay.from_estimator(model).ax_.get_xscale()
    'log'
    """

    l2s: Array
    lines: Array
    _: KW_ONLY
    l2: float | None = None
    mean: bool = True
    label: str = "score"

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
        l2s, results : array-like and list of Result
            The penalties, and what ``bocce.path`` gave for them.
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
        ax, order = axes_for("PathDisplay.plot", ax), np.argsort(self.l2s)
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
