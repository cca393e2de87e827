"""A run without a number of steps: batches while they pay, then the best steps on all rows."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, field, replace

import numpy as np

from ..problems import Look
from ..rows import Array
from ..schedules import Schedule
from ..schedules.adaptive import decay, design, sampling_noise
from .base import Best, Limits, RunVerdict, Stage, StageReport
from .guard import VALUE_FACTOR
from .policy import PlaneSteps

FIRST_SHARE = 1.0 / 30.0  # The first stage is designed for mu = L/30.
LOWER = 4.0  # Each further stage is designed for a mu this many times smaller.
TIME_CONSTANTS = 2.0  # A stage lasts at least this many time constants.
MOST_CUTS = 2  # The step is halved at most so often on the squared loss; on others without limit.
MOST_HALVINGS = 1100  # After so many halvings nothing is left of a double.
GROW = 4  # The batch grows by this factor when noise keeps the run from its tolerance.
SHORTEST = 16  # A stage has at least this many steps.
MOST_PASSES = 32  # After so many passes in batches all rows are taken to reach a tolerance.
# The steps between two looks touch this many times the rows that a look touches.
PASSES_A_LOOK = 4.0
PASSES_TO_TOL = 2.0  # The same, where a tolerance may be met.


def accelerating_batch(n: int, L: float, mu: float, L_max: float) -> int:
    """The smallest batch with zeta0^2 L_max <= sqrt(mu L): full acceleration, certified.

    >>> accelerating_batch(10_000, L=100.0, mu=1.0, L_max=400.0)
    40
    """
    ratio = L_max / math.sqrt(mu * L)
    return min(n, max(1, math.ceil(n / (1.0 + (n - 1) / ratio))))


@dataclass(frozen=True)
class Design:
    """The constants that stages of batches are designed for, as they are trusted now."""

    n: int
    L: float
    L_max: float
    kappa_tilde: float | None
    floor: float  # mu; 0 where nothing is known
    mu: float  # what the stage is designed for
    b: int
    cuts: int = 0  # of the step, against noise
    doublings: int = 0  # of the constants, after retreats

    def parameters(self, mu: float | None = None) -> tuple[float, float, float]:
        """(alpha, beta, theta) of a stage, certified on least squares for every mu it may have."""
        scale = 2.0**self.doublings
        tilde = None if self.kappa_tilde is None else scale * self.kappa_tilde
        zeta2 = sampling_noise("anytime", self.n, self.b)
        three = design(scale * self.L, mu or self.mu, scale * self.L_max, tilde, zeta2)
        return three[0] * 0.5**self.cuts, three[1], three[2]

    def time_constant(self, mu: float | None = None) -> float:
        """Steps that a direction of curvature mu takes to shrink by e, about: 1/(1 - |z|), z the
        slower root. (Where roots meet, rounding decides whether they are real: the two cases must
        agree there.)"""
        mu = mu or self.mu
        alpha, beta, theta = self.parameters(mu)
        # the slower root of z^2 - (1 + beta - alpha mu (1+theta)) z + beta - alpha mu theta
        trace, product = 1.0 + beta - alpha * mu * (1.0 + theta), beta - alpha * mu * theta
        spread = trace * trace - 4.0 * product
        gap = alpha * mu  # (1 - z1)(1 - z2)
        if spread <= 0.0:
            return 1.0 / (1.0 - math.sqrt(product)) if product > 0.0 else 1.0
        other = 1.0 - 0.5 * (trace - math.sqrt(spread))
        return max(1.0, other / gap)

    def table(self, length: int, decays: bool) -> Schedule:
        alpha, beta, theta = self.parameters()
        return Schedule(alpha * decay(length) if decays else alpha, beta, theta, "auto", T=length)


@dataclass
class Place:
    """Where an anytime run is between looks: plain numbers, all of them in a checkpoint."""

    phase: int = 0  # 0 begins, 1 and 2 are the halves of a stage of batches, 3 is the plane
    began: int = 0  # the step at which the stage began
    length: int = 0  # of the stage, both halves
    retreats: int = 0
    stage_value: float = 0.0  # f where the stage began
    first_value: float = 0.0


@dataclass(eq=False)
class Anytime:
    """Stages of batches, then ``plane``.

    ``brief``, where the run chooses the batch: one pass in batches with the decay of ``auto``; the
    plane begins at the mean of the second half of the pass. Otherwise, with the batch of the
    caller: stages of constant parameters. After each stage the last iterate and two averages are
    measured, and the best point ever is kept. When an average wins, noise dominates: the step is
    cut, or where a tolerance is wanted, the batch grows until the plane takes over.
    """

    design: Design
    name: str
    brief: bool
    wants_tol: bool
    quadratic: bool
    look_rows: float
    budget: int
    plane: PlaneSteps
    limits: Limits
    place: Place = field(default_factory=Place)
    before: Array = field(default_factory=lambda: np.zeros(0))  # the mean over half of the stage
    best: Best = field(init=False)
    open_ended = True

    @property
    def retreats(self) -> int:
        return self.place.retreats

    def begin(self, w: Array, first: Look) -> None:
        self.best = Best.of(w.copy(), first)
        self.place.first_value = self.place.stage_value = first.value

    # -- stages ----------------------------------------------------------------------------------

    def current(self, start: Array | None = None) -> Stage:
        """The stage under way, from ``start``."""
        place, at = self.place, self.design
        if place.phase == 3:
            return Stage("plane", self.plane, at.n, place.length, start=start)
        table = at.table(place.length, self.brief)
        half = (place.length + 1) // 2
        if place.phase == 1:
            return Stage(self.name, table, at.b, half, start=start, average=not self.brief)
        return Stage(self.name, table, at.b, place.length - half, row=half, average=True)

    def next(self, seen: StageReport | None) -> Stage | RunVerdict:
        place = self.place
        if seen is None:
            return self._stage(0, 0, None)
        if place.phase == 3:
            self.best = Best.of(seen.w, seen.look(seen.w))  # f never rises there
            return seen.verdict or RunVerdict.BUDGET
        if seen.verdict == RunVerdict.DIVERGED:
            return self._retreat(seen)
        if place.phase == 1 and place.length > 1:
            place.phase = 2
            self.before = seen.w if seen.mean is None else seen.mean
            return self.current()
        return self._look(seen)

    def _stage(self, k: int, spent: int, start: Array | None) -> Stage | RunVerdict:
        """The next stage of batches, or the plane where batches are as large as the data."""
        place, at = self.place, self.design
        left = (self.budget - spent) // at.b
        left = max(1, left) if k == 0 else left
        if left < 1:
            return RunVerdict.BUDGET
        place.phase, place.began, place.length = 1, k, self._length(k, left)
        if at.b == at.n:
            place.phase, place.length = 3, left
        self.before = np.zeros(0)
        return self.current(start)

    def _length(self, taken: int, left: int) -> int:
        """Steps of the next stage, after ``taken`` and with ``left`` in the budget."""
        at = self.design
        if self.brief:
            return max(1, min(max(SHORTEST, math.ceil(at.n / at.b)), left))
        apart = PASSES_TO_TOL if self.wants_tol else PASSES_A_LOOK
        least = max(SHORTEST, math.ceil(apart * self.look_rows / at.b))
        wanted = max(least, math.ceil(TIME_CONSTANTS * at.time_constant()))
        if at.cuts:
            wanted = max(wanted, taken)  # averages over a share of all steps
        return max(1, min(wanted, left))

    def answer(self, w: Array, verdict: RunVerdict) -> Array:
        return w if self.place.phase == 3 or verdict == RunVerdict.CONVERGED else self.best.w

    # -- decisions -------------------------------------------------------------------------------

    def _look(self, seen: StageReport) -> Stage | RunVerdict:
        """Measure the last iterate and the averages; keep the best, and choose the next stage."""
        if self.brief:
            mean = seen.w if seen.mean is None else seen.mean
            self._keep(Best.of(mean, seen.look(mean)))
            self.design = replace(self.design, b=self.design.n)
            return self._stage(seen.k, seen.spent, self.best.w)
        place = self.place
        last = Best.of(seen.w, seen.look(seen.w))
        if not last.value <= VALUE_FACTOR * place.first_value + self._slack():
            return self._retreat(seen)
        winner = self._winner(seen, last)
        self._keep(winner)
        # averaging helps more than the steps of the stage did: noise dominates
        progress = max(place.stage_value - last.value, self._slack())
        noisy = winner is not last and last.value - winner.value > progress
        place.stage_value = last.value
        self._proceed(noisy, (self.budget - seen.spent) // self.design.b)
        if self.wants_tol and seen.spent >= MOST_PASSES * self.design.n:
            self.design = replace(self.design, b=self.design.n)
        rest = noisy or self.design.b == self.design.n
        if rest:
            place.stage_value = winner.value
        return self._stage(seen.k, seen.spent, winner.w if rest else None)

    def _winner(self, seen: StageReport, last: Best) -> Best:
        """The best of the last iterate, the mean of the second half, and that of all."""
        if seen.mean is None or self.place.length < 2:
            return last
        half = Best.of(seen.mean, seen.look(seen.mean))
        if not self._better(half, last):
            return last
        first, length = (self.place.length + 1) // 2, self.place.length
        whole = (first * self.before + (length - first) * seen.mean) / length
        other = Best.of(whole, seen.look(whole))
        return other if self._better(other, half) else half

    def _better(self, a: Best, b: Best) -> bool:
        """A smaller f, or where that is rounding, a smaller gradient."""
        if abs(a.value - b.value) <= self._slack():
            return a.norm < b.norm
        return a.value < b.value

    def _slack(self) -> float:
        return 1e-14 * abs(self.place.first_value)

    def _keep(self, point: Best) -> None:
        if math.isfinite(point.value) and self._better(point, self.best):
            self.best = Best(point.w.copy(), point.value, point.norm)

    def _proceed(self, noisy: bool, left: int) -> None:
        """Fight the noise, and remember longer if the budget allows it."""
        at = self.design
        if noisy and self.wants_tol:
            cheap_whole = self.look_rows <= at.b  # by a Gram matrix all rows cost few
            grown = at.n if cheap_whole or GROW * at.b > at.n // 8 else GROW * at.b
            at = replace(at, b=grown)
        elif noisy and (not self.quadratic or at.cuts < MOST_CUTS):
            at = replace(at, cuts=at.cuts + 1)
        lower = max(at.floor, at.mu / LOWER)
        if lower < at.mu and TIME_CONSTANTS * at.time_constant(lower) <= left:
            at = replace(at, mu=lower)
        self.design = at

    def _retreat(self, seen: StageReport) -> Stage | RunVerdict:
        """The guard: back to the best point, at rest, with constants doubled."""
        place = self.place
        if place.retreats >= self.limits.most_retreats:
            return RunVerdict.DIVERGED
        place.retreats += 1
        place.stage_value = self.best.value
        self.design = replace(self.design, doublings=self.design.doublings + 1)
        return self._stage(seen.k, seen.spent, self.best.w)

    # -- on disk ---------------------------------------------------------------------------------

    def state(self) -> dict[str, Array]:
        place, at, best = self.place, self.design, self.best
        # floats hold every step and count below 2^53
        numbers = [*astuple(place), at.mu, at.b, at.cuts, at.doublings, best.value, best.norm]
        return {"numbers": np.array(numbers, dtype=float), "best": best.w, "before": self.before}

    def load(self, state: dict[str, Array]) -> None:
        *counts, at_stage, at_first, mu, b, cuts, doublings, value, norm = state["numbers"].tolist()
        phase, began, length, retreats = map(int, counts)
        self.place = Place(phase, began, length, retreats, at_stage, at_first)
        trusted = {"b": int(b), "cuts": int(cuts), "doublings": int(doublings)}
        self.design = replace(self.design, mu=mu, **trusted)
        self._check_loaded(state)
        self.best, self.before = Best(state["best"], value, norm), state["before"]

    def _check_loaded(self, state: dict[str, Array]) -> None:
        """Refuse numbers that no run has: a stage of any length would be laid out."""
        place, at, shape = self.place, self.design, self.best.w.shape
        counted = place.phase in (1, 2, 3) and 0 <= place.retreats <= self.limits.most_retreats
        designed = 1 <= at.b <= at.n and 0.0 < at.mu <= at.L and 0 <= at.cuts <= MOST_HALVINGS
        if not (counted and designed and 0 <= at.doublings <= place.retreats and place.began >= 0):
            raise ValueError("its numbers are not those of a run")
        if state["best"].shape != shape or state["before"].shape not in ((0,), shape):
            raise ValueError("its points do not have the shape of w")
        most = max(1, self.budget // at.b)
        if place.phase != 3:
            most = self._length(place.began, most)
        if not 1 <= place.length <= most:
            raise ValueError(f"its stage has {place.length} steps; at most {most} are possible")
