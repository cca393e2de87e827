"""Which batch size do I need: every threshold and bound at one setting, and over kappa."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .. import _checks, exact, theory
from ..data import regression
from ..problems import LeastSquares, Problem
from ..schedules import REGISTRY, shb

DESIGNS = ("haar", "heavy")
COLUMNS = 20  # of the synthetic designs in the picture
EXACT_COLUMNS = 60  # beyond this d exact analysis takes minutes
POINTS = 9  # on each curve of the picture


@dataclass(frozen=True)
class Setting:
    """Where the theorems are asked: n rows, batches of b, T steps, and the problem's constants.

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
    problem: Problem | None = None  # the data, where there are some

    @property
    def data(self) -> Problem:
        """The problem, of a setting that has one."""
        assert self.problem is not None
        return self.problem

    @property
    def kappa(self) -> float:
        return self.L / self.mu

    @property
    def step(self) -> tuple[float, float]:
        """(alpha, beta) of the paper's accelerated heavy ball, alpha = 1/L."""
        schedule = shb(T=2, L=self.L, mu=self.mu)
        return float(schedule.alpha[1]), float(schedule.beta[1])

    @property
    def certified_batch(self) -> float:
        """From which batch on that heavy ball is stable, by Theorem S."""
        return theory.certified_batch_size(self.n, *self.step, self.L_max, self.mu, self.L)


@dataclass(frozen=True)
class Row:
    """A line of the table: a number, whether it is a guarantee (None: not a bound), and why.

    ``quantity`` is what a bound bounds.
    """

    group: str
    name: str
    value: float | None  # None: not computed
    valid: bool | None = None
    note: str = ""
    quantity: str = ""


def from_numbers(
    T: int, n: int = 10_000, kappa: float = 1000.0, b: int | None = None, ratio: float = 1.0
) -> Setting:
    """mu = 1, L = kappa, D = 1, no noise; ``ratio`` is L_max / L; b = n where none is given."""
    n = _checks.integer("theory", "n", n, least=2)
    b = n if b is None else _checks.integer("theory", "b", b, most=n)
    kappa = _checks.real("theory", "kappa", kappa, least=1.0)
    T = _checks.integer("theory", "T", T)
    ratio = _checks.real("theory", "ratio", ratio, least=1.0, most=float(n))
    return Setting(n, b, T, L=kappa, mu=1.0, L_max=ratio * kappa)


def settings(T: int, n: int = 10_000, *, ratio: float | None = None, **given: Any) -> list[Setting]:
    """The setting of these numbers; without a ratio, both ends of what it may be: 1 and n."""
    ends = (1.0, float(n)) if ratio is None else (ratio,)
    return [from_numbers(T, n, ratio=end, **given) for end in ends]


def from_problem(problem: Problem, T: int, b: int | None = None) -> Setting:
    """The constants and the noise of data; w_0 = 0, and b = n where none is given."""
    T = _checks.integer("theory", "T", T)
    n = _checks.integer("theory", "n", problem.n, least=2)
    b = n if b is None else _checks.integer("theory", "b", b, most=n)
    constants, noise = problem.constants(), problem.noise()
    if not constants.mu > 0.0:
        raise ValueError(
            "theory: mu=0 must be > 0, because the theorems are about strongly convex problems; "
            "give a small l2 > 0, or drop columns that depend on others."
        )
    return Setting(
        n=n,
        b=b,
        T=T,
        L=constants.L,
        mu=constants.mu,
        L_max=constants.L_max,
        D=float(np.linalg.norm(problem.minimiser())),
        chi2=noise.chi2,
        sigma2=noise.sigma2,
        problem=problem if problem.loss.quadratic else None,  # exact moments close for those alone
    )


# ---------------------------------------------------------------- the table


def table(setting: Setting, method: str | None = None) -> list[Row]:
    """All thresholds and bounds at ``setting``; what has no value there says why.

    With a ``method``, also what is certified of its error.

    >>> rows = table(from_numbers(n=10_000, kappa=10.0, T=7000, b=9000))
    >>> [(row.name, round(row.value, 1)) for row in rows[:2]]
    [('b* (Theorem 2)', 9936.1), ('b*, interpolation', 9936.1)]
    """
    certified = [] if method is None else [_certified(setting, method)]
    return [*_batches(setting), *_horizons(setting), *_bounds(setting), *certified]


def check_method(name: str) -> None:
    """Raise if there is no such table of steps: of others nothing is certified."""
    _checks.choice("theory", "method", name, REGISTRY)


def _certified(s: Setting, method: str) -> Row:
    """The error of a method's own table of steps, from ``theory.certify``."""
    known = {"L": s.L, "mu": s.mu, "L_max": s.L_max, "n": s.n, "b": s.b}
    tilde = None if s.problem is None else s.problem.constants().kappa_tilde

    def ask() -> theory.Bound:
        schedule = REGISTRY[method].build(s.T, {**known, "kappa_tilde": tilde})
        if s.problem is not None:
            return theory.certify_run(s.problem, schedule, s.b)
        rows: dict[str, Any] = {"n": s.n, "b": s.b, "L_max": s.L_max, "kappa_tilde": None}
        return theory.certify(schedule, **rows, mu=s.mu, lam_max=s.L, error0=s.D**2, chi2=s.chi2)

    return _bound_row(f"certified, {method}", ask)


def _batches(s: Setting) -> Iterator[Row]:
    group = "batch size from which"
    threshold = partial(theory.batch_threshold, s.n, s.L_max / s.mu)
    promised = "acceleration is promised, kappa = L_max/mu"
    yield Row(group, "b* (Theorem 2)", threshold(), note=promised)
    yield Row(group, "b*, interpolation", threshold(interpolation=True), note=promised)
    yield Row(group, "b*, Gronwall", threshold(which="gronwall"), note=promised)
    yield Row(group, "certified (Theorem S)", s.certified_batch, note="shb is mean-square stable")
    if s.problem is not None:
        yield _exact_row(group, partial(critical, s), s, "shb is mean-square stable")
    for which in ("exact", "six-step", "printed"):
        lower = theory.lower_bound_threshold(s.n, s.kappa, which)
        note = "the diagonal problem diverges below it"
        yield Row(group, f"lower bound, {which}", lower, note=note)


def _horizons(s: Setting) -> Iterator[Row]:
    group = "stages and horizons"
    for rule in ("theorem", "fit", "authors"):
        stages = theory.stage_count(s.T, s.kappa, rule)
        yield Row(group, f"stages, {rule}", stages, note="after stage 0 of multi-shb")
    for which in ("corrected", "printed"):
        span = theory.multistage_range(s.n, s.b, s.L_max / s.mu, which)
        yield Row(group, f"Theorem 4 up to T, {which}", span.high, span.valid, span.why)
    yield Row(group, "Theorem 4 from T_bar", theory.multistage_horizon(s.L_max / s.mu))
    if s.kappa > 1.0:
        note = "two-phase bias exp(-T/kappa^q)"
        yield Row(group, "q", theory.two_phase_exponent(s.kappa), note=note)


def _bounds(s: Setting) -> Iterator[Row]:
    """The theorems need L >= L_max, so they are asked with L = L_max."""
    zeta2, chi = theory.zeta2(s.n, s.b), math.sqrt(s.chi2)
    start: dict[str, Any] = {"T": s.T, "L": s.L_max, "mu": s.mu, "D": s.D}
    rows = {"L_max": s.L_max}
    single = {"sigma2": s.sigma2, "zeta2": zeta2, "chi2": s.chi2}
    batch: dict[str, Any] = {"n": s.n, "b": s.b}
    noisy: dict[str, Any] = {**rows, **batch, "chi": chi}
    for name, bound, given in (
        ("Theorem 1", theory.bound_exponential, {**rows, **single}),
        ("  L twice too large", theory.bound_misestimated_L, {**rows, **single, "nu": 0.5}),
        ("  mu twice too small", theory.bound_misestimated_mu, {**rows, **single, "nu": 0.5}),
        ("Theorem 2", theory.bound_shb, noisy),
        ("  noise below chi", theory.bound_bounded_noise, {**batch, "sigma": chi}),
        ("Theorem 4", theory.bound_multistage, noisy),
        ("two-phase", theory.bound_two_phase, {**noisy, "sigma2": s.sigma2}),
    ):
        for which in ("corrected", "printed"):
            yield _bound_row(f"{name}, {which}", partial(bound, **start, **given, which=which))
    constants = (s.L_max, s.mu, s.L)
    for name, ask in {
        "Theorem 2, Gronwall": partial(theory.bound_shb, **start, **noisy, which="gronwall"),
        "noise below chi, sqrt(a)": partial(
            theory.bound_bounded_noise, **start, **batch, sigma=chi, which="sqrt"
        ),
        "Theorem S, floor of shb": partial(
            theory.bound_stationary, *s.step, zeta2, *constants, s.chi2
        ),
    }.items():
        yield _bound_row(name, ask)
    group = "rate a step of shb"
    rate = theory.certified_rate(*s.step, zeta2, *constants)
    yield Row(group, "certified (Theorem S)", rate, note="of the root mean square error")
    if s.problem is not None:
        rate_of = partial(exact.mean_square_rate, s.data, *s.step, s.b)
        yield _exact_row(group, rate_of, s, "of the root mean square error")


def _bound_row(name: str, ask: Callable[[], theory.Bound]) -> Row:
    group = "bound on the error after T steps"
    try:
        bound = ask()
    except ValueError as error:  # T or kappa outside the theorem's domain: said, not hidden
        return Row(group, name, math.inf, False, str(error))
    return Row(group, name, bound.total, bound.valid, bound.why, bound.quantity)


def critical(setting: Setting) -> float:
    """The exact critical batch size of the paper's heavy ball."""
    return exact.critical_batch_size(setting.data, *setting.step)


def _exact_row(group: str, ask: Callable[[], float], s: Setting, note: str) -> Row:
    if s.data.d > EXACT_COLUMNS:
        return Row(group, "exact", None, note=f"not computed: slow beyond d = {EXACT_COLUMNS}")
    return Row(group, "exact", ask(), note=note)


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
    top, bottom = constants.L - problem.l2, constants.mu - problem.l2
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
        "exact": [critical(s) if s.data.d <= EXACT_COLUMNS else math.inf for s in settings],
    }
