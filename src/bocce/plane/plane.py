"""Heavy ball on all rows with the best step and momentum.

    w+ = w - alpha P^-1 g + beta_1 v_1 + ... + beta_m v_m

v_j are the last m displacements. The scores X w and X v_j are stored, so f on the plane that the
directions span is a function of m + 1 numbers that needs no product with X. Newton's method finds
the best numbers. A step takes one product with X and one with X^T, whatever the loss.
"""

from __future__ import annotations

import math

import numpy as np

from .._record import joined, part_of, record
from .._types import Array
from ..control import RunVerdict
from ..engines.base import ANY, Goal
from ..problems import NotFinite, Problem
from ..rows import Moments
from .choose import Given, policy_for, sample_pays, scores_for, sums_suffice
from .directions import Directions
from .linalg import largest, length, norm
from .metrics import Metric, View
from .metrics.factor import IDENTITY
from .scores import Evaluation, GramScores, Scores
from .scores.file import ONE_PART_IN
from .subspace import LIMITS, PlaneLimits, PlanePoint, Subspace

EPS = float(np.finfo(np.float64).eps)
ENOUGH = 0.2  # A step may leave this share of the gradient on the plane (studies/plane.py).
THOROUGH = 0.1  # The same share for a direction that took several passes (studies/probe.py).
NEWTON = 0.03  # The same share along Newton's direction alone, where one trial nearly always does.
SLOW = 0.9  # After a step that left more of the gradient's norm, the whole plane is searched.
ROUNDING = 8.0  # A mean over blocks is wrong by at most this many units in the last place.
FAR = 0.5  # A step that moves some score this far, for next to nothing, may lead to infinity.
ENDLESS = 100.0  # A step that would move some score this far, for next to nothing, is not taken.
NEXT_TO_NOTHING = 1e-6  # f gains next to nothing below this share of one row's part of its fall.
SAMPLE_STEPS = 20  # At most this many steps are taken on a sample of the rows.
SETTLED = 1e-4  # Steps on a sample end when one gains less than this share of the fall of f.
# The counters of a run that a checkpoint keeps.
COUNTS = ("k", "products", "evaluations", "stalls", "escapes", "view_passes")
MOST_MEMORY = 10  # A checkpoint with more displacements than this is refused.


class PlaneRun:
    """Minimises f(w) = 1/n sum_i c_i loss(x_i . w, y_i) + 1/2 sum_j ridge_j w_j^2.

    Each step goes to the best point of the plane through w that -P^-1 g and the last ``memory``
    displacements span.

    Parameters
    ----------
    problem, w0 : what is minimised, and the start.
    memory : how many displacements are stored.
    metric : "auto", a name of ``METRICS``, or a function that makes a policy for a problem.
    inner : may a step make several passes to find its direction (several outputs)?
    limits : how often something is done.

    Raises
    ------
    NotFinite
        f or its gradient overflows at w0.

    Guarantee: f never rises (by more than the rounding of its sum), for any convex loss with a
    second derivative. On least squares with ``memory=1`` and a fixed metric the steps are those of
    preconditioned conjugate gradients.

    Source: Nemirovski and Yudin's subspace minimisation, and SESOP of Narkiss and Zibulevsky.

    >>> from bocce.problems import LeastSquares
    >>> p = LeastSquares(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([2.0, 1.0]))
    >>> plane = PlaneRun(p, np.zeros(2), memory=1, metric="identity")
    >>> for _ in range(2):
    ...     verdict = plane.step()
    >>> plane.w.round(9).tolist(), plane.value < 1e-20
    ([1.0, 1.0], True)
    """

    value: float
    gradient: Array
    norm: float
    scores: Scores

    def __init__(
        self,
        problem: Problem,
        w0: Array,
        *,
        memory: int = 5,
        metric: Given = "auto",
        inner: bool = False,
        limits: PlaneLimits = LIMITS,
    ) -> None:
        self._lay_out(problem, np.array(w0, dtype=np.float64), memory, metric, inner, limits)
        if sums_suffice(problem, self.policy):
            self.scores = GramScores(problem, problem.sums, self.w, self.directions.D)
        else:
            self.scores = self._scores_of_rows()
        self.metric: Metric = self.policy.begin(self.ridge)
        self.refresh()
        if not (math.isfinite(self.value) and math.isfinite(self.norm)):
            raise NotFinite(
                f"plane: f(w0)={self.value!r} must be finite, as its gradient; start nearer to 0, "
                "or scale the data."
            )
        self.start_value = self.value
        self.best_norm = self.norm

    def _lay_out(
        self, p: Problem, w: Array, memory: int, metric: Given, inner: bool, limits: PlaneLimits
    ) -> None:
        self.problem = p
        self.w = w
        self.limits = limits
        self.ridge = np.asarray(p.ridge, dtype=np.float64)
        if self.ridge.ndim:
            self.ridge = self.ridge.reshape(-1, *(1,) * (w.ndim - 1))
        self.penalised = bool(self.ridge.any())
        # Can the minimum be at infinity? Not if the loss of a row has a minimum at a finite score.
        self.may_escape = not (p.loss.attains_minimum or bool((self.ridge > 0.0).all()))
        self.quadratic = bool(p.loss.quadratic)
        self.policy = policy_for(p, metric, inner)
        self.directions = Directions(memory, w.shape, self.ridge, self.quadratic)
        self.goal: Goal = ANY
        # multiples of direction 0: the point where the gradient is known, and -P^-1 g itself
        self.predicted_step = self.full_step = 0.0
        self.trusted = True  # was the last predicted step taken?
        # of the last step: how far it moved a score at most, and the predicted fall of f
        self.max_score_change = self.predicted = 0.0
        self.drift = 0.0  # a bound on |z - X w| since z was computed from w
        self.sample_step: Array | None = None  # from w0 to the minimum over a sample of the rows
        self.k = self.products = self.evaluations = self.stalls = self.escapes = 0
        self.view_passes = 0  # over the data, made by views
        self.gradient_ratio = math.nan

    def _scores_of_rows(self) -> Scores:
        memory = self.directions.memory
        outputs = self.w.shape[1:]
        most = self.limits.score_bytes
        return scores_for(self.problem, memory, outputs, minimum_of_sample, most)

    @property
    def passes(self) -> int:
        """Passes over the data for metrics, beside the one of each step."""
        return self.view_passes + self.policy.passes

    def refresh(self) -> None:
        """Compute scores, value and gradient from w and the rows alone. The scores are otherwise
        sums over all steps, so a run does this before it declares convergence."""
        with np.errstate(all="ignore"):
            if self.products and self.scores.gradient_error() is not None:
                self.update_metric()  # reuse the Gram matrix as the metric
                self.directions.forget()
                self.scores = self._scores_of_rows()
            self.products += 1
            self.evaluations += 1
            self.drift = 0.0
            self._settle(self.scores.start(self.w))

    def _settle(self, found: Evaluation) -> None:
        """Set value and gradient at w, where the loss was evaluated last."""
        g = self.scores.gradient() / self.problem.n
        self.products += 1
        self.penalty = 0.0
        if self.penalised:
            self.penalty_gradient = self.ridge * self.w
            self.penalty = 0.5 * float(np.vdot(self.w, self.penalty_gradient))
            g += self.penalty_gradient
        self.value = found.value + self.penalty
        self.slack = ROUNDING * EPS * (found.scale + self.penalty)
        self.gradient = g
        self.norm = norm(g)

    def step(self, goal: Goal = ANY) -> RunVerdict:
        """Go to the best point of the plane. ``goal``: what the run is for."""
        self.goal = goal
        with np.errstate(all="ignore"):  # a trial too far away overflows, and is rejected
            return self._take_step()

    def _take_step(self) -> RunVerdict:
        if self.k == self.stalls == 0:
            self._solve_sample()
        if self._sums_are_used_up():
            self.refresh()
        if self.norm == 0.0:
            return RunVerdict.RUNNING
        if self.k and self.k % self.limits.refresh_every == 0:
            self.refresh()
        before = self.norm
        sampled = self.sample_step is not None  # then the metric is the sample's Hessian
        newton = not sampled and self.update_metric() and not self.gradient_ratio > SLOW
        share = self._new_direction()
        best = self._best_point(share, newton or sampled)
        if best is None and self.directions.n_stored:
            self.directions.forget()
            self.evaluations += 1
            self.scores.look()
            best = self._best_point(share)
        if best is None:
            return self._nothing_fell()
        found, (displacement, error, drift) = best
        self.max_score_change = self.scores.max_change
        if self._leads_nowhere(found.predicted):
            self.refresh()  # the step is not taken
            return RunVerdict.UNBOUNDED
        self.drift += drift
        self.w += displacement
        self.directions.keep(self.scores, displacement, self.max_score_change, error)
        self._settle(found.evaluation)
        self.k += 1
        self.gradient_ratio = self.norm / before
        self.predicted = found.predicted
        return self._verdict()

    def _sums_are_used_up(self) -> bool:
        """Are the scores sums over rows (``GramScores``) that can improve w no more? They allow one
        step in their own metric; along flat directions the rest is rounding."""
        error = self.scores.gradient_error()
        if error is None:
            return False
        stepped = self.k > 0 and self.metric is not IDENTITY
        return bool(self.norm <= norm(error) or stepped)

    def _best_point(
        self, share: float, newton: bool = False
    ) -> tuple[PlanePoint, tuple[Array, float, float]] | None:
        """The best point of the plane (or of Newton's line), where ``share`` of the gradient on the
        plane may be left, and ``Directions.displacement`` to it. None if no fall of f can be
        measured, or if rounding spoils the step."""
        if self.penalised:
            penalty_gradient = self.penalty_gradient
        else:
            penalty_gradient = None
        plane = Subspace(
            self.scores, self.directions, self.value, self.slack,
            self.gradient, self.penalty, penalty_gradient, 1 if newton else self.directions.count,
            self.limits,
        )  # fmt: skip
        if newton:
            found = plane.best_point(NEWTON, newton_step=self.full_step)
        else:
            found = plane.best_point(share, self.predicted_step)
        self.evaluations += plane.evaluations
        if plane.trusted is not None:
            self.trusted = plane.trusted
        if found is None:
            moved = None
        else:
            moved = self.directions.displacement(self.scores, found.c)
        if found is None or moved is None:
            return None
        return found, moved

    def update_metric(self) -> bool:
        """Ask the policy; returns True if the metric is the Hessian of all rows at w."""
        view = View(self)
        metric = self.policy.update(view)
        self.products += view.products
        self.view_passes += view.passes
        if metric is None:
            return False
        if self.policy.restarts and self.metric is IDENTITY:
            self.directions.forget()
        self.metric = metric
        self.trusted = True
        return self.policy.every_step and metric.newton_like and not self.quadratic

    def _solve_sample(self) -> None:
        """Begin with the minimum over a sample of the rows, and with the metric found there."""
        enough = self.limits.sample_numbers, self.limits.sample_rows
        if self.w.any() or not sample_pays(self.problem, self.policy, *enough):
            return
        sample = self.problem.on(np.arange(0, self.problem.n, ONE_PART_IN))
        found = minimum_of_sample(sample, self.w)
        self.view_passes += 1
        if found is not None:
            self.sample_step, H = found
            self.metric = self.policy.known(H, self.ridge)

    def _new_direction(self) -> float:
        """Direction 0 becomes -P^-1 g, or the step to the minimum over a sample; returns the share
        of the gradient that may be left on the plane."""
        first = self.scores.first_direction()
        before = self.policy.passes
        if self.sample_step is not None:
            first = self.sample_step
            self.sample_step = None
        if first is not None:
            up = -first
        else:
            up = self.metric.solve(self.gradient)
        self.products += 1 + 2 * (self.policy.passes - before)
        step = largest(up)
        d = up / -step
        if first is None and self.metric is IDENTITY:
            d *= np.abs(d) > EPS  # smaller entries are only rounding
        known = first is not None or self.metric.newton_like  # is the length of the step known?
        if known and self.scores.predicts_gradient(self.trusted):
            likely = step
        else:
            likely = 0.0
        change = self.scores.add_direction(0, d, likely)
        unit = length(change, d)
        self.scores.scale_direction(0, unit)
        self.predicted_step = likely * unit
        self.full_step = step * unit
        self.directions.put(self.scores, 0, d, 1.0, change)
        if self.policy.passes > before:
            return THOROUGH
        return ENOUGH

    def _nothing_fell(self) -> RunVerdict:
        """Go on from fresh scores with the plain gradient; if that was tried, stop."""
        tried = self.directions.n_stored == 0 and self.metric is IDENTITY
        self.directions.forget()
        self.metric = IDENTITY
        self.gradient_ratio = math.nan
        self.stalls += 1
        self.refresh()
        over = tried or self.stalls >= self.limits.stalls
        if over:
            return RunVerdict.STALLED
        return RunVerdict.RUNNING

    @property
    def _little(self) -> float:
        """Less than a row could matter for the fall of f."""
        return NEXT_TO_NOTHING / self.problem.n * (self.start_value - self.value)

    def _leads_nowhere(self, predicted: float) -> bool:
        """Would a step for next to nothing move some score so far that the others lose digits?"""
        far = self.may_escape and self.max_score_change >= ENDLESS
        return far and predicted <= max(self.slack, self._little)

    def _verdict(self) -> RunVerdict:
        if self.norm < 0.98 * self.best_norm:
            self.best_norm = self.norm
            self.stalls = 0
        elif self.predicted <= self.slack:
            self.stalls += 1
        # Does some score still move far, though f gains less than a row could matter?
        escaping = self.may_escape and not self.quadratic and self.predicted <= self._little
        escaping = escaping and self.max_score_change >= FAR
        self.escapes = self.escapes + 1 if escaping else 0
        if self.escapes >= self.limits.escapes:
            return RunVerdict.UNBOUNDED
        if self.stalls >= self.limits.stalls:
            return RunVerdict.STALLED
        return RunVerdict.RUNNING

    def state_dict(self) -> dict[str, Array]:
        """All that the next steps depend on: a run continues from here with the same steps."""
        own = record(
            memory=self.directions.memory,
            k=self.k,
            products=self.products,
            evaluations=self.evaluations,
            stalls=self.stalls,
            escapes=self.escapes,
            trusted=self.trusted,
            view_passes=self.view_passes,
            gradient_ratio=self.gradient_ratio,
            start_value=self.start_value,
            best_norm=self.best_norm,
            drift=self.drift,
        )
        parts = joined(
            directions=self.directions.state_dict(),
            scores=self.scores.state_dict(self.directions.count),
            policy=self.policy.state_dict(),
            metric=self.metric.state_dict(),
        )
        return own | {"w": self.w.copy()} | parts

    @classmethod
    def from_state(
        cls,
        problem: Problem,
        state: dict[str, Array],
        metric: Given = "auto",
        inner: bool = False,
        limits: PlaneLimits = LIMITS,
    ) -> PlaneRun:
        """The run whose ``state_dict`` was ``state``; ValueError or KeyError if there is none."""
        self = cls.__new__(cls)
        for name, array in state.items():  # NaN would fail many steps later
            if name != "gradient_ratio" and not np.isfinite(array).all():
                raise ValueError(f"its array {name!r} has NaN or infinity")
        memory = int(state["memory"])
        counts = {name: int(state[name]) for name in COUNTS}
        if min(memory, *counts.values()) < 0 or memory > MOST_MEMORY:
            raise ValueError("its counters are not those of a run")
        w = np.array(state["w"], dtype=np.float64)
        self._lay_out(problem, w, memory, metric, inner, limits)
        directions = self.directions
        directions.load_state_dict(part_of(state, "directions"))
        self.metric = self.policy.load_state_dict(
            part_of(state, "policy"), part_of(state, "metric")
        )
        self._load_scores(part_of(state, "scores"))
        with np.errstate(all="ignore"):
            self._settle(self.scores.look())
        self.__dict__.update(counts)
        self.trusted = bool(state["trusted"])
        self.gradient_ratio = float(state["gradient_ratio"])
        self.start_value = float(state["start_value"])
        self.best_norm = float(state["best_norm"])
        self.drift = float(state["drift"])
        if np.shape(self.metric.solve(self.gradient)) != self.w.shape:
            raise ValueError("its metric has another shape than w")
        return self

    def _load_scores(self, saved: dict[str, Array]) -> None:
        directions = self.directions
        if "gram" in saved:
            sums = Moments(
                np.array(saved["gram"]),
                np.array(saved["moment"]),
                float(saved["target2"]),
                int(saved["longest"]),
                int(saved["rough"]),
                np.array(saved["near"]) if "near" in saved else None,
            )
            self.scores = GramScores(self.problem, sums, self.w, directions.D)
        else:
            self.scores = self._scores_of_rows()
        self.scores.load_state_dict(saved, self.w, directions.D[1 : directions.count])


def minimum_of_sample(sample: Problem, w: Array) -> tuple[Array, Array] | None:
    """From w to about the minimum over a sample: the displacement, and the Hessian there; None
    if w did not move."""
    try:
        run = PlaneRun(sample, w)
        before = math.inf
        for _ in range(SAMPLE_STEPS):
            verdict = run.step()
            if verdict or before - run.value <= SETTLED * (run.start_value - run.value):
                break
            before = run.value
    except ValueError:
        return None  # the evaluation of all rows will say why
    if not (run.w != w).any():
        return None
    return run.w - w, np.asarray(sample.rows.rough_gram(run.scores.row_curvature()))
