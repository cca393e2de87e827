"""fig:panetal_multistage: the multi-stage method of Pan et al. with one sample a step."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from ... import exact, sampling
from ..canvas import GRADIENT, ITERATION, Line, Panel, Picture, visible
from ..compute import prepared
from ..exhibit import Exhibit
from ..results import FigureView
from ..specs import Cell, Data, Outcome, Profile, Run, table, table_cell
from ..texts import claims
from ..verdicts import Finding, counted, tally

LABEL = "panetal_multistage"
PANEL, METHOD = "b=1", "Multi-SHB-PAN-2"
N, KAPPA, START, SEEDS = 100, 5000.0, 100.0, 5
GROWN = 1e3  # "diverges exponentially": the gradient norm grows at least so much
POINTS = 1000  # kept of a run


def _cells(setting: str, profile: Profile) -> list[Cell]:
    T = profile.steps(10_000)
    made = []
    for seed in range(SEEDS):
        job = table("diverging_run", setting=setting, T=T, seed=seed)
        made.append(Cell(LABEL, setting, PANEL, METHOD, str(seed), job))
    job = table("first_stage_rate", setting=setting, T=T)
    return [*made, table_cell(LABEL, setting, PANEL, "first stage", job)]


def _run(setting: str, T: int) -> Run:
    data = Data("diagonal", n=N, d=N, kappa=KAPPA)
    return Run(data, METHOD, setting, 1, T=T, w0=START)


def diverging_run(setting: str, T: int, seed: int) -> Outcome:
    """The one update without a guard: the norm may grow to 1e130 and come back."""
    p, schedule, b, w = prepared(_run(setting, T))
    X, A = p.X.toarray(), p.gram  # rows of 100 numbers: whole arrays are fastest; y = 0
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
    """The factor a step by which the root mean square error grows in stage 0, exactly."""
    p, s, b, _ = prepared(_run(setting, T))
    return Outcome.of(rate=exact.mean_square_rate(p, float(s.alpha[1]), float(s.beta[1]), b))


def panetal_diverges(view: FigureView) -> Finding:
    runs = [run.numbers["grad_norm"] for run in view.seeds(PANEL, METHOD)]
    rate = float(view.numbers(PANEL, "first stage")["rate"][0])
    cases, _ = tally()
    for i, norms in enumerate(runs):
        cases[f"run {i}"] = bool(norms.max() > GROWN * norms[0])
    cases["expectation"] = rate > 1.0
    top = max(norms.max() for norms in runs)
    return Finding(
        cases,
        {"largest gradient norm of a run": top, "exact growth a step in stage 0": rate},
        f"The gradient norm grows a thousandfold or more in {counted(cases)}, up to {top:.0e}; in "
        f"mean square it grows by the factor {rate:.2f} a step in stage 0.",
    )


def panetal_variance(view: FigureView) -> Finding:
    """On the diagonal problem at b = 1 the variance is (n - 1) ||grad f||^2, exactly."""
    cases, numbers = tally()
    for i, run in enumerate(view.seeds(PANEL, METHOD)):
        logs = np.log(N - 1.0) + 2.0 * np.log(run.numbers["grad_norm"])
        at_peak = int(np.argmax(logs))
        cases[f"run {i}"] = bool(logs[at_peak] - logs[0] > 2.0 * np.log(GROWN) and at_peak > 0)
        numbers[f"run {i}: log variance, first"] = logs[0]
        numbers[f"run {i}: log variance, largest"] = logs[at_peak]
        numbers[f"run {i}: step of the largest"] = run.numbers["k"][at_peak]
    return Finding(
        cases,
        numbers,
        f"The variance is n - 1 times the squared gradient norm on this problem, so it grows with "
        f"it, in {counted(cases, 'runs')}; no bound on it can hold before the steps have decayed.",
    )


def _picture(view: FigureView) -> Picture:
    curve = view.curve(PANEL, METHOD)
    with np.errstate(invalid="ignore", over="ignore"):
        runs = Line(METHOD, *visible(curve.k, curve.mean, 1e300), "runs")
        each = [Line("each run", *visible(curve.k, run, 1e300), "guide") for run in curve.runs]
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


CLAIMS = claims(LABEL, panetal_diverges, panetal_variance)
EXHIBIT = Exhibit(LABEL, _cells, _picture, CLAIMS, (diverging_run, first_stage_rate))
