"""``history_``, drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _checks

LABELS = {
    "iteration": "steps",
    "passes": "passes over the data",
    "value": "objective",
    "gradient_norm": "norm of the gradient (scaled variables)",
}


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
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
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

    def __init__(self, history: dict[str, np.ndarray], *, name: str | None = None) -> None:
        self.history, self.name = history, name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, name: str | None = None, **keywords: Any
    ) -> HistoryDisplay:
        """Plot the history of a fitted estimator.

        Parameters
        ----------
        estimator : HeavyBallRegressor or HeavyBallClassifier
            A fitted estimator.
        ax : matplotlib Axes, default=None
            None makes a figure.
        name : str or None, default=None
            None is the estimator's class.
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
        x : {"passes", "iteration"}, default="passes"
            The quantity of the horizontal axis.
        y : {"gradient_norm", "value"}, default="gradient_norm"
            The quantity of the vertical axis.
        **line : object
            Keywords of matplotlib's ``plot``.

        Returns
        -------
        HistoryDisplay
            The display, drawn.
        """
        x = _checks.choice("plot", "x", x, ["passes", "iteration"])
        y = _checks.choice("plot", "y", y, ["gradient_norm", "value"])
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots()
        outputs = np.unique(self.history["output"])
        lines = []
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
