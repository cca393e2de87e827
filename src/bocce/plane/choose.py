"""Which scores and which metric policy a problem gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..problems import Problem
from ..rows import ArrayRows, FileRows
from .metrics import METRICS, MetricPolicy
from .metrics.newton_cg import rows_are_even
from .scores import ArrayScores, FileScores, MemoryScores, RecomputedScores, Scores
from .scores.file import Solve

# With at most this many numbers of X, sums do not pay: the last digits need the rows anyway.
FEW = 20_000
Given = str | Callable[[Problem], MetricPolicy]


def policy_for(problem: Problem, metric: Given = "auto", inner: bool = False) -> MetricPolicy:
    """The policy that ``metric`` names or makes, or the usual one of the problem.

    ``inner``: may a step make several passes to find its direction? ValueError if the policy is not
    for this problem.
    """
    if callable(metric):
        return metric(problem)
    if metric != "auto":
        kind = METRICS[metric]
        if not kind.suits(problem):
            raise ValueError(
                f"plane: metric={metric!r} must suit the problem, and is not for {problem!r}; use "
                '"auto", or another of ' + ", ".join(METRICS) + "."
            )
        return kind(problem)
    names = ["rowspace", "hessian", "diagonal"]
    if inner and METRICS["newton-cg"].suits(problem) and rows_are_even(problem):
        names = ["newton-cg"]
    return next(METRICS[name](problem) for name in names if METRICS[name].suits(problem))


def scores_for(
    problem: Problem, memory: int, outputs: tuple[int, ...], solve: Solve | None, score_bytes: int
) -> Scores:
    """The scores of all rows, where the rows lie: on workers, in a file, on a device, in memory.
    Scores of several outputs that take more than ``score_bytes`` are not stored."""
    if problem.scores is not None:
        own: Scores = problem.scores(problem, memory, outputs)
        return own
    made: Any = problem  # of the class that serves rows of this storage
    if problem.given.storage == FileRows.storage:
        return FileScores(made, memory, outputs, solve)
    if problem.given.storage == ArrayRows.storage:
        return ArrayScores(made, memory, outputs)
    if outputs and RecomputedScores.needed(problem, memory, score_bytes):
        return RecomputedScores(problem, memory, outputs)
    return MemoryScores(problem, memory, outputs)


def sums_suffice(problem: Problem, policy: MetricPolicy | None = None) -> bool:
    """Can sums over all rows, computed once, replace the rows, and are the sums finite? ``policy``:
    the policy of the metric, if known."""
    if not (problem.loss.quadratic and problem.rows.in_memory) or problem.n * problem.d <= FEW:
        return False
    policy = policy or policy_for(problem)
    return policy.before_first_step and bool(problem.sums.sound)


def sample_pays(problem: Problem, policy: MetricPolicy, numbers: int, a_column: int) -> bool:
    """Is it worth solving a sample of the rows in memory first? Yes with at least ``numbers``
    numbers of X and ``a_column`` rows a column."""
    rows = problem.rows
    if not rows.in_memory or problem.handed_on is not None:
        return False
    enough = rows.cost >= numbers and problem.n >= a_column * rows.d
    return bool(policy.samples_first and enough)
