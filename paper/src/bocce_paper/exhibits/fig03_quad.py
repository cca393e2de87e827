"""fig:shb_quad: the methods on noisy least squares, and observations (i) to (v) about them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from bocce import schedules, theory

from ..canvas import Picture, curve_panels
from ..compute import known_by, problem, rate
from ..exhibit import exhibit, judges
from ..results import FigureView, Trajectory
from ..specs import Outcome, Part, Profile, Run, table
from ..verdicts import Case, Finding, Found, all_of, below, ratio, span, within
from ._synthetic import (
    SIMILAR,
    SMALLER,
    VARIANTS,
    judged_curves,
    kappa_of,
    lasts,
    noisy_parts,
    synthetic,
)

METHODS = ("SHB", "Multi-SHB", "Multi-SHB-CNST", "2P-SHB", "SGD", "Nesterov-EXP")
KAPPAS = (1000, 500, 200)
NOISES = (1e-2, 1e-4, 1e-6)
SETTLED = 0.1  # A curve that settled changes by less than this share over its last quarter.
TOLD_APART = 3.0  # The highest level at T is at least so many times the lowest.
ACCELERATED = 0.5  # An accelerated method takes at most this share of SGD's steps.
PAPER_T = 7000
PAPER_N = 10_000


def _parts(setting: str, profile: Profile) -> Iterator[Part]:
    panels = [(kappa, r) for r in NOISES for kappa in KAPPAS]
    yield from noisy_parts(setting, profile, panels, METHODS)
    place = {"setting": setting, "rows": profile.rows, "columns": profile.columns}
    for kappa in KAPPAS:
        yield table(f"kappa={kappa}", "speed", speeds_and_kappa, **place, kappa=float(kappa))


def speeds_and_kappa(setting: str, rows: int, columns: int, kappa: float) -> Outcome:
    """-ln(exact rate a step) of SHB at 0.9 n and at n, of SGD at n; the kappa that methods get."""
    data = synthetic(setting, rows, columns, kappa, 0.0)

    def speed(method: str, share: float) -> float:
        return -math.log(rate(Run(data, method, setting, share, T=2)))

    given = known_by(Run(data, "SHB", setting, 0.9), problem(data), 1, 1)
    speeds = {"shb": speed("SHB", 0.9), "shb_full": speed("SHB", 1.0), "sgd": speed("SGD", 1.0)}
    return Outcome.of(**speeds, kappa=given.L / given.mu)


# ---------------------------------------------------------------- claims


def _neighbourhood(curves: dict[str, Trajectory]) -> float:
    """The level of the neighbourhood: twice the gradient norm at which SHB ends."""
    return 2.0 * curves["SHB"].last


def _settled(curve: Trajectory) -> Case:
    k, values = curve.best
    tail = values[np.searchsorted(k, 0.75 * k[-1]) :]
    if not np.isfinite(tail).all():
        return False
    if curve.exact.size:
        return bool(abs(tail[-1] / tail[0] - 1.0) < SETTLED)
    half = tail.size // 2  # Runs are noisy: the means of both halves are compared in logarithms.
    drift = abs(float(np.log(tail[:half]).mean() - np.log(tail[half:]).mean()))
    return drift < math.log(2.0)


@judges("quad_i_floor")
def quad_i_floor(view: FigureView) -> Found:
    curves = judged_curves(view)
    yield "", None, lasts(curves, ("SGD", "SHB"))
    noise = {panel: float(panel.split("r=")[1]) for panel in curves}
    for panel, methods in curves.items():
        others = [p for p in curves if kappa_of(p) == kappa_of(panel) and p != panel]
        for method in ("SGD", "SHB"):
            last = methods[method].last
            above = [last > curves[p][method].last for p in others]
            ordered = above == [noise[panel] > noise[p] for p in others]
            yield f"{method}, {panel}", all_of(_settled(methods[method]), ordered), {}


@judges("quad_i_faster")
def quad_i_faster(view: FigureView) -> Finding:
    found = Finding()
    shares = []
    for panel, methods in judged_curves(view).items():
        level = _neighbourhood(methods)
        k = {method: methods[method].first_below(level) for method in ("SGD", "SHB")}
        found.cases[panel] = below(k["SHB"], k["SGD"], SMALLER)
        found.numbers.update({f"{panel}: k of {method}": value for method, value in k.items()})
        shares.append(ratio(k["SHB"], k["SGD"]))
    most = max(shares)
    return found.said(f"SHB is within twice its own floor in at most {most:.2f} of SGD's steps.")


@judges("quad_ii_variants")
def quad_ii_variants(view: FigureView) -> Found:
    curves = judged_curves(view)
    yield "", None, lasts(curves, ("SGD", "SHB", *VARIANTS))
    for panel, methods in curves.items():
        level = _neighbourhood(methods)
        least = min(methods["SGD"].last, methods["SHB"].last)
        for name in VARIANTS:
            soon = below(methods[name].first_below(level), methods["SGD"].first_below(level))
            lower = below(methods[name].last, least, SMALLER)
            yield f"{name}, {panel}", all_of(soon, lower), {}


def _beats(view: FigureView, a: str, b: str, kappas: tuple[int, ...]) -> Found:
    for panel, methods in judged_curves(view).items():
        if kappa_of(panel) in kappas:
            shown = {f"{panel}: {a} / {b}": methods[a].last / methods[b].last}
            yield panel, below(methods[a].last, methods[b].last, SMALLER), shown


@judges("quad_iii_cnst")
def quad_iii_cnst(view: FigureView) -> Finding:
    found = Finding.of(_beats(view, "Multi-SHB-CNST", "Multi-SHB", (min(KAPPAS),)))
    same = all(value == 1.0 for value in found.numbers.values())
    if same:
        return found.said("Both are constant SHB: I = 0.")
    return found


@judges("quad_iv_two_phase")
def quad_iv_two_phase(view: FigureView) -> Found:
    return _beats(view, "2P-SHB", "Multi-SHB", KAPPAS)


@judges("quad_v_nesterov")
def quad_v_nesterov(view: FigureView) -> Finding:
    """ "Similar convergence" is both: the level at T, and the steps to the neighbourhood."""
    found = Finding()
    levels = Finding()
    paces = Finding()
    shares = []
    for panel, methods in judged_curves(view).items():
        level = _neighbourhood(methods)
        rival = methods["Nesterov-EXP"]
        for name in VARIANTS:
            mine = methods[name]
            case = f"{name}, {panel}"
            steps = (mine.first_below(level), max(rival.first_below(level), 1.0))
            levels.cases[case] = within(mine.last, rival.last, SIMILAR)
            paces.cases[case] = within(*steps, SIMILAR)
            found.cases[case] = all_of(levels.cases[case], paces.cases[case])
            found.numbers[f"{panel}: {name} / Nesterov-EXP at T"] = mine.last / rival.last
            found.numbers[f"{panel}: {name} / Nesterov-EXP in steps"] = ratio(*steps)
            shares.append(ratio(*steps))
    reached = [share for share in shares if math.isfinite(share)]
    never = f" (or never arrive, in {len(shares) - len(reached)})" * (len(reached) < len(shares))
    return found.said(
        f"The level at T is within a factor 3 in {levels.score} cases; the variants take "
        f"{span(reached)} times the steps to the neighbourhood{never}.",
        {"the level at T alone": levels, "the steps alone": paces},
    )


@judges("quad_stages")
def quad_stages(view: FigureView) -> Finding:
    """The number of stages of Multi-SHB at the paper's T and the kappa that the method gets."""
    printed = view.setting in ("paper", "released-rows")
    rule = "authors"
    said = " by the rule of the released code."
    if printed:
        rule = "theorem"
        said = ": the printed formula asks for T >= 384 sqrt(2 kappa), with the kappa of the rows."
    found = Finding()
    for name in (f"kappa={k}" for k in KAPPAS):
        kappa = float(view.numbers(name, "speed")["kappa"][0])
        count = schedules.stage_count(PAPER_T, kappa, rule)
        found.cases[name] = (count == 0) == printed
        found.numbers[f"I at {name}"] = count
    counts = ", ".join(map(str, found.numbers.values()))
    return found.said(f"I = {counts} at kappa = 1000, 500, 200{said}")


@judges("quad_batch_accelerates")
def quad_batch_accelerates(view: FigureView) -> Finding:
    found = Finding()
    of_full = []
    of_sgd = []
    for panel in (f"kappa={kappa}" for kappa in KAPPAS):
        speed = {name: float(x[0]) for name, x in view.numbers(panel, "speed").items()}
        found.cases[panel] = below(speed["sgd"], speed["shb"], ACCELERATED)
        found.numbers.update({f"{panel}: {name}": value for name, value in speed.items()})
        of_full.append(speed["shb"] / speed["shb_full"])
        of_sgd.append(ratio(speed["sgd"], speed["shb"]))
    return found.said(
        f"SHB at 0.9 n takes at most {max(of_sgd):.2f} of SGD's steps; its exact speed is "
        f"{min(of_full):.2f} to {max(of_full):.2f} of that at n."
    )


@judges("quad_batch_covered")
def quad_batch_covered(view: FigureView) -> Found:
    n = round(PAPER_N * (0.8 if view.setting in ("authors", "released-rows") else 1.0))
    for kappa in KAPPAS:
        b = theory.batch_threshold(n, float(kappa))
        yield f"kappa={kappa:g}", bool(0.9 * n < b), {f"b* at kappa={kappa:g}": b}
    yield "", None, {"b": 0.9 * n}


@judges("quad_stochasticity")
def quad_stochasticity(view: FigureView) -> Finding:
    """The highest level at T over the lowest, of the six methods."""
    found = Finding()
    for panel, methods in judged_curves(view).items():
        ends = [methods[name].last for name in METHODS]
        found.cases[panel] = below(TOLD_APART * min(ends), max(ends))
        found.numbers[f"{panel}: highest / lowest at T"] = ratio(max(ends), min(ends))
    low = min(found.numbers.values(), default=math.nan)
    return found.said(f"At T the highest of six methods is {low:.2g} times the lowest or more.")


def _picture(view: FigureView) -> Picture:
    return Picture(columns=3, panels=curve_panels(view, METHODS), seeds=view.seed_count)


EXHIBITS = [exhibit("shb_quad", _parts, _picture)]
