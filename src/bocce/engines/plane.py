"""Heavy ball on all rows with the best step and momentum there are.

    w+ = w - alpha P^-1 g + beta_1 v_1 + ... + beta_m v_m

v_j are the last m displacements. The scores X w and X v_j are kept, so f on the plane that the
directions span is a function of m + 1 numbers that costs no product with X: Newton's method finds
the best ones. A step takes one product with X and one with X^T, whatever the loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from .fused import Looked, Sweep
from .metric import Chooser, Metric, sampled_hessian

Array = npt.NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
REFRESH = 50  # steps after which the scores are computed anew
NEWTON = 30  # Newton steps on one plane
ENOUGH = 0.1  # of the first gradient on the plane: a smaller one will do
SHORTEST = 1e-16
ROUNDING = 8.0  # units in the last place that a mean over blocks may be wrong by
STALLS = 10  # steps that neither f nor the gradient shows


@dataclass(frozen=True)
class Step:
    """What a step found, at the new point."""

    value: float
    gradient: Array
    norm: float  # of the gradient
    predicted: float  # how much f falls by, as Newton's method on the plane sees it
    products: int  # with X and X^T, so far
    evaluations: int  # of the loss, so far: sweeps over the scores
    verdict: str = ""  # "stalled": no fall of f can be measured; "unbounded": w runs away


def norm(g: Array) -> float:
    """||g||, of numbers of any size."""
    flat = g.reshape(-1)
    largest = float(np.abs(flat).max(initial=0.0))
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    flat = flat / largest
    return largest * math.sqrt(float(flat @ flat))


class Plane:
    """f(w) = 1/n sum_i c_i loss(x_i . w, y_i) + 1/2 sum_j ridge_j w_j^2, a step at a time."""

    def __init__(
        self, problem: Any, w0: Array, *, memory: int = 5, metric: str = "auto"
    ) -> None:
        self.problem, self.memory, self.metric_name = problem, memory, metric
        self.w = np.array(w0, dtype=np.float64)
        self.ridge = np.asarray(problem.ridge, dtype=np.float64)
        if self.ridge.ndim and self.w.ndim == 2:
            self.ridge = self.ridge[:, None]
        self.penalised = bool(self.ridge.any())
        outputs = self.w.shape[1:]
        shape = (int(problem.n), *outputs)
        self.sweep = Sweep(problem, shape)
        self.D = np.zeros((memory + 1, *self.w.shape))
        self.U = np.zeros((memory + 1, *shape))
        self.Q = np.zeros((memory + 1, memory + 1))  # D^T ridge D
        self.held = 0  # displacements in memory, in rows 1 .. of D and U
        self.moved, self.other = np.empty(shape), np.empty(shape)
        self.chooser = Chooser(problem)
        self.metric = Metric()
        self.k = self.products = self.evaluations = 0
        self.shrank: float | None = None
        self.stalls = 0
        self.refresh()
        self.best_norm = self.first_norm = self.norm

    # -- the point ---------------------------------------------------------------------------

    def refresh(self) -> None:
        """Compute scores, value and gradient from w alone: call it before trusting a verdict."""
        self.z = np.array(self.problem.rows.times(self.w), dtype=np.float64)
        self.products += 1
        self._settle(self._look())

    def _look(self) -> Looked:
        self.evaluations += 1
        with np.errstate(over="ignore", invalid="ignore"):
            return self.sweep.look(self.z)

    def _settle(self, looked: Looked) -> None:
        """Value and gradient where the sweep has looked."""
        pull = self.ridge * self.w if self.penalised else None
        penalty = 0.0 if pull is None else 0.5 * float(np.vdot(self.w, pull))
        self.value = looked.value + penalty
        self.slack = ROUNDING * EPS * (looked.size + penalty)
        g = self.problem.rows.combine(self.sweep.slope)
        self.products += 1
        g = np.asarray(g, dtype=np.float64) / self.problem.n
        if pull is not None:
            g += pull
        self.gradient, self.norm, self.penalty = g, norm(g), penalty

    # -- a step ------------------------------------------------------------------------------

    def step(self) -> Step:
        if self.norm == 0.0:
            return self._result(0.0, "")
        if self.k and self.k % REFRESH == 0:
            self.refresh()
        self._choose_metric()
        before = self.norm
        predicted, fell = self._on_plane()
        if not fell:
            return self._nothing_fell(predicted)
        self.k += 1
        self.shrank = self.norm / before
        return self._result(predicted, self._verdict(predicted))

    def _choose_metric(self) -> None:
        if self.metric_name == "identity" or self.w.ndim > 1:
            return
        if self.chooser.wants(self.shrank):
            chooser, bend = self.chooser, self.sweep.bend
            H = sampled_hessian(self.problem.rows, bend, chooser.rows, chooser.taken)
            self.metric = Metric.of(H, self.ridge, 1.0 / chooser.rows)
            chooser.took()
        self.shrank = None

    def _nothing_fell(self, predicted: float) -> Step:
        """Try once more from fresh scores, by the gradient alone; then it is rounding."""
        if self.held or self.metric.factor is not None:
            self.held, self.metric = 0, Metric()
            self.refresh()
            return self._result(predicted, "")
        return self._result(predicted, "stalled")

    def _verdict(self, predicted: float) -> str:
        if self.norm < 0.98 * self.best_norm:
            self.best_norm, self.stalls = self.norm, 0
        elif predicted <= self.slack:
            self.stalls += 1
        return "stalled" if self.stalls >= STALLS else ""

    def _result(self, predicted: float, verdict: str) -> Step:
        return Step(
            self.value,
            self.gradient,
            self.norm,
            predicted,
            self.products,
            self.evaluations,
            verdict,
        )

    def _on_plane(self) -> tuple[float, bool]:
        self._new_direction()
        k = self.held + 1
        flat = self.D[:k].reshape(k, -1)
        found = self._newton(flat @ self.gradient.reshape(-1))
        if found is None:
            self._look()
            return 0.0, False
        c, looked, predicted = found
        self.z, self.other = self.other, self.z
        displacement = c @ flat
        self.w += displacement.reshape(self.w.shape)
        self._remember(c, displacement)
        self._settle(looked)
        return predicted, True

    def _new_direction(self) -> None:
        """-P^-1 g, at a length that moves the scores by about 1, into row 0."""
        d = -self.metric.solve(self.gradient)
        d /= np.abs(d).max()
        u = np.asarray(self.problem.rows.times(d), dtype=np.float64)
        self.products += 1
        far = max(float(u.max()), -float(u.min()))
        if far > 0.0 and math.isfinite(far):
            u /= far
            d /= far
        self.D[0], self.U[0] = d, u
        self._weigh(0)

    def _remember(self, c: Array, displacement: Array) -> None:
        """The displacement takes the place of the oldest one."""
        if not self.memory:
            return
        slot = 1 + self.k % self.memory
        self.held = min(self.memory, self.held + 1)
        self.D[slot].reshape(-1)[:] = displacement
        self.U[slot] = self.moved
        self._weigh(slot)

    def _weigh(self, slot: int) -> None:
        if self.penalised:
            k = self.held + 1
            pulled = (self.ridge * self.D[slot]).reshape(-1)
            row = self.D[:k].reshape(k, -1) @ pulled
            self.Q[slot, :k] = self.Q[:k, slot] = row

    # -- Newton's method on the plane ----------------------------------------------------------

    def _newton(self, a: Array) -> tuple[Array, Looked, float] | None:
        """c that makes f(w + D c) as small as need be; None where no fall can be measured."""
        k = a.size
        U, Q = self.U[:k], self.Q[:k, :k]
        pull = self.D[:k].reshape(k, -1) @ (self.ridge * self.w).reshape(-1)
        H = self.sweep.gram(U) + Q
        c, value, slack, predicted = np.zeros(k), self.value, self.slack, 0.0
        goal, looked, stretch = -1.0, None, 1.0
        for _ in range(NEWTON):
            weights = _weights(H)
            size = float(np.abs(a * weights).max())
            goal = ENOUGH * size if goal < 0.0 else goal
            if looked is not None and size <= goal:
                break
            p = stretch * _solve(H, -a, weights)
            slope = float(a @ p)
            if not slope < 0.0:
                break
            predicted = predicted or -0.5 * slope
            t = 1.0
            while True:
                trial = c + t * p
                self.evaluations += 1
                with np.errstate(over="ignore", invalid="ignore"):
                    seen = self.sweep.move(self.z, U, trial, self.moved, self.other)
                penalty = self.penalty + float(trial @ (pull + 0.5 * (Q @ trial)))
                new, b = seen.value + penalty, seen.plane + pull + Q @ trial
                if _falls(new - value, slack, float(b @ p), slope):
                    break
                t *= 0.25
                if t < SHORTEST:
                    return None if looked is None else (c, self._back(U, c), predicted)
            c, value, a, looked = trial, new, b, seen
            if float(b @ p) < 0.5 * slope and t == 1.0:
                stretch *= 4.0
            else:
                stretch = 1.0
                if float(np.abs(a * weights).max()) > goal:
                    H = self.sweep.gram(U) + Q
        if looked is None:
            return None
        return c, looked, predicted

    def _back(self, U: Array, c: Array) -> Looked:
        self.evaluations += 1
        return self.sweep.move(self.z, U, c, self.moved, self.other)


def _falls(change: float, slack: float, after: float, before: float) -> bool:
    """Does f fall? Where that is rounding: is the slope at the end such that it must?

    ``after`` and ``before`` are slopes along the step (before < 0). A convex f falls if after <= 0,
    and a nearly quadratic one, as f is wherever rounding matters, if after < -before.
    """
    if change < -slack:
        return True
    return change <= slack and after <= -0.9 * before


def _weights(H: Array) -> Array:
    """1/sqrt(H_jj), and 1 for a direction without curvature."""
    diagonal = H.diagonal()
    if diagonal.min() > 0.0:
        return np.asarray(1.0 / np.sqrt(diagonal))
    return np.asarray(1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)))


def _solve(H: Array, b: Array, weights: Array) -> Array:
    """H^-1 b with H scaled to a unit diagonal."""
    A = H * weights
    A *= weights[:, None]
    more = 1e-13
    while True:
        A.flat[:: A.shape[0] + 1] = 1.0 + more
        _, x, failed = lapack.dposv(A, b * weights)
        if not failed:
            return np.asarray(weights * x)
        more = 100.0 * more
