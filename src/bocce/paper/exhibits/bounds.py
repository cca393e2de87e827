"""Ours: what the theorems promise, as printed and as corrected, beside the exact error."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ... import LeastSquares, exact, schedules, theory
from ..canvas import Line, Panel, Picture, visible
from ..compute import Outcome, problem
from ..exhibit import Exhibit
from ..results import Results
from ..specs import Cell, Data, Profile, table, table_cell
from ..verdicts import OURS, Case, Claim, Finding, below, first_false

LABEL, TITLE = "bounds", "The theorems' bounds beside the exact error"
UNITS = (1e-6, 1e-3, 0.01, 1.0)  # mu: a right bound does not notice its units
HORIZONS = (200, 1000, 4000, 16_000)
BEYOND = 1_000_000  # above T_bar = 889,586 of Theorem 4 on this problem
N = 10_000
RESOLVED = 1e-12  # an error, where ||w_0 - w*|| is 0.7
OVER = "bound / exact error"
NU = 4.0  # by which L and mu are under-estimated


@dataclass(frozen=True)
class Promise:
    """A theorem: how its schedule is built, its bound, and in which words it is named."""

    source: str
    words: str
    title: str
    schedule: Callable[..., Any]
    bound: Callable[..., theory.Bound]
    any_batch: bool = False  # else the batch is the smallest above b*
    noise: float = 1.0  # times the variance that the units ask for
    page: str = ""  # where the corrected form is proved


PROMISES = {
    "thm1": Promise(
        "thm:SHB_exp",
        "Theorem 1 (exponential steps)",
        "Theorem 1",
        schedules.shb_exponential,
        theory.bound_exponential,
        any_batch=True,
        page="docs/theory/exponential.md",
    ),
    "thm2": Promise(
        "thm:SHB_quad",
        "Theorem 2 (constant SHB, b >= b*, L = L_max)",
        "Theorem 2",
        schedules.shb,
        theory.bound_shb,
        page="docs/theory/accelerated.md",
    ),
    "interpolation": Promise(
        "thm:shb-interpolation",
        "the corollary under interpolation (L = L_max)",
        "interpolation",
        schedules.shb,
        theory.bound_shb,
        noise=0.0,
        page="docs/theory/accelerated.md",
    ),
    "thm4": Promise(
        "thm:SHB_multistage",
        "Theorem 4 (multi-stage SHB)",
        "Theorem 4",
        schedules.multistage,
        theory.bound_multistage,
        page="docs/theory/multistage.md",
    ),
    "two_phase": Promise(
        "thm:shb_mix",
        "the two-phase theorem",
        "two phases",
        schedules.two_phase,
        theory.bound_two_phase,
        page="docs/theory/two-phase.md",
    ),
    "mis_L": Promise(
        "thm:SHB_mis_L",
        "the theorem on L under-estimated (by 4)",
        "L too small by 4",
        schedules.shb_exponential,
        theory.bound_misestimated_L,
        any_batch=True,
        page="docs/theory/misestimation.md",
    ),
    "mis_mu": Promise(
        "thm:SHB_mis_mu",
        "the theorem on mu under-estimated (by 4)",
        "μ too small by 4",
        schedules.shb_exponential,
        theory.bound_misestimated_mu,
        any_batch=True,
        page="docs/theory/misestimation.md",
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
    return Outcome({"T": np.array(horizons), **columns})


def _beside(p: LeastSquares, theorem: str, T: int) -> dict[str, float]:
    promise = PROMISES[theorem]
    c = p.constants()
    kappa = c.L_max / c.mu
    interpolates = promise.noise == 0.0
    stages = schedules.stage_count(T, kappa) if theorem == "thm4" else 0
    if promise.any_batch:
        b = p.n // 10
    else:
        b = math.ceil(theory.batch_threshold(p.n, kappa, 2.0**-stages, interpolates))
    told_L = c.L_max / (NU if theorem == "mis_L" else 1.0)
    told_mu = c.mu / (NU if theorem == "mis_mu" else 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # one stage only is what T gives
        schedule = promise.schedule(T, told_L, told_mu)
    curve = exact.expected(p, schedule, b)
    given = _given(p, theorem, T, b, curve)
    printed = promise.bound(**given, which="printed")
    corrected = promise.bound(**given, which="corrected")
    at = T - 1 if "T-1" in corrected.quantity else T
    squared = "^2" in corrected.quantity
    return {
        "exact": float(curve.error2[at]) if squared else math.sqrt(curve.error2[at]),
        "printed": printed.total,
        "corrected": corrected.total,
        "applies": theorem != "thm4" or theory.multistage_horizon(kappa) <= T,
    }


def _given(p: LeastSquares, theorem: str, T: int, b: int, curve: Any) -> dict[str, Any]:
    """The arguments that a theorem's bound asks for."""
    c, noise = p.constants(), p.noise()
    D = float(np.linalg.norm(p.minimiser()))
    given: dict[str, Any] = {"T": T, "L": c.L_max, "mu": c.mu, "D": D, "L_max": c.L_max}
    if not PROMISES[theorem].any_batch:
        given |= {"n": p.n, "b": b, "chi": math.sqrt(noise.chi2)}
        if theorem == "interpolation":
            given["chi"] = 0.0
        return given | ({"sigma2": noise.sigma2} if theorem == "two_phase" else {})
    given |= {"sigma2": noise.sigma2, "zeta2": theory.zeta2(p.n, b), "chi2": noise.chi2}
    if theorem == "mis_L":
        early = max(1, math.ceil(T * math.log(NU) / math.log(T)))
        given |= {"nu": NU, "delta_f": float(curve.gap[:early].max())}
    if theorem == "mis_mu":
        given |= {"nu": 1.0 / NU}
    return given


def _holds(theorem: str, results: Results, setting: str) -> Finding:
    cases: dict[str, Case] = {}
    numbers: dict[str, float] = {}
    for mu in UNITS:
        columns = results.table(LABEL, f"{theorem}, mu={mu:g}", "bounds").numbers
        for T, error, bound in zip(columns["T"], columns["exact"], columns["corrected"]):
            if max(error, bound) > RESOLVED:  # below it there is rounding only
                name = f"mu={mu:g}, T={int(T)}"
                cases[name] = below(float(error), float(bound))
                numbers[f"{name}: bound / exact"] = bound / error if error else math.inf
    return Finding(cases, numbers, _why(cases, numbers))


def _why(cases: dict[str, Case], numbers: dict[str, float]) -> str:
    wrong = first_false(cases)
    if wrong:
        return f"The bound is exceeded at {wrong}."
    if not numbers:
        return "Every error is at the level of rounding."
    return (
        f"The bound is {min(numbers.values()):.2g} to {max(numbers.values()):.2g} times the exact "
        "error."
    )


def _claims() -> tuple[Claim, ...]:
    made = []
    for theorem, promise in PROMISES.items():
        any_T = ", in its a-posteriori form at any T" if theorem == "thm4" else ""
        made.append(
            Claim(
                id=f"bound_{theorem}_corrected",
                kind=OURS,
                source=promise.source,
                text=f"The corrected bound of {promise.words} holds{any_T}.",
                criterion="The exact error is at most the bound, in four units and for every T "
                "(where the mean norm is bounded, its root mean square is compared).",
                judge=partial(_holds, theorem),
                judged_on="exact errors",
                proof=promise.page,
            )
        )
    return tuple(made)


def _picture(results: Results, setting: str) -> Picture:
    """A panel a theorem: bound over exact error against the unit mu, at the longest common T; and
    one for how Theorem 1's bound changes with T."""
    panels = []
    for theorem, promise in PROMISES.items():
        lines = []
        for which in ("printed", "corrected"):
            ratio = np.array([_ratios(results, theorem, mu, which)[-1] for mu in UNITS])
            lines.append(Line(which, *visible(np.array(UNITS), ratio, 1e300)))
        one = Line("bound = error", np.array(UNITS), np.ones(len(UNITS)), "guide")
        panels.append(
            Panel(promise.title, "μ, by units", OVER, (*lines, one), xlog=True, decades=40.0)
        )
    columns = results.table(LABEL, "thm1, mu=1", "bounds").numbers
    lines = [
        Line(name, *visible(columns["T"], columns[key], 1e300))
        for name, key in (("exact error", "exact"), ("printed", "printed"), ("corrected",) * 2)
    ]
    panels.append(Panel("Theorem 1 against T, μ = 1", "T", "error", tuple(lines), xlog=True))
    notes = (
        "the same problem with X and y rescaled, which changes μ and leaves the error as it is: a "
        "right bound stays level, and one below the dotted line is violated",
    )
    return Picture(LABEL, TITLE, columns=4, panels=tuple(panels), notes=notes)


def _ratios(results: Results, theorem: str, mu: float, which: str) -> np.ndarray:
    """Bound over exact error for each T of `HORIZONS`, where the error is above rounding."""
    columns = results.table(LABEL, f"{theorem}, mu={mu:g}", "bounds").numbers
    seen = columns["exact"][: len(HORIZONS)] > RESOLVED
    ratio = columns[which][: len(HORIZONS)] / columns["exact"][: len(HORIZONS)]
    return np.asarray(ratio[seen]) if seen.any() else np.array([np.nan])


EXHIBIT = Exhibit(
    label=LABEL,
    alias="bounds",
    title=TITLE,
    caption=lambda profile: (
        f"L = L_max, a batch that the theorem allows, n = {N:,}, d = 2, T up to "
        f"{profile.steps(HORIZONS[-1]):,} (Theorem 4, mu = 1: {profile.steps(BEYOND):,}). The same "
        "problem in four units, mu = 1e-6, 1e-3, 0.01 and 1."
    ),
    cells=_cells,
    picture=_picture,
    tables=(bounds,),
    ours=True,
    claims=_claims(),
)
