"""fig:panetal_multistage: the multi-stage method of Pan et al. with one sample a step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp

from ... import sampling
from ..canvas import GRADIENT, ITERATION, Line, Panel, Picture, visible
from ..compute import prepared, rate
from ..exhibit import exhibit
from ..results import FigureView
from ..specs import Data, Outcome, Part, Profile, Run, table
from ..verdicts import Finding

PANEL, METHOD = "b=1", "Multi-SHB-PAN-2"
N, KAPPA, START, SEEDS = 100, 5000.0, 100.0, 5
GROWN = 1e3  # "Diverges exponentially" means that the gradient norm grows by this factor.
POINTS = 1000  # A run keeps this many points.


def _parts(setting: str, profile: Profile) -> Iterator[Part]:
    place = {"setting": setting, "T": profile.steps(10_000)}
    for seed in range(SEEDS):
        yield table(PANEL, METHOD, diverging_run, **place, seed=seed)
    yield table(PANEL, "first stage", first_stage_rate, **place)


def _run(setting: str, T: int) -> Run:
    data = Data("diagonal", n=N, d=N, kappa=KAPPA)
    return Run(data, METHOD, setting, 1, T=T, w0=START)


def diverging_run(setting: str, T: int, seed: int) -> Outcome:
    """The one update without a guard: the norm may grow to 1e130 and come back."""
    p, schedule, b, w = prepared(_run(setting, T))
    X, A = p.X.toarray(), p.gram  # Dense arrays are the fastest for rows of 100 numbers; y = 0.
    v = np.zeros_like(w)
    at = np.unique(np.linspace(0, T, min(T, POINTS) + 1).astype(int))
    keep, norms = set(at.tolist()), []
    for k in range(T + 1):
        if k in keep:
            norms.append(float(np.linalg.norm(A @ w)))
        if k < T:
            rows = X[sampling.batch(seed, k, p.n, b)]
            v = schedule.beta[k] * v - schedule.alpha[k] / b * (rows.T @ (rows @ w))
            w = w + v
    numbers = {"k": at, "grad_norm": np.array(norms), "gradient_evaluations": at * b}
    return Outcome(numbers, {"status": "finished"})


def first_stage_rate(setting: str, T: int) -> Outcome:
    """The exact factor a step by which the root mean square error grows in stage 0."""
    return Outcome.of(rate=rate(_run(setting, T)))


def panetal_diverges(view: FigureView) -> Finding:
    runs = [run.numbers["grad_norm"] for run in view.seeds(PANEL, METHOD)]
    growth = float(view.numbers(PANEL, "first stage")["rate"][0])
    top = max(norms.max() for norms in runs)
    grown = {f"run {i}": bool(norms.max() > GROWN * norms[0]) for i, norms in enumerate(runs)}
    found = Finding(
        {**grown, "expectation": growth > 1.0},
        {"largest gradient norm of a run": top, "exact growth a step in stage 0": growth},
    )
    return found.said(
        f"The gradient norm grows a thousandfold or more in {found.score} cases, up to {top:.0e}; "
        f"in mean square it grows by the factor {growth:.2f} a step in stage 0."
    )


def panetal_variance(view: FigureView) -> Finding:
    """On the diagonal problem at b = 1 the variance is (n - 1) ||grad f||^2, exactly."""
    found = Finding()
    for i, run in enumerate(view.seeds(PANEL, METHOD)):
        logs = np.log(N - 1.0) + 2.0 * np.log(run.numbers["grad_norm"])
        peak, name = int(np.argmax(logs)), f"run {i}"
        found.cases[name] = bool(logs[peak] - logs[0] > 2.0 * np.log(GROWN) and peak > 0)
        found.numbers[f"{name}: log variance, first"] = logs[0]
        found.numbers[f"{name}: log variance, largest"] = logs[peak]
        found.numbers[f"{name}: step of the largest"] = run.numbers["k"][peak]
    return found.said(
        f"The variance is n - 1 times the squared gradient norm on this problem, so it grows with "
        f"it, in {found.score} runs; no bound on it can hold before the steps have decayed."
    )


def _picture(view: FigureView) -> Picture:
    curve = view.curve(PANEL, METHOD)
    with np.errstate(invalid="ignore", over="ignore"):
        runs = Line(METHOD, *visible(curve.k, curve.mean), "runs")
        each = [Line("each run", *visible(curve.k, run), "guide") for run in curve.runs]
        logs = 2.0 * np.log(curve.runs)
    variance = np.log(N - 1.0) + logsumexp(logs, axis=0) - np.log(len(logs))
    line = Line(METHOD, curve.k, variance, "runs")
    title = "variance of the stochastic gradient"
    panels = (
        Panel("gradient norm", ITERATION, GRADIENT, (*each, runs), decades=200.0),
        Panel(title, ITERATION, "log variance", (line,), ylog=False),
    )
    notes = ("thick: mean of 5 runs, which the largest decides",)
    return Picture(columns=2, panels=panels, notes=notes)


EXHIBITS = [exhibit("panetal_multistage", _parts, _picture, globals())]
