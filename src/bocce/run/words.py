"""The message of a run that is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..control import RunVerdict
from ..engines import DIVERGENCE_FACTOR

if TYPE_CHECKING:
    from .driver import Driver


def message(run: Driver, verdict: RunVerdict, tol: float) -> str:
    text = _open_ended(run, verdict, tol) if _is_open(run) else _with_table(run, verdict, tol)
    return text + _retreats(run)


def _is_open(run: Driver) -> bool:
    return run.controller.open_ended or run.free


def _with_table(run: Driver, verdict: RunVerdict, tol: float) -> str:
    k, stage = run.state.k, run.controller.current()
    name = "the schedule" if stage.name == "schedule" else stage.name
    if verdict == RunVerdict.DIVERGED:
        return (
            f"{_how_diverged(run, name)} The step is too long for batch_size={stage.batch} of "
            f"n={run.problem.n} (or L is under-estimated): use the method auto, a larger batch, "
            "or a shorter step."
        )
    if verdict == RunVerdict.CONVERGED:
        return f"{name}: gradient norm at most {tol:g} times the first at step {k}."
    if verdict == RunVerdict.STOPPED:
        return f"{name}: stopped by the callback at step {k}."
    return f"{name}: all {k} steps taken."


def _how_diverged(run: Driver, name: str) -> str:
    k, first, last = run.state.k, run.history.first, run.history.last
    if last.k == k and last.value > first.value:
        return (
            f"{name} diverged: f is {last.value:.3g} after {k} steps and was {first.value:.3g} at "
            "the start, a rise that the noise of batches does not explain."
        )
    return (
        f"{name} diverged at step {k}: the gradient norm passed {DIVERGENCE_FACTOR:g} times its "
        "start or overflowed."
    )


def _open_ended(run: Driver, verdict: RunVerdict, tol: float) -> str:
    name = run.controller.name
    steps, passes = run.state.k, f"{run.evaluations / run.problem.n:.3g}"
    spent = f"{steps} step{'s' * (steps != 1)}, {passes} pass{'es' * (passes != '1')}{_stages(run)}"
    if verdict == RunVerdict.CONVERGED:
        if run.stop.first == 0.0:
            return f"{name}: the gradient is zero where the run begins."
        return f"{name}: gradient norm at most {tol:g} times the first after {spent}."
    if verdict == RunVerdict.STOPPED:
        return f"{name}: stopped by the callback after {spent}."
    if verdict == RunVerdict.DIVERGED:
        return f"{name}: diverged after {spent}: check the data for rows of very different size."
    reached = run.history.last.norm / run.stop.first if run.stop.first > 0 else 0.0
    missed = f" The gradient norm is {reached:.3g} times the first"
    missed += f", not tol={tol:g}" if tol > 0 else ""
    if verdict == RunVerdict.STALLED:
        remedy = ": raise tol, or scale the data" if tol > 0 else ""
        return f"{name}: no further fall of f can be measured after {spent}.{missed}{remedy}."
    if verdict == RunVerdict.UNBOUNDED:
        return (
            f"{name}: f falls while w grows without limit, after {spent}: there is no finite "
            f"minimiser (separable classes, and l2 = {run.problem.l2:g}).{missed}: "
            "set l2 > 0, for example 1e-4."
        )
    remedy = ": raise passes, tol or l2, or start another run with w0=result.w" if tol > 0 else ""
    return f"{name}: all allowed passes are used: {spent}.{missed}{remedy}."


def _stages(run: Driver) -> str:
    """The batches, first and last, of n rows."""
    sizes = [stage.batch for stage in run.stages if stage.steps]
    n = run.problem.n
    if not sizes or all(size == n for size in sizes):
        return f" of all n={n} rows" if sizes else ""
    ends = f"{sizes[0]}" if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"
    return f", batches of {ends} of n={n}"


def _retreats(run: Driver) -> str:
    count = run.controller.retreats
    if not count:
        return ""
    times = f"{count} time{'s' * (count > 1)}"
    return (
        f" The guard returned to the best point {times}: the steps are now {2**count} times "
        "shorter."
    )
