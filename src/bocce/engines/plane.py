"""Heavy ball on all rows with the best step and momentum there are.

    w+ = w - alpha P^-1 g + beta_1 v_1 + ... + beta_m v_m

v_j are the last m displacements. The scores X w and X v_j are kept, so f on the plane that the
directions span is a function of m + 1 numbers that costs no product with X, and Newton's method
finds the best ones. A step takes one product with X and one with X^T, whatever the loss.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..problems import NotFinite
from .base import Goal
from .full import full_step
from .fused import Looked
from .gramscores import error_of, scores_of, summed_up
from .guess import end_of_guess
from .metric import Chooser, Metric, handed_metric
from .newton import Newton
from .saved import restore, saved
from .scores import Scores
from .small import falls, largest, length, norm, solve, units
from .wide import chooser_of

Array = npt.NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
HOPELESS = 0.01  # of the rounding of f: a fall that nobody could see
REFRESH = 50  # steps after which the scores are computed anew
NEWTON = 30  # Newton steps on one plane
ENOUGH = 0.2  # of the first gradient on the plane: a smaller one will do,
THOROUGH = 0.1  # and where a direction has taken many products, one that is smaller still
SLOW = 0.9  # of the gradient: where a step has left more, the next is not along one line alone
SHORTEST = 1e-300  # of a Newton step; rounding ends the search before that
ROUNDING = 8.0  # units in the last place that a mean over blocks may be wrong by
STALLS = 10  # steps by which neither f nor the gradient gets better
ESCAPES = 5  # steps that move a score by ``FAR`` for next to nothing
FAR = 0.5
SHARE = 0.1  # of the fall that the slope promises, where second derivatives promise nothing
APART = 1e-8  # of a displacement: more than U may differ from X D
NEXT_TO_NOTHING = 1e-6  # of one row's share of what f has fallen by


class Step(NamedTuple):
    """What a step of the plane found, at the new point."""

    value: float
    gradient: Array
    norm: float  # of the gradient
    predicted: float  # by how much f falls, as the first Newton step on the plane sees it
    products: int  # with X and X^T, so far
    sweeps: int  # over the scores, so far
    verdict: str  # "stalled": no fall of f can be measured; "unbounded": w runs away; else ""


class Plane:
    """Minimises f(w) = 1/n sum_i c_i loss(x_i . w, y_i) + 1/2 sum_j ridge_j w_j^2.

    Each step goes to the best point of the plane through w that -P^-1 g and the last ``memory``
    displacements span. ``metric`` is "auto" (P = I, or a sampled Hessian where that pays: see
    ``metric.Chooser``), "identity", or a ``Metric``. ``inner``: with several outputs the new
    direction is nearly Newton's (see ``newton.Newton``), and a step takes more products.

    Guarantee: f never rises (by more than the rounding of its sum), for any convex loss with a
    second derivative. On least squares with ``memory=1`` and a fixed metric the steps are those of
    preconditioned conjugate gradients.

    Source: Nemirovski and Yudin's subspace minimisation, and SESOP of Narkiss and Zibulevsky.

    >>> from bocce.problems import LeastSquares
    >>> p = LeastSquares(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([2.0, 1.0]))
    >>> plane = Plane(p, np.zeros(2), memory=1, metric="identity")
    >>> for _ in range(2):
    ...     step = plane.step()
    >>> plane.w.round(9).tolist(), step.value < 1e-20
    ([1.0, 1.0], True)
    """

    value: float
    gradient: Array
    norm: float
    products: int

    def __init__(
        self,
        problem: Any,
        w0: Array,
        *,
        memory: int = 5,
        metric: str | Metric = "auto",
        inner: bool = False,
    ) -> None:
        self._lay_out(problem, np.array(w0, dtype=np.float64), memory, metric, inner)
        self.refresh()
        if not (math.isfinite(self.value) and math.isfinite(self.norm)):
            raise NotFinite(
                f"Plane: f(w0)={self.value!r} must be finite, as its gradient; start nearer to 0, "
                "or scale the data."
            )
        self.start = self.value
        self.best_norm = self.norm

    def _lay_out(
        self,
        problem: Any,
        w: Array,
        memory: int,
        metric: str | Metric,
        inner: bool,
        summed: bool = True,
    ) -> None:
        self.problem, self.w, self.memory = problem, w, memory
        self.ridge = np.asarray(problem.ridge, dtype=np.float64)
        if self.ridge.ndim:
            self.ridge = self.ridge.reshape(-1, *(1,) * (w.ndim - 1))
        self.penalised = bool(self.ridge.any())
        # Can w run away? Not where the loss is least at finite scores.
        self.free = not (problem.loss.attains_minimum or bool((self.ridge > 0.0).all()))
        self.quadratic = bool(problem.loss.quadratic)
        self.chooser = chooser_of(problem, w[:1].size) if metric == "auto" else None
        # row 0 is the new direction, the others hold displacements
        self.D = np.zeros((memory + 1, *w.shape))
        self.scores: Any = scores_of(self, summed)
        self.eps = getattr(self.scores, "eps", EPS)  # of a product with X
        self.pulled = np.zeros((memory + 1, memory + 1))  # D^T ridge D
        self.bent = np.zeros((memory + 1, memory + 1))  # U^T U / n, kept for quadratics only
        self.width, self.reach = np.zeros(memory + 1), np.zeros(memory + 1)  # max |D_j|, max |U_j|
        self.wrong = np.zeros(memory + 1)  # by how much U may differ from X D
        self.guess, self.trusted = 0.0, 1  # D[0]'s multiple where g is known; was the last right?
        self.kept = 0  # displacements since the memory was dropped
        self.far = self.size = 0.0  # of the last one: its largest score, its largest entry
        self.drift = 0.0  # a bound on what z differs from X w by, since it was computed from w
        self.metric = metric if isinstance(metric, Metric) else Metric()
        self.newton: Newton | None = None
        if inner and w.ndim == 2 and type(self.scores) is Scores:
            self.newton = Newton(problem, w.shape[1], self.ridge)
        elif isinstance(self.chooser, Chooser):
            self.metric = handed_metric(self.ridge.reshape(-1), self.chooser)
        self.k = self.products = self.sweeps = self.stalls = self.escapes = 0
        self.shrank = math.nan

    @property
    def directions(self) -> int:
        """The new one, and the displacements in memory."""
        return 1 + min(self.kept, self.memory)

    # -- the point ---------------------------------------------------------------------------

    def refresh(self) -> None:
        """Compute scores, value and gradient from w and the rows alone; call it before convergence
        is declared, for the scores are otherwise sums of what the steps have added."""
        with np.errstate(all="ignore"):
            if self.products and error_of(self.scores) is not None:
                self._choose_metric()  # that which is at hand
                self.kept, self.scores = 0, scores_of(self, summed=False)
            self.products, self.sweeps, self.drift = self.products + 1, self.sweeps + 1, 0.0
            self._settle(self.scores.start(self.w))

    def _look(self) -> Looked:
        self.sweeps += 1
        looked: Looked = self.scores.look()
        return looked

    def _settle(self, looked: Looked) -> None:
        """Value and gradient at w, where the sweep has looked."""
        g = self.scores.gradient() / self.problem.n
        self.products += 1
        self.penalty = 0.0
        if self.penalised:
            self.pulls = self.ridge * self.w  # the penalty's gradient
            self.penalty = 0.5 * float(np.vdot(self.w, self.pulls))
            g += self.pulls
        self.value = looked.value + self.penalty
        self.slack = ROUNDING * EPS * (looked.size + self.penalty)
        self.gradient, self.norm = g, norm(g)

    @property
    def passes(self) -> int:
        """Passes over the data within steps, beside the one of each."""
        return 0 if self.newton is None else self.newton.iterations

    def aim(self, goal: Goal) -> None:
        """Say what the next steps are for."""
        if self.newton is not None:
            self.newton.goal = goal

    def estimated_gap(self) -> float:
        """How far f is above its minimum, by the pairs of Newton's method; infinite without."""
        if self.newton is None:
            return math.inf
        self._choose_metric()
        return self.newton.still_to_fall(self.gradient, self.metric)

    # -- a step ------------------------------------------------------------------------------

    def step(self) -> Step:
        """Go to the best point of the plane."""
        with np.errstate(all="ignore"):  # a trial too far overflows, and is not taken
            return self._take_step()

    def _take_step(self) -> Step:
        if summed_up(self):
            self.refresh()
        if self.norm == 0.0:
            return self._step(0.0, "")
        if self.k and self.k % REFRESH == 0:
            self.refresh()
        before = self.norm
        fresh = self._choose_metric() and not self.shrank > SLOW
        if fresh and (taken := full_step(self)) is not None:
            return self._arrived(*taken, before)
        self._new_direction()
        found = self._newton()
        displacement = None if found is None else self._displacement(found[0])
        if displacement is None and self.kept:
            self.kept = 0
            self._look()
            found = self._newton()
            displacement = None if found is None else self._displacement(found[0])
        if found is None or displacement is None:
            return self._nothing_fell()
        _, looked, predicted = found
        self._go(displacement)
        return self._arrived(looked, predicted, before)

    def _arrived(self, looked: Looked, predicted: float, before: float) -> Step:
        """All that is known at the new point. ``before``: the gradient's norm at the last one."""
        self._settle(looked)
        self.k += 1
        self.shrank = self.norm / before
        return self._step(predicted, self._verdict(predicted))

    def _choose_metric(self) -> bool:
        """Returns True where the metric is the Hessian at w, taken for this step alone."""
        if self.newton is not None:
            self.metric = self.newton.metric(self.scores.z, self.metric)
        elif self.chooser is not None and self.chooser.wants(self.shrank):
            self.metric, self.trusted = self.chooser.metric(self), 1
            return self.chooser.anew and self.metric.like_newton and not self.quadratic
        return False

    def _new_direction(self) -> None:
        """-P^-1 g into row 0, or what the scores know of a better one; with several outputs nearly
        -H^-1 g."""
        first = self.scores.first_direction()
        if first is not None:
            up = -first
        elif self.newton is None:
            up = self.metric.solve(self.gradient)
            if self.metric.plain:  # without the rounding of entries that should be zero
                up = np.where(np.abs(up) > EPS * largest(up), up, 0.0)
        else:
            up = self.newton.solve(self.gradient, self.scores.z, self.metric, self.shrank)
            self.products += 2 * self.newton.spent
        step = largest(up)
        d = up / -step
        self.products += 1
        known = first is not None or self.metric.like_newton  # how far to go
        step = step if known and self.scores.guesses_on(self.trusted) else 0.0
        far = self.scores.aim(0, d, step)
        self.scores.scale(0, length(far, d))
        self.guess = step * length(far, d)
        self._set(0, d, 1.0, far)

    def _set(self, slot: int, d: Array, size: float, far: float) -> None:
        """Put a direction into a row, as long as moves the farthest score by 1 (and not by ``far``,
        as it does): so that squares neither vanish nor overflow, however short the steps have
        become. Its scores have been put there; ``size`` is its largest entry."""
        unit = length(far, d)
        np.divide(d, unit, out=self.D[slot])
        self.width[slot], self.reach[slot] = size / unit, far / unit
        self.wrong[slot] = 0.0
        self._weigh(slot)

    def _displacement(self, c: Array) -> Array | None:
        """D c; None where D c and U c, each rounded for itself, no longer belong together.

        That is so where a step is a small difference of large displacements; ``wrong`` is carried
        from them to the next ones.
        """
        k = c.size
        displacement = (c @ self.D[:k].reshape(k, -1)).reshape(self.w.shape)
        self.far = self.scores.far
        size = largest(displacement)
        parts = np.abs(c) * (self.wrong[:k] + self.eps)
        by_scores, by_w = float(parts @ self.reach[:k]), float(parts @ self.width[:k])
        apart = APART * math.sqrt(self.eps / EPS)
        if not (by_scores <= apart * self.far and 0.0 < by_w <= apart * size):
            return None
        self.wrong[0], self.size = max(by_scores / (self.far or 1.0), by_w / size), size
        self.drift += by_scores
        return displacement

    def _go(self, displacement: Array) -> None:
        """Move, and keep the displacement in the place of the oldest one."""
        self.w += displacement
        slot = 1 + self.kept % self.memory if self.memory else 0
        self.scores.keep(slot, length(self.far, displacement))
        if slot:
            self.kept += 1
            self._set(slot, displacement, self.size, self.far)
            self.wrong[slot] = self.wrong[0]

    def _weigh(self, slot: int) -> None:
        """Products of one direction with all."""
        k = self.directions
        if self.penalised:
            alike = self.ridge.ndim == 0  # then nothing as long as a direction is made
            d = self.D[slot] if alike else self.ridge * self.D[slot]
            row = self.D[:k].reshape(k, -1) @ d.reshape(-1)
            self.pulled[slot, :k] = self.pulled[:k, slot] = self.ridge * row if alike else row
        if self.quadratic:
            row = self.scores.gram(k, slot)[:, 0]
            self.bent[slot, :k] = self.bent[:k, slot] = row

    def _curvature(self, k: int) -> Array:
        """The Hessian of f on the plane, where the sweep has looked."""
        bent = self.bent[:k, :k] if self.quadratic else self.scores.gram(k)
        return bent + self.pulled[:k, :k] if self.penalised else bent

    # -- what comes of it --------------------------------------------------------------------

    def _nothing_fell(self) -> Step:
        """From fresh scores by the plain gradient, and if that is tried, it is rounding."""
        tried = self.kept == 0 and self.metric.plain
        self.kept, self.metric, self.shrank = 0, Metric(), math.nan
        self.stalls += 1
        self.refresh()
        return self._step(0.0, "stalled" if tried or self.stalls >= STALLS else "")

    def _verdict(self, predicted: float) -> str:
        if self.norm < 0.98 * self.best_norm:
            self.best_norm, self.stalls = self.norm, 0
        elif predicted <= self.slack:
            self.stalls += 1
        self.escapes = self.escapes + 1 if self._escapes(predicted) else 0
        if self.escapes >= ESCAPES:
            return "unbounded"
        return "stalled" if self.stalls >= STALLS else ""

    def _escapes(self, predicted: float) -> bool:
        """Does some score still move far, though f gains less than a row could matter?"""
        little = NEXT_TO_NOTHING / self.problem.n * (self.start - self.value)
        if not self.free or self.quadratic or predicted > little:
            return False
        return self.far >= FAR

    def _step(self, predicted: float, verdict: str) -> Step:
        return Step(
            self.value, self.gradient, self.norm, predicted, self.products, self.sweeps, verdict
        )

    # -- to stop and go on ---------------------------------------------------------------------

    def state(self) -> dict[str, Array]:
        """All that the next steps depend on: a run that goes on from here takes the same ones."""
        return saved(self)

    @classmethod
    def from_state(cls, problem: Any, state: dict[str, Any]) -> Plane:
        """The run that ``state`` was taken of."""
        self = cls.__new__(cls)
        restore(self, problem, state)
        return self

    # -- Newton's method on the plane ----------------------------------------------------------

    def _newton(self) -> tuple[Array, Looked, float] | None:
        """c that makes f(w + D c) nearly as small as can be, what the sweep saw there, and the fall
        that the first Newton step foresaw; None where no fall can be measured."""
        k = self.directions
        D = self.D[:k].reshape(k, -1)
        a = D @ self.gradient.reshape(-1)  # the gradient on the plane
        self.pull = D @ self.pulls.reshape(-1) if self.penalised else np.zeros(k)
        H = self._curvature(k)
        unit = units(H)
        goal = (ENOUGH if self.newton is None else THOROUGH) * largest(a * unit)
        if self.guess and (there := end_of_guess(self, a, unit, goal)) is not None:
            return there
        c, value, looked, predicted, stretch = np.zeros(k), self.value, None, 0.0, 1.0
        for _ in range(NEWTON):
            p = solve(H, a, unit)
            p *= -stretch
            slope = float(a @ p)
            if not math.isfinite(slope):  # hardly any curvature: then by the gradient alone
                p, slope = -a, -float(a @ a)
            if not slope < 0.0:
                break
            reach = self._reach(slope, value)
            p, slope = p * reach, slope * reach
            predicted = predicted or -0.5 * slope
            tried = self._search(c, p, value, slope, SHARE if reach < 1.0 else 0.0)
            if tried is None:
                if looked is not None:
                    looked = self._try(c)[0]
                break
            t, looked, value, a = tried
            c = c + t * p
            if largest(a * unit) <= goal:
                break
            if t == 1.0 and float(a @ p) < 0.5 * slope:
                stretch *= 4.0  # f bends less than its second derivative says: Huber's loss, far
                continue
            stretch, H = 1.0, self._curvature(k)
            unit = units(H)
        return None if looked is None else (c, looked, predicted)

    def _reach(self, slope: float, value: float) -> float:
        """The share of a Newton step to try first; 1 unless the step promises a fall of f below its
        infimum. Then second derivatives say nothing (Huber's loss far from the targets, the Poisson
        loss at a very negative score), and a straight line is followed down to the infimum."""
        if -0.5 * slope <= abs(value):
            return 1.0
        room = max(value - self.scores.infimum(), self.slack)
        return room / -slope if -0.5 * slope > room else 1.0

    def _search(
        self, c: Array, p: Array, value: float, slope: float, share: float
    ) -> tuple[float, Looked, float, Array] | None:
        """The first of t = 1, 1/4, 1/16 ... at which f(w + D (c + t p)) falls, and by more than
        ``share`` of what its slope promises."""
        t = 1.0
        while t > SHORTEST:
            looked, new, a = self._try(c + t * p)
            enough = new - value <= share * t * slope + self.slack
            if enough and falls(new - value, self.slack, float(a @ p), slope):
                return t, looked, new, a
            if -slope * t < HOPELESS * self.slack:
                return None  # what a shorter step could gain is rounding
            t *= 0.25
        return None

    def _try(self, c: Array) -> tuple[Looked, float, Array]:
        """What the sweep sees at w + D c, f, and the gradient on the plane."""
        self.sweeps += 1
        k = c.size
        looked = self.scores.move(c)
        if not self.penalised:
            return looked, looked.value, looked.plane
        Qc = self.pulled[:k, :k] @ c
        penalty = self.penalty + float(c @ (self.pull + 0.5 * Qc))
        return looked, looked.value + penalty, looked.plane + self.pull + Qc
