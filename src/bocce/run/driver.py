"""The one driver: has stages run, keeps the history, saves, tells and stops.

A controller says what comes next, an engine takes the steps; neither knows of the other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from .. import engines
from ..control import Controller, Fixed, PlaneSteps, RunVerdict, Stage, StageReport
from ..engines import Engine, Goal, Recorder, State, StepReport
from ..plane import PlaneEngine
from ..problems import Frame, Look, NotFinite, Problem, norm
from ..rows import Array
from ..schedules import Schedule
from . import divergence
from .checkpoint import Keeper
from .checkpoint_file import Identity
from .request import Request
from .result import History, Progress, Record, StageRun
from .stop import Stop

TIGHT = 1e-6  # a smaller tolerance is verified from w alone before it counts as met
NEARER_STEPS = 20  # steps on all rows that lead to where the noise of batches is judged
LITTLE = 0.01  # of what f has fallen by: less may be left where a tolerance is met


class Driver:
    """One run of ``problem``, in the variables of ``frame``, from ``start``."""

    def __init__(
        self,
        problem: Problem,
        frame: Frame,
        start: Array,
        controller: Controller,
        stop: Stop,
        settings: Request,
        identity: Callable[[], Identity],
    ) -> None:
        self.problem, self.frame, self.controller = problem, frame, controller
        self.stop, self.settings, self.identity = stop, settings, identity
        self.start, self.state = start, State.at_rest(start)
        self.history = History()
        self.evaluations = 0
        self.stages: list[StageRun] = []
        self.stage: Stage | None = None
        self.end = 0  # the step at which the stage under way is over
        self.norms: list[Array] = []  # recorded in the stage
        self.engine: Engine
        self.batch = 0  # of the stage
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
        shown = self._outer(first) if self.controller.open_ended else first
        self.controller.begin(self.state.w, shown)
        size = self.stop.begin(first.gradient)
        with Keeper(self) as keeper:
            if keeper.ended is not None:
                return keeper.ended
            if not (keeper.found and self.stages):  # else it goes on where it was
                told_to_stop = not keeper.found and self._record(self.state.w, first, size)
                if self._begins_at_end(first, size):
                    return keeper.end(RunVerdict.CONVERGED)
                if told_to_stop:
                    return RunVerdict.STOPPED
                self._enter(answer)
            return keeper.end(self._loop(keeper))

    def answer(self, verdict: RunVerdict) -> Array:
        """The point that the run gives back; the last record is of it."""
        w, best = self.controller.answer(self.state.w, verdict), self.controller.best
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
                answer = self.controller.next(self._seen(verdict))
                if isinstance(answer, Stage):
                    self._enter(answer)  # before anybody may stop here: a run goes on with it
                told = self._tell_best() if self.controller.open_ended else RunVerdict.RUNNING
                if told == RunVerdict.CONVERGED or (told and isinstance(answer, Stage)):
                    return told
                if isinstance(answer, RunVerdict):
                    return self._judged(answer or self._last_record())
            # A callback may have stopped the run at the last step of the stage.
            verdict = self._stretch() if self.state.k < self.end else RunVerdict.RUNNING
            if verdict in (RunVerdict.CONVERGED, RunVerdict.STOPPED):
                return verdict
            if verdict or self.state.k >= self.end:
                self.stage = None

    def _seen(self, verdict: RunVerdict) -> StageReport:
        state, taken = self.state, self.stages[-1].steps
        mean = None if state.tally is None or taken == 0 else state.tally / taken
        norms = np.concatenate([np.zeros(0), *self.norms])
        look = self._outer_look if self.controller.open_ended else self.engine.look
        return StageReport(state.w, state.k, mean, look, norms, verdict, self.evaluations)

    def _enter(self, stage: Stage) -> None:
        if stage.start is not None:
            self.state = State.at_rest(stage.start, self.state.k)
        tally = np.zeros_like(self.state.w) if stage.average else None
        self.state = replace(self.state, row=stage.row, tally=tally)
        self.end, self.norms = self.state.k + stage.count, []
        self.stages.append(StageRun(stage.name, 0, stage.batch))
        self.resume(stage)

    def resume(self, stage: Stage) -> None:
        """Go on with a stage from where the state is."""
        self.stage, self.batch = stage, stage.batch
        self._use_engine_of(stage)
        self.recorder = self._recorder(stage)
        self.pace = 16

    def _use_engine_of(self, stage: Stage) -> None:
        """Made anew only where the batch or the kind of step changes."""
        steps = stage.steps
        wanted = (stage.batch, Schedule if isinstance(steps, Schedule) else steps)
        if self.made_for == wanted:
            return
        self.made_for, s = wanted, self.settings
        if isinstance(steps, PlaneSteps):
            self.engine = PlaneEngine(self.problem, steps.memory, steps.inner, steps.metric)
        else:
            sampled = (stage.batch, s.seed, s.sampling)
            self.engine = engines.make(s.engine, self.problem, steps, *sampled)

    def _stretch(self) -> RunVerdict:
        """Some steps: to the end of the stage, to a record that is told, or for a while."""
        assert self.stage is not None
        if self.free:
            return self._free_step()
        state, recorder, grain = self.state, self.recorder, self.engine.grain
        told = self.settings.callback is not None or not self.frame.plain
        if told and recorder.due(state.k):
            return self._record_here()
        stop = min(self.end, (state.k // grain + self.pace) * grain)
        if told and recorder.count < recorder.when.size:
            stop = min(stop, int(recorder.when[recorder.count]))
        before, work = time.monotonic(), state.copy()
        report = self.engine.advance(work, self.stage.steps, stop, recorder, self._goal())
        self._took(work, report)
        quick = time.monotonic() - before < self.settings.limits.cut_seconds
        self.pace = max(1, self.pace * 2 if quick else self.pace // 2)
        return self._checked(report.verdict)

    def _free_step(self) -> RunVerdict:
        """One step, after which the engine knows where it stands."""
        assert self.stage is not None
        goal, work, steps = self._goal(), self.state.copy(), self.stage.steps
        report = self.engine.advance(work, steps, work.k + 1, self.recorder, goal)
        self._took(work, report)
        met, size = self._met(report)
        if self._to_verify(report, met):
            sure = self.engine.advance(work, steps, work.k, self.recorder, goal)
            report = replace(sure, verdict=report.verdict)
            met, size = self._met(report)
        return self._after_free_step(report, met, size)

    @property
    def free(self) -> bool:
        """Does the engine know the gradient where a step ends, so that a look costs nothing?"""
        return self.made_for is not None and isinstance(self.made_for[1], PlaneSteps)

    def _goal(self) -> Goal:
        """What the next steps are for."""
        stop = self.stop
        return Goal(stop.inner_tol, stop.max_gap, self.end - self.state.k, stop.tol < TIGHT)

    def _took(self, state: State, report: StepReport) -> None:
        """The steps are complete."""
        steps, stage = state.k - self.state.k, self.stages[-1]
        self.state = state
        self.evaluations += (steps + report.passes) * self.batch
        self.end = max(state.k, self.end - report.passes)
        self.stages[-1] = stage._replace(steps=stage.steps + steps)
        self._harvest()

    def _after_free_step(self, report: StepReport, met: bool, size: float) -> RunVerdict:
        look, verdict, every = report.look, report.verdict, self.settings.record_every
        assert look is not None
        met = (met and self._little_is_left(look)) or self._near(look)
        if not (met or verdict) and self.stop.out_of_patience(size):
            verdict = RunVerdict.BUDGET
        due = met or verdict or every == "auto" or self.state.k % int(every) == 0
        told_to_stop = False
        if due:
            self._note(look.value, size)
            told_to_stop = self._tell(self.state.w, look)
        # A run that is over is over, whatever the callback says: a resumed run takes no more steps.
        if met or verdict:
            return RunVerdict.CONVERGED if met else verdict
        return _unless(told_to_stop)

    def _met(self, report: StepReport) -> tuple[bool, float]:
        """Is the tolerance met for certain, and the most that the gradient's norm can be."""
        assert report.look is not None
        gradient = report.look.gradient
        size = self.stop.user_norm(gradient) + self.stop.gradient_error(report.gradient_error)
        return self.stop.met(gradient, size), size

    def _to_verify(self, report: StepReport, met: bool) -> bool:
        """Is it worth making sure? Where the tolerance is met by scores that gather rounding, or
        would be met but for the bound on what is wrong with the gradient."""
        if report.gradient_error is None or report.look is None:
            return met
        return not met and self.stop.user_norm(report.look.gradient) <= self.stop.goal

    def _near(self, look: Look) -> bool:
        """Is f as near to its minimum as was asked for, and can the engine tell?"""
        if self.stop.max_gap == 0.0 or not self.free:
            return False
        gap, least = self.engine.gap(0.0), float(self.problem.ridges[: self.problem.d].min())
        return self.stop.near(gap.estimate, gap.by_hessian, norm(look.gradient), least)

    def _begins_at_end(self, first: Look, size: float) -> bool:
        """Is the run over before its first step? In a path the gradient at zero alone does not say
        so: a huge column makes it large."""
        on_path = self.stop.zero_value > -math.inf
        met = self.stop.met(first.gradient, size)
        return (met and (not on_path or self._little_is_left(first))) or self._near(first)

    def _little_is_left(self, look: Look) -> bool:
        """The gradient is small; is what f would still fall by, too?

        One row a million times as large as the others makes the first gradient so large that any
        other says nothing.
        """
        if not self.free or self.stop.tol == 0.0 or not look.gradient.any():
            return True
        # a run that begins near its end has little to compare with but f at zero
        in_all = LITTLE * min(self.stop.tol, LITTLE) * (self.stop.zero_value - look.value)
        little = max(LITTLE * (self.history.first.value - look.value), in_all)
        return self.engine.gap(little).estimate <= little

    # -- records -----------------------------------------------------------------------------------

    def _recorder(self, stage: Stage) -> Recorder:
        """Measures at the steps of the stage that are to be recorded."""
        if self.free or self.controller.open_ended:
            return Recorder(np.zeros(0, dtype=np.int64))
        every, per_epoch = self.settings.record_every, max(1, self.problem.n // stage.batch)
        when = engines.record_steps(stage.steps.T, every, per_epoch)
        done = self.history.last.k
        when = when[(when > done) & (when < self.end)]
        return Recorder(when, self._limit2, self._goal2(), self.unit)

    @cached_property
    def _limit2(self) -> float:
        """From here on it is divergence: squared, in units that neither vanish nor overflow."""
        rows = math.sqrt(self.problem.row_gradient_mean2(self.start))
        scale = max(self.unit, rows) * engines.DIVERGENCE_FACTOR / self.unit
        return scale * scale

    def _goal2(self) -> float:
        goal = self.stop.inner_tol / self.unit
        return goal * goal if self.stop.tol > 0.0 else -1.0

    def _harvest(self) -> None:
        """New records into the history."""
        recorder, new = self.recorder, slice(0, self.recorder.count)
        if not recorder.count:
            return
        k = recorder.when[new]
        norms = self.unit * np.sqrt(recorder.grad2[new])
        done = self.evaluations - (self.state.k - k) * self.batch
        self.history.extend(np.column_stack([k, recorder.value[new], norms, done]))
        self.norms.append(norms)
        rest = recorder.when[recorder.count :]
        self.recorder = Recorder(rest, recorder.limit2, recorder.goal2, self.unit)

    def _checked(self, verdict: RunVerdict) -> RunVerdict:
        """Is a run that has converged in its own variables over in the caller's?"""
        if verdict != RunVerdict.CONVERGED or self.stop.met(
            self.engine.look(self.state.w).gradient
        ):
            return verdict
        self.recorder.aim(self._goal2())
        return RunVerdict.RUNNING

    def _record_here(self) -> RunVerdict:
        look = self.engine.look(self.state.w)
        verdict = self.engine.record(self.state.w, self.recorder)
        if verdict == RunVerdict.DIVERGED:
            return verdict
        self._harvest()
        if not self.frame.plain:
            record = self.history.last
            self.history.drop_last()
            self.history.add(record._replace(norm=self.stop.user_norm(look.gradient)))
        told_to_stop = self._tell(self.state.w, look)
        return self._checked(verdict) or _unless(told_to_stop)

    def _note(self, value: float, size: float) -> None:
        self.history.add(Record(self.state.k, value, size, self.evaluations))

    def _record(self, w: Array, look: Look, size: float) -> bool:
        """A record of its own; returns True if the callback says stop."""
        self._note(look.value, size)
        return self._tell(w, look)

    def _tell(self, w: Array, look: Look) -> bool:
        callback = self.settings.callback
        if callback is None:
            return False
        coef, intercept = self.problem.split_intercept(self.frame.out(w))
        gradient = self.frame.gradient_out(look.gradient)
        shown = Progress(self.state.k, coef.copy(), norm(gradient), look.value, gradient, intercept)
        return bool(callback(shown))

    def _tell_best(self) -> RunVerdict:
        """Runs without a number of steps record the best point where their controller looks."""
        best = self.controller.best
        assert best is not None
        if (best.value, best.norm) == self.history.last[1:3]:
            return RunVerdict.RUNNING
        self._note(best.value, best.norm)
        told_to_stop = bool(self.settings.callback) and self._tell(best.w, self.engine.look(best.w))
        if best.norm > self.stop.goal:
            return _unless(told_to_stop)
        self.state = State.at_rest(best.w, self.state.k)
        return RunVerdict.CONVERGED

    def _last_record(self) -> RunVerdict:
        """All steps are taken: the last record is of where they led."""
        if self.history.last.k == self.state.k or self.controller.open_ended:
            return RunVerdict.RUNNING
        w = self.controller.answer(self.state.w, RunVerdict.RUNNING)
        look = self.engine.look(w)
        beyond = engines.norm2(look.gradient, self.unit) > self._limit2
        if beyond or not math.isfinite(look.value):
            return RunVerdict.DIVERGED
        stopped = self._record(w, look, self.stop.user_norm(look.gradient))
        if self.stop.tol > 0.0 and self.stop.met(look.gradient):
            return RunVerdict.CONVERGED
        return _unless(stopped)

    def _judged(self, verdict: RunVerdict) -> RunVerdict:
        """All steps are taken: is f above its start by more than noise explains?"""
        if verdict or self.controller.best is not None:
            return verdict  # a controller that keeps the best point returns that
        stage, ends = self.controller.current(), (self.history.first.value, self.history.last.value)
        rose = divergence.diverged(
            self.problem, self.start, self._nearer, stage.steps, stage.batch, ends
        )
        return RunVerdict.DIVERGED if rose else RunVerdict.RUNNING

    def _nearer(self) -> Array:
        """A point near the minimiser: a few steps on all rows from the start."""
        steps, stop = Fixed(PlaneSteps(T=NEARER_STEPS), self.problem.n), Stop(0.0, self.frame)
        run = Driver(self.problem, self.frame, self.start, steps, stop, Request(), dict)
        run.go()
        return run.state.w

    # -- looking -----------------------------------------------------------------------------------

    def _outer(self, look: Look) -> Look:
        return Look(look.value, self.frame.gradient_out(look.gradient))

    def _outer_look(self, w: Array) -> Look:
        """What a controller is shown: the gradient in the caller's variables."""
        return self._outer(self.engine.look(w))


def _unless(stopped: bool) -> RunVerdict:
    """The run goes on, unless a callback has stopped it."""
    return RunVerdict.STOPPED if stopped else RunVerdict.RUNNING
