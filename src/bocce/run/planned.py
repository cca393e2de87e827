"""The result of ``plan``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .. import _html, _pictures
from .._pictures import Axes
from ..problems import Constants
from . import plan_words
from .expectation import Expectation
from .forecast import PlannedStage


@dataclass(frozen=True)
class Point:
    """The cost of one batch size.

    Attributes
    ----------
    batch_size, steps, evaluations : int
        The batch size in rows; the number of steps to the accuracy; the number of gradients of
        rows.
    """

    batch_size: int
    steps: int
    evaluations: int


@dataclass(frozen=True)
class Plan:
    """The result of ``plan``; ``str`` gives a page for a terminal, ``to_dict`` plain values.

    A number that does not exist for the problem is None. On a loss without a bound on its curvature
    these are all numbers except the stages.

    Attributes
    ----------
    problem : str
        The problem in words.
    n, d : int
        The number of rows; the number of columns.
    constants : Constants or None
        The curvature constants of the problem.
    how : str
        How the constants were computed.
    mu : float or None
        The curvature that the plan assumes: mu, or where mu is 0, the curvature found by a trial.
    chi2 : float
        The gradient noise at the minimiser.
    method : str
        The name of the method.
    stages : tuple of PlannedStage
        The stages that ``minimize`` will run.
    passes : float or None
        The expected passes over the data; None where they are unknown before the run.
    batch_size : int
        The batch size of the first stage, in rows.
    alpha : float or None
        The step size where alpha/(1 - beta) is largest; on all rows, the step of ``auto``.
    beta, theta : float or None
        The momentum at the same step; the lookahead at the same step.
    steps : int or None
        The expected number of steps; with T or a batch given, the number that the method needs at
        that batch.
    T : int or None
        The number of steps that was given.
    tol, accuracy : float
        The tolerance; the accuracy that the costs of batch sizes refer to.
    sweep : tuple of Point
        The cost of each batch size.
    knee, cheapest, recommended : int or None
        The batch size above which few steps are saved; the batch size with the fewest gradient
        evaluations; the recommended batch size.
    accelerating : int or None
        The batch size from which heavy ball is certified to be fully accelerated.
    paper_batch, certified_batch, exact_batch, certified_error : float or None
        The batch size b* of Theorem 2; the batch size from which Theorem S certifies stability; the
        exact critical batch size; the certified root-mean-square error after T steps.
    expectation : Expectation or None
        What is known of the method's table before the run.
    words : str
        The plan in words.
    """

    problem: str
    n: int
    d: int
    constants: Constants | None
    how: str  # how the constants were got
    mu: float | None  # the curvature planned for: mu, or where that is 0, what was found
    chi2: float  # the gradient noise at the minimiser
    # -- what ``minimize`` will do with the same arguments
    method: str
    stages: tuple[PlannedStage, ...]
    passes: float | None  # over the data, expected; None: that cannot be said before the run
    batch_size: int  # the first stage's
    alpha: float | None  # where alpha/(1 - beta) is largest; on all rows, what ``auto`` would take
    beta: float | None
    theta: float | None
    steps: int | None  # expected; with T or a batch given, those the method needs at that batch
    T: int | None
    tol: float
    # -- what a batch size would cost if one were given
    accuracy: float
    sweep: tuple[Point, ...]
    knee: int | None  # a larger batch saves few steps
    cheapest: int | None  # the fewest gradient evaluations
    recommended: int | None
    accelerating: int | None  # from here on heavy ball is fully accelerated, certified
    # -- from which batch on the paper's heavy ball is stable
    paper_batch: float | None  # b* of Theorem 2, of n rows
    certified_batch: float | None  # by Theorem S
    exact_batch: float | None  # in truth
    certified_error: float | None  # root mean square, after T steps; None where none is known
    expectation: Expectation | None  # of the method's own table; None where it has none
    words: str

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, for a program.

        Returns
        -------
        dict
            All fields by name.
        """
        return asdict(self)

    def __str__(self) -> str:
        return plan_words.page(self)

    def _repr_html_(self) -> str:
        return _html.plan(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what batch sizes cost: steps on the left, passes over the data on the right.

        Parameters
        ----------
        ax : two matplotlib Axes, optional
            Where to draw; by default a new figure is made.

        Returns
        -------
        array of two matplotlib Axes
            The axes that were drawn on.

        Examples
        --------
        >>> import bocce
        >>> X, y, _ = bocce.data.regression(n=200, d=5, kappa=10.0)
        >>> [ax.get_ylabel() for ax in bocce.plan(bocce.LeastSquares(X, y)).plot()]
        ['steps', 'passes over the data']
        """
        return _pictures.plan(self, ax)
