"""Every claim on results made to hold, and on results made to fail: none is safe from both."""

import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import claim_results as made
from bocce import theory
from bocce_paper.exhibits import bounds, fig03_quad, reference, theorems
from bocce_paper.exhibits.fig06_table1_psi import PRINTED
from bocce_paper.exhibits.theorems import REMARKS
from bocce_paper.judge import judge_all
from bocce_paper.results import Results
from bocce_paper.specs import PROFILES
from bocce_paper.verdicts import CLASSES, KINDS, STATEMENT, Verdict
from claim_results import BY_NAME, CLAIMS, finding, word

# from formulas alone: tested by value below
COMPUTED = {"quad_batch_covered", *(claim.id for claim in REMARKS)}
GOOD = {"holds", *CLASSES} - {"not-tested"}
FULL = PROFILES["paper"]


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


def psi_two(derivative=1.0, at_zero=1.0):
    beta = np.linspace(0.0, 1.0, 5)
    grid = np.full((5, 5), derivative)
    grid[:, 0] = at_zero
    return made.table("lower_bound_2", "psi", "Psi", {"beta": beta, "derivative": grid})


def against_sgd(figure, panel, shb=0.1, sgd=-0.1, safe=-0.1):
    k = np.arange(200)
    rates = {"SHB": shb, "SGD": sgd, "SGD, 1/L_max": safe}
    factors = {m: [math.exp(rate)] for m, rate in rates.items()}
    curves = Results(
        {
            (figure, "paper", panel, m, seed): made.outcome(np.exp(rate * k), k)
            for m, rate in rates.items()
            for seed in ("0", "exact")
        }
    )
    return made.joined(curves, made.table(figure, panel, "rates", factors))


def lower_n(**changes):
    b = np.arange(1, 100)
    numbers = {
        "b": b,
        "kappa_star": np.ones(99),
        "zeta2": np.array([theory.zeta2(100, int(x)) for x in b]),
        "line": [-0.6, -3.8],
        "least_derivative": np.ones(99),
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
    "quad_stochasticity": (
        made.quad(),
        made.quad(**{m.replace("-", "_"): lambda kappa, r: (0.1, r) for m in fig03_quad.METHODS}),
    ),
    "quad_batch_accelerates": (made.speeds(0.9), made.speeds(0.15)),
    "quad_stages": (made.speeds(0.9), made.speeds(0.9, kappa=160.0)),
    "sweep_i_divergence": (made.sweep(), made.sweep(shb=lambda kappa, xi: xi / math.sqrt(kappa))),
    "sweep_ii_threshold": (made.sweep(), made.sweep(shb=lambda kappa, xi: 1 / math.sqrt(kappa))),
    "sweep_ii_extent": tuple(
        made.sweep(shb=lambda kappa, xi, gain=gain: (1 + gain * xi) / math.sqrt(kappa))
        for gain in (1.0, 0.0)
    ),
    "sweep_iii_slow": (made.sweep(), made.sweep(averaged=lambda kappa: 0.2 / kappa)),
    "sweep_iv_sqrt": (made.sweep(), made.sweep(shb=lambda kappa, xi: 1 / kappa)),
    "sweep_v_kappa": (made.sweep(), made.sweep(sgd=lambda kappa: 5 / kappa)),
    "two_samples_monotone": (psi_two(at_zero=0.0), psi_two(derivative=-1.0)),
    "two_samples_runs": tuple(
        against_sgd("lower_bound_2", "kappa=6, b=1", safe=rate) for rate in (-0.1, 0.0)
    ),
    "psi_expression": (expression(1e-12), expression(1e-3)),
    "n_samples_monotone": (lower_n(), lower_n(least_derivative=-np.ones(99))),
    "n_samples_line": (lower_n(), lower_n(line=[-0.565, -3.42])),
    "n_samples_polyak": (polyak(94.6), polyak(40.0)),
    "n_samples_runs": tuple(
        against_sgd("lower_bound_n", "kappa=10, b=10", shb=rate) for rate in (0.1, -0.1)
    ),
    "table_der_beta": tuple(
        made.table("der_beta", "b=70", "Psi", {"derivative": PRINTED + off}) for off in (5e-4, 2e-3)
    ),
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
    **{
        f"{figure}_stand_ins": (made.real(figure), made.real(figure, SHB_SLS_EXP=1e-1))
        for figure in ("squared_loss", "logistic_loss")
    },
    "pan_converges": (made.quad(PAN), made.quad(PAN, Multi_SHB_PAN_2=lambda kappa, r: (-1e-3, r))),
    "pan_similar": (made.quad(PAN), made.quad(PAN, Multi_SHB=lambda kappa, r: (0.1, 9 * r))),
    "pan_between": (made.quad(PAN), made.quad(PAN, Multi_SHB=lambda kappa, r: (0.1, 9 * r))),
    **{
        f"bound_{theorem}_corrected": (
            made.bounds(theorem, [1.0, 1.0], [2.0, 2.0]),
            made.bounds(theorem, [1.0, 3.0], [2.0, 2.0]),
        )
        for theorem in bounds.PROMISES
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
    "threshold_tight": (made.thresholds(), made.thresholds(paper=2.5)),
    "auto_near_best": (made.auto(), made.auto(factor=4.0)),
    "reference_values": (reference_values(1.01), reference_values(1.2)),
    **{claim.id: (made.statements(0.5), made.statements(1.5)) for claim in theorems.CLAIMS},
    "noise_slope": (made.rates(), made.rates(slope=-0.5)),
    "two_phase_faster": (made.rates(), made.rates(two_phase=0.99)),
    "pan_feasible": (made.rates(pan=0.2), made.rates(pan=0.9)),
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
    assert claim.kind in KINDS
    assert (claim.kind == STATEMENT) == bool(claim.verdict)
    assert claim.kind != "ours" or not claim.quote


def test_claims_from_formulas_alone():
    results = made.joined(made.quad(), made.speeds(0.9), made.speeds(0.9, setting="authors"))
    stages = {s: finding("quad_stages", results, s).numbers for s in ("paper", "authors")}
    assert list(stages["paper"].values()) == [0, 0, 0]
    assert list(stages["authors"].values()) == [9, 9, 10]
    batch = finding("quad_batch_covered", results)
    assert all(batch.cases.values())
    assert batch.numbers["b* at kappa=1000"] == theory.batch_threshold(10_000, 1000.0)


def test_remarks_from_formulas_alone():
    words = {claim.id: finding(claim.id, Results({})).word for claim in REMARKS}
    assert words == {
        "batch_share_falls": "holds",
        "batch_compared_bollapragada": "holds",
        "batch_compared_lee": "holds",
        "horizon_proportional": "mixed",
    }
    numbers = finding("horizon_proportional", Results({})).numbers
    assert round(numbers["second part of b*/n, n=1e+06"], 3) == 0.012  # printed: 0.8
    assert numbers["second part of b*/n, n=1e+12"] > 0.99


def test_which_step_sgd_takes_is_a_reading():
    """Two readings of fig:lb_2_case: SGD with 1/L_max converges, with SHB's 1/L it does not."""
    results = made.joined(psi_two(), against_sgd("lower_bound_2", "kappa=6, b=1", sgd=0.01))
    found = {v.claim.id: v for v in judge_all(results, FULL) if v.claim.readings}
    verdict = found["two_samples_runs"]
    assert verdict.words == {"SGD with 1/L_max": "holds", "SGD with 1/L": "mixed"}
    assert verdict.word == "holds"
    assert verdict.depends_on_reading


def halved(kappa, xi):
    """With 0.9 n SHB is far slower than SQRT-KAP, with n it is not."""
    return (1.0 if xi == 1.0 else 0.1) / math.sqrt(kappa)


@pytest.mark.parametrize(
    ("name", "results", "strict", "readings"),
    [
        # the level at T agrees, the steps do not
        (
            "quad_v_nesterov",
            made.quad(Nesterov_EXP=lambda kappa, r: (1.0, 0.1 * r)),
            "mixed",
            {"the level at T alone": "holds", "the steps alone": "mixed"},
        ),
        # only the full batch follows SQRT-KAP
        (
            "sweep_iv_sqrt",
            made.sweep(shb=halved),
            "mixed",
            {"the full batch alone": "holds"},
        ),
        # similar at large kappa, not at small kappa
        (
            "sweep_iii_slow",
            made.sweep(averaged=lambda kappa: (0.5 if kappa >= 512 else 0.1) / kappa),
            "mixed",
            {"both at large kappa only": "holds"},
        ),
        # a tenth outside the interval of the extremes
        (
            "pan_between",
            made.quad(PAN, Multi_SHB=lambda kappa, r: (0.1, 0.55 * r)),
            "mixed",
            {"within a factor 2 of the interval": "holds"},
        ),
        (
            "two_samples_monotone",
            psi_two(at_zero=0.0),
            "holds",
            {"the derivative is above 0 on the edge too": "fails"},
        ),
    ],
)
def test_a_disputed_sentence_is_judged_in_its_natural_reading(name, results, strict, readings):
    """The headline has the natural reading; the others stand beside it and raise the flag."""
    found = finding(name, results)
    assert found.word == strict
    assert {reading: other.word for reading, other in found.also.items()} == readings
    assert Verdict(BY_NAME[name], "figure", {"paper": found}).depends_on_reading


def test_a_wrong_mu_that_is_later_but_better_at_T_is_not_slower():
    def later_but_better(nu):
        return np.exp(-0.2 * nu * np.arange(1000.0)) + (1e-3 if nu == 1.0 else 1e-4 * nu)

    found = finding("mis_mu_slows", made.misestimation(mu=later_but_better))
    cases = [case for name, case in found.cases.items() if "nu=0.3" in name]
    assert cases == [False, False, False]
    assert found.also["or later to a tenth of the first error"].word == "holds"


def test_the_slope_of_theorem_3_depends_on_the_batches_of_the_fit():
    """Over b <= 95 it is -0.602, over the 60 batches with kappa* > 1 -0.42; exactly it is -1/2."""
    star = np.array([theory.kappa_star(b, 100) for b in range(1, 100)])
    results = lower_n(kappa_star=star, line=theory.best_fit_line(100))
    found = finding("n_samples_line", results)
    assert int((star <= 1.0).sum()) == 39
    assert round(found.numbers["slope over b <= 95"], 3) == -0.602
    assert round(found.numbers["slope over kappa* > 1"], 2) == -0.42
    far = [100.0 / theory.lower_bound_threshold(100, kappa) - 1.0 for kappa in (1e6, 1e8)]
    assert math.log(far[1] / far[0]) / math.log(100.0) == pytest.approx(-0.5, abs=1e-3)


def test_the_documentation_counts_every_claim_once():
    """The counts of `bocce claims` in the docs and the README agree, and add up to all claims."""
    root = Path(__file__).parents[2]
    page = " ".join((root / "docs" / "reproduction.md").read_text().split())
    kinds = {"observations": "observation", "statements": "statement", "of ours": "ours"}
    listed = re.findall(r"(\d+) (observations|statements|of ours): ((?:\d+ [a-z-]+,? ?)+)", page)
    found = {kinds[kind]: (int(total), words) for total, kind, words in reversed(listed)}
    for kind, (total, words) in found.items():
        assert total == sum(map(int, re.findall(r"\d+", words)))
        assert total == sum(claim.kind == kind for claim in CLAIMS), kind
    assert set(found) == set(KINDS)
    classes = Counter(claim.verdict for claim in CLAIMS if claim.kind == STATEMENT)
    assert (
        Counter({w: int(n) for n, w in re.findall(r"(\d+) ([a-z-]+)", found["statement"][1])})
        == classes
    )
    readme = " ".join((root / "README.md").read_text().split())
    holds, mostly, mixed = re.findall(r"\d+", found["observation"][1])
    said = f"Of 46 observations {holds} hold, {mostly} mostly hold and {mixed} are mixed"
    assert said in readme
    assert said.replace("46 obs", "the paper's 46 obs") in page


def test_stand_ins_do_not_judge_the_paper():
    """A method that fails on other rows than the paper's says nothing about the paper."""
    good = made.real("squared_loss").outcomes
    bad = made.real("squared_loss", SHB_SLS_EXP=1e-1).outcomes
    mixed = {key: (bad if key[2] == "rcv1_vw_subset_1747" else good)[key] for key in good}
    assert word("squared_loss_search", Results(mixed)) == "holds"
    assert word("squared_loss_stand_ins", Results(mixed)) == "mixed"


def test_a_close_call_is_named():
    """Seeds that differ: the mean ratio is 2.83, and its interval exceeds the factor 3."""
    low = made.real("squared_loss", SHB_EXP=2.5e-3).outcomes
    high = made.real("squared_loss", SHB_EXP=3.4e-3).outcomes
    found = finding(
        "squared_loss_close", Results({k: (high if k[4] in "13" else low)[k] for k in low})
    )
    assert found.word == "holds"
    assert "Barely on ijcnn" in found.because
