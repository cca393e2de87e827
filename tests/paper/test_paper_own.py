"""A method of your own beside the paper's."""

import numpy as np
import pytest

from bocce.paper import EXHIBITS, own
from bocce.paper.results import Results
from bocce.paper.specs import EXACT, PROFILES, Outcome
from cli_helpers import run


@pytest.fixture(scope="module")
def cells():
    return EXHIBITS["shb_quad"].cells("paper", PROFILES["smoke"])


def test_every_panel_of_figure_3_is_judged(cells):
    places = own.judged(cells)
    assert len(places) == 9
    assert all(place.seed == EXACT for place in places)


def test_a_figure_without_exact_curves_is_refused():
    table = EXHIBITS["der_beta"].cells("paper", PROFILES["smoke"])
    with pytest.raises(ValueError, match="--method needs a figure with exact curves"):
        own.judged(table)


def test_the_curve_is_that_of_the_same_table_in_the_figure(cells):
    from bocce.paper import compute

    place = own.judged(cells)[-1]
    sgd = next(c for c in cells if (*place.key[:3], "SGD", EXACT) == c.key)
    theirs = compute.compute(sgd)
    mine = own.with_method(Results({}), [place], own.load("bocce.schedules:sgd"))
    found = mine.outcomes[(*place.key[:3], "sgd", EXACT)]
    assert isinstance(found, Outcome)
    for name in ("k", "grad_norm", "error"):
        np.testing.assert_array_equal(found.numbers[name], theirs.numbers[name])


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("mine", ValueError, "must be module:function"),
        ("no_such_module:method", ValueError, "must be a module that Python finds"),
        ("bocce.schedules:no_such", TypeError, "must be a function of the module bocce.schedules"),
    ],
)
def test_what_is_no_method_is_refused(text, kind, message, tmp_path):
    with pytest.raises(kind, match=message):
        own.load(text)
    result = run("reproduce", "fig3", "--method", text, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert f"--method '{text}'" in result.stderr
    assert not (tmp_path / "out").exists()
