"""Ours: what the theorems promise, as printed and as corrected, beside the exact error."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bocce import LeastSquares, exact, schedules, theory

from ..canvas import Line, Panel, Picture, visible
from ..compute import problem
from ..exhibit import exhibit, judges
from ..results import FigureView
from ..specs import Data, Outcome, Part, Profile, table
from ..verdicts import Finding, below, span

UNITS = (1e-6, 1e-3, 0.01, 1.0)  # The values of mu. A right bound does not notice its units.
HORIZONS = (200, 1000, 4000, 16_000)
BEYOND = 1_000_000  # This T is above T_bar = 889,586 of Theorem 4 on this problem.
N = 10_000
RESOLVED = 1e-12  # A smaller error is only rounding; ||w_0 - w*|| is 0.7.
NU = 4.0  # The factor by which L and mu are under-estimated.


@dataclass(frozen=True)
class Promise:
    """A theorem: its title, how its schedule is built, and its bound.

    The batch is n/10 with ``any_batch``, else the smallest above b*. ``wrong_L`` and ``wrong_mu``
    are the factors by which L and mu are under-estimated. ``noise`` multiplies the variance of the
    targets.
    """

    title: str
    schedule: Callable[..., Any]
    bound: Callable[..., theory.Bound]
    any_batch: bool = False
    wrong_L: float = 1.0
    wrong_mu: float = 1.0
    noise: float = 1.0


EXPONENTIAL = schedules.shb_exponential
CONSTANT = schedules.shb
PROMISES = {
    "thm1": Promise("Theorem 1", EXPONENTIAL, theory.bound_exponential, any_batch=True),
    "thm2": Promise("Theorem 2", CONSTANT, theory.bound_shb),
    "interpolation": Promise("interpolation", CONSTANT, theory.bound_shb, noise=0.0),
    "thm4": Promise("Theorem 4", schedules.multistage, theory.bound_multistage),
    "two_phase": Promise("two phases", schedules.two_phase, theory.bound_two_phase),
    "mis_L": Promise(
        "L too small by 4", EXPONENTIAL, theory.bound_misestimated_L, any_batch=True, wrong_L=NU
    ),
    "mis_mu": Promise(
        "μ too small by 4", EXPONENTIAL, theory.bound_misestimated_mu, any_batch=True, wrong_mu=NU
    ),
}


def _parts(setting: str, profile: Profile) -> Iterator[Part]:
    for theorem in PROMISES:
        for mu in UNITS:
            horizons = [*HORIZONS, BEYOND] if theorem == "thm4" and mu == 1.0 else HORIZONS
            steps = tuple(map(profile.steps, horizons))
            given = {"theorem": theorem, "horizons": steps, "n": N, "mu": mu}
            yield table(f"{theorem}, mu={mu:g}", "bounds", bounds, **given)


def bounds(theorem: str, horizons: tuple[int, ...], n: int, mu: float) -> Outcome:
    """A theorem's bound, as printed and corrected, beside the exact error for each horizon T.

    Haar rows, d = 2, kappa = L_max/mu, noise of variance mu: units are scaled with mu, which a
    right bound does not notice. L = L_max and a batch above the theorem's threshold.
    """
    promise = PROMISES[theorem]
    p = problem(Data("regression", n=n, d=2, kappa=2.0, noise_var=promise.noise * mu, mu=mu))
    c = p.constants()
    rows = []
    for T in horizons:
        kappa = c.L_max / c.mu
        b = n // 10
        if not promise.any_batch:
            if theorem == "thm4":
                a = 2.0 ** -schedules.stage_count(T, kappa)
            else:
                a = 1.0
            b = math.ceil(theory.batch_threshold(n, kappa, a, promise.noise == 0.0))
        rows.append(compared(promise, p, T, b))
    return Outcome.of(T=horizons, **dict(zip(("exact", "printed", "corrected"), zip(*rows))))


def compared(promise: Promise, p: LeastSquares, T: int, b: int) -> tuple[float, float, float]:
    """The exact error after T steps, and the bound on it as printed and as corrected."""
    c = p.constants()
    noise = p.noise()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # T may give one stage only.
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
    wanted = inspect.signature(promise.bound).parameters
    given = {name: value for name, value in known.items() if name in wanted}
    bound = partial(promise.bound, T=T, L=c.L_max, mu=c.mu, L_max=c.L_max, **given)
    corrected = bound(which="corrected")
    error2 = float(curve.error2[T - 1 if "T-1" in corrected.quantity else T])
    if "^2" in corrected.quantity:
        error = error2
    else:
        error = math.sqrt(error2)
    return error, bound(which="printed").total, corrected.total


def _holds(theorem: str, view: FigureView) -> Finding:
    found = Finding()
    for mu in UNITS:
        columns = view.numbers(f"{theorem}, mu={mu:g}", "bounds")
        for T, error, bound in zip(columns["T"], columns["exact"], columns["corrected"]):
            if max(error, bound) > RESOLVED:
                name = f"mu={mu:g}, T={int(T)}"
                found.cases[name] = below(float(error), float(bound))
                if error:
                    found.numbers[f"{name}: bound / exact"] = bound / error
                else:
                    found.numbers[f"{name}: bound / exact"] = math.inf
    if found.first_false:
        return found.said(f"The bound is exceeded at {found.first_false}.")
    if not found.numbers:
        return found.said("Every error is at the level of rounding.")
    return found.said(f"The bound is {span(found.numbers.values())} times the exact error.")


def _picture(view: FigureView) -> Picture:
    """A panel for each theorem: bound over exact error against the unit mu, at the longest common
    T; and a panel for how Theorem 1's bound changes with T."""
    panels = []
    units = np.array(UNITS)
    for theorem, promise in PROMISES.items():
        lines = [Line("bound = error", units, np.ones(len(UNITS)), "guide")]
        for which in ("corrected", "printed"):
            ratio = np.array([_ratio(view, theorem, mu, which) for mu in UNITS])
            lines.insert(0, Line(which, *visible(units, ratio)))
        axes = (promise.title, "μ, by units", "bound / exact error")
        panels.append(Panel(*axes, lines, xlog=True, decades=40.0))
    columns = view.numbers("thm1, mu=1", "bounds")
    names = {"exact error": "exact", "printed": "printed", "corrected": "corrected"}
    growing = [Line(name, *visible(columns["T"], columns[key])) for name, key in names.items()]
    panels.append(Panel("Theorem 1 against T, μ = 1", "T", "error", growing, xlog=True))
    notes = (
        "the same problem with X and y rescaled, which changes μ and leaves the error as it is: a "
        "right bound stays level, and one below the dotted line is violated",
    )
    return Picture(columns=4, panels=panels, notes=notes)


def _ratio(view: FigureView, theorem: str, mu: float, which: str) -> float:
    """Bound over exact error at the longest T of `HORIZONS` whose error is above rounding."""
    columns = view.numbers(f"{theorem}, mu={mu:g}", "bounds")
    exact, bound = (columns[name][: len(HORIZONS)] for name in ("exact", which))
    resolved = exact > RESOLVED
    if resolved.any():
        return float((bound[resolved] / exact[resolved])[-1])
    return math.nan


for theorem in PROMISES:
    judges(f"bound_{theorem}_corrected")(partial(_holds, theorem))
EXHIBITS = [exhibit("bounds", _parts, _picture)]
