"""How claims are judged: words from cases, what is compared, what is written down."""

import json
import math

import numpy as np
import pytest

import claim_results as made
from bocce_paper.exhibit import claims, judges
from bocce_paper.judge import as_json, as_markdown, bottom_line, judge_all
from bocce_paper.results import FigureView, Results, Trajectory, interval
from bocce_paper.specs import PROFILES, Outcome
from bocce_paper.verdicts import (
    CLASSES,
    KINDS,
    OBSERVATION,
    OBSERVED,
    OURS,
    STATEMENT,
    Claim,
    Finding,
    Verdict,
)
from claim_results import finding, word

FULL = PROFILES["paper"]


def claim_of(kind, **more):
    return Claim("c", kind, "s", "t.", "c.", lambda view: Finding({}), "runs", **more)


def judged(kind, *shares, settings=("paper", "authors", "published"), **more):
    """A verdict whose settings have so many cases met, of so many."""
    findings = {
        setting: Finding({str(j): j < met for j in range(of)})
        for setting, (met, of) in zip(settings, shares)
    }
    return Verdict(claim_of(kind, **more), "f", findings)


@pytest.mark.parametrize(
    ("met", "of", "word"),
    [
        (9, 9, "holds"),
        (8, 10, "mostly"),
        (79, 100, "mixed"),
        (2, 10, "mostly-not"),
        (0, 10, "fails"),
        (0, 0, "not-evaluated"),
    ],
)
def test_an_observation_is_judged_by_the_share_of_its_cases(met, of, word):
    assert judged(OBSERVATION, (met, of)).word == word


def test_settings_are_never_pooled_and_the_nearest_to_what_was_run_is_the_headline():
    verdict = judged(OBSERVATION, (0, 3), (3, 3))
    assert verdict.words == {"paper": "fails", "authors": "holds"}
    assert (verdict.headline, verdict.word, verdict.depends_on_reading) == (
        "authors",
        "holds",
        True,
    )
    verdict = judged(OBSERVATION, (0, 3), (3, 3), (2, 3))
    assert (verdict.headline, verdict.word) == ("published", "mixed")
    empty = judged(OBSERVATION, (3, 3), (0, 0))
    assert (empty.headline, empty.word, empty.depends_on_reading) == ("paper", "holds", False)
    rows = judged(OBSERVATION, (0, 3), (3, 3), settings=("authors", "released-rows"))
    assert rows.headline == "released-rows"


def test_a_statement_has_its_class_only_if_all_its_evidence_was_found():
    assert judged(STATEMENT, (100, 100), verdict="constants", proof="p").word == "constants"
    assert judged(STATEMENT, (99, 100), verdict="constants", proof="p").word == "not-tested"
    assert judged(STATEMENT, verdict="proved").word == "not-tested"
    assert judged(STATEMENT, (2, 2), verdict="margin").score == {"paper": "2 checks"}


def test_a_claim_of_ours_is_proved_or_judged_by_its_share():
    assert judged(OURS, (3, 3), proof="p").word == "proved"
    assert judged(OURS, (2, 3), proof="p").word == "mixed"
    assert judged(OURS, (3, 3)).word == "holds"


def test_what_cannot_be_compared_is_not_counted():
    """Two infinities, NaN: neither met nor missed."""
    curves = made.misestimation(mu=lambda nu: np.full(1000, np.inf))
    found = finding("mis_mu_slows", curves)
    assert set(found.cases.values()) == {None}
    assert (found.evaluated, found.met) == (0, 0)
    assert word("mis_mu_slows", curves) == "not-evaluated"


def test_below_the_critical_batch_the_runs_decide():
    """The exact root mean square of SHB is 1e6 times its runs, and its batch is too small."""
    exact = made.quad()
    place = ("kappa=1000, r=1e-02", "SHB")
    entry = ("shb_quad", "paper", *place)
    right = FigureView(exact, "shb_quad").curve(*place)
    wild = {(*entry, "exact"): made.outcome(1e6 * right.exact)}
    sampled = {(*entry, "0"): made.outcome(right.exact)}
    results = made.joined(exact, Results(wild), Results(sampled))
    assert FigureView(results, "shb_quad").curve(*place).last == 1e6 * right.last
    for critical, wanted in ((1.01, right.last), (0.99, 1e6 * right.last)):
        stable = made.table("shb_quad", "kappa=1000", "stability", {"SHB": [critical]})
        judged = finding("quad_i_floor", made.joined(results, stable)).numbers
        assert judged["kappa=1000, r=1e-02: SHB"] == wanted


def test_json_is_the_same_bytes_and_has_what_the_contract_names():
    results = made.joined(made.quad(), made.speeds(0.9), made.sweep(), made.real(), made.auto())
    verdicts = judge_all(results, FULL)
    first, second = (as_json(judge_all(results, FULL), "paper", ["."]) for _ in range(2))
    assert first == second
    content = json.loads(first, parse_constant=lambda name: pytest.fail(name))
    assert {"seconds", "time", "written"}.isdisjoint(first.split('"'))
    assert [c["id"] for c in content["claims"][:2]] == ["quad_i_floor", "quad_i_faster"]
    wanted = {"id", "kind", "verdict", "verdicts", "depends_on_reading", "change", "because"}
    wanted |= {"cases", "met", "data"}
    for claim, verdict in zip(content["claims"], verdicts):
        assert wanted <= set(claim)
        assert claim["kind"] in KINDS
        assert claim["verdict"] in (*OBSERVED, *CLASSES)
        assert claim.get("quote", "absent") != ""
        assert claim["cases"].keys() == claim["met"].keys() == verdict.findings.keys()
        assert all(claim["met"][s] <= claim["cases"][s] for s in claim["cases"])
        assert claim["because"].endswith(".")
        assert "profile paper" in claim["data"]
    floor = content["claims"][0]
    assert (floor["cases"], floor["met"]) == ({"paper": 18}, {"paper": 18})


def test_markdown_has_a_row_for_each_claim():
    verdicts = judge_all(made.real(), FULL)
    rows = [line for line in as_markdown(verdicts).splitlines() if line.startswith("| `")]
    assert len(rows) == len(verdicts) == 4
    assert all(row.count(" | ") == 3 for row in rows)


def test_the_bottom_line_has_five_sentences_whatever_was_run():
    for results in (made.real(), made.joined(made.quad(), made.speeds(0.9), made.statements(2.0))):
        lines = bottom_line(judge_all(results, FULL))
        assert len(lines) == 5
        assert all(line.endswith(".") and len(line) > 40 for line in lines)


def test_missing_data_are_said_and_the_rest_is_judged():
    present = {k: v for k, v in made.real().outcomes.items() if not k[2].startswith("rcv1")}
    for method in ("K-EXP", "SHB-EXP"):
        present["squared_loss", "paper", "rcv1", method, "0"] = Outcome({}, {"missing": "no file"})
    verdict = judge_all(Results(present), FULL)[0]
    assert verdict.word == "holds"
    assert "rcv1 is not on this machine (BOCCE_DATA names a folder" in verdict.data
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
    both = FigureView(Results({(*place, "0"): short, (*place, "1"): long}), "f").curve("p", "m")
    assert both.runs.tolist() == [[1.0, 5.0, np.inf], [1.0, 2.0, 0.5]]
    assert both.diverged
    alone = FigureView(Results({(*place, "0"): short}), "f").curve("p", "m")
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
    curve = Trajectory(k, np.array([[4.0, 2.0, 1.0]]), np.zeros(0), np.zeros(0), k, np.zeros(0))
    assert curve.first_below(2.0) == 10.0
    assert curve.first_below(0.5) == math.inf


def test_a_misspelt_id_is_refused():
    with pytest.raises(ValueError, match=r"judges: id='quad_i_flor' must be the id.*quad_i_floor"):
        judges("quad_i_flor")
    with pytest.raises(ValueError, match="judges: id='quad_i_floor' must be a claim without a"):
        judges("quad_i_floor")
    with pytest.raises(ValueError, match=r'claims: id=.new. must.*decorate.*@judges\("new"\)'):
        claims({"new": {"text": "A claim without a judge."}})
