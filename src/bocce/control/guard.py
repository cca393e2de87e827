"""The divergence guard: notice, go back to the best iterate, halve the step, and say so."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._record import record
from ..problems import Look
from ..rows import Array
from ..schedules import Method, Schedule
from .base import Best, Limits, RunVerdict, Stage, StageReport

VALUE_FACTOR = 4.0  # f above so many times f(w0) is divergence
NORM_FACTOR = 10.0  # so is a gradient norm so many times the best, three records running
RUNNING = 3
FIRST_LOOK = 16
LOOKS = 8  # a run is looked at at least so often


@dataclass(frozen=True)
class Guarded:
    """A method that ``minimize`` runs under the guard; made by ``guard``.

    Parameters
    ----------
    method : Schedule or str
        As for ``guard``.
    """

    method: str | Schedule


def guard(method: str | Schedule) -> Guarded:
    """A schedule or a named method under the divergence guard.

    The guard looks at the run at steps that are spaced geometrically, and takes it back if it
    overflowed; if f > 4 f(w0) (at full batch, f > f(w0)); or if the last three recorded gradient
    norms grow and exceed 10 times the best one, or what sampling noise alone explains at w0. The
    run then goes on from the best iterate, from rest: a named method with L, L_max and kappa~
    doubled, a schedule with half its steps. ``Result.message`` counts the retreats.

    Guarantee: the result is the best iterate at a look, so f is never above f(w0). An L too
    small by a factor nu costs at most about log2(nu) + 1 retreats. Source: not in the paper.

    Parameters
    ----------
    method : Schedule or str
        A schedule, or the name of a method.

    Returns
    -------
    Guarded
        The method, for ``minimize``.

    Raises
    ------
    TypeError
        If ``method`` is neither; a line search needs no guard.

    Examples
    --------
    >>> import bocce
    >>> X, y, _ = bocce.data.regression(n=200, d=5, kappa=10.0)
    >>> p = bocce.LeastSquares(X, y)
    >>> wild = bocce.schedules.nesterov(500, L=0.2 * p.constants().L, mu=1.0)
    >>> [bocce.minimize(p, method, batch_size=200).status for method in (wild, guard(wild))]
    ['diverged', 'finished']
    """
    if not isinstance(method, (str, Schedule)):
        raise TypeError(
            f"guard: method={method!r} must be a schedule or a registry name; a line search "
            "needs no guard, it looks before it steps."
        )
    return Guarded(method)


@dataclass(frozen=True)
class Recipe:
    """How to build a named method again: the registry entry and the constants it was built with."""

    method: Method
    constants: dict[str, Any]

    def build(self, T: int, doublings: int = 0) -> Any:
        """The method for T steps with L, L_max and kappa~ doubled so many times."""
        scale = 2.0**doublings
        grown = {
            name: scale * value if name in ("L", "L_max", "kappa_tilde") and value else value
            for name, value in self.constants.items()
        }
        return self.method.build(T, grown)


class Levels(NamedTuple):
    """Below what the guard does not judge."""

    rounding: float  # of a gradient norm
    noise: float  # the gradient norm that sampling noise alone explains
    slack: float  # the rounding of f
    gap: int = FIRST_LOOK  # steps to the first look, so that looks cost little


class GuardedRun:
    """A table under the guard: stages end where it is looked at."""

    open_ended = False

    def __init__(
        self,
        table: Schedule,
        batch: int,
        name: str,
        levels: Levels,
        recipe: Recipe | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.first_table = self.table = table
        self.batch = batch
        self.name = name
        self.levels = levels
        self.recipe = recipe
        self.limits = limits or Limits()
        self.went_back: list[int] = []
        self.highest = math.inf  # the largest recorded norm before the last look
        self.k = 0  # where the stage under way began
        self.origin = 0
        self.coming = levels.gap

    @property
    def retreats(self) -> int:
        return len(self.went_back)

    def answer(self, w: Array, verdict: RunVerdict) -> Array:
        if verdict in (RunVerdict.CONVERGED, RunVerdict.STOPPED):
            return w
        return self.best.w

    def begin(self, w: Array, first: Look) -> None:
        self.best = Best.of(w.copy(), first)
        self.first_value = first.value
        self.best_norm = self.best.norm

    def current(self) -> Stage:
        end = min(self.coming, self.table.T)
        return Stage(self.name, self.table, self.batch, end - self.k, row=self.k)

    def next(self, report: StageReport | None) -> Stage | RunVerdict:
        if report is None:
            return self.current()
        look = report.look(report.w)
        self.k = report.k
        if self._diverges(look.value, look.norm, report.norms) or report.verdict:
            return self._retreat()
        self._keep(report.w, look.value, look.norm, report.norms)
        if report.k < self.table.T:
            return self.current()
        return RunVerdict.RUNNING

    def _diverges(self, value: float, norm: float, norms: Array) -> bool:
        """Should the run be taken back? See ``guard`` for the three cases."""
        if not (math.isfinite(value) and math.isfinite(norm)):
            return True
        levels = self.levels
        factor = VALUE_FACTOR if levels.noise > 0.0 else 1.0  # nothing excuses a full batch
        if value > factor * self.first_value + levels.slack and norm > levels.rounding:
            return True
        level = NORM_FACTOR * max(self.best_norm, levels.noise, levels.rounding)
        last = norms[-RUNNING:]
        return bool(last.size == RUNNING and last.min() > level and norms.max() > self.highest)

    def _keep(self, w: Array, value: float, norm: float, norms: Array) -> None:
        """The look was fine: remember the best, and when to look next."""
        if value <= self.best.value + (self.levels.slack if norm <= self.best.norm else 0.0):
            self.best = Best(w.copy(), value, norm)
        self.best_norm = min(self.best_norm, norm, norms.min(initial=math.inf))
        if norms.size:
            self.highest = float(norms.max(initial=0.0))
        else:
            self.highest = self.highest
        apart = min(self.coming - self.origin, self.table.T // LOOKS)
        self.coming += max(self.levels.gap, apart)

    def _retreat(self) -> Stage | RunVerdict:
        if len(self.went_back) >= self.limits.most_retreats:
            return RunVerdict.DIVERGED
        self.went_back.append(self.k)
        if self.k >= self.table.T:
            return RunVerdict.RUNNING
        self.table = shorter(self.table, self.k, len(self.went_back), self.recipe)
        self.origin = self.k
        self.highest = math.inf
        self.coming = self.k + self.levels.gap
        return replace(self.current(), start=self.best.w)

    def state(self) -> dict[str, Array]:
        numbers = record(
            first_value=self.first_value,
            best_value=self.best.value,
            best_point_norm=self.best.norm,
            best_norm=self.best_norm,
            highest=self.highest,
            k=self.k,
            origin=self.origin,
            coming=self.coming,
        )
        retreats = np.array(self.went_back, dtype=np.int64)
        return numbers | {"retreats": retreats, "best": self.best.w}

    def load(self, state: dict[str, Array]) -> None:
        self.first_value = float(state["first_value"])
        value = float(state["best_value"])
        self.best = Best(state["best"], value, float(state["best_point_norm"]))
        self.best_norm = float(state["best_norm"])
        self.highest = float(state["highest"])
        self.k = int(state["k"])
        self.origin = int(state["origin"])
        self.coming = int(state["coming"])
        self.table = self.first_table
        self.went_back = [int(k) for k in state["retreats"]]
        steps = [0, *self.went_back, self.k]
        if not (
            steps == sorted(steps)
            and len(self.went_back) <= self.limits.most_retreats
            and 0 <= self.origin <= self.k <= min(self.coming, self.table.T)
        ):
            raise ValueError("its counters are not those of a run")
        for count, k in enumerate(self.went_back, start=1):
            self.table = shorter(self.table, k, count, self.recipe)


def shorter(table: Schedule, k: int, retreats: int, recipe: Recipe | None) -> Schedule:
    """``table`` up to step k, then from rest with shorter steps."""
    if k >= table.T:
        return table
    rest = Schedule(0.5 * table.alpha[k:], table.beta[k:], table.theta[k:])
    if recipe is not None:
        rest = recipe.build(table.T - k, retreats)
    if k == 0:
        return Schedule(*rest.table, table.name)
    alpha, beta, theta = (column[:k] for column in table.table)
    return Schedule(alpha, beta, theta).then(rest, name=table.name)
