"""The one driver: has stages run, keeps the history, saves, tells and stops.

A controller says what comes next, an engine takes the steps; neither knows of the other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import engines
from .._record import joined, part_of, record
from ..control import Controller, PlaneSteps, RunVerdict, Stage, StageReport
from ..engines import Engine, Goal, Recorder, State, StepReport
from ..plane import engine_for
from ..problems import Frame, Look, NotFinite, Problem, norm
from ..rows import Array
from ..schedules import Schedule
from . import divergence
from .checkpoint import Identity, Keeper
from .request import CheckedRequest
from .result import History, Progress, Record, StageRun
from .stop import Stop

TIGHT = 1e-6  # A smaller tolerance is verified from w alone before it counts as met.
# The gradient is that of a rounded point where this share of it, at most, is left without rounding.
ROUNDED = 0.1
LITTLE = 0.01  # Where a tolerance is met, f may still fall by this share of its fall so far.


class Driver:
    """One run of ``problem``, in the variables of ``frame``, from ``start``."""

    def __init__(
        self,
        problem: Problem,
        frame: Frame,
        start: Array,
        controller: Controller,
        stop: Stop,
        settings: CheckedRequest,
        identity: Callable[[], Identity],
    ) -> None:
        self.problem = problem
        self.frame = frame
        self.controller = controller
        self.stop = stop
        self.settings = settings
        self.identity = identity
        self.start = start
        self.state = State.at_rest(start)
        self.history = History()
        self.evaluations = 0
        self.stages: list[StageRun] = []
        self.stage: Stage | None = None
        self.end = 0  # the step at which the stage under way is over
        self.norms: list[Array] = []  # recorded in the stage
        self.engine: Engine
        self.made_for: tuple[int, object] | None = None  # what the engine was made for

    # -- beginning and ending ----------------------------------------------------------------------

    def go(self) -> RunVerdict:
        """Run to the end; returns the verdict."""
        answer = self.controller.next(None)
        assert isinstance(answer, Stage)
        self._use_engine_of(answer)
        first = self.engine.look(self.state.w)
        if not (math.isfinite(first.value) and np.isfinite(first.gradient).all()):
            raise NotFinite(
                f"minimize: f is {first.value:g} where the run begins, or its gradient overflows; "
                "both must be finite: start nearer to zero, or scale X and y."
            )
        self.unit = engines.unit_of(first.gradient)
        self.controller.begin(self.state.w, self._shown(first))
        size = self.stop.begin(first.gradient)
        with Keeper(self) as keeper:
            if keeper.ended is not None:
                return keeper.ended
            if not (keeper.found and self.stages):  # else it goes on where it was
                reply = RunVerdict.RUNNING
                if not keeper.found:
                    self._note(first.value, size)
                    reply = self._tell(self.state.w, first)
                over = self.stop.met(first.gradient, size)
                if self.stop.zero_value > -math.inf:  # on a path a huge column hides what is left
                    over = over and self._little_is_left(first)
                over = over and self._norm_returned(self.state.w, size) <= self.stop.required_goal
                if over or self._near(first):
                    return keeper.end(RunVerdict.CONVERGED)
                if reply:
                    return reply
                self._enter(answer)
            return keeper.end(self._loop(keeper))

    def answer(self, verdict: RunVerdict) -> Array:
        """The point that the run gives back; the last record is of it."""
        w = self.controller.answer(self.state.w, verdict)
        best = self.controller.best
        if best is not None and w is best.w and self.history.last.value != best.value:
            if self.history.last.k == self.state.k:
                self.history.drop_last()
            self._note(best.value, self.stop.user_norm(self.engine.look(w).gradient))
        return w

    # -- the loop ----------------------------------------------------------------------------------

    def _loop(self, keeper: Keeper) -> RunVerdict:
        verdict = RunVerdict.RUNNING
        while True:
            keeper.complete()
            if self.stage is None:
                answer = self.controller.next(self._stage_report(verdict))
                if isinstance(answer, Stage):
                    self._enter(answer)  # before anybody may stop here: a run goes on with it
                reply = self._tell_best()
                if reply == RunVerdict.CONVERGED or (reply and isinstance(answer, Stage)):
                    return reply
                if isinstance(answer, RunVerdict):
                    return answer or self._judged()
            verdict = RunVerdict.RUNNING
            if self.state.k < self.end:  # a callback may have stopped the run at its last step
                verdict = self._stretch()
            if verdict in (RunVerdict.CONVERGED, RunVerdict.STOPPED):
                return verdict
            if verdict or self.state.k >= self.end:
                self.stage = None

    def _stage_report(self, verdict: RunVerdict) -> StageReport:
        state = self.state
        taken = self.stages[-1].steps
        if state.tally is None or taken == 0:
            mean = None
        else:
            mean = state.tally / taken
        norms = np.concatenate([np.zeros(0), *self.norms])

        def look(w: Array) -> Look:
            return self._shown(self.engine.look(w))

        return StageReport(state.w, state.k, mean, look, norms, verdict, self.evaluations)

    def _shown(self, look: Look) -> Look:
        """What a controller sees: of an open-ended run, the gradient in the caller's variables."""
        if not self.controller.open_ended:
            return look
        return Look(look.value, self.frame.gradient_out(look.gradient))

    def _enter(self, stage: Stage) -> None:
        if stage.start is not None:
            self.state = State.at_rest(stage.start, self.state.k)
        if stage.average:
            tally = np.zeros_like(self.state.w)
        else:
            tally = None
        self.state = replace(self.state, row=stage.row, tally=tally)
        self.end = self.state.k + stage.count
        self.norms = []
        self.stages.append(StageRun(stage.name, 0, stage.batch))
        self.resume(stage)

    def resume(self, stage: Stage) -> None:
        """Go on with a stage from where the state is."""
        self.stage = stage
        self._use_engine_of(stage)
        self.recorder = self._recorder(stage)
        self.pace = 1

    def _use_engine_of(self, stage: Stage) -> None:
        """A new engine is made only where the batch or the kind of step changes."""
        steps = stage.steps
        wanted = (stage.batch, Schedule if isinstance(steps, Schedule) else steps)
        if self.made_for == wanted:
            return
        self.made_for = wanted
        s = self.settings
        if isinstance(steps, PlaneSteps):
            self.engine = engine_for(self.problem, steps, self.stop.max_gap > 0.0)
        else:
            self.engine = engines.make(
                s.engine, self.problem, steps, stage.batch, s.seed, s.sampling
            )

    def _stretch(self) -> RunVerdict:
        """Some steps: to the end of the stage, to a record that is reported, or for a while.

        An engine that knows the gradient where a step ends is asked after each step. Others take
        more steps at a time while these are quick.
        """
        assert self.stage is not None
        state = self.state
        recorder = self.recorder
        grain = self.engine.grain
        watched = self.settings.callback is not None or not self.frame.plain
        if watched and recorder.due(state.k):
            return self._record_here()
        stop = min(self.end, (state.k // grain + self.pace) * grain)
        if watched and recorder.count < recorder.when.size:
            stop = min(stop, int(recorder.when[recorder.count]))
        before = time.monotonic()
        work = state.copy()
        report = self.engine.advance(work, self.stage.steps, stop, recorder, self._goal())
        self._took(work, report)
        if report.look is not None:
            return self._after_step(report)
        quick = time.monotonic() - before < self.settings.limits.cut_seconds
        self.pace = max(1, self.pace * 2 if quick else self.pace // 2)
        return self._checked(report.verdict)

    def _after_step(self, report: StepReport) -> RunVerdict:
        """Judge a step whose end the engine knows, record it and tell of it."""
        verdict = report.verdict
        every = self.settings.record_every
        look, size, met = self._judge(report)
        unsure = met  # updated scores gather rounding
        if report.gradient_error is not None:  # its bound alone may keep the run from the tolerance
            unsure = not met and self.stop.user_norm(look.gradient) <= self.stop.goal
        if unsure:
            look, size, met = self._judge(self._checked_here())
        if not met and verdict in (RunVerdict.RUNNING, RunVerdict.STALLED):
            stalled = verdict == RunVerdict.STALLED
            met = self.stop.out_of_patience(size, report.halves, stalled)
        if met and (self.stop.worn_out or self._little_is_left(look)):
            size, met, rounded = self._returned(size)
            verdict = verdict or rounded
        else:
            met = self._near(look)
        reply = RunVerdict.RUNNING
        if met or verdict or every == "auto" or self.state.k % int(every) == 0:
            self._note(look.value, size)
            reply = self._tell(self.state.w, look)
        # A run that is over is over, whatever the callback says: a resumed run takes no more steps.
        if met:
            return RunVerdict.CONVERGED
        return verdict or reply

    def _checked_here(self) -> StepReport:
        """Where the run is, computed from w alone if rounding may matter; no step is taken."""
        assert self.stage is not None
        k = self.state.k
        return self.engine.advance(self.state, self.stage.steps, k, self.recorder, self._goal())

    def _judge(self, report: StepReport) -> tuple[Look, float, bool]:
        """Where a step ended, the norm of the caller's gradient there, and is the run over?"""
        assert report.look is not None
        size = self.stop.user_norm(report.look.gradient, report.gradient_error)
        return report.look, size, self.stop.met(report.look.gradient, size)

    def _returned(self, size: float) -> tuple[float, bool, RunVerdict]:
        """The gradient's norm at the point that is given back, where the run is over by ``size``;
        is the tolerance met there; and STALLED where only the rounding of that point is left."""
        there = self._norm_returned(self.state.w, size)
        met = there <= self.stop.required_goal
        rounded = not met and size <= ROUNDED * there
        return there, met, RunVerdict.STALLED if rounded else RunVerdict.RUNNING

    def _norm_returned(self, w: Array, size: float) -> float:
        """The norm of the caller's gradient at the point that is given back for w."""
        return self.stop.norm_returned(self.frame.out(w), size)

    def _goal(self) -> Goal:
        """What the next steps are for."""
        stop = self.stop
        left = self.end - self.state.k
        gap = stop.allowed_gap(self.history.last.value)
        return Goal(stop.inner_tol, gap, left, stop.tol < TIGHT, stop.remaining)

    def _took(self, state: State, report: StepReport) -> None:
        """The steps are complete."""
        steps = state.k - self.state.k
        stage = self.stages[-1]
        self.state = state
        self.evaluations += (steps + report.passes) * stage.batch
        self.end = max(state.k, self.end - report.passes)
        self.stages[-1] = StageRun(stage.method, stage.steps + steps, stage.batch)
        if self.recorder.count:
            self._harvest()

    def _near(self, look: Look) -> bool:
        """Is f as near to its minimum as was asked for, and can the engine tell?"""
        allowed = self.stop.allowed_gap(look.value)
        if allowed == 0.0:
            return False
        gap = self.engine.gap(allowed)
        if gap.by_hessian:
            return gap.estimate <= allowed
        least = float(self.problem.ridges[: self.problem.d].min())
        return self.stop.bounded_near(gap.estimate, norm(look.gradient), least)

    def _little_is_left(self, look: Look) -> bool:
        """The gradient is small; is what f would still fall by, too?

        One row a million times as large as the others makes the first gradient so large that any
        other says nothing.
        """
        if self.stop.tol == 0.0 or not look.gradient.any():
            return True
        # a run that begins near its end has little to compare with but f at zero
        in_all = LITTLE * min(self.stop.tol, LITTLE) * (self.stop.zero_value - look.value)
        little = max(LITTLE * (self.history.first.value - look.value), in_all)
        return self.engine.gap(little).estimate <= little

    # -- records -----------------------------------------------------------------------------------

    def _recorder(self, stage: Stage) -> Recorder:
        """Measures at the steps of the stage that are to be recorded."""
        if self.controller.open_ended or isinstance(stage.steps, PlaneSteps):
            return Recorder(np.zeros(0, dtype=np.int64))
        every = self.settings.record_every
        per_epoch = max(1, self.problem.n // stage.batch)
        when = engines.record_steps(stage.steps.T, every, per_epoch)
        done = self.history.last.k
        when = when[(when > done) & (when >= self.state.k) & (when < self.end)]
        return Recorder(when, self._limit2, self._goal2(), self.unit)

    @cached_property
    def _row_noise(self) -> float:
        """The mean squared norm of the rows' gradients where the run begins."""
        return self.problem.row_gradient_mean2(self.start)

    @cached_property
    def _limit2(self) -> float:
        """From here on it is divergence: squared, in units that neither vanish nor overflow."""
        scale = max(self.unit, math.sqrt(self._row_noise)) * engines.DIVERGENCE_FACTOR / self.unit
        return scale * scale

    def _goal2(self) -> float:
        goal = self.stop.inner_tol / self.unit
        if self.stop.tol > 0.0:
            return goal * goal
        return -1.0

    def _harvest(self) -> None:
        """New records into the history."""
        recorder = self.recorder
        new = slice(0, recorder.count)
        k = recorder.when[new]
        norms = self.unit * np.sqrt(recorder.grad2[new])
        done = self.evaluations - (self.state.k - k) * self.stages[-1].batch
        self.history.extend(np.column_stack([k, recorder.value[new], norms, done]))
        self.norms.append(norms)
        rest = recorder.when[recorder.count :]
        self.recorder = Recorder(rest, recorder.limit2, recorder.goal2, self.unit)

    def _checked(self, verdict: RunVerdict) -> RunVerdict:
        """Is a run that has converged in its own variables over in the caller's?"""
        if verdict != RunVerdict.CONVERGED:
            return verdict
        if self.stop.met(self.engine.look(self.state.w).gradient):
            return verdict
        self.recorder = replace(self.recorder, goal2=self._goal2())
        return RunVerdict.RUNNING

    def _record_here(self) -> RunVerdict:
        look = self.engine.look(self.state.w)
        verdict = self.engine.record(self.state.w, self.recorder)
        if verdict == RunVerdict.DIVERGED:
            return verdict
        if self.recorder.count:
            self._harvest()
        if not self.frame.plain:
            record = self.history.last
            self.history.drop_last()
            self.history.add(record._replace(norm=self.stop.user_norm(look.gradient)))
        reply = self._tell(self.state.w, look)
        return self._checked(verdict) or reply

    def _note(self, value: float, size: float) -> None:
        self.history.add(Record(self.state.k, value, size, self.evaluations))

    def _tell(self, w: Array, look: Look) -> RunVerdict:
        """Call the callback: the run goes on, unless the callback stops it."""
        callback = self.settings.callback
        if callback is None:
            return RunVerdict.RUNNING
        coef, intercept = self.problem.split_intercept(self.frame.out(w))
        gradient = self.frame.gradient_out(look.gradient)
        shown = Progress(self.state.k, coef.copy(), norm(gradient), look.value, gradient, intercept)
        if callback(shown):
            return RunVerdict.STOPPED
        return RunVerdict.RUNNING

    def _tell_best(self) -> RunVerdict:
        """Runs without a number of steps record the best point where their controller looks."""
        if not self.controller.open_ended:
            return RunVerdict.RUNNING
        best = self.controller.best
        assert best is not None
        last = self.history.last
        if last.k == self.state.k or (best.value, best.norm) == last[1:3]:  # recorded already
            return RunVerdict.RUNNING
        self._note(best.value, best.norm)
        reply = RunVerdict.RUNNING
        if self.settings.callback is not None:  # a look reads all rows
            reply = self._tell(best.w, self.engine.look(best.w))
        if best.norm > self.stop.goal:
            return reply
        if self._norm_returned(best.w, best.norm) > self.stop.required_goal:
            return reply
        self.state = State.at_rest(best.w, self.state.k)
        return RunVerdict.CONVERGED

    def _judged(self) -> RunVerdict:
        """All steps are taken: record where they led, and judge whether they diverged."""
        if self.controller.open_ended:
            return RunVerdict.RUNNING
        if self.history.last.k < self.state.k:
            w = self.controller.answer(self.state.w, RunVerdict.RUNNING)
            look = self.engine.look(w)
            beyond = engines.norm2(look.gradient, self.unit) > self._limit2
            if beyond or not math.isfinite(look.value):
                return RunVerdict.DIVERGED
            self._note(look.value, self.stop.user_norm(look.gradient))
            reply = self._tell(w, look)
            if self.stop.tol > 0.0 and self.stop.met(look.gradient):
                return RunVerdict.CONVERGED
            if reply:
                return reply
        if self.controller.best is not None:
            return RunVerdict.RUNNING  # a controller that keeps the best point returns that
        stage = self.controller.current()
        first = self.history.first
        lowest = float(self.history.view()[:, 1].min())
        ends = divergence.Ends(
            start=self.start,
            first=first.value,
            last=self.history.last.value,
            lowest=lowest,
            norm=first.norm,
            row_noise=self._row_noise,
        )
        return divergence.judge(self.problem, stage.steps, stage.batch, ends)

    # -- on disk -----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """References, because arrays are replaced and not written to; lists with their lengths."""
        state = self.state
        own = record(
            k=state.k,
            row=state.row,
            evaluations=self.evaluations,
            end=self.end,
            under_way=self.stage is not None,
        )
        if state.tally is not None:
            own["tally"] = state.tally
        own |= {
            "w": state.w,
            "v": state.v,
            "history": self.history.view(),
            "stage_names": np.array([s.method for s in self.stages], dtype=np.str_),
            "stage_sizes": np.array([s[1:] for s in self.stages], dtype=np.int64).reshape(-1, 2),
        }
        parts = joined(
            run=own,
            memory=state.memory,
            engine=self.engine.state_dict(),
            stop=self.stop.state_dict(),
            control=self.controller.state(),
        )
        return parts | {"norms": (self.norms, len(self.norms))}

    def load_state_dict(self, saved: dict[str, Array]) -> None:
        """Go where a run of the same request was saved."""
        own = part_of(saved, "run")
        k = int(own["k"])
        row = int(own["row"])
        self.state = State(own["w"], own["v"], k, row, part_of(saved, "memory"), own.get("tally"))
        self.evaluations = int(own["evaluations"])
        self.end = int(own["end"])
        self.history = History(own["history"])
        self.norms = [saved["norms"]]
        sizes = own["stage_sizes"].tolist()
        self.stages = [StageRun(str(n), *size) for n, size in zip(own["stage_names"], sizes)]
        self.stop.load_state_dict(part_of(saved, "stop"))
        self.controller.load(part_of(saved, "control"))
        if not self.stages:
            return
        stage = self.controller.current()
        if bool(own["under_way"]):
            self.resume(stage)
        else:
            self._use_engine_of(stage)
        of_engine = part_of(saved, "engine")
        self.engine.load_state_dict(of_engine)
        # where the engine knows its point, a look costs nothing
        if of_engine and not math.isfinite(self.engine.look(self.state.w).value):
            raise ValueError("f is not finite where it stands")
