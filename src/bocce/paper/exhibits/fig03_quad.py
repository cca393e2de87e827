"""fig:shb_quad: the methods on noisy least squares, and observations (i) to (v) about them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ... import exact, schedules, theory
from ..canvas import Picture, curve_panels, runs_picture
from ..compute import prepared, problem, told
from ..exhibit import Exhibit
from ..results import FigureView, Trajectory
from ..specs import Cell, Outcome, Profile, Run, table, table_cell
from ..texts import claims
from ..verdicts import Case, Finding, all_of, below, counted, ratio, span, tally, within
from ._synthetic import (
    SIMILAR,
    SMALLER,
    VARIANTS,
    judged_curves,
    kappa_of,
    lasts,
    noisy_cells,
    stability,
    synthetic,
)

LABEL = "shb_quad"
METHODS = ("SHB", "Multi-SHB", "Multi-SHB-CNST", "2P-SHB", "SGD", "Nesterov-EXP")
KAPPAS, NOISES = (1000, 500, 200), (1e-2, 1e-4, 1e-6)
SETTLED = 0.1  # "converges to a neighbourhood": changes by less than this over the last quarter
TOLD_APART = 3.0  # the highest level at T over the lowest
ACCELERATED = 0.5  # of the full batch's speed, at least
PAPER_T, PAPER_N = 7000, 10_000


def _cells(setting: str, profile: Profile) -> list[Cell]:
    panels = [(kappa, r) for r in NOISES for kappa in KAPPAS]
    cells = noisy_cells(LABEL, setting, profile, panels, METHODS)
    place = {"setting": setting, "rows": profile.rows, "columns": profile.columns}
    for kappa in KAPPAS:
        job = table("speeds_and_kappa", **place, kappa=float(kappa))
        cells.append(table_cell(LABEL, setting, f"kappa={kappa}", "speed", job))
    return cells


def speeds_and_kappa(setting: str, rows: int, columns: int, kappa: float) -> Outcome:
    """-ln(exact rate a step) of SHB at 0.9 n and at n, of SGD at n; the kappa they are told."""
    data = synthetic(setting, Profile("", rows, columns, 1.0, 1, 1.0), kappa, 0.0)

    def speed(method: str, share: float) -> float:
        p, s, b, _ = prepared(Run(data, method, setting, share, T=2))
        return -math.log(exact.mean_square_rate(p, float(s.alpha[1]), float(s.beta[1]), b))

    given = told(Run(data, "SHB", setting, 0.9), problem(data), 1, 1)
    speeds = {"shb": speed("SHB", 0.9), "shb_full": speed("SHB", 1.0), "sgd": speed("SGD", 1.0)}
    return Outcome.of(**speeds, kappa=given.L / given.mu)


# ---------------------------------------------------------------- claims


def _neighbourhood(curves: dict[str, Trajectory]) -> float:
    """The level that counts as reaching it: twice the gradient norm at which SHB ends."""
    return 2.0 * curves["SHB"].last


def _settled(curve: Trajectory) -> Case:
    k, values = curve.best
    tail = values[np.searchsorted(k, 0.75 * k[-1]) :]
    if not np.isfinite(tail).all():
        return False
    if curve.exact.size:
        return bool(abs(tail[-1] / tail[0] - 1.0) < SETTLED)
    half = tail.size // 2  # runs are noisy: the halves' means, in logarithms
    drift = abs(float(np.log(tail[:half]).mean() - np.log(tail[half:]).mean()))
    return drift < math.log(2.0)


def quad_i_floor(view: FigureView) -> Finding:
    curves = judged_curves(view)
    cases, _ = tally()

    def noise_of(panel: str) -> float:
        return float(panel.split("r=")[1])

    for panel, methods in curves.items():
        others = [p for p in curves if kappa_of(p) == kappa_of(panel) and p != panel]
        for method in ("SGD", "SHB"):
            mine = methods[method]
            ordered = all(
                (mine.last > curves[p][method].last) == (noise_of(panel) > noise_of(p))
                for p in others
            )
            cases[f"{method}, {panel}"] = all_of(_settled(mine), ordered)
    return Finding(
        cases,
        lasts(curves, ("SGD", "SHB")),
        "Where it is not met, SGD (or SHB near its critical batch) is still falling at T: kappa is "
        "large and r small.",
    )


def quad_i_faster(view: FigureView) -> Finding:
    cases, numbers = tally()
    shares = []
    for panel, methods in judged_curves(view).items():
        level = _neighbourhood(methods)
        k = {method: methods[method].first_below(level) for method in ("SGD", "SHB")}
        cases[panel] = below(k["SHB"], k["SGD"], SMALLER)
        shares.append(ratio(k["SHB"], k["SGD"]))
        numbers |= {f"{panel}: k of {method}": value for method, value in k.items()}
    said = f"SHB is within twice its own floor in at most {max(shares):.2f} of SGD's steps."
    return Finding(cases, numbers, said)


def quad_ii_variants(view: FigureView) -> Finding:
    curves = judged_curves(view)
    cases, _ = tally()
    for panel, methods in curves.items():
        level = _neighbourhood(methods)
        least = min(methods["SGD"].last, methods["SHB"].last)
        for name in VARIANTS:
            soon = below(methods[name].first_below(level), methods["SGD"].first_below(level))
            cases[f"{name}, {panel}"] = all_of(soon, below(methods[name].last, least, SMALLER))
    return Finding(
        cases,
        lasts(curves, ("SGD", "SHB", *VARIANTS)),
        "By the printed formula Multi-SHB has no stage after the first at T = 7000 and is SHB "
        "itself, so that only 2P-SHB gains; with the released stages Multi-SHB gains too, where "
        "they have time to shrink the noise.",
    )


def _beats(view: FigureView, a: str, b: str, kappas: tuple[int, ...]) -> Finding:
    cases, ratios = tally()
    for panel, methods in judged_curves(view).items():
        if kappa_of(panel) in kappas:
            cases[panel] = below(methods[a].last, methods[b].last, SMALLER)
            ratios[f"{panel}: {a} / {b}"] = methods[a].last / methods[b].last
    return Finding(cases, ratios, f"{a} ends at {span(ratios.values())} times {b}.")


def quad_iii_cnst(view: FigureView) -> Finding:
    found = _beats(view, "Multi-SHB-CNST", "Multi-SHB", (min(KAPPAS),))
    same = all(value == 1.0 for value in found.numbers.values())
    return replace(found, because="Both are constant SHB: I = 0.") if same else found


def quad_iv_two_phase(view: FigureView) -> Finding:
    return _beats(view, "2P-SHB", "Multi-SHB", KAPPAS)


def quad_v_nesterov(view: FigureView) -> Finding:
    """ "Similar convergence" is both: the level at T, and the steps to the neighbourhood."""
    levels, numbers = tally()
    paces, _ = tally()
    shares = []
    for panel, methods in judged_curves(view).items():
        level, rival = _neighbourhood(methods), methods["Nesterov-EXP"]
        for name in VARIANTS:
            mine, case = methods[name], f"{name}, {panel}"
            steps = (mine.first_below(level), max(rival.first_below(level), 1.0))
            levels[case] = within(mine.last, rival.last, SIMILAR)
            paces[case] = within(*steps, SIMILAR)
            numbers[f"{panel}: {name} / Nesterov-EXP at T"] = mine.last / rival.last
            numbers[f"{panel}: {name} / Nesterov-EXP in steps"] = ratio(*steps)
            shares.append(ratio(*steps))
    reached = [share for share in shares if math.isfinite(share)]
    never = f" (or never arrive, in {len(shares) - len(reached)})" * (len(reached) < len(shares))
    return Finding(
        {case: all_of(levels[case], paces[case]) for case in levels},
        numbers,
        f"The level at T is within a factor 3 in {counted(levels)}; the variants take "
        f"{span(reached)} times the steps to the neighbourhood{never}.",
        {"the level at T alone": Finding(levels), "the steps alone": Finding(paces)},
    )


def quad_stages(view: FigureView) -> Finding:
    """How many stages Multi-SHB has at the paper's T and the kappa that it is told."""
    printed = view.setting in ("paper", "released-rows")
    counts = {}
    for k in KAPPAS:
        told = float(view.numbers(f"kappa={k}", "speed")["kappa"][0])
        rule = "theorem" if printed else "authors"
        counts[f"kappa={k}"] = schedules.stage_count(PAPER_T, told, rule)
    said = (
        ": the printed formula asks for T >= 384 sqrt(2 kappa), with the kappa of the rows."
        if printed
        else " by the rule of the released code."
    )
    return Finding(
        {name: (count == 0) == printed for name, count in counts.items()},
        {f"I at {name}": count for name, count in counts.items()},
        f"I = {', '.join(map(str, counts.values()))} at kappa = 1000, 500, 200{said}",
    )


def quad_batch_accelerates(view: FigureView) -> Finding:
    cases, numbers = tally()
    shares = []
    for panel in (f"kappa={kappa}" for kappa in KAPPAS):
        speed = {name: float(x[0]) for name, x in view.numbers(panel, "speed").items()}
        cases[panel] = below(ACCELERATED * speed["shb_full"], speed["shb"])
        shares.append(speed["shb"] / speed["shb_full"])
        numbers |= {f"{panel}: {name}": value for name, value in speed.items()}
    said = f"SHB's exact speed at 0.9 n is {min(shares):.2f} to {max(shares):.2f} of that at n."
    return Finding(cases, numbers, said)


def quad_batch_covered(view: FigureView) -> Finding:
    n = round(PAPER_N * (0.8 if view.setting in ("authors", "released-rows") else 1.0))
    needed = {k: theory.batch_threshold(n, float(k)) for k in KAPPAS}
    return Finding(
        {f"kappa={k:g}": bool(0.9 * n < b) for k, b in needed.items()},
        {f"b* at kappa={k:g}": b for k, b in needed.items()} | {"b": 0.9 * n},
        "Theorem 2 asks for the full batch, in whole rows, at these kappa: it promises nothing at "
        "0.9 n.",
    )


def quad_stochasticity(view: FigureView) -> Finding:
    """The highest level at T over the lowest, of the six methods."""
    cases, numbers = tally()
    for panel, methods in judged_curves(view).items():
        ends = [methods[name].last for name in METHODS]
        cases[panel] = below(TOLD_APART * min(ends), max(ends))
        numbers[f"{panel}: highest / lowest at T"] = ratio(max(ends), min(ends))
    low = min(numbers.values(), default=math.nan)
    said = f"At T the highest of six methods is {low:.2g} times the lowest or more."
    return Finding(cases, numbers, said)


def _picture(view: FigureView) -> Picture:
    return runs_picture(view, 3, curve_panels(view, METHODS))


CLAIMS = claims(
    *(LABEL, quad_i_floor, quad_i_faster, quad_ii_variants, quad_iii_cnst, quad_iv_two_phase),
    *(quad_v_nesterov, quad_stages, quad_batch_accelerates, quad_stochasticity),
    quad_batch_covered,
)
EXHIBIT = Exhibit(LABEL, _cells, _picture, CLAIMS, (stability, speeds_and_kappa))
