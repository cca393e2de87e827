"""Cells without runs: schedules, Psi, thresholds, and bounds beside the exact error."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from .. import exact, schedules, theory
from ..problems import LeastSquares
from ..run import minimize
from . import authors, thresholds
from .compute import Outcome, problem
from .specs import Data


def alpha_beta(T: int, L: float, mu: float, setting: str) -> Outcome:
    """(alpha_k, beta_k) of SHB-EXP: the main text's form, or the released code's."""
    if setting == "paper":
        s = schedules.shb_exponential(T, L, mu, form="average")
    else:
        s = authors.shb_exponential(T, L, mu)
    return Outcome({"k": np.arange(T), "alpha": s.alpha, "beta": s.beta})


# ---------------------------------------------------------------- Psi


def psi_two_samples(points: int) -> Outcome:
    """The two-sample Psi and its derivative on a grid, and its minimum against beta."""
    beta, theta = np.linspace(0.0, 1.0, points), np.linspace(0.0, 2.0 * np.pi, points)
    derivative = [[theory.psi_derivative(2, 1, b, t, 3) for b in beta] for t in theta]
    at_kappa_6 = float(schedules.shb(1, 6.0, 1.0).beta[0])
    return Outcome(
        {
            "beta": beta,
            "theta": theta,
            "derivative": np.array(derivative),
            "psi": np.array([theory.psi_two_samples(0.63, t) for t in theta]),
            "least": np.array([theory.psi_minimum(2, 1, b, 3) for b in (0.63, at_kappa_6)]),
            "rate": np.array([1.0 / theory.lower_bound_threshold(2, 6.0)]),
        }
    )


def psi_grid(n: int, b: int, points: int) -> Outcome:
    """The derivative of Psi for one b on a grid, and the minimum over theta against beta."""
    beta, theta = np.linspace(0.25, 0.999, points), np.linspace(0.0, 2.0 * np.pi, points)
    derivative = [[theory.psi_derivative(n, b, x, t) for x in beta] for t in theta]
    kappa = theory.kappa_star(b, n)
    return Outcome(
        {
            "beta": beta,
            "theta": theta,
            "derivative": np.array(derivative),
            "least": np.array([theory.psi_minimum(n, b, x) for x in beta]),
            "kappa_star": np.array([kappa]),
            "beta_star": schedules.shb(1, kappa, 1.0).beta.copy(),
        }
    )


def batch_factor(n: int) -> Outcome:
    """kappa*(b) for every b, the fitted line, the least derivative, and three thresholds."""
    b = np.arange(1, n)
    beta, theta = np.linspace(0.25, 0.999, 20), np.linspace(0.0, np.pi, 21)
    least = [min(theory.psi_derivative(n, int(x), y, t) for y in beta for t in theta) for x in b]
    kappas = np.geomspace(1.0, 3e4, 200)
    lines = {
        which: np.array([theory.lower_bound_threshold(n, k, which) for k in kappas])
        for which in ("printed", "six-step", "exact")
    }
    return Outcome(
        {
            "b": b,
            "kappa_star": np.array([theory.kappa_star(int(x), n) for x in b]),
            "zeta2": np.array([theory.zeta2(n, int(x)) for x in b]),
            "line": np.array(theory.best_fit_line(n)),
            "least_derivative": np.array(least),
            "kappa": kappas,
            "printed": lines["printed"],
            "six_step": lines["six-step"],
            "exact": lines["exact"],
        }
    )


def psi_expression(steps: int, n: int) -> Outcome:
    """Psi as SymPy writes it, and how far it is from the recursion at sample points."""
    try:
        import sympy
    except ImportError:
        return Outcome({}, {"missing": "Psi as an expression needs pip install 'bocce[symbolic]'"})
    expression = theory.psi_expression(steps, n=n)
    symbols = sympy.symbols("b beta theta")
    value = sympy.lambdify(symbols, expression, "math")
    samples = [
        (b, x, t) for b in (1, 10, 70, 99) for x in (0.3, 0.6, 0.95) for t in (0.0, 1.0, 4.0)
    ]
    difference = [abs(value(*point) / theory.psi(n, *point, steps) - 1.0) for point in samples]
    terms = len(sympy.Add.make_args(expression))
    return Outcome(
        {"difference": np.array(difference), "terms": np.array([terms])},
        {"text": str(expression)},
    )


def psi_derivatives(n: int, b: int) -> Outcome:
    return Outcome(
        {
            "beta": np.linspace(0.25, 0.999, 10),
            "theta": 0.2 * np.pi * np.arange(11),
            "derivative": theory.psi_derivative_table(n, b),
        }
    )


# ---------------------------------------------------------------- thresholds


def critical_batches(n: int, kappa: float, design: str) -> Outcome:
    """b* of the paper (with lambda_max, and with L_max as its proof needs), certified and exact."""
    p = problem(Data("regression", n=n, d=20, kappa=kappa, design=design))
    s = thresholds.from_problem(p, T=2)
    numbers = {
        "n": n,
        "kappa": s.kappa,
        "paper": theory.batch_threshold(n, s.kappa),
        "paper_L_max": theory.batch_threshold(n, s.L_max / s.mu),
        "certified": theory.certified_batch_size(n, *s.step, s.L_max, s.mu, s.L),
        "exact": thresholds.critical(s),
    }
    return Outcome({name: np.array([value]) for name, value in numbers.items()})


def observed_batch(n: int, kappa: float, design: str, T: int, seed: int) -> Outcome:
    """The smallest batch whose run ends below where it began, by bisection."""
    p = problem(Data("regression", n=n, d=20, kappa=kappa, design=design))
    c = p.constants()
    schedule = schedules.shb(T, c.L, c.mu)

    def settles(b: int) -> bool:
        run = minimize(p, schedule, batch_size=b, seed=seed, record_every=T)
        norms = run.history["grad_norm"]
        return run.status != "diverged" and bool(norms[-1] < norms[0])

    low, high = 0, n  # the full batch settles
    while high - low > max(1, high // 100):  # to one per cent
        middle = max(low + 1, math.isqrt(low * high)) if low else (low + high) // 2
        low, high = (low, middle) if settles(middle) else (middle, high)
    return Outcome({"observed": np.array([high])})


def diagonal_thresholds(n: int) -> Outcome:
    """On the lower bound's problem: b* with lambda_max against where heavy ball diverges."""
    kappas = np.geomspace(1.0, 1000.0, 31)
    return Outcome(
        {
            "kappa": kappas,
            "paper": np.array([theory.batch_threshold(n, k) for k in kappas]),
            "exact": np.array([theory.lower_bound_threshold(n, k) for k in kappas]),
        }
    )


# ---------------------------------------------------------------- bounds

THEOREMS: dict[str, tuple[Any, Any]] = {
    # name: (schedule, bound), both called with T, L, mu and what else they have a name for
    "thm1": (schedules.shb_exponential, theory.bound_exponential),
    "thm2": (schedules.shb, theory.bound_shb),
    "thm4": (schedules.multistage, theory.bound_multistage),
    "two_phase": (schedules.two_phase, theory.bound_two_phase),
    "mis_L": (schedules.shb_exponential, theory.bound_misestimated_L),
    "mis_mu": (schedules.shb_exponential, theory.bound_misestimated_mu),
}


def bounds(theorem: str, horizons: tuple[int, ...], n: int, mu: float) -> Outcome:
    """A theorem's bound, as printed and corrected, beside the exact error for each horizon T.

    Haar rows, d = 2, kappa = L_max/mu, noise of variance mu: units are scaled with mu, which a
    right bound does not notice. L = L_max and a batch above the theorem's threshold.
    """
    p = problem(Data("regression", n=n, d=2, kappa=2.0, noise_var=mu, mu=mu))
    build, bound = THEOREMS[theorem]
    rows = [_beside(p, theorem, build, bound, T) for T in horizons]
    names = ("exact", "printed", "corrected", "printed_valid", "corrected_valid")
    columns = {name: np.array([row[name] for row in rows], dtype=float) for name in names}
    return Outcome({"T": np.array(horizons), **columns})


def _beside(p: LeastSquares, theorem: str, build: Any, bound: Any, T: int) -> dict[str, float]:
    c, noise = p.constants(), p.noise()
    kappa = c.L_max / c.mu
    nu = {"mis_L": 4.0, "mis_mu": 0.25}.get(theorem, 1.0)
    small = theorem in ("thm1", "mis_L", "mis_mu")  # valid for every batch
    stages = schedules.stage_count(T, kappa) if theorem == "thm4" else 0
    b = p.n // 10 if small else math.ceil(theory.batch_threshold(p.n, kappa, 2.0**-stages))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        schedule = build(
            T,
            c.L_max / (nu if theorem == "mis_L" else 1.0),
            c.mu * (nu if theorem == "mis_mu" else 1.0),
        )
    curve = exact.expected(p, schedule, b)
    given = {
        "T": T,
        "L": c.L_max,
        "mu": c.mu,
        "D": float(np.linalg.norm(p.minimiser())),
        "L_max": c.L_max,
    }
    if small:
        given |= {"sigma2": noise.sigma2, "zeta2": theory.zeta2(p.n, b)}
        if theorem != "thm1":
            given |= {"nu": nu}
        if theorem == "mis_L":
            early = max(1, math.ceil(T * math.log(nu) / math.log(T)))
            given |= {"delta_f": float(curve.gap[:early].max())}
    else:
        given |= {"n": p.n, "b": b, "chi": math.sqrt(noise.chi2)}
        if theorem == "two_phase":
            given |= {"sigma2": noise.sigma2}
    printed, corrected = bound(**given, which="printed"), bound(**given, which="corrected")
    squared = "^2" in corrected.quantity
    at = T - 1 if "T-1" in corrected.quantity else T
    return {
        "exact": float(curve.error2[at]) if squared else math.sqrt(curve.error2[at]),
        "printed": printed.total,
        "corrected": corrected.total,
        "printed_valid": printed.valid,
        "corrected_valid": corrected.valid,
    }


TABLES = {
    function.__name__: function
    for function in (
        alpha_beta,
        psi_two_samples,
        psi_grid,
        batch_factor,
        psi_expression,
        psi_derivatives,
        critical_batches,
        observed_batch,
        diagonal_thresholds,
        bounds,
    )
}
