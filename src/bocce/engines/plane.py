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
from scipy.linalg import lapack

from .fused import Looked, Sweep
from .metric import Chooser, Metric, handed_metric, sampled_metric

Array = npt.NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
REFRESH = 50  # steps after which the scores are computed anew
NEWTON = 30  # Newton steps on one plane
ENOUGH = 0.1  # of the first gradient on the plane: a smaller one will do
SHORTEST = 1e-16  # of a Newton step
ROUNDING = 8.0  # units in the last place that a mean over blocks may be wrong by
STALLS = 10  # steps by which neither f nor the gradient gets better
ESCAPES = 5  # steps that move a score by ``FAR`` for next to nothing
FAR = 0.5
APART = 1e-8  # of a displacement: more than U may differ from X D
NEXT_TO_NOTHING = 1e-6  # of one row's share of what f has fallen by


_COUNTS = ("memory", "k", "products", "sweeps", "held", "stalls", "escapes")
_NUMBERS = ("shrank", "start", "best_norm")


class Step(NamedTuple):
    """What a step found, at the new point."""

    value: float
    gradient: Array
    norm: float  # of the gradient
    predicted: float  # by how much f falls, as the first Newton step on the plane sees it
    products: int  # with X and X^T, so far
    sweeps: int  # over the scores, so far
    verdict: str  # "stalled": no fall of f can be measured; "unbounded": w runs away; else ""


def norm(g: Array) -> float:
    """||g||, of numbers of any size.

    >>> norm(np.array([3e-200, 4e-200])), norm(np.array([3e200, -4e200]))
    (5e-200, 5e+200)
    """
    flat = g.reshape(-1)
    largest = _largest(flat)
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    if 1e-100 < largest < 1e100:
        return math.sqrt(float(flat @ flat))
    flat = flat / largest
    return largest * math.sqrt(float(flat @ flat))


class Plane:
    """Minimises f(w) = 1/n sum_i c_i loss(x_i . w, y_i) + 1/2 sum_j ridge_j w_j^2.

    Each step goes to the best point of the plane through w that -P^-1 g and the last ``memory``
    displacements span. ``metric`` is "auto" (P = I, or a sampled Hessian where that pays: see
    ``metric.Chooser``), "identity", or a ``Metric``.

    Guarantee: f never rises (by more than the rounding of its sum), for any convex loss with a
    second derivative. On least squares with ``memory=1`` and a fixed metric the steps are those of
    preconditioned conjugate gradients.

    Source: Nemirovski and Yudin's subspace minimisation, and SESOP of Narkiss and Zibulevsky.

    >>> from types import SimpleNamespace
    >>> X, y = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([2.0, 1.0])
    >>> rows = SimpleNamespace(d=2, cost=4.0, times=X.__matmul__, combine=X.T.__matmul__)
    >>> loss = SimpleNamespace(
    ...     value=lambda z, y: (z - y) ** 2 / 2, slope=lambda z, y: z - y,
    ...     bend=lambda z, y: np.ones_like(z), quadratic=True)
    >>> p = SimpleNamespace(n=2, rows=rows, loss=loss, y=y, weight=None, ridge=0.0)
    >>> plane = Plane(p, np.zeros(2), memory=1, metric="identity")
    >>> for _ in range(2):
    ...     step = plane.step()
    >>> plane.w.round(9).tolist(), step.value < 1e-20
    ([1.0, 1.0], True)
    """

    def __init__(
        self, problem: Any, w0: Array, *, memory: int = 5, metric: str | Metric = "auto"
    ) -> None:
        self._lay_out(problem, np.array(w0, dtype=np.float64), memory, metric)
        self.refresh()
        if not (math.isfinite(self.value) and math.isfinite(self.norm)):
            raise ValueError(
                f"Plane: f(w0)={self.value!r} must be finite, as its gradient; start nearer to 0, "
                "or scale the data."
            )
        self.start = self.value
        self.best_norm = self.norm
        self._remember(getattr(problem, "handed_on", None) or {})

    def _remember(self, handed_on: dict[str, Array]) -> None:
        """Begin with the direction that a run before this one has left."""
        d = handed_on.get("d")
        if d is not None and self.memory and d.any():
            self.held, self.products = 1, self.products + 1
            self._set(1, d, self.problem.rows.times(d))

    def _lay_out(self, problem: Any, w: Array, memory: int, metric: str | Metric) -> None:
        self.problem, self.w, self.memory = problem, w, memory
        self.ridge = np.asarray(problem.ridge, dtype=np.float64)
        if self.ridge.ndim:
            self.ridge = self.ridge.reshape(-1, *(1,) * (w.ndim - 1))
        self.penalised = bool(self.ridge.any())
        self.free = not bool((self.ridge > 0.0).all())  # can w run away?
        self.quadratic = bool(problem.loss.quadratic)
        scores = (int(problem.n), *w.shape[1:])
        self.sweep = Sweep(problem, scores)
        # row 0 is the new direction, the others hold displacements: their w and their scores
        self.D = np.zeros((memory + 1, *w.shape))
        self.U = np.zeros((memory + 1, *scores))
        self.pulled = np.zeros((memory + 1, memory + 1))  # D^T ridge D
        self.bent = np.zeros((memory + 1, memory + 1))  # U^T U / n, kept for quadratics only
        self.width = np.zeros(memory + 1)  # the largest of each row of D
        self.wrong = np.zeros(memory + 1)  # by how much U may differ from X D
        self.held, self.far = 0, 0.0
        self.z, self.other, self.moved = np.empty(scores), np.empty(scores), np.empty(scores)
        self.chooser = Chooser(problem, w[:1].size) if metric == "auto" else None
        self.metric = metric if isinstance(metric, Metric) else Metric()
        if self.chooser is not None:
            self.metric = handed_metric(self.ridge.reshape(-1), self.chooser)
        self.k = self.products = self.sweeps = self.stalls = self.escapes = 0
        self.shrank = math.nan

    # -- the point ---------------------------------------------------------------------------

    def refresh(self) -> None:
        """Compute scores, value and gradient from w alone; call it before convergence is declared,
        for the scores are otherwise sums of what the steps have added."""
        with np.errstate(all="ignore"):
            self.z[...] = self.problem.rows.times(self.w)
            self.products += 1
            self._settle(self._look())

    def _look(self) -> Looked:
        self.sweeps += 1
        return self.sweep.look(self.z)

    def _settle(self, looked: Looked) -> None:
        """Value and gradient at w, where the sweep has looked."""
        g = np.asarray(self.problem.rows.combine(self.sweep.slope), dtype=np.float64)
        g = g / self.problem.n
        self.products += 1
        self.penalty = 0.0
        if self.penalised:
            pull = self.ridge * self.w
            self.penalty = 0.5 * float(np.vdot(self.w, pull))
            g += pull
        self.value = looked.value + self.penalty
        self.slack = ROUNDING * EPS * (looked.size + self.penalty)
        self.gradient, self.norm = g, norm(g)

    # -- a step ------------------------------------------------------------------------------

    def step(self) -> Step:
        """Go to the best point of the plane."""
        with np.errstate(all="ignore"):  # a trial too far overflows, and is not taken
            return self._take_step()

    def _take_step(self) -> Step:
        if self.norm == 0.0:
            return self._step(0.0, "")
        if self.k and self.k % REFRESH == 0:
            self.refresh()
        self._choose_metric()
        before = self.norm
        self._new_direction()
        found = self._newton()
        displacement = None if found is None else self._displacement(found[0])
        if displacement is None and self.held:
            self.held = 0
            self._look()
            found = self._newton()
            displacement = None if found is None else self._displacement(found[0])
        if found is None or displacement is None:
            return self._nothing_fell()
        _, looked, predicted = found
        self._go(displacement)
        self._settle(looked)
        self.k += 1
        self.shrank = self.norm / before
        return self._step(predicted, self._verdict(predicted))

    def _choose_metric(self) -> None:
        if self.chooser is not None and self.chooser.wants(self.shrank):
            bend, ridge = self.sweep.row_bends(), self.ridge.reshape(-1)
            self.metric = sampled_metric(self.problem.rows, bend, ridge, self.chooser)

    def _new_direction(self) -> None:
        """-P^-1 g into row 0."""
        d = -self.metric.solve(self.gradient)
        d /= _largest(d)
        self.products += 1
        self._set(0, d, self.problem.rows.times(d))

    def _set(self, slot: int, d: Array, u: Array) -> None:
        """Put a direction and its scores into a row, as long as moves the farthest score by 1: so
        that squares neither vanish nor overflow, however short the steps have become."""
        far = _largest(u)
        if not 0.0 < far < math.inf:
            far = _largest(d)
        np.divide(d, far, out=self.D[slot])
        np.divide(u, far, out=self.U[slot])
        self.width[slot] = _largest(self.D[slot])
        self.wrong[slot] = 0.0
        self._weigh(slot)

    def _displacement(self, c: Array) -> Array | None:
        """D c; None where D c and U c, each rounded for itself, no longer belong together.

        That is so where a step is a small difference of large displacements; ``wrong`` is carried
        from them to the next ones.
        """
        k = c.size
        displacement = (c @ self.D[:k].reshape(k, -1)).reshape(self.w.shape)
        self.far = _largest(self.moved)
        parts = np.abs(c) * (self.wrong[:k] + EPS)
        by_scores, by_w = float(parts.sum()), float(parts @ self.width[:k])
        size = _largest(displacement)
        if not (by_scores <= APART * self.far and by_w <= APART * size):
            return None
        self.wrong[0] = max(by_scores / self.far, by_w / size)
        return displacement

    def _go(self, displacement: Array) -> None:
        """Move, and keep the displacement in the place of the oldest one."""
        self.w += displacement
        self.z, self.other = self.other, self.z
        if self.memory:
            slot = 1 + self.k % self.memory if self.held == self.memory else self.held + 1
            self.held = max(self.held, slot)
            self._set(slot, displacement, self.moved)
            self.wrong[slot] = self.wrong[0]

    def _weigh(self, slot: int) -> None:
        """Products of one direction with all."""
        k = self.held + 1
        if self.penalised:
            row = self.D[:k].reshape(k, -1) @ (self.ridge * self.D[slot]).reshape(-1)
            self.pulled[slot, :k] = self.pulled[:k, slot] = row
        if self.quadratic:
            row = self.sweep.gram(self.U[:k], self.U[slot : slot + 1])[:, 0]
            self.bent[slot, :k] = self.bent[:k, slot] = row

    def _curvature(self, k: int) -> Array:
        """The Hessian of f on the plane, where the sweep has looked."""
        bent = self.bent[:k, :k] if self.quadratic else self.sweep.gram(self.U[:k], self.U[:k])
        return bent + self.pulled[:k, :k] if self.penalised else bent

    # -- what comes of it --------------------------------------------------------------------

    def _nothing_fell(self) -> Step:
        """From fresh scores by the plain gradient, and if that is tried, it is rounding."""
        tried = self.held == 0 and self.metric.plain
        self.held, self.metric, self.shrank = 0, Metric(), math.nan
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
        counts = [getattr(self, name) for name in _COUNTS]
        numbers = [getattr(self, name) for name in _NUMBERS]
        k = self.held + 1
        state = {
            "w": self.w.copy(),
            "z": self.z.copy(),
            "D": self.D[1:k].copy(),
            "U": self.U[1:k].copy(),
            "wrong": self.wrong.copy(),
            "products": np.stack([self.pulled, self.bent]),
            "counts": np.array(counts, dtype=np.int64),
            "numbers": np.array(numbers),
        }
        if self.chooser is not None:
            state["chooser"] = self.chooser.state()
        if self.metric.factor is not None and self.metric.root is not None:
            state["factor"], state["root"] = self.metric.factor, self.metric.root
        return state

    @classmethod
    def from_state(cls, problem: Any, state: dict[str, Any]) -> Plane:
        """The run that ``state`` was taken of."""
        self = cls.__new__(cls)
        memory = int(state["counts"][_COUNTS.index("memory")])
        metric = "auto" if "chooser" in state else Metric(state.get("factor"), state.get("root"))
        self._lay_out(problem, np.array(state["w"], dtype=np.float64), memory, metric)
        if self.chooser is not None:
            self.chooser.restore(state["chooser"])
            self.metric = Metric(state.get("factor"), state.get("root"))
        self.z[...] = state["z"]
        self.held = len(state["D"])
        self.D[1 : self.held + 1], self.U[1 : self.held + 1] = state["D"], state["U"]
        with np.errstate(all="ignore"):
            self._settle(self._look())
        self.pulled, self.bent = np.array(state["products"], dtype=np.float64)
        for slot in range(1, self.held + 1):
            self.width[slot] = _largest(self.D[slot])
        self.wrong[:] = state["wrong"]
        for name, count in zip(_COUNTS, state["counts"]):
            setattr(self, name, int(count))
        for name, number in zip(_NUMBERS, state["numbers"]):
            setattr(self, name, float(number))
        return self

    # -- Newton's method on the plane ----------------------------------------------------------

    def _newton(self) -> tuple[Array, Looked, float] | None:
        """c that makes f(w + D c) nearly as small as can be, what the sweep saw there, and the fall
        that the first Newton step foresaw; None where no fall can be measured."""
        k = self.held + 1
        D = self.D[:k].reshape(k, -1)
        a = D @ self.gradient.reshape(-1)  # the gradient on the plane
        self.pull = D @ (self.ridge * self.w).reshape(-1) if self.penalised else np.zeros(k)
        H = self._curvature(k)
        unit = _unit(H)
        goal = ENOUGH * float(np.abs(a * unit).max())
        c, value, looked, predicted, stretch = np.zeros(k), self.value, None, 0.0, 1.0
        for _ in range(NEWTON):
            p = _solve(H, a, unit)
            p *= -stretch
            slope = float(a @ p)
            if not slope < 0.0:
                break
            predicted = predicted or -0.5 * slope
            tried = self._search(c, p, value, slope)
            if tried is None:
                if looked is not None:
                    looked = self._try(c)[0]
                break
            t, looked, value, a = tried
            c = c + t * p
            if float(np.abs(a * unit).max()) <= goal:
                break
            if t == 1.0 and float(a @ p) < 0.5 * slope:
                stretch *= 4.0  # f bends less than its second derivative says: Huber's loss, far
                continue
            stretch, H = 1.0, self._curvature(k)
            unit = _unit(H)
        return None if looked is None else (c, looked, predicted)

    def _search(
        self, c: Array, p: Array, value: float, slope: float
    ) -> tuple[float, Looked, float, Array] | None:
        """The first of t = 1, 1/4, 1/16 ... at which f(w + D (c + t p)) falls."""
        t = 1.0
        while t > SHORTEST:
            looked, new, a = self._try(c + t * p)
            if _falls(new - value, self.slack, float(a @ p), slope):
                return t, looked, new, a
            t *= 0.25
        return None

    def _try(self, c: Array) -> tuple[Looked, float, Array]:
        """What the sweep sees at w + D c, f, and the gradient on the plane."""
        self.sweeps += 1
        k = c.size
        looked = self.sweep.move(self.z, self.U[:k], c, self.moved, self.other)
        if not self.penalised:
            return looked, looked.value, looked.plane
        Qc = self.pulled[:k, :k] @ c
        penalty = self.penalty + float(c @ (self.pull + 0.5 * Qc))
        return looked, looked.value + penalty, looked.plane + self.pull + Qc


def _largest(v: Array) -> float:
    """max |v_i|."""
    return max(float(v.max()), -float(v.min()))


def _falls(change: float, slack: float, after: float, before: float) -> bool:
    """Does f fall? And where that is rounding, is the slope at the end such that it must?

    ``before`` < 0 and ``after`` are the slopes along the step at its ends. A convex f falls if
    after <= 0, and a nearly quadratic one, as f is wherever rounding matters, if after < -before.
    """
    if change < -slack:
        return True
    return change <= slack and after <= -0.9 * before


def _unit(H: Array) -> Array:
    """1/sqrt(H_jj), and 1 for a direction without curvature."""
    diagonal = H.diagonal()
    if diagonal.min() > 0.0:
        return np.asarray(diagonal**-0.5)
    return np.asarray(np.where(diagonal > 0.0, diagonal, 1.0) ** -0.5)


def _solve(H: Array, a: Array, unit: Array) -> Array:
    """H^-1 a, by H scaled to a unit diagonal, to which a little is added where it is singular."""
    scaled = H * unit
    scaled *= unit[:, None]
    more = 1e-13
    while True:
        scaled.flat[:: a.size + 1] = 1.0 + more
        _, x, failed = lapack.dposv(scaled, a * unit)
        if not failed:
            return np.asarray(x * unit)
        more *= 100.0
