"""The four records of a plan: the run, the batch sizes, the data, and the outlook."""

from __future__ import annotations

from dataclasses import dataclass

from ..exact import UsefulBatches
from ..problems import Constants
from .forecast import Expectation, PlannedStage


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
class PlannedRun:
    """What ``minimize`` with the same arguments does.

    Attributes
    ----------
    method : str
        The name of the method.
    stages : tuple of PlannedStage
        The stages that ``minimize`` will run.
    passes : float or None
        The expected passes over the data; None where they are unknown before the run.
    batch_size : int
        The batch size of the first stage, in rows.
    alpha, beta, theta : float or None
        Step size, momentum and lookahead where alpha/(1 - beta) is largest; on all rows, those of
        ``auto``.
    steps : int or None
        The expected number of steps; with T or a batch given, the number that the method needs at
        that batch.
    T : int or None
        The number of steps that was given.
    tol : float
        The tolerance.
    """

    method: str
    stages: tuple[PlannedStage, ...]
    passes: float | None
    batch_size: int
    alpha: float | None
    beta: float | None
    theta: float | None
    steps: int | None
    T: int | None
    tol: float


@dataclass(frozen=True)
class BatchSizes:
    """What batch sizes cost, and those that stand out; None where there are no constants.

    Attributes
    ----------
    accuracy : float
        The accuracy that the costs refer to.
    sweep : tuple of Point
        The cost of each batch size.
    knee, cheapest, recommended : int or None
        The batch size above which few steps are saved; the batch size with the fewest gradient
        evaluations; the recommended batch size.
    accelerating : int or None
        The batch size from which heavy ball is certified to be fully accelerated.
    paper_batch, certified_batch, exact_batch : float or None
        The batch size b* of Theorem 2; the batch size from which Theorem S certifies that the
        paper's heavy ball is stable; its exact critical batch size.
    useful : exact.UsefulBatches or None
        The useful batch with and without momentum, where exact analysis is affordable.
    """

    accuracy: float
    sweep: tuple[Point, ...] = ()
    knee: int | None = None
    cheapest: int | None = None
    recommended: int | None = None
    accelerating: int | None = None
    paper_batch: float | None = None
    certified_batch: float | None = None
    exact_batch: float | None = None
    useful: UsefulBatches | None = None


@dataclass(frozen=True)
class PlannedData:
    """What is known of the data.

    Attributes
    ----------
    problem, how : str
        The problem in words; how the constants were computed.
    n, d : int
        The number of rows; the number of columns.
    constants : Constants or None
        The curvature constants of the problem.
    mu : float or None
        The curvature that the plan assumes: mu, or where mu is 0, the curvature found by a trial.
    chi2 : float
        The gradient noise at the minimiser.
    """

    problem: str
    n: int
    d: int
    constants: Constants | None
    how: str
    mu: float | None
    chi2: float


@dataclass(frozen=True)
class Outlook:
    """What is known of the result before the run.

    Attributes
    ----------
    certified_error : float or None
        The certified root-mean-square error after T steps.
    expectation : Expectation or None
        What is known of the method's table before the run.
    """

    certified_error: float | None = None
    expectation: Expectation | None = None
