"""fig:panetal_multistage: the multi-stage method of Pan et al. with one sample a step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp

from bocce import sampling

from ..canvas import GRADIENT, ITERATION, Line, Panel, Picture, visible
from ..compute import prepared, rate
from ..exhibit import exhibit, judges
from ..results import FigureView
from ..specs import Data, Outcome, Part, Profile, Run, table
from ..verdicts import Found

PANEL = "b=1"
METHOD = "Multi-SHB-PAN-2"
N = 100
KAPPA = 5000.0
START = 100.0
SEEDS = 5
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
    # Dense arrays are the fastest for rows of 100 numbers; y = 0.
    X = p.X.toarray()
    A = p.gram
    v = np.zeros_like(w)
    at = np.unique(np.linspace(0, T, min(T, POINTS) + 1).astype(int))
    keep = set(at.tolist())
    norms = []
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


@judges("panetal_diverges")
def panetal_diverges(view: FigureView) -> Found:
    runs = [run.numbers["grad_norm"] for run in view.seeds(PANEL, METHOD)]
    rate = float(view.numbers(PANEL, "first stage")["rate"][0])
    yield "", None, {"largest gradient norm of a run": max(norms.max() for norms in runs)}
    for i, norms in enumerate(runs):
        yield f"run {i}", bool(norms.max() > GROWN * norms[0]), {}
    yield "expectation", rate > 1.0, {"exact growth a step in stage 0": rate}


@judges("panetal_variance")
def panetal_variance(view: FigureView) -> Found:
    """On the diagonal problem at b = 1 the variance is (n - 1) ||grad f||^2, exactly."""
    for i, run in enumerate(view.seeds(PANEL, METHOD)):
        logs = np.log(N - 1.0) + 2.0 * np.log(run.numbers["grad_norm"])
        peak = int(np.argmax(logs))
        name = f"run {i}"
        grows = bool(logs[peak] - logs[0] > 2.0 * np.log(GROWN) and peak > 0)
        ends = {"log variance, first": logs[0], "log variance, largest": logs[peak]}
        shown = ends | {"step of the largest": run.numbers["k"][peak]}
        yield name, grows, {f"{name}: {what}": value for what, value in shown.items()}


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


EXHIBITS = [exhibit("panetal_multistage", _parts, _picture)]
