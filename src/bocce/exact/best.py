"""The best schedule there is for given data, batch, horizon and start: computed, not tuned."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _checks
from ..schedules import REGISTRY, Schedule
from ..schedules.schedule import Table
from .adjoint import Dynamics, GaussianMoments, Means, value_and_gradient
from .budget import LOST, Budget
from .curves import BatchSize, Curve, batch_noise, curve_of
from .model import Model, exact_model
from .moments import FloatArray
from .search import (
    FIRST_STEPS,
    conjugate_gradients,
    coordinates,
    descend,
    gradient_of_coordinates,
    search,
    search_from,
    table_of,
)

STARTS = 3  # tables of the registry that the search begins from, the best ones
SMOOTHING = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # zeta0^2 on the way to a best schedule on all rows
SMOOTHING_TOL = 1.0
SHARPNESS = (10.0, 100.0)  # of the soft maximum over scenarios, one after the other


@dataclass(frozen=True)
class BestSchedule:
    """The result of ``best_schedule``.

    Attributes
    ----------
    schedule : Schedule
        The table that was found.
    value : float
        E f(w_T) - f*, or E||w_T - w*||^2; with scenarios the largest ratio to the scenarios' own
        best values.
    curve : Curve
        The expectations of the schedule on the model.
    gradient : float
        T times the largest derivative of log(value) that no bound holds back.
    converged : bool
        Whether ``gradient`` is at most tol.
    history : tuple of float
        The value after each step of L-BFGS.
    batch_sizes : ndarray of int
        The rows of each step.
    bests : tuple of float, default ()
        With scenarios, the values that the table is compared with.
    """

    schedule: Schedule
    value: float
    curve: Curve
    gradient: float
    converged: bool
    history: tuple[float, ...]
    batch_sizes: npt.NDArray[np.int64]
    bests: tuple[float, ...] = ()


def best_schedule(
    model: Model,
    T: int,
    batch_size: int | float | None = None,
    *,
    budget: int | None = None,
    start: npt.ArrayLike | None = None,
    of: str = "gap",
    scenarios: Sequence[Mapping[str, Any]] | None = None,
    tol: float = 1e-3,
) -> BestSchedule:
    """The table of T steps with the least E f(w_T) - f* that a search over all 3 T numbers finds.

    The value is a polynomial in the 3 T numbers, and `bocce.exact.adjoint` has its gradient for
    about three curves. L-BFGS-B lowers log(value) over log alpha, log(1 - beta) <= 0 and
    log(1 + theta) >= 0, from the best tables of the registry, in at most 3,000 steps. The value is
    not convex, so the result is an upper bound on the best value there is.

    With ``budget`` the batch of each step is searched, too, as a fourth column: b_k >= 1 with the
    sum ``budget``, by the derivative in zeta0^2 of each step. The batches are then rounded to
    integers, and the table is searched again for them, so that the value is exact.
    Source: docs/theory/best-schedule.md.

    Parameters
    ----------
    model, start : Problem or exact.Gaussian, array-like
        Least squares with up to a few dozen columns, or a model with any spectrum; its start: w_0
        of a Problem (by default 0), or the squared error by eigenvalue (by default the model's).
    T, batch_size : int, int or float
        Number of steps; the batch: rows (int), or a share of n (float in (0, 1]); None with budget.
    budget : int, optional
        Rows of all batches together, at least T; the batch may then change from step to step.
    of : {"gap", "error"}, default "gap"
        The quantity at step T to minimise: E f - f*, or E||w - w*||^2.
    scenarios : sequence of dict, optional
        Each may hold "model", "batch_size" and "start", which replace the arguments. One table then
        has the least largest ratio to each scenario's own best value, or to its "value".
    tol : float, default 0.001
        The search stops when T times the largest derivative of log(value) is at most this.

    Returns
    -------
    BestSchedule

    Raises
    ------
    ValueError
        If an argument is out of range, or neither ``batch_size`` nor ``budget`` is given.

    Examples
    --------
    >>> from bocce.exact import Gaussian, expected
    >>> model = Gaussian([1.0, 0.1])
    >>> best = best_schedule(model, 2, 1)  # two steps with one fresh row each
    >>> bool(best.value < expected(model, "auto", 1, T=2).gap[-1])
    True
    """
    where = "best_schedule"
    T = _checks.integer(where, "T", T, least=1, remedy="give the number of steps")
    tol = _checks.real(where, "tol", tol, above=0.0, remedy="1e-3 is usual")
    _checks.choice(where, "of", of, ["gap", "error"])
    if budget is not None:
        return _budgeted(where, model, T, batch_size, budget, start, of, scenarios, tol)
    if batch_size is None and scenarios is None:
        rule = "the rows of a batch, or budget the rows of all"
        raise _checks.refused(ValueError, where, "batch_size", None, rule, "give one of the two")
    base: dict[str, Any] = {"model": model, "batch_size": batch_size, "start": start}
    if scenarios is None:
        return _single(Case(where, **base, of=of), T, tol)
    return _universal(where, base, list(scenarios), T, of, tol)


def regret(
    schedule: Schedule,
    model: Model,
    batch_size: int | float,
    *,
    start: npt.ArrayLike | None = None,
    of: str = "gap",
    tol: float = 1e-3,
) -> float:
    """How many times the best value a schedule ends with: its value over ``best_schedule``'s.

    Parameters
    ----------
    schedule : Schedule
        The table to compare.
    model, batch_size, start, of, tol : Problem or exact.Gaussian, numbers
        As for ``best_schedule``.

    Returns
    -------
    float
        At least 1, up to what the search left; infinite if the schedule diverges.

    Raises
    ------
    TypeError, ValueError
        ``schedule`` is no schedule, or an argument is out of range.

    Examples
    --------
    >>> import bocce
    >>> from bocce.exact import Gaussian
    >>> regret(bocce.schedules.sgd(20, L=2.0), Gaussian([1.0, 0.1, 0.01]), 100) > 1.0
    True
    """
    if not isinstance(schedule, Schedule):
        remedy = "make one with bocce.schedules"
        raise _checks.refused(TypeError, "regret", "schedule", schedule, "a Schedule", remedy)
    best = best_schedule(model, schedule.T, batch_size, start=start, of=of, tol=tol)
    curve = Case("regret", model, batch_size, start, of).curve(schedule)
    return float((curve.gap if of == "gap" else curve.error2)[-1]) / best.value


class Case:
    """A model, a batch and a start, ready for values and gradients."""

    def __init__(
        self,
        where: str,
        model: Model,
        batch_size: int | float,
        start: npt.ArrayLike | None,
        of: str,
    ) -> None:
        self.of = of
        self.model = exact_model(where, model)
        self.model.start_with(start)
        self.b, self.zeta0_2 = self.model.sampling(batch_size)
        self.dynamics = self.model.dynamics(batch_size, of)

    @cached_property
    def constants(self) -> dict[str, Any]:
        """The numbers that the methods of the registry are built from."""
        return self.model.known(self.b)

    def curve(self, schedule: Schedule, batches: BatchSize | None = None) -> Curve:
        """The expectations of a schedule, with this batch or one of its own for each step."""
        zeta0_2 = self.zeta0_2 if batches is None else batch_noise(self.model, batches)
        return curve_of(self.model, schedule, zeta0_2)

    def log_value(self, table: Table, dynamics: Dynamics | None = None) -> tuple[float, FloatArray]:
        """log(value) and its derivatives in the table; LOST and 0 where the value overflows."""
        with np.errstate(all="ignore"):
            value, gradient = value_and_gradient(dynamics or self.dynamics, table)
        if not 0.0 < value < math.inf or not np.isfinite(gradient).all():
            return LOST, np.zeros_like(gradient)
        return math.log(value), gradient / value

    def at(self, u: FloatArray, dynamics: Dynamics | None = None) -> tuple[float, FloatArray]:
        """The same in the coordinates of the search."""
        table = table_of(u)
        value, gradient = self.log_value(table, dynamics)
        return value, gradient_of_coordinates(table, gradient)

    def tables(self, T: int) -> list[Table]:
        """The tables of the registry that end lowest, the lowest first."""
        found: list[Table] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a method says that T is short for it
            for method in REGISTRY.values():
                if any(self.constants.get(name) is None for name in method.needs):
                    continue
                try:
                    built = method.build(T, self.constants)
                except ValueError:  # the method refuses so short a run
                    continue
                found.append(built.table)
        means = self.dynamics.noise_free
        if means is not None:
            found.append(conjugate_gradients(means, T))
        ranked = sorted((self.log_value(table)[0], i) for i, table in enumerate(found))
        return [found[i] for value, i in ranked[:STARTS] if value < LOST]


def _smoothed(case: Case, means: Means, table: Table) -> Table:
    """On all rows, tables that differ by rounding end far apart; sampling noise, falling, leads."""
    u = coordinates(table)
    known = (means.lam, means.start[0] ** 2, means.weights)
    for zeta0_2 in SMOOTHING:
        noisy = partial(case.at, dynamics=GaussianMoments(*known, zeta0_2, 0.0))
        u = descend(noisy, u, FIRST_STEPS, SMOOTHING_TOL)[0]
    return table_of(u)


def _single(case: Case, T: int, tol: float) -> BestSchedule:
    starts = case.tables(T)
    means = case.dynamics.noise_free
    if starts and means is not None:
        starts.append(_smoothed(case, means, starts[-1]))
    if not starts:
        raise ValueError(
            "best_schedule: every table of the registry overflows or ends at 0 here; start away "
            "from the minimiser, or give columns of moderate size."
        )
    u, value, left, path = search(case.at, starts, tol)
    return _found(case, Schedule(*table_of(u), "best"), math.exp(value), left, tol, path)


def _found(
    case: Case, schedule: Schedule, value: float, left: float, tol: float, path: list[float]
) -> BestSchedule:
    history = tuple(math.exp(x) for x in path)
    batches = np.full(schedule.T, case.b)
    return BestSchedule(schedule, value, case.curve(schedule), left, left <= tol, history, batches)


def _budgeted(
    where: str,
    model: Model,
    T: int,
    batch_size: int | float | None,
    budget: int,
    start: npt.ArrayLike | None,
    of: str,
    scenarios: Any,
    tol: float,
) -> BestSchedule:
    """The best schedule with equal batches, then with batches that are free."""
    if batch_size is not None or scenarios is not None:
        rule = "None where batch_size or scenarios are given"
        raise _checks.refused(ValueError, where, "budget", budget, rule, "give one of them")
    remedy = f"each of the T={T} steps takes a row at least"
    rows = _checks.integer(where, "budget", budget, least=T, remedy=remedy)
    each = rows // T if model.n is None else min(rows // T, model.n)
    case = Case(where, model, each, start, of)
    equal = _single(case, T, tol)
    if each == model.n:
        return equal
    free = Budget(case.dynamics, T, rows, model.n)
    starts = free.starts(coordinates(equal.schedule.table))
    u, _, _, path = search_from(free.at, starts, tol, columns=4)
    batches = free.rounded(u[3 * T :])
    polish = partial(free.at_batches, batches)
    u, value, left, more = search_from(polish, [u[: 3 * T]], tol)
    if math.exp(value) > equal.value:
        return equal
    schedule = Schedule(*table_of(u), "best")
    curve = case.curve(schedule, batches)
    history = (*equal.history, *np.exp(path + more).tolist())
    return BestSchedule(schedule, math.exp(value), curve, left, left <= tol, history, batches)


def _universal(
    where: str, base: dict[str, Any], scenarios: list[Any], T: int, of: str, tol: float
) -> BestSchedule:
    """The least worst ratio, by soft maxima: log(sum exp(p log ratio))/p with growing p."""
    if not scenarios:
        raise ValueError(f"{where}: scenarios=[] must hold at least one dict; leave it out.")
    for given in scenarios:
        unknown = set(given) - {*base, "value"}
        if unknown:
            raise ValueError(
                f"{where}: a scenario has {sorted(unknown)}, may hold {sorted(base)} and 'value' "
                "alone; each replaces the argument of that name."
            )
    values = [given.get("value") for given in scenarios]
    merged = [{**base, **given} for given in scenarios]
    cases = [Case(where, **{name: part[name] for name in base}, of=of) for part in merged]
    singles = [_single(case, T, tol) for case, value in zip(cases, values) if value is None]
    own = iter(singles)
    bests = np.log([next(own).value if value is None else value for value in values])

    def ratios(u: FloatArray) -> tuple[FloatArray, FloatArray]:
        logs, gradients = zip(*(case.at(u) for case in cases))
        return np.array(logs) - bests, np.array(gradients)

    def soft(p: float, u: FloatArray) -> tuple[float, FloatArray]:
        logs, gradients = ratios(u)
        weights = np.exp(p * (logs - logs.max()))
        total = weights.sum()
        return float(logs.max() + math.log(total) / p), weights / total @ gradients

    starts = [single.schedule.table for single in singles]
    starts += [table for case in cases for table in case.tables(T)[:1]]
    path: list[float] = []
    for p in SHARPNESS:
        u, _, left, more = search(partial(soft, p), starts, tol)
        starts = [table_of(u)]
        path = path + more
    worst = float(np.exp(ratios(u)[0].max()))
    schedule = Schedule(*table_of(u), "universal")
    found = _found(Case(where, **base, of=of), schedule, worst, left, tol, path)
    return replace(found, bests=tuple(np.exp(bests)))
