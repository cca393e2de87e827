"""The paper's LaTeX in the report: typeset, or shown as it is."""

from xml.etree.ElementTree import tostring

import pytest

from bocce_paper.exhibits import EXHIBITS
from bocce_paper.exhibits.theorems import CLAIMS, OTHER
from bocce_paper.typeset import pieces

CHANGES = [*(change for row in CLAIMS for change in row.changes), *OTHER]
TEXTS = [text for change in CHANGES for text in (change.printed, change.corrected)]
TEXTS += [claim.quote for exhibit in EXHIBITS.values() for claim in exhibit.claims if claim.quote]


@pytest.mark.parametrize("text", dict.fromkeys(TEXTS))
def test_nothing_is_left_as_latex(text):
    found = pieces(text)
    assert found
    for piece in found:
        if piece.formula is None:
            assert "\\" not in piece.text
            assert "$" not in piece.text
        else:
            assert "\\" not in tostring(piece.formula, encoding="unicode")


def test_what_is_not_known_stays_latex():
    (piece,) = pieces(r"$\frac{1}{$")
    assert piece.formula is None
    assert piece.text == r"\frac{1}{"


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.line}")
def test_a_corrected_line_can_be_pasted(change):
    """Formula and prose are apart: what explains a correction stands in ``why``."""
    if not change.corrected.startswith("By the induction"):  # a sentence of a proof
        for word in ("becomes", "at most", "only if", "for general"):
            assert word not in change.corrected
    assert change.corrected.count("{") == change.corrected.count("}")
    assert change.corrected.count("$") % 2 == 0
