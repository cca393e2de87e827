"""plot methods and the HTML that notebooks show."""

import builtins
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pytest

import bocce
from bocce import exact


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def things():
    X, y, _ = bocce.data.regression(300, 4, 50.0, noise_var=0.1)
    p = bocce.LeastSquares(X, y)
    return {
        "Schedule": bocce.schedules.two_phase(60, L=4.0, mu=0.1),
        "Result": bocce.minimize(p, "shb", T=60, batch_size=200),
        "Plan": bocce.plan(p),
        "Curve": exact.expected(p, bocce.schedules.sgd(40, p.constants().L), 100),
    }


def lines(ax):
    return [line.get_ydata() for line in ax.get_lines()]


def test_a_schedule_is_drawn_as_it_is(things):
    s = things["Schedule"]
    ax = s.plot()
    assert np.array_equal(lines(ax)[0], s.alpha)
    right = [other for other in ax.figure.axes if other is not ax]
    assert np.array_equal(lines(right[0])[0], s.beta)
    assert len(lines(right[0])) == 1, "heavy ball has no lookahead to draw"


def test_a_result_is_drawn_relative_to_its_start(things):
    r, (_, ax) = things["Result"], plt.subplots()
    assert r.plot(ax) is ax
    (drawn,) = lines(ax)
    assert drawn == pytest.approx(r.history["grad_norm"] / r.history["grad_norm"][0])


def test_curves_are_drawn_side_by_side(things):
    curve = things["Curve"]
    ax = curve.plot(curve, curve, labels=["a", "b", "c"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    assert np.array_equal(lines(ax)[0], curve.error2)
    assert np.array_equal(lines(ax)[1], curve.bias2)
    with pytest.raises(ValueError, match="labels has 1 names, must have one for each of 2"):
        curve.plot(curve, labels=["a"])


def test_a_curve_that_overflows_is_drawn_as_far_as_it_goes():
    curve = exact.expected(exact.Gaussian([1.0]), bocce.schedules.sgd(900, L=0.2), batch_size=1)
    drawn = lines(curve.plot())[0]
    assert np.isfinite(drawn[0])
    assert np.isnan(drawn[-1])


def test_a_plan_is_drawn_by_batch_size(things):
    found = things["Plan"]
    left, right = found.plot()
    assert list(lines(left)[0]) == [point.steps for point in found.sweep]
    assert list(lines(right)[0]) == [point.evaluations / found.n for point in found.sweep]


@pytest.mark.parametrize("name", ["Schedule", "Result", "Plan", "Curve"])
def test_without_matplotlib_the_extra_is_named(things, name, monkeypatch):
    real = builtins.__import__

    def without(module, *args, **kwargs):
        if module.startswith("matplotlib"):
            raise ImportError(module)
        return real(module, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=rf"{name}.plot needs matplotlib.*\[plots\]"):
        things[name].plot()


@pytest.mark.parametrize("name", ["Schedule", "Result", "Plan"])
def test_notebooks_show_a_table_and_a_line(things, name):
    tree = ET.fromstring(things[name]._repr_html_())
    assert tree.findall(".//td")
    assert tree.findall(".//polyline")


def test_names_are_escaped():
    s = bocce.Schedule(np.full(3, 0.1), np.full(3, 0.5), np.zeros(3), "<script>alert(1)</script>")
    assert "<script>" not in s._repr_html_()
    assert "&lt;script&gt;" in s._repr_html_()
