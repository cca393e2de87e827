"""A method of your own beside the paper's."""

import json

import numpy as np
import pytest

import bocce
from bocce_paper import compute, own
from bocce_paper.exhibits import EXHIBITS, fig03_quad
from bocce_paper.results import Results
from bocce_paper.specs import EXACT, PROFILES, Outcome
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


def test_the_cosine_falls_from_1_over_L_to_0():
    s = own.cosine(1000, L=4.0)
    assert s.alpha[0] == 0.25
    assert (np.diff(s.alpha) < 0).all()
    assert s.alpha[500] == pytest.approx(0.125)
    assert (s.beta == 0.9).all()


def test_a_method_has_the_name_of_its_schedule(cells):
    place = own.judged(cells)[0]
    assert own.named(own.load("bocce_paper.own:cosine"), place).name == own.COSINE
    assert own.named(own.load("bocce.schedules:sgd"), place).name == "sgd"


def test_the_table_has_auto_and_a_plain_cosine(cells):
    place = own.judged(cells)[-1]
    mine = own.load("bocce.schedules:sgd")
    results = Results({c.key: compute.compute(c) for c in cells if c.key[:3] == place.key[:3]})
    shown = own.with_besides(mine)
    for method in shown:
        results = own.with_method(results, [place], method)
    ((setting, panel, *ends, best, which),) = own.compared(results, [place], shown)
    assert (setting, panel) == place.key[1:3]
    assert [float(end) > 0 for end in ends] == [True] * 3
    assert (
        ends[0]
        == f"{results.outcomes[(*place.key[:3], 'sgd', EXACT)].numbers['grad_norm'][-1]:.3g}"
    )
    assert which in fig03_quad.METHODS
    assert float(best) > 0


@pytest.mark.parametrize("text", ["bocce_paper.own:cosine", "bocce.schedules:sgd"])
def test_no_method_is_twice_in_the_table(cells, text):
    mine = own.named(own.load(text), own.judged(cells)[0])
    names = [method.name for method in own.with_besides(mine)]
    assert names == list(dict.fromkeys([mine.name, "auto", own.COSINE]))


def test_own_rows_in_figure_3(tmp_path):
    """The curve on a file's rows is the one of the same problem, standardised."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3)) * [1.0, 5.0, 0.1]
    y = X @ [1.0, 1.0, 1.0] + rng.standard_normal(80) + 7.0
    file = tmp_path / "rows.csv"
    np.savetxt(file, np.column_stack([X, y]), delimiter=",", header="a,b,c,y", comments="")
    result = run(
        "reproduce", "fig3", "--data", file, "--profile", "smoke", "--out", tmp_path, "--json"
    )
    assert result.exit_code == 0, result.stderr
    found = {name: float(end) for name, _, end in json.loads(result.stdout)["ends"]}
    assert list(found) == sorted(found, key=found.get)
    assert {*fig03_quad.METHODS, "auto", own.COSINE} == {*found}
    p = bocce.LeastSquares((X - X.mean(0)) / X.std(0), y - y.mean())
    T = PROFILES["smoke"].steps(7000)
    c = p.constants()
    curve = bocce.exact.expected(p, bocce.schedules.sgd(T, c.L), 0.9)
    assert found["SGD"] == pytest.approx(np.sqrt(curve.grad2[-1]), rel=0.01)
    assert (tmp_path / "figures" / "shb_quad-rows.png").is_file()


@pytest.mark.parametrize(
    ("figure", "text", "message"),
    [
        ("fig4", "a,b,y\n1,2,1\n2,1,3\n0,1,1\n", "--data is for fig3"),
        ("fig3", "a,b,y\n1,2,u\n2,1,v\n0,1,u\n", "must be a table of numbers"),
    ],
)
def test_rows_that_cannot_be_shown_are_refused(figure, text, message, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text(text)
    result = run("reproduce", figure, "--data", file, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "out").exists()
