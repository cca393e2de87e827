"""Every claim on results made to hold, and on results made to fail: none is safe from both."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import claim_results as made
from bocce import theory
from bocce.paper import EXHIBITS
from bocce.paper.compute import Outcome
from bocce.paper.exhibits import bounds, reference, theorems, thresholds
from bocce.paper.exhibits.table1_derivative import PRINTED
from bocce.paper.judge import bottom_line, judge_all
from bocce.paper.results import Curve, Results, interval
from bocce.paper.specs import PROFILES
from bocce.paper.verdicts import (
    OBSERVATION,
    OBSERVED,
    PROVEN,
    THEOREM,
    Claim,
    Finding,
    Verdict,
    as_json,
    as_markdown,
)

CLAIMS = [claim for exhibit in EXHIBITS.values() for claim in exhibit.claims]
BY_NAME = {claim.id: claim for claim in CLAIMS}
COMPUTED = {"quad_stages", "quad_batch_covered"}  # from formulas alone: tested by value below
GOOD = {"holds", "proved", "true-where-tested"}
FULL = PROFILES["full"]


def word(name, results):
    claim = BY_NAME[name]
    return Verdict(claim, "figure", {"paper": claim.judge(results, "paper")}).word


def alpha_beta(alpha, beta):
    numbers = {"k": np.arange(100), "alpha": alpha, "beta": beta}
    return made.table("non_acc_alpha_beta", "parameters", "SHB-EXP", numbers)


def growing(rate):
    k = np.arange(200)
    runs = made.outcome(np.exp(rate * k), k)
    place = ("panetal_multistage", "paper", "b=1", "Multi-SHB-PAN-2")
    stage = made.table(
        "panetal_multistage", "b=1", "first stage", {"rate": [1.1 if rate > 0 else 0.9]}
    )
    sampled = Results({(*place, seed): runs for seed in ("0", "1", "2", "3", "4")})
    return made.joined(sampled, stage)


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
            (figure, "paper", panel, m, seed): made.outcome(np.exp(rate * k), k)
            for m, rate in rates.items()
            for seed in ("0", "exact")
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


def polyak(critical):
    numbers = {"kappa": [10.0], "critical": [critical], "printed": [52.2]}
    return made.table("lower_bound_n", "Polyak", "critical", numbers)


def reference_values(factor):
    k = np.array([0, reference.T])
    return Results(
        {
            ("reference", "paper", f"{design}, kappa={kappa}", method, "exact"): made.outcome(
                [10.0, factor * values[place]], k
            )
            for design, rows in reference.VALUES.items()
            for method, values in rows.items()
            for place, kappa in enumerate(reference.KAPPAS)
        }
    )


def expression(difference):
    numbers = {"difference": [difference], "terms": [[1, 0, 0, 3]]}
    return made.table("psi_function", "Psi", "Psi", numbers)


DECAY, RISE = 0.9 ** np.arange(100), np.linspace(0.0, 0.9, 100)
PAN = "pan_multistage_compare"
CASES = {
    # claim: (results in which it holds, results in which it does not)
    "alpha_falls": (alpha_beta(DECAY, RISE), alpha_beta(np.ones(100), RISE)),
    "beta_rises": (alpha_beta(DECAY, RISE), alpha_beta(DECAY, RISE[::-1])),
    "panetal_diverges": (growing(0.1), growing(-0.1)),
    "panetal_variance": (growing(0.1), growing(0.01)),
    "quad_i_floor": (made.quad(), made.quad(SGD=lambda kappa, r: (1e-4, r))),
    "quad_i_faster": (made.quad(), made.quad(SHB=lambda kappa, r: (0.003, 3 * r))),
    "quad_ii_variants": (made.quad(), made.quad(**{"2P_SHB": lambda kappa, r: (0.1, 2 * r)})),
    "quad_iii_cnst": (made.quad(), made.quad(Multi_SHB_CNST=lambda kappa, r: (0.1, 0.3 * r))),
    "quad_iv_two_phase": (made.quad(), made.quad(**{"2P_SHB": lambda kappa, r: (0.1, 0.2 * r)})),
    "quad_v_nesterov": (made.quad(), made.quad(Nesterov_EXP=lambda kappa, r: (1.0, 0.1 * r))),
    "quad_batch_accelerates": (made.speeds(0.9), made.speeds(0.4)),
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
    "n_samples_polyak": (polyak(94.6), polyak(40.0)),
    "n_samples_runs": tuple(
        against_sgd("lower_bound_n", "kappa=10, b=10", shb=rate) for rate in (0.1, -0.1)
    ),
    "table_der_beta": tuple(
        made.table("der_beta", "b=70", "Psi", {"derivative": PRINTED + off}) for off in (5e-4, 2e-3)
    ),
    "thm2_lambda_max": (made.thresholds(), made.thresholds(needed=60.0)),
    **{
        f"{figure}_close": (made.real(figure), made.real(figure, SHB_EXP=1e-5))
        for figure in ("squared_loss", "logistic_loss", "mushrooms")
    },
    **{
        f"{figure}_better": (made.real(figure), made.real(figure, K_CNST=1e-3))
        for figure in ("squared_loss", "logistic_loss", "mushrooms")
    },
    **{
        f"{figure}_search": (made.real(figure), made.real(figure, SHB_SLS_EXP=1e-1))
        for figure in ("squared_loss", "logistic_loss", "mushrooms")
    },
    "pan_converges": (made.quad(PAN), made.quad(PAN, Multi_SHB_PAN_2=lambda kappa, r: (-1e-3, r))),
    "pan_similar": (made.quad(PAN), made.quad(PAN, Multi_SHB=lambda kappa, r: (0.1, 9 * r))),
    "pan_between": (made.quad(PAN), made.quad(PAN, Multi_SHB=lambda kappa, r: (0.1, 9 * r))),
    **{
        f"bound_{theorem}_{which}": (
            made.bounds(theorem, [1.0, 1.0], [2.0, 2.0], [2.0, 2.0]),
            made.bounds(theorem, [1.0, 3.0], [2.0, 2.0], [2.0, 2.0]),
        )
        for theorem in bounds.PROMISES
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
    "reference_values": (reference_values(1.01), reference_values(1.2)),
    **{claim.id: (made.statements(0.5), made.statements(1.5)) for claim in theorems.CLAIMS},
    "noise_slope": (made.rates(), made.rates(slope=-0.5)),
    "bounded_noise_multistage": (made.rates(slope=-2.0), made.rates(slope=-1.0)),
    "two_phase_faster": (made.rates(), made.rates(two_phase=0.99)),
    "pan_feasible": (made.rates(pan=0.5), made.rates(pan=1.0)),
    "published_panel": (made.notebook(), made.notebook(5.0)),
}


def test_every_claim_is_tested_both_ways():
    assert set(CASES) == set(BY_NAME) - COMPUTED
    assert len(CLAIMS) == len(BY_NAME)


@pytest.mark.parametrize("name", CASES)
def test_a_claim_can_hold_and_can_fail(name):
    good, bad = CASES[name]
    assert word(name, good) in GOOD
    assert word(name, bad) not in GOOD


@pytest.mark.parametrize("name", BY_NAME)
def test_a_claim_says_what_it_is_and_by_which_criterion(name):
    claim = BY_NAME[name]
    assert claim.text.endswith(".")
    assert claim.criterion.endswith(".")
    assert claim.source
    assert claim.judged_on
    assert claim.kind in (OBSERVATION, THEOREM)


def test_claims_from_formulas_alone():
    results = made.quad()
    stages = BY_NAME["quad_stages"].judge
    assert list(stages(results, "paper").numbers.values()) == [0, 0, 0]
    assert list(stages(results, "authors").numbers.values()) == [9, 9, 10]
    batch = BY_NAME["quad_batch_covered"].judge(results, "paper")
    assert not any(batch.cases.values())
    assert batch.numbers["b* at kappa=1000"] == theory.batch_threshold(10_000, 1000.0)


# ---------------------------------------------------------------- the machinery


def claim_of(kind, proof=""):
    return Claim("c", kind, "s", "t.", "c.", lambda r, s: Finding({}), "runs", proof=proof)


def said(kind, *shares, proof=""):
    """The word after findings with so many cases met, of so many."""
    findings = {
        str(i): Finding({str(j): j < met for j in range(of)}) for i, (met, of) in enumerate(shares)
    }
    return Verdict(claim_of(kind, proof), "f", findings).word


def test_an_observation_is_judged_by_the_share_of_its_cases():
    assert said(OBSERVATION, (9, 9), (9, 9)) == "holds"
    assert said(OBSERVATION, (8, 10)) == "mostly"
    assert said(OBSERVATION, (79, 100)) == "mixed"
    assert said(OBSERVATION, (0, 3), (3, 3)) == "mixed"
    assert said(OBSERVATION, (2, 10)) == "mostly-not"
    assert said(OBSERVATION, (0, 10)) == "fails"
    assert said(OBSERVATION, (0, 0)) == "not-evaluated"


def test_one_counterexample_makes_a_theorem_false_and_no_share_is_given():
    assert said(THEOREM, (99, 100), proof="p") == "false"
    assert said(THEOREM, (100, 100)) == "true-where-tested"
    assert said(THEOREM, (100, 100), proof="p") == "proved"
    assert said(THEOREM) == "not-tested"
    found = {"paper": Finding({"a": True, "b": False})}
    assert Verdict(claim_of(THEOREM), "f", found).score == {"paper": "2 tested"}


def test_what_cannot_be_compared_is_not_counted():
    """Two infinities, NaN: neither met nor missed."""
    curves = made.misestimation(mu=lambda nu: np.full(1000, np.inf))
    finding = BY_NAME["mis_mu_slows"].judge(curves, "paper")
    assert set(finding.cases.values()) == {None}
    assert (finding.evaluated, finding.met) == (0, 0)
    assert word("mis_mu_slows", curves) == "not-evaluated"


def test_below_the_critical_batch_the_runs_decide():
    """The exact root mean square of SHB is 1e6 times its runs, and its batch is too small."""
    exact = made.quad()
    place = ("shb_quad", "paper", "kappa=1000, r=1e-02", "SHB")
    wild = {(*place, "exact"): made.outcome(1e6 * exact.curve(*place).exact)}
    sampled = {(*place, "0"): made.outcome(exact.curve(*place).exact)}
    results = made.joined(exact, Results(wild), Results(sampled))
    assert results.curve(*place).last == 1e6 * exact.curve(*place).last
    stable = made.table("shb_quad", "kappa=1000", "stability", {"SHB": [1.01]})
    judged = BY_NAME["quad_i_floor"].judge(made.joined(results, stable), "paper").numbers
    assert judged["kappa=1000, r=1e-02: SHB"] == exact.curve(*place).last
    safe = made.table("shb_quad", "kappa=1000", "stability", {"SHB": [0.99]})
    judged = BY_NAME["quad_i_floor"].judge(made.joined(results, safe), "paper").numbers
    assert judged["kappa=1000, r=1e-02: SHB"] == results.curve(*place).last


def test_a_theorem_is_tested_only_where_it_applies():
    early = made.bounds("thm4", [3.0, 3.0], [2.0, 2.0], [4.0, 4.0], applies=(0.0, 0.0))
    assert word("bound_thm4_printed", early) == "not-tested"
    late = made.bounds("thm4", [3.0, 3.0], [2.0, 2.0], [4.0, 4.0], applies=(0.0, 1.0))
    assert word("bound_thm4_printed", late) == "false"


def test_json_is_the_same_bytes_and_has_what_the_contract_names():
    results = made.joined(made.quad(), made.speeds(0.9), made.sweep(), made.real(), made.auto())
    verdicts = judge_all(results, FULL)
    first, second = (as_json(judge_all(results, FULL), "full", ["."]) for _ in range(2))
    assert first == second
    content = json.loads(first, parse_constant=lambda name: pytest.fail(name))
    assert {"seconds", "time", "written"}.isdisjoint(first.split('"'))
    assert [c["id"] for c in content["claims"][:2]] == ["quad_i_floor", "quad_i_faster"]
    wanted = {"id", "kind", "verdict", "cases", "met", "because", "data"}
    for claim, verdict in zip(content["claims"], verdicts):
        assert wanted <= set(claim)
        assert claim["kind"] in ("observation", "theorem", "ours")
        assert claim["verdict"] in (*OBSERVED, *PROVEN)
        assert claim["cases"].keys() == claim["met"].keys() == verdict.findings.keys()
        assert all(claim["met"][s] <= claim["cases"][s] for s in claim["cases"])
        assert claim["because"].endswith(".")
        assert "profile full" in claim["data"]
    floor = content["claims"][0]
    assert (floor["cases"], floor["met"]) == ({"paper": 18}, {"paper": 18})


def test_markdown_has_a_row_for_each_claim():
    verdicts = judge_all(made.real(), FULL)
    rows = [line for line in as_markdown(verdicts).splitlines() if line.startswith("| `")]
    assert len(rows) == len(verdicts) == 3
    assert all(row.count(" | ") == 3 for row in rows)


def test_the_bottom_line_has_five_sentences_whatever_was_run():
    for results in (made.real(), made.joined(made.quad(), made.speeds(0.9), made.statements(2.0))):
        lines = bottom_line(judge_all(results, FULL))
        assert len(lines) == 5
        assert all(line.endswith(".") and len(line) > 40 for line in lines)


def test_missing_data_are_said_and_the_rest_is_judged():
    kept = {k: v for k, v in made.real().outcomes.items() if k[2] != "rcv1"}
    for method in ("K-EXP", "SHB-EXP"):
        kept["squared_loss", "paper", "rcv1", method, "0"] = Outcome({}, {"missing": "no file"})
    verdict = judge_all(Results(kept), FULL)[0]
    assert verdict.word == "holds"
    assert "rcv1 could not be had (BOCCE_DATA names a folder" in verdict.data
    assert len(verdict.findings["paper"].cases) == 1


def test_a_stand_in_is_said_in_every_verdict_on_it():
    results = made.real()
    for key, outcome in results.outcomes.items():
        if key[2] == "rcv1":
            outcome.notes["data"] = "sector.scale"
    for verdict in judge_all(results, FULL):
        assert "sector.scale stands in for rcv1" in verdict.data


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
    out = bounds.bounds("thm2", (50, 100), 400, 1.0).numbers
    assert (out["exact"] <= out["corrected"]).all()
    assert (out["exact"] > 0).all()
    scaled = bounds.bounds("thm2", (50, 100), 400, 0.01).numbers
    np.testing.assert_allclose(scaled["exact"], out["exact"], rtol=1e-6)
    np.testing.assert_allclose(scaled["corrected"], out["corrected"], rtol=1e-6)


def test_the_observed_batch_is_where_runs_begin_to_settle():
    place = {"n": 200, "kappa": 30.0, "design": "heavy"}
    seen = thresholds.observed_batch(**place, T=400, seed=0).numbers["observed"][0]
    exact = thresholds.critical_batches(**place).numbers["exact"][0]
    assert 0.3 * exact < seen <= 1.3 * exact


def test_printed_bounds_notice_their_units():
    """What makes them false: in other units the same problem has another bound."""
    small, one = (bounds.bounds("two_phase", (16_000,), 10_000, mu).numbers for mu in (1e-6, 1.0))
    np.testing.assert_allclose(small["exact"], one["exact"], rtol=1e-6)
    np.testing.assert_allclose(small["corrected"], one["corrected"], rtol=1e-6)
    assert small["printed"][0] < 0.1 * small["exact"][0]
    assert one["printed"][0] > one["exact"][0]


def test_lemmas_find_the_known_counterexamples():
    def ratio(name):
        numbers = theorems.lemma(name).numbers
        return numbers["left"] / numbers["right"]

    assert ratio("two_phase_exponent").max() == pytest.approx(0.7075 / 0.7, abs=1e-3)
    assert ratio("horizon_range")[0] == pytest.approx(2.436e9 / 8.16e8, rel=1e-3)
    assert ratio("power_bound").max() == pytest.approx(math.sqrt(2.0), abs=1e-3)
    assert ratio("one_step").max() <= 1.0 + 1e-12
    assert ratio("batch_variance").max() <= 1.0


def test_the_documentation_has_every_claim():
    text = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text()
    listed = re.findall(r"^\| `(\w+)`", text, re.M)
    assert sorted(listed) == sorted(BY_NAME)
