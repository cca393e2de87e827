"""Which batch size do I need: every threshold and bound at one setting, and over kappa."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bocce import LeastSquares, Problem, exact, theory
from bocce.cli.commands import integer, real
from bocce.data import regression
from bocce.schedules import REGISTRY, shb

from .styles import BLACK, BLUE, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DESIGNS = ("haar", "heavy")
COLUMNS = 20  # The synthetic designs of the picture have this many columns.
EXACT_COLUMNS = 60  # With more columns exact analysis takes minutes.
POINTS = 9  # Each curve of the picture has this many points.
GROUP = "bound on the error after T steps"
# Rows of the table: the name, the function, and its version ``which`` (None: there is one only).
BOUNDS: tuple[tuple[str, Callable[..., theory.Bound], str | None], ...] = (
    *(
        (f"{name}, {which}", bound, which)
        for name, bound in (
            ("Theorem 1", theory.bound_exponential),
            ("  L twice too large", theory.bound_misestimated_L),
            ("  mu twice too small", theory.bound_misestimated_mu),
            ("Theorem 2", theory.bound_shb),
            ("  noise below chi", theory.bound_bounded_noise),
            ("Theorem 4", theory.bound_multistage),
            ("two-phase", theory.bound_two_phase),
        )
        for which in ("corrected", "printed")
    ),
    ("Theorem 2, Gronwall", theory.bound_shb, "gronwall"),
    ("noise below chi, sqrt(a)", theory.bound_bounded_noise, "sqrt"),
    ("Theorem S, floor of shb", theory.bound_stationary, None),
)


@dataclass(frozen=True)
class Setting:
    """Where the theorems are evaluated: n rows, batches of b, T steps, the problem's constants.

    L is lambda_max; D = ||w_0 - w*||; chi2 and sigma2 are the noise at the minimiser.
    """

    n: int
    b: int
    T: int
    L: float
    mu: float
    L_max: float
    D: float = 1.0
    chi2: float = 0.0
    sigma2: float = 0.0
    problem: Problem | None = None  # the data of a quadratic loss, where there are data

    @property
    def kappa(self) -> float:
        return self.L / self.mu

    @property
    def step(self) -> tuple[float, float]:
        """(alpha, beta) of the paper's accelerated heavy ball, alpha = 1/L."""
        schedule = shb(T=2, L=self.L, mu=self.mu)
        return float(schedule.alpha[1]), float(schedule.beta[1])

    @property
    def paper_batch(self) -> float:
        """b* of Theorem 2, for a = 1 and kappa = L_max/mu."""
        return theory.batch_threshold(self.n, self.L_max / self.mu)

    @property
    def certified_batch(self) -> float:
        """From which batch on that heavy ball is stable, by Theorem S."""
        return theory.certified_batch_size(self.n, *self.step, self.L_max, self.mu, self.L)

    @property
    def critical_batch(self) -> float:
        """The exact critical batch size of that heavy ball, of a setting that has data."""
        assert self.problem is not None
        return exact.critical_batch_size(self.problem, *self.step)


@dataclass(frozen=True)
class Row:
    """A line of the table: a number, whether it is a guarantee (None: not a bound), and why."""

    group: str
    name: str
    value: float | None  # None: not computed
    valid: bool | None = None
    note: str = ""
    quantity: str = ""  # what a bound bounds


def from_numbers(
    T: int, n: int = 10_000, kappa: float = 1000.0, b: int | None = None, ratio: float | None = None
) -> list[Setting]:
    """mu = 1, L = kappa, D = 1, no noise; b = n where none is given.

    ``ratio`` is L_max / L; without it there are two settings, for 1 and for n, its extremes.
    """
    n = integer("theory", "n", n, least=2)
    if b is None:
        b = n
    else:
        b = integer("theory", "b", b, most=n)
    kappa = real("theory", "kappa", kappa, least=1.0)
    T = integer("theory", "T", T)
    ratios = [1.0, float(n)]
    if ratio is not None:
        ratios = [real("theory", "ratio", ratio, least=1.0, most=float(n))]
    return [Setting(n, b, T, L=kappa, mu=1.0, L_max=ratio * kappa) for ratio in ratios]


def from_problem(problem: Problem, T: int, b: int | None = None) -> Setting:
    """The constants and the noise of data; w_0 = 0, and b = n where none is given."""
    T = integer("theory", "T", T)
    n = integer("theory", "n", problem.n, least=2)
    if b is None:
        b = n
    else:
        b = integer("theory", "b", b, most=n)
    constants = problem.constants()
    noise = problem.noise()
    if not constants.mu > 0.0:
        raise ValueError(
            "theory: mu=0 must be > 0, because the theorems are about strongly convex problems; "
            "give a small l2 > 0, or drop columns that depend on others."
        )
    D = float(np.linalg.norm(problem.minimiser()))
    known = (constants.L, constants.mu, constants.L_max, D, noise.chi2, noise.sigma2)
    # exact moments close for quadratic losses alone
    return Setting(n, b, T, *known, problem=problem if problem.loss.quadratic else None)


# ---------------------------------------------------------------- the table


def table(setting: Setting, method: str | None = None) -> list[Row]:
    """All thresholds and bounds at ``setting``; what has no value there says why.

    With a ``method``, also what is certified of its error.

    >>> rows = table(from_numbers(n=10_000, kappa=10.0, T=7000, b=9000)[0])
    >>> [(row.name, round(row.value, 1)) for row in rows[:2]]
    [('b* (Theorem 2)', 9936.1), ('b*, interpolation', 9936.1)]
    """
    rows = [*_batches(setting), *_horizons(setting), *_bounds(setting)]
    if method is None:
        return rows
    return [*rows, _certified(setting, method)]


def _certified(s: Setting, method: str) -> Row:
    """The error of a method's own table of steps, from ``theory.certify``."""
    known: dict[str, Any] = {"L_max": s.L_max, "n": s.n, "b": s.b, "kappa_tilde": None}
    if s.problem is not None:
        known["kappa_tilde"] = s.problem.constants().kappa_tilde

    def ask() -> theory.Bound:
        schedule = REGISTRY[method].build(s.T, {"L": s.L, "mu": s.mu, **known})
        if s.problem is not None:
            return theory.certify_run(s.problem, schedule, s.b)
        return theory.certify(schedule, **known, mu=s.mu, lam_max=s.L, error0=s.D**2, chi2=s.chi2)

    return _bound_row(f"certified, {method}", ask)


def _batches(s: Setting) -> Iterator[Row]:
    row = partial(Row, "batch size from which")
    threshold = partial(theory.batch_threshold, s.n, s.L_max / s.mu)
    promised = "acceleration is promised, kappa = L_max/mu"
    stable = "shb is mean-square stable"
    yield row("b* (Theorem 2)", threshold(), note=promised)
    yield row("b*, interpolation", threshold(interpolation=True), note=promised)
    yield row("b*, Gronwall", threshold(which="gronwall"), note=promised)
    yield row("certified (Theorem S)", s.certified_batch, note=stable)
    if s.problem is not None:
        yield _exact_row(row, s.problem, lambda: s.critical_batch, stable)
    for which in ("exact", "six-step", "printed"):
        lower = theory.lower_bound_threshold(s.n, s.kappa, which)
        yield row(f"lower bound, {which}", lower, note="the diagonal problem diverges below it")


def _horizons(s: Setting) -> Iterator[Row]:
    row = partial(Row, "stages and horizons")
    for rule in ("theorem", "fit", "authors"):
        stages = theory.stage_count(s.T, s.kappa, rule)
        yield row(f"stages, {rule}", stages, note="after stage 0 of multi-shb")
    for which in ("corrected", "printed"):
        span = theory.multistage_range(s.n, s.b, s.L_max / s.mu, which)
        yield row(f"Theorem 4 up to T, {which}", span.high, span.valid, span.why)
    yield row("Theorem 4 from T_bar", theory.multistage_horizon(s.L_max / s.mu))
    if s.kappa > 1.0:
        q = theory.two_phase_exponent(s.kappa)
        yield row("q", q, note="two-phase bias exp(-T/kappa^q)")


def _bounds(s: Setting) -> Iterator[Row]:
    """The theorems need L >= L_max, so they are evaluated with L = L_max."""
    (alpha, beta), zeta2, chi = s.step, theory.zeta2(s.n, s.b), math.sqrt(s.chi2)
    known = {"T": s.T, "n": s.n, "b": s.b, "zeta2": zeta2, "D": s.D, "nu": 0.5}
    known |= {"L": s.L_max, "mu": s.mu, "L_max": s.L_max, "lam_max": s.L}
    known |= {"chi": chi, "chi2": s.chi2, "sigma": chi, "sigma2": s.sigma2}
    known |= {"alpha": alpha, "beta": beta}
    for name, bound, which in BOUNDS:
        given: dict[str, Any] = {
            k: known[k] for k in inspect.signature(bound).parameters.keys() & known
        }
        given |= {} if which is None else {"which": which}
        yield _bound_row(name, partial(bound, **given))
    row = partial(Row, "rate a step of shb")
    note = "of the root mean square error"
    rate = theory.certified_rate(alpha, beta, zeta2, s.L_max, s.mu, s.L)
    yield row("certified (Theorem S)", rate, note=note)
    if s.problem is not None:
        of_data = partial(exact.mean_square_rate, s.problem, alpha, beta, s.b)
        yield _exact_row(row, s.problem, of_data, note)


def _bound_row(name: str, ask: Callable[[], theory.Bound]) -> Row:
    try:
        bound = ask()
    except ValueError as error:  # T or kappa is outside the theorem's domain
        return Row(GROUP, name, math.inf, False, str(error))
    return Row(GROUP, name, bound.total, bound.valid, bound.why, bound.quantity)


def _exact_row(row: Callable[..., Row], p: Problem, ask: Callable[[], float], note: str) -> Row:
    if p.d > EXACT_COLUMNS:
        return row("exact", None, note=f"not computed: slow beyond d = {EXACT_COLUMNS}")
    return row("exact", ask(), note=note)


# ---------------------------------------------------------------- over condition numbers


def sweep(setting: Setting) -> dict[str, Any]:
    """Thresholds against kappa: of synthetic designs, or of the data with more and more l2."""
    if setting.problem is None:
        kappas = np.geomspace(2.0, max(2000.0, setting.kappa), POINTS).tolist()
        d = min(COLUMNS, setting.n)
        families = {
            design: [
                LeastSquares(*regression(setting.n, d, k, 0.0, design, 10.0, "sqrt")[:2])
                for k in kappas
            ]
            for design in DESIGNS
        }
    else:
        families = {"data": list(_regularised(setting.problem))}
    return {name: _curve(problems) for name, problems in families.items()}


def _regularised(problem: Problem) -> Iterator[Problem]:
    """The same data with l2 raised so that kappa falls, evenly in its logarithm, down to 2."""
    constants = problem.constants()
    top = constants.L - problem.l2
    bottom = constants.mu - problem.l2
    lowest = min(2.0, math.sqrt(constants.kappa))
    for kappa in np.geomspace(lowest, constants.kappa, POINTS)[:-1] if lowest > 1.0 else ():
        yield LeastSquares(problem.X, problem.y, l2=float((top - kappa * bottom) / (kappa - 1.0)))
    yield problem


def _curve(problems: list[Problem]) -> dict[str, list[float]]:
    settings = [from_problem(problem, T=2) for problem in problems]
    return {
        "kappa": [s.kappa for s in settings],
        "paper": [theory.batch_threshold(s.n, s.kappa) for s in settings],
        "certified": [s.certified_batch for s in settings],
        "exact": [
            s.critical_batch if p.d <= EXACT_COLUMNS else math.inf
            for s, p in zip(settings, problems)
        ],
    }


def picture(curves: Mapping[str, Mapping[str, list[float]]], n: int) -> Figure:
    """A figure of `sweep`: the share of n that each rule asks for."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = figure.add_subplot(xscale="log", yscale="log")
    ax.grid(alpha=0.3, lw=0.5)
    ax.set(xlabel="condition number kappa", ylabel="batch size / n")
    ax.set_title(f"Which batch size does accelerated heavy ball need? n = {n:,}")
    for place, (name, curve) in enumerate(curves.items()):
        for rule, dash in (("certified", "--"), ("exact", "-")):
            # gaps where a size was not computed
            share = np.where(np.isfinite(curve[rule]), curve[rule], np.nan) / n
            marker = "os"[place]
            colour = (BLUE, RED)[place]
            ax.plot(
                curve["kappa"], share, ls=dash, marker=marker, color=colour, label=f"{name}: {rule}"
            )
    first = next(iter(curves.values()))
    words = "the paper's b*, kappa = L/mu"
    ax.plot(first["kappa"], np.array(first["paper"]) / n, ":", color=BLACK, label=words)
    ax.legend(fontsize="small")
    return figure
