"""``minimize``: from a problem and the name of a method to a result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import _checks, engines, policies, sampling, schedules
from .course import Course
from .engines import checkpoint as checkpoints
from .policies.guard import MOST_RETREATS, Guarded, Recipe, Watch, shorter
from .problems import LeastSquares, LinearProblem
from .result import Progress, Result
from .schedules import Schedule

CUT_SECONDS = 0.2  # a compiled stretch lasts about this long: Ctrl-C is heard in between
SAVE_SECONDS = 10.0
ROUNDING = 1e-12  # of the rows' gradients: smaller full gradients are not judged
MOST_STEPS = 10**8  # a table of more would take gigabytes
GUARDED = ("auto", "auto-shb")  # methods that have the divergence guard on


def registry() -> dict[str, schedules.Method]:
    """All methods by name: schedules, then policies."""
    return {**schedules.REGISTRY, **policies.REGISTRY}


def minimize(
    p: LinearProblem,
    method: Any = "auto",
    T: int | None = None,
    batch_size: float | None = None,
    seed: int = 0,
    w0: Any = None,
    tol: float = 0.0,
    sampling: str = "independent",
    record_every: int | str = 1,
    engine: str = "compiled",
    callback: Callable[[Progress], Any] | None = None,
    checkpoint: Any = None,
    passes: float | None = None,
) -> Result:
    """Minimise ``p`` by stochastic heavy ball (or a relative of it).

    Parameters
    ----------
    method : a registry name (``bocce methods``), a Schedule, or a policy.
    T : number of steps. None: "auto" needs none, it runs until ``tol``, or for at most ``passes``
        over the data (10,000, or 100 if tol = 0); other methods take 100, at least 1,000 steps.
    batch_size : int = rows, float in (0, 1] = share of n, None = the smallest batch at which
        the accelerated rate is certified. With "auto" and no T it is the first batch: it grows,
        up to n, when noise keeps the run from ``tol``.
    tol : stop when the full gradient's norm is at most tol times the first (0 = never).
    sampling : "independent" (a fresh batch at each step) or "reshuffle" (one permutation an epoch).
    record_every : measure the full gradient every so many steps, or "auto" (about once an epoch).
    engine : "compiled" or "reference".
    callback : called with a Progress at each recorded step; returning True stops the run.
    checkpoint : a path; a run found there goes on bit for bit.
    passes : what to spend at most where T is not given, in passes over the data.

    "auto" has the divergence guard on (``policies.guard``). Without T its history holds, at its own
    checkpoints, the best point so far (an iterate, or an average of iterates), which is returned.

    Examples
    --------
    >>> import numpy as np, bocce
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> p = bocce.LeastSquares(X, X @ np.array([1.0, -1.0]))
    >>> r = bocce.minimize(p, "shb", T=200, batch_size=3, tol=1e-9)
    >>> r.status, r.w.round(6)
    ('converged', array([ 1., -1.]))
    """
    if callback is not None and not callable(callback):
        raise TypeError(
            f"minimize: callback={callback!r} must be a function of one Progress; or None."
        )
    path = None if checkpoint is None else _writable(checkpoint)
    run = _prepare(p, method, T, batch_size, seed, w0, tol, sampling, record_every, engine, passes)
    run.checkpoint = path
    return run.go(callback)


def _writable(path: Any) -> Path:
    path = Path(path)
    if not path.parent.is_dir() or path.is_dir():
        raise ValueError(
            f"minimize: checkpoint={str(path)!r} must be a file in an existing folder; "
            "create the folder first."
        )
    return path


def _prepare(
    p: Any,
    method: Any,
    T: Any,
    batch_size: Any,
    seed: Any,
    w0: Any,
    tol: Any,
    mode: Any,
    record_every: Any,
    engine: Any,
    passes: Any,
) -> _Run | Course:
    """Check every argument before any work is done."""
    where = "minimize"
    if not isinstance(p, LinearProblem):
        raise TypeError(
            f"{where}: p={type(p).__name__} must be a problem; build one with "
            "bocce.LeastSquares(X, y) or bocce.Logistic(X, y)."
        )
    seed = sampling.check_seed(where, seed)
    tol = _checks.real(where, "tol", tol, least=0.0, below=1.0, remedy="0 never stops early")
    mode = _checks.choice(where, "sampling", mode, sampling.MODES)
    engine = _checks.choice(where, "engine", engine, engines.NAMES)
    if record_every != "auto":
        record_every = _checks.integer(
            where, "record_every", record_every, remedy='give a number of steps, or "auto"'
        )
    start = np.zeros(p.d) if w0 is None else p.point(w0, "w0").copy()
    if not np.isfinite(start).all():
        raise ValueError(f"{where}: w0 has NaN or infinity, must be finite; start from zeros.")
    b = None
    if batch_size is not None:
        b = p.whole_batch(sampling.batch_rows(where, batch_size, p.n))
    looks = method in policies.REGISTRY if isinstance(method, str) else hasattr(method, "decide")
    if p.in_parts and looks:
        raise ValueError(
            f"{where}: method={getattr(method, 'name', method)!r} looks at each batch before it "
            'steps, must be a schedule for data in parts; use method "auto".'
        )
    if T is not None:
        remedy = "give the number of steps; to go on, start from w0=result.w"
        T = _checks.integer(where, "T", T, most=MOST_STEPS, remedy=remedy)
    if passes is not None:
        passes = _checks.real(where, "passes", passes, above=0.0, remedy="give a number of passes")
        if T is not None:
            raise ValueError(f"{where}: passes={passes} must be left out where T={T} is given.")
    settings = {"seed": seed, "batch_size": b, "sampling": mode, "tol": tol, "engine": engine}
    settings |= {"record_every": record_every, "w0": checkpoints.digest(start)}
    if T is None and isinstance(method, str) and method in GUARDED:
        return Course(p, b, seed, start, settings, method, passes)
    guarded = isinstance(method, Guarded) or (isinstance(method, str) and method in GUARDED)
    method = method.method if isinstance(method, Guarded) else method
    plan, b, recipe = _resolve(p, method, T, b, passes)
    per_epoch = max(1, p.n // b)
    when = engines.record_steps(plan.T, record_every, per_epoch)
    settings["batch_size"] = b
    return _Run(p, plan, b, seed, start, tol, when, settings, guarded, recipe)


def _resolve(
    p: LinearProblem, method: Any, T: int | None, b: int | None, passes: float | None
) -> tuple[Any, int, Recipe | None]:
    """The schedule or policy, the batch in rows, and how a named method was built."""
    given = isinstance(method, Schedule) or hasattr(method, "decide")
    if given:
        if T is not None and T != method.T:
            raise ValueError(
                f"minimize: T={T} must equal the schedule's T={method.T}; leave T out, or build "
                "the schedule with that T."
            )
        return method, _accelerating_batch(p) if b is None else b, None
    known = registry()
    name = _checks.choice("minimize", "method", method, known)
    constants = p.constants()
    b = _accelerating_batch(p) if b is None else b
    if T is None:
        T = math.ceil((passes or 100) * p.n / b)
        T = T if passes else max(1000, T)
    mu = constants.mu
    if name in GUARDED:
        # without strong convexity, T steps see no curvature below about L/T^2
        mu = max(mu, constants.L / T**2)
    values = {
        "L": constants.L,
        "mu": mu,
        "L_max": constants.L_max,
        "kappa_tilde": constants.kappa_tilde,
        "n": p.n,
        "b": b,
    }
    recipe = Recipe(known[name], values)
    return recipe.build(T), b, recipe


def _accelerating_batch(p: LinearProblem) -> int:
    """The smallest batch with zeta0^2 L_max <= sqrt(mu L): full acceleration, certified."""
    c = p.constants()
    ratio = c.L_max / math.sqrt(c.mu * c.L) if c.mu > 0 else math.inf
    if math.isinf(ratio):
        return p.whole_batch(max(1, p.n // 2))
    return p.whole_batch(min(p.n, max(1, math.ceil(p.n / (1.0 + (p.n - 1) / ratio)))))


class _Run:
    """One run from checked arguments: cut into short stretches, saved, and told."""

    def __init__(
        self,
        p: LinearProblem,
        method: Any,
        b: int,
        seed: int,
        start: np.ndarray,
        tol: float,
        when: np.ndarray,
        settings: dict[str, Any],
        guarded: bool,
        recipe: Recipe | None,
    ) -> None:
        self.p, self.method, self.b, self.seed, self.tol = p, method, b, seed, tol
        self.when, self.settings = when, settings
        self.guarded, self.recipe = guarded, recipe
        self.watch: Watch | None = None
        self.engine = engines.make(settings["engine"], p, method, b, seed, settings["sampling"])
        begin = getattr(method, "begin", tuple)
        self.state = engines.State(start, np.zeros(p.d), 0, begin())
        self.checkpoint: Path | None = None

    def go(self, callback: Callable[[Progress], Any] | None) -> Result:
        recorder = self._recorder()
        identity: dict[str, Any] = {}
        if self.checkpoint is not None:
            identity = checkpoints.fingerprint(self.p, self.method, self.settings)
            if self.checkpoint.exists():
                checkpoints.load(self.checkpoint, identity, self.state, recorder)
        if self.guarded:
            self._begin_watch(recorder)
        if recorder.met:  # the run that was found here had ended
            return self._result(recorder, "converged")
        try:
            verdict = self._loop(recorder, callback, identity)
        finally:
            self._save(identity, recorder)
        return self._result(recorder, verdict)

    def _save(self, identity: dict[str, Any], recorder: engines.Recorder) -> None:
        if self.checkpoint is None:
            return
        if self.watch is not None:
            self.state.memory = self.watch.pack()
        checkpoints.save(self.checkpoint, identity, self.state, recorder)

    # -- the guard -------------------------------------------------------------------------------

    def _begin_watch(self, recorder: engines.Recorder) -> None:
        """From the start, or from what a checkpoint kept."""
        T, w = self.method.T, self.state.w
        if self.state.memory:
            self.watch = Watch.unpack(T, self.state.memory)
            for j, k in enumerate(self.watch.retreats, start=1):
                self.method = shorter(self.method, k, j, self.recipe)
            return
        value, grad2 = self.engine.measure(w)
        noise = schedules.adaptive.sampling_noise("minimize", self.p.n, self.b)
        scale = math.sqrt(self.p.row_gradient_mean2(w))
        norms = (ROUNDING * scale, math.sqrt(noise) * scale)
        self.watch = Watch(T, value, *norms, w.copy(), value, math.sqrt(grad2))
        if not (isinstance(self.p, LeastSquares) and self.p.gram_fits):
            self.watch.gap = max(self.watch.gap, -(-self.p.n // self.b))  # a look costs a pass
            self.watch.coming = self.watch.gap

    def _look(self, recorder: engines.Recorder, diverged: bool) -> str:
        """Judge the run where it stands; go back if need be. Returns the verdict that is left."""
        watch, state = self.watch, self.state
        norms = np.sqrt(recorder.grad2[watch.seen : recorder.count])
        watch.seen = recorder.count
        value, grad2 = self.engine.measure(state.w)
        norm = math.sqrt(grad2) if grad2 >= 0 else math.nan
        reason = watch.judge(value, norm, norms) or ("overflow" if diverged else "")
        if not reason:
            watch.keep(state.w, value, norm, norms)
            return ""
        if len(watch.retreats) >= MOST_RETREATS:
            return "diverged"
        state.w, state.v = watch.best_w.copy(), np.zeros(self.p.d)
        watch.retreat(state.k)
        self.method = shorter(self.method, state.k, len(watch.retreats), self.recipe)
        if state.k == self.method.T and recorder.count == self.when.size:
            value, grad2 = self.engine.measure(state.w)  # the last record is of what is returned
            recorder.value[-1], recorder.grad2[-1] = value, grad2
        return ""

    # -- the loop --------------------------------------------------------------------------------

    def _recorder(self) -> engines.Recorder:
        _, grad2 = self.engine.measure(self.state.w)
        scale2 = max(grad2, self.p.row_gradient_mean2(self.state.w))
        limit2 = scale2 * engines.DIVERGENCE_FACTOR**2 if scale2 > 0 else math.inf
        goal2 = self.tol**2 * grad2 if self.tol > 0 else -1.0
        return engines.Recorder(self.when, limit2, goal2)

    def _loop(
        self,
        recorder: engines.Recorder,
        callback: Callable[[Progress], Any] | None,
        identity: dict[str, Any],
    ) -> str:
        T, grain, state = self.method.T, self.engine.grain, self.state
        stretch, saved = 16, time.monotonic()
        while state.k < T or recorder.due(T):
            verdict = ""
            before = time.monotonic()
            if recorder.due(state.k) and (callback is not None or state.k == T):
                verdict = recorder.keep(*self.engine.measure(state.w))
                if not verdict and self._tell(callback, recorder):
                    return "stopped"
            elif callback is not None:
                coming = min(int(self.when[recorder.count]), self._limit())
                verdict = self.engine.advance(state, self.method, coming, recorder)
            else:
                stop = min(self._limit(), (state.k // grain + stretch) * grain)
                verdict = self.engine.advance(state, self.method, stop, recorder)
            if self.watch is not None and verdict != "converged":
                looking = verdict == "diverged" or state.k == self._limit()
                verdict = self._look(recorder, verdict == "diverged") if looking else verdict
            now = time.monotonic()
            stretch = max(1, stretch * 2 if now - before < CUT_SECONDS else stretch // 2)
            if verdict:
                return verdict
            if self.checkpoint is not None and now - saved > SAVE_SECONDS:
                self._save(identity, recorder)
                saved = now
        return ""

    def _limit(self) -> int:
        """The step up to which the run may go on before somebody looks."""
        return self.method.T if self.watch is None else self.watch.due

    def _tell(self, callback: Callable[[Progress], Any] | None, recorder: engines.Recorder) -> bool:
        if callback is None:
            return False
        last = recorder.count - 1
        shown = Progress(
            int(self.when[last]),
            self.state.w.copy(),
            math.sqrt(recorder.grad2[last]),
            float(recorder.value[last]),
        )
        return bool(callback(shown))

    def _result(self, recorder: engines.Recorder, verdict: str) -> Result:
        kept, k = recorder.count, self.state.k
        steps = self.when[:kept].copy()
        history = {
            "k": steps,
            "grad_norm": np.sqrt(recorder.grad2[:kept]),
            "value": recorder.value[:kept].copy(),
            "gradient_evaluations": steps * self.b,
        }
        name = getattr(self.method, "name", "") or "the schedule"
        if verdict == "diverged":
            message = (
                f"{name} diverged at step {k}: the gradient norm passed "
                f"{engines.DIVERGENCE_FACTOR:g} times its start or overflowed. The step is too "
                f"long for batch_size={self.b} of n={self.p.n} (or L is under-estimated): use "
                'method "auto", a larger batch, or a schedule with L = constants().L_max.'
            )
        elif verdict == "converged":
            message = f"{name}: gradient norm at most {self.tol:g} times the first at step {k}."
        elif verdict == "stopped":
            message = f"{name}: stopped by the callback at step {k}."
        else:
            message = f"{name}: all {k} steps taken."
        if self.watch is not None and (count := len(self.watch.retreats)):
            message += (
                f" The guard went back to the best iterate {count} time{'s' * (count > 1)}, last "
                f"at step {self.watch.retreats[-1]}: the steps are now {2**count} times shorter."
            )
        status = verdict if verdict in ("diverged", "converged") else "finished"
        return Result(self.state.w, status, k, history, self.method, self.seed, self.b, message)
