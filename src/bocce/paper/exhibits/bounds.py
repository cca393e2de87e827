"""Ours: what the theorems promise, as printed and as corrected, beside the exact error."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ... import LeastSquares, exact, schedules, theory
from ..canvas import Line, Panel, Picture, visible
from ..compute import problem
from ..exhibit import Exhibit
from ..results import FigureView
from ..specs import Cell, Data, Outcome, Profile, table, table_cell
from ..texts import STATEMENTS
from ..verdicts import OURS, Claim, Finding, below, first_false, span, tally

LABEL = "bounds"
UNITS = (1e-6, 1e-3, 0.01, 1.0)  # mu: a right bound does not notice its units
HORIZONS = (200, 1000, 4000, 16_000)
BEYOND = 1_000_000  # above T_bar = 889,586 of Theorem 4 on this problem
N = 10_000
RESOLVED = 1e-12  # an error, where ||w_0 - w*|| is 0.7
OVER = "bound / exact error"
NU = 4.0  # by which L and mu are under-estimated


@dataclass(frozen=True)
class Promise:
    """A theorem: the id of its statement, its words, how its schedule is built, and its bound."""

    statement: str
    words: str
    title: str
    schedule: Callable[..., Any]
    bound: Callable[..., theory.Bound]
    any_batch: bool = False  # else the batch is the smallest above b*
    wrong_L: float = 1.0  # by which L and mu are under-estimated
    wrong_mu: float = 1.0
    noise: float = 1.0  # times the variance that the units ask for


EXPONENTIAL, CONSTANT = schedules.shb_exponential, schedules.shb
PROMISES = {
    "thm1": Promise(
        *("theorem_1", "Theorem 1 (exponential steps)", "Theorem 1"),
        *(EXPONENTIAL, theory.bound_exponential),
        any_batch=True,
    ),
    "thm2": Promise(
        *("theorem_2", "Theorem 2 (constant SHB, b >= b*, L = L_max)", "Theorem 2"),
        *(CONSTANT, theory.bound_shb),
    ),
    "interpolation": Promise(
        *("interpolation", "the corollary under interpolation (L = L_max)", "interpolation"),
        *(CONSTANT, theory.bound_shb),
        noise=0.0,
    ),
    "thm4": Promise(
        *("theorem_4", "Theorem 4 (multi-stage SHB)", "Theorem 4"),
        *(schedules.multistage, theory.bound_multistage),
    ),
    "two_phase": Promise(
        *("two_phase", "the two-phase theorem", "two phases"),
        *(schedules.two_phase, theory.bound_two_phase),
    ),
    "mis_L": Promise(
        *("misestimated_L", "the theorem on L under-estimated (by 4)", "L too small by 4"),
        *(EXPONENTIAL, theory.bound_misestimated_L),
        any_batch=True,
        wrong_L=NU,
    ),
    "mis_mu": Promise(
        *("misestimated_mu", "the theorem on mu under-estimated (by 4)", "μ too small by 4"),
        *(EXPONENTIAL, theory.bound_misestimated_mu),
        any_batch=True,
        wrong_mu=NU,
    ),
}


def _cells(setting: str, profile: Profile) -> list[Cell]:
    cells = []
    for theorem in PROMISES:
        for mu in UNITS:
            horizons = [profile.steps(T) for T in HORIZONS]
            if theorem == "thm4" and mu == 1.0:
                horizons.append(profile.steps(BEYOND))
            job = table("bounds", theorem=theorem, horizons=tuple(horizons), n=N, mu=mu)
            cells.append(table_cell(LABEL, "paper", f"{theorem}, mu={mu:g}", "bounds", job))
    return cells


def bounds(theorem: str, horizons: tuple[int, ...], n: int, mu: float) -> Outcome:
    """A theorem's bound, as printed and corrected, beside the exact error for each horizon T.

    Haar rows, d = 2, kappa = L_max/mu, noise of variance mu: units are scaled with mu, which a
    right bound does not notice. L = L_max and a batch above the theorem's threshold. ``applies``:
    is T above the T_bar that Theorem 4 asks for?
    """
    noise = PROMISES[theorem].noise * mu
    p = problem(Data("regression", n=n, d=2, kappa=2.0, noise_var=noise, mu=mu))
    rows = [_beside(p, theorem, T) for T in horizons]
    columns = {name: np.array([row[name] for row in rows], dtype=float) for name in rows[0]}
    return Outcome.of(T=horizons, **columns)


def _beside(p: LeastSquares, theorem: str, T: int) -> dict[str, float]:
    promise, c, noise = PROMISES[theorem], p.constants(), p.noise()
    kappa = c.L_max / c.mu
    stages = schedules.stage_count(T, kappa) if theorem == "thm4" else 0
    b = p.n // 10
    if not promise.any_batch:
        b = math.ceil(theory.batch_threshold(p.n, kappa, 2.0**-stages, promise.noise == 0.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # one stage only is what T gives
        schedule = promise.schedule(T, c.L_max / promise.wrong_L, c.mu / promise.wrong_mu)
    curve = exact.expected(p, schedule, b)
    early = max(1, math.ceil(T * math.log(promise.wrong_L) / math.log(T)))
    known: dict[str, Any] = {
        "D": float(np.linalg.norm(p.minimiser())),
        "n": p.n,
        "b": b,
        "chi": math.sqrt(noise.chi2) if promise.noise else 0.0,
        "chi2": noise.chi2,
        "sigma2": noise.sigma2,
        "zeta2": theory.zeta2(p.n, b),
        "nu": promise.wrong_L / promise.wrong_mu,
        "delta_f": float(curve.gap[:early].max()),
    }
    given = {
        name: known[name] for name in inspect.signature(promise.bound).parameters if name in known
    }
    bound = partial(promise.bound, T=T, L=c.L_max, mu=c.mu, L_max=c.L_max, **given)
    corrected = bound(which="corrected")
    at = T - 1 if "T-1" in corrected.quantity else T
    squared = "^2" in corrected.quantity
    return {
        "exact": float(curve.error2[at]) if squared else math.sqrt(curve.error2[at]),
        "printed": bound(which="printed").total,
        "corrected": corrected.total,
        "applies": theorem != "thm4" or theory.multistage_horizon(kappa) <= T,
    }


def _holds(theorem: str, view: FigureView) -> Finding:
    cases, numbers = tally()
    for mu in UNITS:
        columns = view.numbers(f"{theorem}, mu={mu:g}", "bounds")
        for T, error, bound in zip(columns["T"], columns["exact"], columns["corrected"]):
            if max(error, bound) > RESOLVED:  # below it there is rounding only
                name = f"mu={mu:g}, T={int(T)}"
                cases[name] = below(float(error), float(bound))
                numbers[f"{name}: bound / exact"] = bound / error if error else math.inf
    said = "Every error is at the level of rounding."
    if numbers:
        said = f"The bound is {span(numbers.values())} times the exact error."
    wrong = first_false(cases)
    return Finding(cases, numbers, f"The bound is exceeded at {wrong}." if wrong else said)


def _claim(theorem: str, promise: Promise) -> Claim:
    statement = next(row for row in STATEMENTS if row.id == promise.statement)
    any_T = ", in its a-posteriori form at any T" if theorem == "thm4" else ""
    return Claim(
        id=f"bound_{theorem}_corrected",
        kind=OURS,
        source=statement.label,
        text=f"The corrected bound of {promise.words} holds{any_T}.",
        criterion="The exact error is at most the bound, in four units and for every T "
        "(where the mean norm is bounded, its root mean square is compared).",
        judge=partial(_holds, theorem),
        judged_on="exact errors",
        proof=statement.proof,
    )


def _picture(view: FigureView) -> Picture:
    """A panel a theorem: bound over exact error against the unit mu, at the longest common T; and
    one for how Theorem 1's bound changes with T."""
    panels = []
    units = np.array(UNITS)
    for theorem, promise in PROMISES.items():
        lines = []
        for which in ("printed", "corrected"):
            ratio = np.array([_ratio(view, theorem, mu, which) for mu in UNITS])
            lines.append(Line(which, *visible(units, ratio, 1e300)))
        lines.append(Line("bound = error", units, np.ones(len(UNITS)), "guide"))
        axes = (promise.title, "μ, by units", OVER)
        panels.append(Panel(*axes, tuple(lines), xlog=True, decades=40.0))
    columns = view.numbers("thm1, mu=1", "bounds")
    growing = tuple(
        Line(name, *visible(columns["T"], columns[key], 1e300))
        for name, key in (("exact error", "exact"), ("printed", "printed"), ("corrected",) * 2)
    )
    panels.append(Panel("Theorem 1 against T, μ = 1", "T", "error", growing, xlog=True))
    notes = (
        "the same problem with X and y rescaled, which changes μ and leaves the error as it is: a "
        "right bound stays level, and one below the dotted line is violated",
    )
    return Picture(columns=4, panels=tuple(panels), notes=notes)


def _ratio(view: FigureView, theorem: str, mu: float, which: str) -> float:
    """Bound over exact error at the longest T of `HORIZONS` whose error is above rounding."""
    columns = view.numbers(f"{theorem}, mu={mu:g}", "bounds")
    exact, bound = (columns[name][: len(HORIZONS)] for name in ("exact", which))
    seen = exact > RESOLVED
    return float((bound[seen] / exact[seen])[-1]) if seen.any() else math.nan


CLAIMS = tuple(_claim(theorem, promise) for theorem, promise in PROMISES.items())
EXHIBIT = Exhibit(LABEL, _cells, _picture, CLAIMS, (bounds,))
