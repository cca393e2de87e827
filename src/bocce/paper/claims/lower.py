"""Claims about the lower bound, its figures and table, and about fig:panetal_multistage."""

from __future__ import annotations

import numpy as np

from ... import theory
from ..results import Results
from .base import Claim, Finding, counted

GROWN = 1e3  # "diverges exponentially": the gradient norm grows at least so much

PRINTED_TABLE = np.array(
    [
        [0.120, 0.299, 0.667, 1.364, 2.608, 4.719, 8.168, 13.643, 22.137, 35.083],
        [0.203, 0.387, 0.701, 1.216, 2.037, 3.311, 5.238, 8.102, 12.283, 18.281],
        [0.490, 0.891, 1.532, 2.515, 3.970, 6.055, 8.962, 12.911, 18.151, 24.968],
        [0.584, 1.114, 2.012, 3.466, 5.734, 9.160, 14.193, 21.423, 31.632, 45.902],
        [0.354, 0.748, 1.477, 2.754, 4.892, 8.333, 13.703, 21.875, 34.094, 52.153],
        [0.120, 0.299, 0.667, 1.364, 2.608, 4.719, 8.168, 13.643, 22.137, 35.082],
        [0.203, 0.387, 0.701, 1.216, 2.037, 3.311, 5.238, 8.102, 12.283, 18.281],
        [0.490, 0.891, 1.532, 2.515, 3.970, 6.055, 8.962, 12.911, 18.151, 24.968],
        [0.584, 1.114, 2.012, 3.466, 5.734, 9.160, 14.193, 21.423, 31.632, 45.902],
        [0.354, 0.748, 1.477, 2.754, 4.892, 8.333, 13.703, 21.875, 34.094, 52.153],
        [0.120, 0.299, 0.667, 1.364, 2.608, 4.719, 8.168, 13.643, 22.137, 35.083],
    ]
)


# ---------------------------------------------------------------- schedules and Pan et al.


def step_falls_fast(results: Results, setting: str) -> Finding:
    numbers = results.table("non_acc_alpha_beta", "parameters", "SHB-EXP", setting).numbers
    alpha, k = numbers["alpha"], numbers["k"]
    T = len(k)
    slope = np.log(alpha[-1] / alpha[T // 2]) / np.log((T - 1) / (T // 2))
    cases = {"total": bool(alpha[-1] / alpha[0] < 1.0 / T), "at the end": bool(slope < -1.0)}
    return Finding(
        cases,
        {"alpha_0": alpha[0], "alpha_{T-1}": alpha[-1], "slope in log k, second half": slope},
        f"The step falls to {alpha[-1] / alpha[0]:.2g} of its first value in T = {T} steps.",
    )


def momentum_rises(results: Results, setting: str) -> Finding:
    beta = results.table("non_acc_alpha_beta", "parameters", "SHB-EXP", setting).numbers["beta"]
    cases = {"beta_k": bool((np.diff(beta) > 0.0).all())}
    return Finding(
        cases,
        {"beta_1": beta[1], "beta_{T-1}": beta[-1]},
        f"beta_k goes from {beta[0]:.3g} to {beta[-1]:.3g}.",
    )


def pan_diverges(results: Results, setting: str) -> Finding:
    place = ("panetal_multistage", setting, "b=1", "Multi-SHB-PAN-2")
    curve = results.curve(*place)
    runs = [run.numbers["grad_norm"] for run in results.seeds(*place)]
    broken = [run.notes["status"] == "diverged" for run in results.seeds(*place)]
    cases = {
        f"run {i}": bool(stopped or norms.max() > GROWN * norms[0])
        for i, (norms, stopped) in enumerate(zip(runs, broken))
    }
    cases["expectation"] = bool(np.nanmax(curve.exact) > GROWN * curve.exact[0])
    finite = curve.exact[np.isfinite(curve.exact)]
    return Finding(
        cases,
        {"start": finite[0], "largest expected value that is finite": finite.max()},
        f"The gradient norm grows more than a thousandfold in {counted(cases)}; runs overflow "
        "their guard of 1e8 within some hundred steps.",
    )


def variance_grows(results: Results, setting: str) -> Finding:
    """On the diagonal problem at b = 1 the variance is (n - 1) E||grad f||^2, exactly."""
    curve = results.curve("panetal_multistage", setting, "b=1", "Multi-SHB-PAN-2")
    finite = curve.exact[np.isfinite(curve.exact)][:100]
    rises = float((np.diff(finite) > 0.0).mean())
    cases = {"expectation": bool(finite[-1] > GROWN * finite[0] and rises > 0.9)}
    return Finding(
        cases,
        {
            "log variance, first": float(np.log(99.0 * finite[0] ** 2)),
            "share of rising steps": rises,
        },
        f"The expected variance rises in {100 * rises:.0f} % of the first hundred recorded steps.",
    )


# ---------------------------------------------------------------- two samples


def two_samples_monotone(results: Results, setting: str) -> Finding:
    numbers = results.table("lower_bound_2", "psi", "Psi").numbers
    derivative, beta = numbers["derivative"], numbers["beta"]
    cases = {
        "0 < beta <= 1": bool((derivative[:, beta > 0.0] > 0.0).all()),
        "beta = 0": bool((derivative[:, beta == 0.0] > 0.0).all()),
    }
    return Finding(
        cases,
        {
            "least for beta > 0": derivative[:, beta > 0.0].min(),
            "at beta = 0": derivative[:, 0].max(),
        },
        "Psi has no linear term in beta: its derivative is 0 at beta = 0 and positive elsewhere.",
    )


def two_samples_minimum(results: Results, setting: str) -> Finding:
    least = results.table("lower_bound_2", "psi", "Psi").numbers["least"]
    cases = {
        "rounded to two digits": bool(round(float(least[0]), 1) == 1.1),
        "c >= 1.1 at kappa = 6": bool(least[1] >= 1.1),
        "Psi > 1": bool(least.min() > 1.0),
    }
    return Finding(
        cases,
        {"min Psi at beta = 0.63": least[0], "min Psi at kappa = 6": least[1]},
        f"The minimum is {least[0]:.4f} at beta = 0.63 and {least[1]:.4f} at kappa = 6: it grows, "
        "but by less than the printed 1.1.",
    )


def _against_sgd(figure: str, panel: str):
    def judge(results: Results, setting: str) -> Finding:
        curves = {
            m: results.curve(figure, setting, panel, m) for m in ("SHB", "SGD", "SGD, 1/L_max")
        }
        cases = {
            "SHB diverges": curves["SHB"].diverged,
            "SGD with 1/L converges": curves["SGD"].last < 1e-3 * curves["SGD"].start,
            "SGD with 1/L_max converges": curves["SGD, 1/L_max"].last
            < curves["SGD, 1/L_max"].start,
        }
        numbers = {f"{m}: last / first": c.last / c.start for m, c in curves.items()}
        return Finding(
            {name: bool(holds) for name, holds in cases.items()},
            numbers,
            "In mean square SGD with the same step 1/L as SHB does not converge here either; with "
            "1/L_max it does.",
        )

    return judge


# ---------------------------------------------------------------- n samples


def derivative_positive(results: Results, setting: str) -> Finding:
    least = results.table("lower_bound_n", "all b", "Psi").numbers["least_derivative"]
    cases = {"every b from 1 to 99": bool((least > 0.0).all())}
    return Finding(cases, {"least over b, beta, theta": least.min()}, "It is positive on the grid.")


def fitted_line(results: Results, setting: str) -> Finding:
    slope, intercept = results.table("lower_bound_n", "all b", "Psi").numbers["line"]
    cases = {
        "slope": round(float(slope), 1) == -0.6,
        "intercept": round(float(intercept), 1) == -3.8,
    }
    return Finding(
        cases,
        {"slope": slope, "intercept": intercept},
        f"The fit over b = 1 .. 99 has slope {slope:.3f} and intercept {intercept:.2f}; the text "
        "prints -3.8 and then uses 3.3 and 4.",
    )


def printed_threshold_true(results: Results, setting: str) -> Finding:
    """The largest batch that the theorem calls divergent must be below the exact threshold."""
    numbers = results.table("lower_bound_n", "all b", "Psi").numbers
    kappa, printed, exact = (numbers[name] for name in ("kappa", "printed", "exact"))
    largest = np.ceil(printed) - 1.0
    wrong = largest >= exact
    cases = {"b <= 98": not bool((wrong & (largest <= 98)).any()), "b = 99": not bool(wrong.any())}
    bad = kappa[wrong]
    return Finding(
        cases,
        {
            "smallest kappa where it is false": bad.min() if bad.size else np.inf,
            "largest kappa where it is false": bad.max() if bad.size else np.inf,
            "exact exponent of kappa": 0.5,
        },
        "Below the printed threshold heavy ball does diverge, except for b = 99 and kappa near "
        "20,000; the exact threshold has the exponent 1/2, not 0.6.",
    )


def six_steps_support_line(results: Results, setting: str) -> Finding:
    numbers = results.table("lower_bound_n", "all b", "Psi").numbers
    # the kappa from which on the theorem says that b diverges; no problem has kappa < 1
    line = np.maximum(1.0, np.exp((np.log(numbers["zeta2"]) + 3.3) / -0.6))
    supported = numbers["kappa_star"] <= line
    cases = {f"b={b}": bool(s) for b, s in zip(numbers["b"].tolist(), supported)}
    unsupported = numbers["b"][~supported]
    return Finding(
        cases,
        {
            "first b without support": float(unsupported.min()) if unsupported.size else np.inf,
            "batch sizes without support": float(unsupported.size),
        },
        f"The six-step criterion gives what the theorem concludes for {counted(cases, 'b')}.",
    )


def misprinted(values: np.ndarray) -> np.ndarray:
    """Where the printed table is neither the rounded nor the cut value."""
    rounded, cut = np.round(values, 3), np.floor(values * 1000.0) / 1000.0
    return np.minimum(np.abs(rounded - PRINTED_TABLE), np.abs(cut - PRINTED_TABLE)) > 5e-4


def table_agrees(results: Results, setting: str) -> Finding:
    ours = results.table("der_beta", "b=70", "Psi").numbers["derivative"]
    off = np.abs(ours - PRINTED_TABLE)
    cases = {"within 1e-3": bool((off <= 1e-3 + 1e-9).all())}
    return Finding(
        cases,
        {
            "largest difference": off.max(),
            "entries neither rounded nor cut": int(misprinted(ours).sum()),
        },
        f"All 110 entries agree to {off.max():.1e}.",
    )


def expression_agrees(results: Results, setting: str) -> Finding:
    outcome = results.table("psi_function", "Psi", "Psi")
    if "missing" in outcome.notes:
        return Finding({}, {}, outcome.notes["missing"])
    worst = float(outcome.numbers["difference"].max())
    return Finding(
        {"36 points": worst < 1e-9},
        {"largest relative difference": worst, "terms": int(outcome.numbers["terms"][0])},
        "The expression equals the recursion M_{j+1} = E[H^T M_j H].",
    )


def threshold_needs_row_smoothness(results: Results, setting: str) -> Finding:
    numbers = results.table("thresholds", "diagonal, n=20000", "rules").numbers
    safe = numbers["paper"] >= numbers["exact"]
    cases = {f"kappa={k:.3g}": bool(s) for k, s in zip(numbers["kappa"], safe)}
    return Finding(
        cases,
        {"b* at kappa = 1": numbers["paper"][0], "exact at kappa = 1": numbers["exact"][0]},
        f"With kappa = lambda_max/mu, as in the experiments, b* is too small at kappa = 1 "
        f"({numbers['paper'][0]:.0f} against {theory.lower_bound_threshold(20_000, 1.0):.0f}); the "
        "proof needs L_max.",
    )


CLAIMS = (
    Claim(
        "alpha_falls",
        "non_acc_alpha_beta",
        "fig:non_acc_alpha_beta",
        "The method results in a more aggressive decrease in the step-size (compared to the "
        "standard O(1/k) rate).",
        "alpha_{T-1}/alpha_0 < 1/T, and the slope of log alpha in log k is below -1 over the "
        "second half.",
        step_falls_fast,
    ),
    Claim(
        "beta_rises",
        "non_acc_alpha_beta",
        "fig:non_acc_alpha_beta",
        "This compensates for the increasing momentum parameter.",
        "beta_k increases at every step.",
        momentum_rises,
    ),
    Claim(
        "panetal_diverges",
        "panetal_multistage",
        "fig:panetal_multistage",
        "Multi-stage SHB of Pan et al. with b = 1 diverges exponentially fast.",
        "The gradient norm grows by 1e3 or more in each of 5 runs and in exact expectation.",
        pan_diverges,
    ),
    Claim(
        "panetal_variance",
        "panetal_multistage",
        "fig:panetal_sigma",
        "The variance is increasing: the bounded variance assumption is problematic.",
        "The exact variance of the stochastic gradient rises in at least 90 % of the first "
        "hundred steps, by 1e3 or more in the norm.",
        variance_grows,
    ),
    Claim(
        "two_samples_monotone",
        "lower_bound_2",
        "fig:diff_f_beta",
        "The derivative of Psi is positive for beta in [0, 1] and theta in [0, 2 pi].",
        "Positive at every point of a 61 x 61 grid.",
        two_samples_monotone,
    ),
    Claim(
        "two_samples_minimum",
        "lower_bound_2",
        "thm:divergence-2-case",
        "At beta = 0.63 (kappa = 6) the minimum of Psi is 1.1, so that c >= 1.1 for all kappa > 6.",
        "The minimum rounds to 1.1 and is above 1; at kappa = 6 it is at least 1.1.",
        two_samples_minimum,
    ),
    Claim(
        "two_samples_runs",
        "lower_bound_2",
        "fig:lb_2_case",
        "2 samples, b = 1, kappa = 6: SHB diverges while SGD converges.",
        "E||grad f||^2 of SHB ends above its start; that of SGD with the step 1/L ends below 1e-3 "
        "of its start; exact.",
        _against_sgd("lower_bound_2", "kappa=6, b=1"),
    ),
    Claim(
        "psi_expression",
        "psi_function",
        "fig:psi_function",
        "Psi as a function of b, beta and theta, by symbolic mathematics.",
        "The expression equals the recursion to 1e-9 at 36 points.",
        expression_agrees,
    ),
    Claim(
        "n_samples_monotone",
        "lower_bound_n",
        "fig:monotone_beta",
        "For every b in [n - 1], Psi is monotonically increasing in beta.",
        "The derivative is positive on a grid of beta in [0.25, 1) and theta, for b = 1 .. 99.",
        derivative_positive,
    ),
    Claim(
        "n_samples_line",
        "lower_bound_n",
        "fig:kap_batch",
        "The slope of the best fit line is -0.6 and the y-intercept is -3.8.",
        "Both agree to the printed digit.",
        fitted_line,
    ),
    Claim(
        "n_samples_support",
        "lower_bound_n",
        "thm:divergence-n-case",
        "Hence Psi > 1 for every b below n/(1 + (n-1)/(e^3.3 kappa^0.6)).",
        "kappa*(b) is at most the kappa from which the theorem says so, for b = 1 .. 99.",
        six_steps_support_line,
    ),
    Claim(
        "n_samples_theorem",
        "lower_bound_n",
        "thm:divergence-n-case",
        "If b < n/(1 + (n-1)/(e^3.3 kappa^0.6)), n = 100, SHB diverges.",
        "Every integer b below it is below the exact critical batch size, kappa from 1 to 3e4.",
        printed_threshold_true,
    ),
    Claim(
        "n_samples_runs",
        "lower_bound_n",
        "fig:lb_100_case",
        "kappa = 10, n = 100, b = 10: SHB diverges while SGD converges.",
        "E||grad f||^2 of SHB ends above its start; that of SGD with the step 1/L ends below 1e-3 "
        "of its start; exact.",
        _against_sgd("lower_bound_n", "kappa=10, b=10"),
    ),
    Claim(
        "table_der_beta",
        "der_beta",
        "table:der_beta",
        "Values of the derivative of Psi when b = 70.",
        "All 110 entries within 1e-3 of the printed ones.",
        table_agrees,
    ),
    Claim(
        "thm2_lambda_max",
        "thresholds",
        "thm:SHB_quad",
        "For b >= b* SHB converges (with L the smoothness of f, as in the experiments).",
        "On the diagonal problem, n = 20,000, b* with kappa = lambda_max/mu is at least the exact "
        "critical batch size, kappa from 1 to 1000.",
        threshold_needs_row_smoothness,
    ),
)
