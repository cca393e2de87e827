"""The paper's 22 statements: one row each, evidence that is found, quotes that are the paper's."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bocce.cli import app
from bocce_paper import report, runner
from bocce_paper.erratum import erratum, summary
from bocce_paper.exhibits import EXHIBITS, theorems
from bocce_paper.exhibits.theorems import OTHER
from bocce_paper.results import FigureView, Results
from bocce_paper.verdicts import CLASSES, OURS, STATEMENT, Verdict

ROOT = Path(__file__).parents[2]
PAPERS = [place / "shared/paper/paper.tex" for place in (ROOT.parent, ROOT.parent.parent)]
STATEMENTS = theorems.CLAIMS
PAPER = next((path for path in PAPERS if path.exists()), None)
CLAIMS = [claim for exhibit in EXHIBITS.values() for claim in exhibit.claims]
needs_paper = pytest.mark.skipif(PAPER is None, reason="the paper's LaTeX is not beside the repo")


def plain(text):
    """Without whitespace."""
    return re.sub(r"\s+", "", text)


def test_every_statement_has_one_row_and_one_class():
    assert len(STATEMENTS) == len({row.source for row in STATEMENTS}) == 22
    rows = [claim for claim in CLAIMS if claim.kind == STATEMENT]
    assert sorted(claim.source for claim in rows) == sorted(row.source for row in STATEMENTS)
    for row in STATEMENTS:
        assert row.verdict in CLASSES
        assert row.verdict != "not-tested"
        right = row.verdict in ("proved", "true-where-tested")
        # a second definition to strike, and a missing E: slips of print beside proved statements
        assert bool(row.changes) == (not right or row.id in ("theorem_2", "epsilon_target"))
        page = ROOT / row.proof
        assert page.exists(), row.id


@needs_paper
def test_the_rows_are_the_statements_of_the_paper():
    """Labels of theorems, corollaries and lemmas, counted in the LaTeX."""
    text = PAPER.read_text()
    begun = re.findall(
        r"\\begin\{(?:restatable\}\{)?(theorem|corollary|lemma)\}.*?\\end\{(?:restatable|\1)\}",
        text,
        re.S,
    )
    assert (begun.count("theorem"), begun.count("corollary"), begun.count("lemma")) == (11, 4, 7)
    for row in STATEMENTS:
        assert rf"\label{{{row.source}}}" in text


@needs_paper
def test_every_quote_is_verbatim():
    text = plain(PAPER.read_text())
    quoted = [claim for claim in CLAIMS if claim.quote]
    assert len(quoted) > 35
    missing = [claim.id for claim in quoted if plain(claim.quote) not in text]
    assert missing == []
    assert not [claim.id for claim in CLAIMS if claim.kind == OURS and claim.quote]


@needs_paper
def test_every_quote_stands_on_the_line_that_is_given():
    lines = PAPER.read_text().split("\n")
    for claim in CLAIMS:
        if claim.quote and claim.kind != STATEMENT:
            near = plain(" ".join(lines[claim.line - 2 : claim.line + 2]))
            assert plain(claim.quote)[:40] in near, claim.id


@needs_paper
def test_what_is_printed_stands_on_the_line_that_is_given():
    lines = PAPER.read_text().split("\n")
    for change in (*OTHER, *(change for claim in CLAIMS for change in claim.changes)):
        near = plain(" ".join(lines[change.line - 1 : change.line + 3]))
        assert plain(change.printed) in near, change.line


@pytest.mark.parametrize("claim", theorems.CLAIMS, ids=lambda claim: claim.id)
def test_the_evidence_for_a_class_is_found(claim):
    """Computed here, not read: each inequality that the verdict rests on."""
    outcome = theorems.lemma(claim.id)
    results = Results({("theorems", "paper", claim.id, "test", "table"): outcome})
    finding = claim.finding(FigureView(results, "theorems"))
    assert [name for name, case in finding.cases.items() if case is not True] == []
    assert Verdict(claim, "theorems", {"paper": finding}).word == claim.verdict
    printed = [name for name in finding.cases if re.search("printed|gap|rounded|too small", name)]
    if claim.verdict in ("constants", "rounding", "proof-gap"):
        assert printed, "what is wrong in print must be shown"


def test_the_sentence_that_stands_first_is_counted():
    said = summary([row.verdict for row in STATEMENTS])
    assert said == (
        "Every rate that the paper claims survives; one statement needs another term; five need "
        "other constants (four of them because of one line); one threshold is off by one batch "
        "size in 99; four proofs have gaps that can be closed; one number was rounded; and ten are "
        "proved as they stand."
    )


def test_the_erratum_has_every_change_and_is_the_page():
    text = erratum()
    changes = [change for row in STATEMENTS for change in row.changes] + list(OTHER)
    assert text.count("**Line ") == len(changes)
    for change in changes:
        assert change.corrected in text
        assert change.rate_survives
    assert "false" not in text.lower()
    assert (ROOT / "docs" / "erratum.md").read_text() == text


def test_the_erratum_says_what_was_not_tested():
    row = theorems.CLAIMS[0]
    untested = Verdict(row, "theorems", {})
    assert f"Not tested on these results: {row.source}." in erratum([untested])


def test_the_command_prints_the_page(monkeypatch, tmp_path):
    """Whatever was run: a statement without evidence would be named at the end."""
    monkeypatch.setattr(runner, "load", lambda folder: None)
    monkeypatch.setattr(report, "judged", lambda folder, results: ([], ""))
    answer = CliRunner().invoke(app, ["claims", str(tmp_path), "--erratum"])
    assert answer.exit_code == 0
    assert answer.stdout.rstrip() == (ROOT / "docs" / "erratum.md").read_text().rstrip()


def test_theorem_2_is_proved_with_one_definition_to_strike():
    """L is defined twice on one line; with the first definition the theorem holds as printed."""
    row = next(row for row in STATEMENTS if row.id == "theorem_2")
    assert row.verdict == "proved"
    strike = row.changes[0]
    assert strike.line == 203
    assert "lambda_{\\max}" in strike.printed
    assert "lambda_{\\max}" not in strike.corrected
    assert sum(row.verdict == "restate" for row in STATEMENTS) == 1
