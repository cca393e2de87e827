"""``minimize(p, "auto", T=None)``: a run that needs no number of steps.

Stages of constant parameters, run by an engine; between them a checkpoint where the last iterate
and two averages of iterates are measured, and ``policies.anytime`` decides what comes next.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import engines
from .engines import checkpoint as checkpoints
from .engines.whole import WholeEngine
from .finish import CHECK_EVERY, HESSIAN_FLOPS, Finish
from .policies import anytime
from .policies.guard import VALUE_FACTOR
from .problems import GRAM_COLUMNS, Constants, LeastSquares, LinearProblem
from .result import Progress, Result

PASSES = 100  # over the data, when no tolerance is asked for
PASSES_TO_TOL = 10_000
LEAST_STEPS = 1000
SLACK = 1e-14  # of f: smaller differences are rounding
CUT_SECONDS = 0.2
SAVE_SECONDS = 10.0
VECTORS = ("w", "v", "tally", "before", "best_w", "best_g", "anchor")
NUMBERS = (
    *("k", "evaluations", "start", "middle", "end", "halved", "recorded", "retreats", "restarts"),
    *("j", "stalls", "first_b", "stage_value", "best_value", "best_grad2", "first_value"),
    *("first_grad2", "slack", "anchor_grad2", "doubts"),
)
UNKNOWN = Constants(1.0, 0.0, 1.0, None, False)
MOVING = ("mu", "b", "cuts", "doublings")


class Course(Finish):
    """One anytime run: where it is (all of it in a checkpoint) and how it goes on."""

    def __init__(
        self,
        p: LinearProblem,
        b: int | None,
        seed: int,
        start: np.ndarray,
        settings: dict[str, Any],
        name: str,
        passes: float | None = None,
    ) -> None:
        self.p, self.seed, self.tol, self.settings = p, seed, settings["tol"], settings
        self.name = name
        self.checkpoint: Path | None = None
        cheap = isinstance(p, LeastSquares) and p.gram_fits
        small = p.d <= GRAM_COLUMNS and not p.in_parts
        self.whitens = self.tol > 0 and small and hasattr(p, "hessian")
        # where all rows cost next to nothing, whitened variables need no constants at all
        straight = b is None and cheap and self.whitens
        c = UNKNOWN if straight else self._constants()
        # the longest certified steps: here averages and batches take care of the noise
        R2, tilde = c.sharpest
        tilde = None if name == "auto-shb" else tilde
        L = c.L if c.L > 0 else 1.0  # f does not depend on w: the first look ends the run
        mu = min(L, max(c.mu, L * anytime.FIRST_SHARE))
        first = b or p.whole_batch(anytime.accelerating_batch(p.n, L, mu, max(c.L_max, L)))
        if b is None and self.tol > 0 and (2 * first > p.n or straight):
            first = p.n  # the full batch would follow soon, or costs no more than a few rows
        self.plan = anytime.Course(
            *(p.n, L, max(R2, L), tilde, c.mu, isinstance(p, LeastSquares)),
            *(float(p.d if cheap else p.n), b is not None, self.tol > 0, mu, first),
            brief=self.whitens and b is None,
        )
        usual = max((PASSES_TO_TOL if self.tol > 0 else PASSES) * p.n, LEAST_STEPS * first)
        self.budget = usual if passes is None else max(1, math.ceil(passes * p.n))
        self.w, self.v, self.best_w = start, np.zeros(p.d), start.copy()
        self.tally, self.before = np.zeros(p.d), np.zeros(p.d)
        self.anchor = np.zeros(0)
        self.k = self.evaluations = self.start = self.middle = self.end = 0
        self.halved = self.recorded = self.retreats = self.restarts = self.j = self.stalls = 0
        self.doubts = 0
        self.first_b = first
        self._make_engine()
        self.first_value, self.best_g = self.engine.look(start)
        with np.errstate(over="ignore", invalid="ignore"):
            self.first_grad2 = float(self.best_g @ self.best_g)
        zero = self.engine.measure(np.zeros(p.d))[0] if start.any() else self.first_value
        self.slack = SLACK * max(zero, self.first_value)
        self.stage_value = self.best_value = self.first_value
        self.best_grad2 = self.anchor_grad2 = self.first_grad2
        some = p.sample(HESSIAN_FLOPS) if self.whitens else p
        self.some = p if cheap else some
        scale2 = max(self.first_grad2, some.row_gradient_mean2(start))
        self.limit2 = scale2 * engines.DIVERGENCE_FACTOR**2 if scale2 > 0 else math.inf
        self.goal2 = self.tol**2 * self.first_grad2 if self.tol > 0 else -1.0
        self.history: list[tuple[float, float, float, float]] = []
        self.recorder: engines.Recorder | None = None
        self.table: Any = None

    def _constants(self) -> Constants:
        """Those of all rows for a run that must be right by them alone, else an estimate."""
        p = self.p
        return p.constants() if self.tol == 0 or p.in_parts else p.estimated()

    def _make_engine(self) -> None:
        settings = self.settings
        if self.plan.full and self.whitens:
            self.engine = WholeEngine(self.p, engines.compiles(settings["engine"], self.p))
            if self.anchor.size:
                self._set_metric()
            return
        table = self.plan.ramp()  # any schedule: it decides who can step
        self.engine = engines.make(
            settings["engine"], self.p, table, self.plan.b, self.seed, settings["sampling"]
        )

    # -- on disk ---------------------------------------------------------------------------------

    def _identity(self) -> dict[str, Any]:
        return checkpoints.fingerprint(self.p, f"{self.name} without T", self.settings)

    def save(self, path: Path) -> None:
        numbers = [float(getattr(self, name)) for name in NUMBERS]
        numbers += [float(getattr(self.plan, name)) for name in MOVING]
        arrays: dict[str, Any] = {name: getattr(self, name) for name in VECTORS}
        # floats hold every step and count below 2^53
        arrays["numbers"] = np.array(numbers)
        arrays["history"] = np.array(self.history).reshape(-1, 4)
        checkpoints.write(path, self._identity(), arrays)

    def load(self, path: Path) -> None:
        saved = checkpoints.read(path, self._identity(), (*VECTORS, "numbers", "history"))
        for name in VECTORS:
            setattr(self, name, saved[name])
        numbers = iter(saved["numbers"].tolist())
        for owner, names in ((self, NUMBERS), (self.plan, MOVING)):
            for name in names:
                value = next(numbers)
                setattr(owner, name, int(value) if isinstance(getattr(owner, name), int) else value)
        self.history = [tuple(row) for row in saved["history"].tolist()]
        self._make_engine()

    # -- the run ---------------------------------------------------------------------------------

    def go(self, callback: Callable[[Progress], Any] | None) -> Result:
        """Run to the tolerance or the budget."""

        def tell(k: int, w: np.ndarray, grad2: float, value: float, g: Any = None) -> bool:
            if callback is None:
                return False
            return bool(callback(Progress(int(k), w.copy(), math.sqrt(grad2), value, g)))

        return self._result(self._run(tell, callback is not None))

    def _run(self, tell: Callable[..., bool], watched: bool) -> str:
        path = self.checkpoint
        if path is not None and path.exists():
            self.load(path)
        saved = time.monotonic()
        try:
            if not self.history and self._record(
                tell, self.best_w, self.first_value, self.first_grad2
            ):
                return "stopped"
            if self.first_grad2 <= max(self.goal2, 0.0) or self.best_grad2 <= self.goal2:
                return "converged"
            while True:
                verdict = self._once(tell, watched)
                if verdict:
                    return verdict
                if path is not None and time.monotonic() - saved > SAVE_SECONDS:
                    self.save(path)
                    saved = time.monotonic()
        finally:
            if path is not None:
                self.save(path)

    def _once(self, tell: Callable[..., bool], watched: bool) -> str:
        if self.k < self.end:
            return self._stretch(tell, watched)
        if self.end > self.start:
            verdict = self._checkpoint(tell)
            if verdict:
                return verdict
        left = (self.budget - self.evaluations) // self.plan.b
        if left < 1:
            return "budget"
        if self.plan.full and self.whitens:
            return self._polish(tell)
        if self.plan.full:
            return self._whole(tell, min(CHECK_EVERY, left))
        length = self.plan.length(self.k, left)
        self.start, self.middle, self.end = self.k, self.k + (length + 1) // 2, self.k + length
        self.halved = self.recorded = 0
        self.tally[:], self.before[:] = 0.0, 0.0
        self.recorder = self.table = None
        return ""

    def _result(self, verdict: str) -> Result:
        k, value, grad2, evaluations = np.array(self.history).T
        history = {
            "k": k.astype(np.int64),
            "grad_norm": np.sqrt(grad2),
            "value": value,
            "gradient_evaluations": evaluations.astype(np.int64),
        }
        status = verdict if verdict in ("converged", "diverged") else "finished"
        message = f"{self.name}: {self._in_words(verdict)}"
        if self.retreats:
            message += (
                f" The guard went back to the best point {self.retreats} "
                f"time{'s' * (self.retreats > 1)}: the steps are now {2**self.retreats} times "
                "shorter."
            )
        return Result(
            *(self.best_w, status, self.k, history, self.plan.table(0, 1)),
            *(self.seed, self.first_b, message),
        )

    def _in_words(self, verdict: str) -> str:
        passes = self.evaluations / self.p.n
        reached = math.sqrt(self.best_grad2 / self.first_grad2) if self.first_grad2 else 0.0
        batches = f"batches of {self.first_b}"
        if self.plan.b != self.first_b:
            batches += f" to {self.plan.b}"
        spent = f"{self.k} steps, {passes:.3g} passes, {batches} of n={self.p.n}"
        if verdict == "converged":
            return f"gradient norm at most {self.tol:g} times the first after {spent}."
        if verdict == "stopped":
            return f"stopped by the callback after {spent}."
        if verdict == "stalled":
            return f"no further progress can be measured in f after {spent}."
        if verdict == "diverged":
            return f"diverged after {spent}: check the data for rows of very different size."
        text = f"the budget of {self.budget / self.p.n:.3g} passes is used: {spent}."
        if self.tol > 0:
            text += (
                f" The gradient norm is {reached:.3g} times the first, not tol={self.tol:g}: raise "
                "tol or l2, or go on from w0=result.w."
            )
        return text

    # -- stages of batches -----------------------------------------------------------------------

    def _stretch(self, tell: Callable[..., bool], watched: bool) -> str:
        """Some steps of the stage: to its middle or end, to a record, or for a while."""
        if self.recorder is None:
            self.table = self.plan.table(self.start, self.end - self.start)
            self.recorder = self._stage_recorder()
            self.pace = 16
        if self.k == self.middle and not self.halved:
            self.before, self.tally, self.halved = self.tally, np.zeros(self.p.d), 1
        recorder, grain = self.recorder, self.engine.grain
        if watched and recorder.due(self.k):
            verdict = recorder.keep(*self.engine.measure(self.w))
            return self._harvest(tell) or self._end_of_stretch(verdict)
        stop = min(self.end if self.halved else self.middle, (self.k // grain + self.pace) * grain)
        if watched and recorder.count < recorder.when.size:
            stop = min(stop, int(recorder.when[recorder.count]))
        before = time.monotonic()
        state = engines.State(self.w, self.v, self.k, (), self.tally)
        verdict = self.engine.advance(state, self.table, stop, recorder)
        self.evaluations += (state.k - self.k) * self.plan.b
        self.w, self.v, self.k = state.w, state.v, state.k
        quick = time.monotonic() - before < CUT_SECONDS
        self.pace = max(1, self.pace * 2 if quick else self.pace // 2)
        return self._harvest(tell if watched else None) or self._end_of_stretch(verdict)

    def _stage_recorder(self) -> engines.Recorder:
        every = self.settings["record_every"]
        when = np.arange(0)
        if every != "auto":
            when = np.arange(-(-(self.start + 1) // every) * every, self.end, every)
        recorder = engines.Recorder(when.astype(np.int64), self.limit2, self.goal2)
        recorder.cursor[0] = self.recorded
        return recorder

    def _harvest(self, tell: Callable[..., bool] | None) -> str:
        """New records into the history (and, where somebody watches, told)."""
        stop = False
        while self.recorded < self.recorder.count:
            i = self.recorded
            k = int(self.recorder.when[i])
            value, grad2 = float(self.recorder.value[i]), float(self.recorder.grad2[i])
            done = self.evaluations - (self.k - k) * self.plan.b
            self.history.append((k, value, grad2, done))
            self.recorded += 1
            stop = tell is not None and tell(k, self.w, grad2, value)
        return "stopped" if stop else ""

    def _end_of_stretch(self, verdict: str) -> str:
        if verdict == "converged":
            self._converged(self._measure(self.w))
        return self._retreat() if verdict == "diverged" else verdict

    def _checkpoint(self, tell: Callable[..., bool]) -> str:
        """Measure the last iterate and the averages; keep the best, and choose the next stage."""
        if self.plan.brief:
            self._restart_from(self.tally / (self.end - self.middle or 1), self.first_value)
            self.plan.b = self.p.n
            self._make_engine()
            return ""
        last = self._measure(self.w)
        if not last.value <= VALUE_FACTOR * self.first_value + self.slack:
            return self._retreat()
        points = [last, self._measure(self.tally / (self.end - self.middle or 1))]
        if self._better(points[1], last.value, last.grad2):
            points.append(self._measure((self.before + self.tally) / (self.end - self.start)))
        met = next((point for point in points if self._converged(point)), None)
        if met is not None:
            self._record(tell, *met)
            return "converged"
        winner = last
        for point in points[1:]:
            winner = point if self._better(point, winner.value, winner.grad2) else winner
        self._keep(winner)
        # averaging helps more than the steps of the stage did: noise dominates
        progress = max(self.stage_value - last.value, self.slack)
        noisy = winner is not last and last.value - winner.value > progress
        self.start = self.end
        self.stage_value = last.value
        batch = self.plan.b
        self.plan.proceed(noisy, (self.budget - self.evaluations) // batch)
        if noisy or self.plan.full:
            self._restart_from(winner.w, winner.value)
        if self.plan.b != batch:
            self.plan.b = self.p.whole_batch(self.plan.b)
            self._make_engine()
        # told last: whoever interrupts here finds the run where the next stage begins
        stop = self._record(tell, self.best_w, self.best_value, self.best_grad2)
        return "stopped" if stop else ""
