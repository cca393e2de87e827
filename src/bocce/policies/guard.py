"""The divergence guard: notice, go back to the best iterate, halve the step, and say so."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..schedules import Method, Schedule

VALUE_FACTOR = 4.0  # f above so many times f(w0) is divergence
NORM_FACTOR = 10.0  # so is a gradient norm so many times the best, three records running
RUNNING = 3
MOST_RETREATS = 64
FIRST_LOOK = 16
LOOKS = 8  # a run is looked at at least so often


@dataclass(frozen=True)
class Guarded:
    """A method that ``minimize`` runs under the guard; made by ``guard``."""

    method: Any


def guard(method: Any) -> Guarded:
    """``method`` (a schedule, or a registry name) under the divergence guard.

    At steps spaced geometrically the run is looked at. It is taken back when it overflowed, when
    f > 4 f(w0) (at full batch, f(w0)), or when the last three recorded gradient norms exceed 10
    times the best (or what sampling noise alone explains at w0) and grow. Then: the best iterate
    seen at a look, from rest; a named method is built again for the steps left with L, L_max and
    kappa~ doubled, a schedule goes on with half its steps. Each retreat is counted and told in
    ``Result.message``.

    Guarantee: none is needed of the constants: after j retreats L is 2^j times what was given,
    so an L too small by a factor nu costs at most about log2(nu) + 1 retreats.

    Source: not in the paper.

    Examples
    --------
    >>> import bocce
    >>> X, y, _ = bocce.data.regression(n=200, d=5, kappa=10.0)
    >>> p = bocce.LeastSquares(X, y)
    >>> wild = bocce.schedules.nesterov(500, L=0.2 * p.constants().L, mu=1.0)
    >>> bocce.minimize(p, wild, batch_size=200).status
    'diverged'
    >>> r = bocce.minimize(p, guard(wild), batch_size=200)
    >>> r.status, bool(r.history["grad_norm"][-1] < 1e-6)
    ('finished', True)
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


def shorter(table: Schedule, k: int, retreats: int, recipe: Recipe | None) -> Schedule:
    """``table`` up to step k, then from rest with shorter steps."""
    if k >= table.T:
        return table
    if recipe is not None:
        rest = recipe.build(table.T - k, retreats)
    else:
        rest = Schedule(0.5 * table.alpha[k:], table.beta[k:], table.theta[k:])
    if k == 0:
        return Schedule(rest.alpha, rest.beta, rest.theta, table.name)
    past = Schedule(table.alpha[:k], table.beta[:k], table.theta[:k], table.name)
    return past.then(rest, name=table.name)


@dataclass
class Watch:
    """What the guard remembers between looks; it sees numbers, never steps."""

    T: int
    first_value: float
    rounding_norm: float  # smaller gradients are not judged
    noise_norm: float  # the gradient norm that sampling noise alone explains
    best_w: np.ndarray
    best_value: float
    best_norm: float
    highest: float = math.inf  # the largest recorded norm before the last look
    seen: int = 0  # records looked at
    origin: int = 0
    gap: int = FIRST_LOOK  # from the start, or a retreat, to the first look after it
    coming: int = FIRST_LOOK
    retreats: list[int] = field(default_factory=list)

    def judge(self, value: float, norm: float, norms: np.ndarray) -> str:
        """Why the run should be taken back, or ""; ``norms`` are recorded since the last look."""
        if not (math.isfinite(value) and math.isfinite(norm)):
            return "overflow"
        factor = VALUE_FACTOR if self.noise_norm > 0.0 else 1.0  # nothing excuses a full batch
        if value > factor * self.first_value and norm > self.rounding_norm:
            return f"f rose above {factor:g} f(w0)"
        level = NORM_FACTOR * max(self.best_norm, self.noise_norm, self.rounding_norm)
        running = norms[-RUNNING:]
        if running.size == RUNNING and running.min() > level and norms.max() > self.highest:
            return f"the gradient norm rose above {NORM_FACTOR:g} times its best"
        return ""

    def keep(self, w: np.ndarray, value: float, norm: float, norms: np.ndarray) -> None:
        """The look was fine: remember the best, and when to look next."""
        if value < self.best_value:
            self.best_w, self.best_value = w.copy(), value
        self.best_norm = min(self.best_norm, norm, norms.min(initial=math.inf))
        self.highest = norms.max(initial=0.0) if norms.size else self.highest
        self._next()

    def retreat(self, k: int) -> None:
        self.retreats.append(k)
        self.origin, self.highest = k, math.inf
        self.coming = k + self.gap

    def _next(self) -> None:
        self.coming += max(self.gap, min(self.coming - self.origin, self.T // LOOKS))

    @property
    def due(self) -> int:
        """The step of the next look; there is always one at the end."""
        return min(self.coming, self.T)

    def pack(self) -> tuple[float, ...]:
        """All of it as numbers, for a checkpoint."""
        numbers = [
            *(self.first_value, self.rounding_norm, self.noise_norm),
            *(self.best_value, self.best_norm, self.highest),
            *(self.seen, self.origin, self.gap, self.coming, len(self.retreats)),
        ]
        return tuple(float(x) for x in (*numbers, *self.retreats, *self.best_w))

    @classmethod
    def unpack(cls, T: int, memory: tuple[float, ...]) -> Watch:
        first, rounding, noise, best, norm, highest = memory[:6]
        seen, origin, gap, coming, count = (int(x) for x in memory[6:11])
        end = 11 + count
        return cls(
            *(T, first, rounding, noise, np.array(memory[end:]), best, norm, highest),
            *(seen, origin, gap, coming, [int(k) for k in memory[11:end]]),
        )
