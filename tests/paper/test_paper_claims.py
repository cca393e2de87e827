"""Every claim on results made to hold, and on results made to fail: none is safe from both."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import claim_results as made
from bocce import theory
from bocce.paper import tables
from bocce.paper.claims import CLAIMS, as_json, as_markdown, judge_all
from bocce.paper.claims.base import Claim, Finding, Verdict
from bocce.paper.claims.extra import REFERENCE, REFERENCE_T, THEOREMS
from bocce.paper.claims.lower import PRINTED_TABLE
from bocce.paper.compute import Outcome
from bocce.paper.ours import REFERENCE_KAPPAS
from bocce.paper.results import Curve, Results, interval

BY_NAME = {claim.name: claim for claim in CLAIMS}
COMPUTED = {"quad_stages", "quad_batch"}  # from formulas alone: tested by value below


def word(name, results):
    claim = BY_NAME[name]
    return Verdict(claim, {"paper": claim.judge(results, "paper")}).word


def alpha_beta(alpha, beta):
    numbers = {"k": np.arange(100), "alpha": alpha, "beta": beta}
    return made.table("non_acc_alpha_beta", "parameters", "SHB-EXP", numbers)


def growing(rate):
    k = np.arange(200)
    runs = made.outcome(np.exp(rate * k), k)
    place = ("panetal_multistage", "paper", "b=1", "Multi-SHB-PAN-2")
    return Results({(*place, seed): runs for seed in ("0", "1", "2", "3", "4", "exact")})


def psi_two(derivative=1.0, at_zero=1.0, least=(1.12, 1.11)):
    beta = np.linspace(0.0, 1.0, 5)
    grid = np.full((5, 5), derivative)
    grid[:, 0] = at_zero
    return made.table(
        "lower_bound_2", "psi", "Psi", {"beta": beta, "derivative": grid, "least": least}
    )


def against_sgd(figure, panel, shb=0.1, sgd=-0.1, safe=-0.1):
    k = np.arange(200)
    rates = {"SHB": shb, "SGD": sgd, "SGD, 1/L_max": safe}
    return Results(
        {
            (figure, "paper", panel, m, "exact"): made.outcome(np.exp(rate * k), k)
            for m, rate in rates.items()
        }
    )


def lower_n(**changes):
    b = np.arange(1, 100)
    numbers = {
        "b": b,
        "kappa_star": np.ones(99),
        "zeta2": np.array([theory.zeta2(100, int(x)) for x in b]),
        "line": [-0.6, -3.8],
        "least_derivative": np.ones(99),
        "kappa": [1.0, 100.0, 20_000.0],
        "printed": [20.0, 80.0, 98.5],
        "exact": [50.0, 85.0, 99.0],
    }
    return made.table("lower_bound_n", "all b", "Psi", numbers | changes)


def reference(factor):
    k = np.array([0, REFERENCE_T])
    return Results(
        {
            ("reference", "paper", f"{design}, kappa={kappa}", method, "exact"): made.outcome(
                [10.0, factor * values[place]], k
            )
            for design, rows in REFERENCE.items()
            for method, values in rows.items()
            for place, kappa in enumerate(REFERENCE_KAPPAS)
        }
    )


def expression(difference):
    numbers = {"difference": [difference], "terms": [3]}
    return made.table("psi_function", "Psi", "Psi", numbers)


DECAY, RISE = 0.9 ** np.arange(100), np.linspace(0.0, 0.9, 100)
PAN = "pan_multistage_compare"
CASES = {
    # claim: (results in which it holds, results in which it does not)
    "alpha_falls": (alpha_beta(DECAY, RISE), alpha_beta(np.ones(100), RISE)),
    "beta_rises": (alpha_beta(DECAY, RISE), alpha_beta(DECAY, RISE[::-1])),
    "panetal_diverges": (growing(0.1), growing(-0.1)),
    "panetal_variance": (growing(0.1), growing(0.001)),
    "quad_i_floor": (made.quad(), made.quad(SGD=lambda kappa, r: (1e-4, r))),
    "quad_i_faster": (made.quad(), made.quad(SHB=lambda kappa, r: (0.003, 3 * r))),
    "quad_ii_variants": (made.quad(), made.quad(**{"2P_SHB": lambda kappa, r: (0.1, 2 * r)})),
    "quad_iii_cnst": (made.quad(), made.quad(Multi_SHB_CNST=lambda kappa, r: (0.1, 0.3 * r))),
    "quad_iv_two_phase": (made.quad(), made.quad(**{"2P_SHB": lambda kappa, r: (0.1, 0.2 * r)})),
    "quad_v_nesterov": (made.quad(), made.quad(Nesterov_EXP=lambda kappa, r: (1.0, 0.1 * r))),
    "sweep_i_divergence": (made.sweep(), made.sweep(shb=lambda kappa, xi: xi / math.sqrt(kappa))),
    "sweep_ii_threshold": (made.sweep(), made.sweep(shb=lambda kappa, xi: 1 / math.sqrt(kappa))),
    "sweep_ii_extent": (made.sweep(), made.sweep(shb=lambda kappa, xi: 1 / math.sqrt(kappa))),
    "sweep_iii_slow": (made.sweep(), made.sweep(averaged=lambda kappa: 0.2 / kappa)),
    "sweep_iv_sqrt": (made.sweep(), made.sweep(shb=lambda kappa, xi: 1 / kappa)),
    "sweep_v_kappa": (made.sweep(), made.sweep(sgd=lambda kappa: 5 / kappa)),
    "two_samples_monotone": (psi_two(), psi_two(at_zero=0.0)),
    "two_samples_minimum": (psi_two(), psi_two(least=(1.0843, 1.0986))),
    "two_samples_runs": tuple(
        against_sgd("lower_bound_2", "kappa=6, b=1", sgd=rate) for rate in (-0.1, 0.0)
    ),
    "psi_expression": (expression(1e-12), expression(1e-3)),
    "n_samples_monotone": (lower_n(), lower_n(least_derivative=-np.ones(99))),
    "n_samples_line": (lower_n(), lower_n(line=[-0.565, -3.42])),
    "n_samples_support": (lower_n(), lower_n(kappa_star=np.full(99, 1e9))),
    "n_samples_theorem": (lower_n(), lower_n(exact=[50.0, 70.0, 99.0])),
    "n_samples_runs": tuple(
        against_sgd("lower_bound_n", "kappa=10, b=10", shb=rate) for rate in (0.1, -0.1)
    ),
    "table_der_beta": tuple(
        made.table("der_beta", "b=70", "Psi", {"derivative": PRINTED_TABLE + off})
        for off in (5e-4, 2e-3)
    ),
    "thm2_lambda_max": (
        made.thresholds(),
        made.table(
            "thresholds",
            "diagonal, n=20000",
            "rules",
            {"kappa": [1.0], "paper": [10.0], "exact": [20.0]},
        ),
    ),
    **{
        f"{figure}_close": (made.real(figure), made.real(figure, SHB_EXP=1e-5))
        for figure in ("squared_loss", "logistic_loss")
    },
    **{
        f"{figure}_better": (made.real(figure), made.real(figure, K_CNST=1e-3))
        for figure in ("squared_loss", "logistic_loss")
    },
    **{
        f"{figure}_search": (made.real(figure), made.real(figure, SHB_SLS_EXP=1e-1))
        for figure in ("squared_loss", "logistic_loss")
    },
    "pan_converges": (made.quad(PAN), made.quad(PAN, Multi_SHB_PAN_2=lambda kappa, r: (-1e-3, r))),
    "pan_similar": (made.quad(PAN), made.quad(PAN, Multi_SHB_PAN_2=lambda kappa, r: (0.1, r))),
    "pan_between": (made.quad(PAN), made.quad(PAN, Multi_SHB_PAN_2=lambda kappa, r: (0.1, r))),
    **{
        f"bound_{theorem}_{which}": (
            made.bounds(theorem, [1.0, 1.0], [2.0, 2.0], [2.0, 2.0]),
            made.bounds(theorem, [1.0, 3.0], [2.0, 2.0], [2.0, 2.0]),
        )
        for theorem in THEOREMS
        for which in ("printed", "corrected")
    },
    "mis_L_converges": (
        made.misestimation(),
        made.misestimation(L=lambda nu: np.full(1000, 1.0 + nu)),
    ),
    "mis_L_diverges_first": (
        made.misestimation(),
        made.misestimation(L=lambda nu: np.linspace(1.0, 0.01, 1000)),
    ),
    "mis_L_slows": (
        made.misestimation(),
        made.misestimation(L=lambda nu: np.exp(-np.arange(1000) * 0.01 / nu)),
    ),
    "mis_mu_slows": (
        made.misestimation(),
        made.misestimation(mu=lambda nu: np.exp(-np.arange(1000) * 0.01 / nu)),
    ),
    "certificate_safe": (made.thresholds(), made.thresholds(certified=0.9)),
    "threshold_tight": (made.thresholds(), made.thresholds(paper=5.0)),
    "auto_near_best": (made.auto(), made.auto(factor=4.0)),
    "reference_values": (reference(1.01), reference(1.2)),
}


def test_every_claim_is_tested_both_ways():
    assert set(CASES) == set(BY_NAME) - COMPUTED
    assert len(CLAIMS) == len(BY_NAME)


@pytest.mark.parametrize("name", CASES)
def test_a_claim_can_hold_and_can_fail(name):
    good, bad = CASES[name]
    assert word(name, good) == "holds"
    assert word(name, bad) != "holds"


@pytest.mark.parametrize("name", BY_NAME)
def test_a_claim_says_what_it_is_and_by_which_criterion(name):
    claim = BY_NAME[name]
    assert claim.text.endswith(".")
    assert claim.criterion.endswith(".")
    assert claim.source


def test_claims_from_formulas_alone():
    results = made.quad()
    stages = BY_NAME["quad_stages"].judge
    assert list(stages(results, "paper").numbers.values()) == [0, 0, 0]
    assert list(stages(results, "authors").numbers.values()) == [9, 9, 10]
    batch = BY_NAME["quad_batch"].judge(results, "paper")
    assert not any(batch.cases.values())
    assert batch.numbers["b* at kappa=1000"] == theory.batch_threshold(10_000, 1000.0)


# ---------------------------------------------------------------- the machinery


def finding(**cases):
    return Finding(cases, {}, "")


def test_the_words_of_a_verdict():
    claim = Claim("c", "f", "s", "t.", "c.", lambda results, setting: finding())
    yes, no, part = finding(a=True, b=True), finding(a=False, b=False), finding(a=True, b=False)

    def said(**findings):
        return Verdict(claim, findings).word

    assert said(paper=yes, authors=yes) == "holds"
    assert said(paper=no, authors=no) == "fails"
    assert said(paper=no, authors=yes) == "holds only under authors"
    assert said(paper=part, authors=no) == "holds only under paper: a"
    assert said(paper=part) == "holds only under a"
    assert said(paper=finding()) == "not evaluated"
    assert said(paper=yes, authors=finding()) == "holds"


def test_json_is_the_same_bytes_and_has_neither_times_nor_infinities():
    results = made.joined(made.quad(), made.sweep(), made.real(), made.auto())
    first, second = (as_json(judge_all(results), "full") for _ in range(2))
    assert first == second
    content = json.loads(first, parse_constant=lambda name: pytest.fail(name))
    assert {"seconds", "time", "written"}.isdisjoint(content)
    assert [c["name"] for c in content["claims"][:2]] == ["quad_i_floor", "quad_i_faster"]
    assert content["claims"][0]["findings"]["paper"]["holds"] == 18


def test_markdown_has_a_row_for_each_claim():
    verdicts = judge_all(made.real())
    lines = as_markdown(verdicts).splitlines()
    assert len(lines) == 2 + len(verdicts) == 5
    assert all(line.count(" | ") == 4 for line in lines[2:])


def test_missing_data_are_said_and_the_rest_is_judged():
    kept = {k: v for k, v in made.real().outcomes.items() if k[2] != "rcv1"}
    for method in ("K-EXP", "SHB-EXP"):
        kept["squared_loss", "paper", "rcv1", method, "0"] = Outcome({}, {"missing": "no file"})
    verdict = judge_all(Results(kept))[0]
    assert verdict.word == "holds"
    assert verdict.missing == "data not available: rcv1"
    assert len(verdict.findings["paper"].cases) == 2


def test_a_diverged_run_is_infinite_from_where_it_stopped():
    short = made.outcome([1.0, 5.0], np.array([0, 10]), status="diverged")
    long = made.outcome([1.0, 2.0, 0.5], np.array([0, 10, 20]))
    place = ("f", "paper", "p", "m")
    both = Results({(*place, "0"): short, (*place, "1"): long}).curve(*place)
    assert both.runs.tolist() == [[1.0, 5.0, np.inf], [1.0, 2.0, 0.5]]
    assert both.diverged
    alone = Results({(*place, "0"): short}).curve(*place)
    assert alone.runs.tolist() == [[1.0, 5.0, np.inf]]
    assert alone.last == np.inf


def test_interval_is_students():
    values = np.random.default_rng(0).standard_normal(5)
    low, high = interval(values)
    half = 2.776 * values.std(ddof=1) / math.sqrt(5)
    assert (low, high) == (
        pytest.approx(values.mean() - half, abs=1e-11),
        pytest.approx(values.mean() + half, abs=1e-11),
    )
    assert interval(np.array([1.0])) == (-math.inf, math.inf)
    assert interval(np.array([1.0, np.inf])) == (-math.inf, math.inf)


def test_first_below_and_best():
    k = np.array([0.0, 10.0, 20.0])
    curve = Curve(k, np.array([[4.0, 2.0, 1.0]]), np.zeros(0), np.zeros(0), k, np.zeros(0))
    assert curve.first_below(2.0) == 10.0
    assert curve.first_below(0.5) == math.inf


# ---------------------------------------------------------------- tables


def test_bounds_are_beside_the_exact_error():
    out = tables.bounds("thm2", (50, 100), 400, 1.0).numbers
    assert (out["exact"] <= out["corrected"]).all()
    assert (out["exact"] > 0).all()
    scaled = tables.bounds("thm2", (50, 100), 400, 0.01).numbers
    np.testing.assert_allclose(scaled["exact"], out["exact"], rtol=1e-6)
    np.testing.assert_allclose(scaled["corrected"], out["corrected"], rtol=1e-6)


def test_the_observed_batch_is_where_runs_begin_to_settle():
    place = {"n": 200, "kappa": 30.0, "design": "heavy"}
    seen = tables.observed_batch(**place, T=400, seed=0).numbers["observed"][0]
    exact = tables.critical_batches(**place).numbers["exact"][0]
    assert 0.3 * exact < seen <= 1.3 * exact


def test_the_documentation_has_every_claim():
    text = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text()
    listed = re.findall(r"^\| `(\w+)`", text, re.M)
    assert listed == [claim.name for claim in CLAIMS]
