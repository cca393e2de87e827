"""The engine contract, of the engine that steps on all rows: nothing optional, looks are pure."""

from __future__ import annotations

import numpy as np
import pytest

import bocce
from bocce import engines
from bocce.engines import Goal, Recorder, State, StepReport
from bocce.plane import PlaneEngine

RNG = np.random.default_rng(2)
X = RNG.standard_normal((90, 6)) * np.geomspace(1.0, 20.0, 6)
Z = X @ (RNG.standard_normal(6) / np.geomspace(1.0, 20.0, 6)) + 0.4 * RNG.standard_normal(90)
CASES = {
    "squared": lambda: bocce.Problem(X, Z, "squared", l2=1e-3),
    "logistic": lambda: bocce.Problem(X, Z > 0.0, "logistic", l2=1e-3),
    "poisson": lambda: bocce.Problem(X / 20.0, np.floor(np.abs(Z)), "poisson", l2=1e-3),
    "softmax": lambda: bocce.Problem(X, np.digitize(Z, [-0.5, 0.5]), "softmax", l2=1e-3),
}
METHODS = ("look", "record", "advance", "gap", "state_dict", "load_state_dict")


@pytest.fixture(params=CASES)
def p(request):
    return CASES[request.param]()


def nothing():
    return Recorder(np.zeros(0, dtype=np.int64))


def after(p, steps, engine=None):
    engine, state = engine or PlaneEngine(p, 3), State.at_rest(np.zeros(p.shape))
    report = engine.advance(state, None, steps, nothing())
    return engine, state, report


def test_every_engine_has_the_whole_contract(p):
    made = [
        PlaneEngine(p, 3),
        *(make(p, p.n, 0, "independent") for make in engines.REGISTRY.values()),
    ]
    for engine in made:
        assert engine.grain >= 1
        assert all(callable(getattr(engine, name)) for name in METHODS)


def test_a_report_knows_the_new_point(p):
    _, state, report = after(p, 3)
    assert isinstance(report, StepReport)
    look = p.look(state.w)
    assert report.look.value == pytest.approx(look.value, rel=1e-12)
    np.testing.assert_allclose(report.look.gradient, look.gradient, atol=1e-10)
    assert (state.k, report.verdict) == (3, "")


def test_looking_elsewhere_changes_nothing(p):
    one, first, _ = after(p, 2)
    other, second, _ = after(p, 2)
    elsewhere = RNG.standard_normal(p.shape)
    assert one.look(elsewhere).value == pytest.approx(p.value(elsewhere))
    one.record(elsewhere, Recorder(np.array([5])))
    one.advance(first, None, 5, nothing())
    other.advance(second, None, 5, nothing())
    np.testing.assert_array_equal(first.w, second.w)


def test_no_step_makes_sure_of_what_is_known(p):
    engine, state, _ = after(p, 4)
    report = engine.advance(state, None, state.k, nothing(), Goal(tight=True))
    look = p.look(state.w)
    assert state.k == 4
    np.testing.assert_allclose(report.look.gradient, look.gradient, atol=1e-13)
    assert report.gradient_error is None


def test_f_never_rises_from_step_to_step(p):
    engine, state = PlaneEngine(p, 3), State.at_rest(np.zeros(p.shape))
    values = [engine.look(state.w).value]
    for k in range(10):
        values.append(engine.advance(state, None, k + 1, nothing()).look.value)
    assert (np.diff(values) <= 1e-13 * abs(values[0])).all()


def test_a_cut_run_is_the_same_run_bit_for_bit(p):
    whole = after(p, 6)[1]
    engine, state, _ = after(p, 2)
    resumed = PlaneEngine(p, 3)
    saved = {name: np.array(array) for name, array in engine.state_dict().items()}
    resumed.load_state_dict(saved)
    resumed.advance(state, None, 6, nothing())
    np.testing.assert_array_equal(state.w, whole.w)
    np.testing.assert_array_equal(state.v, whole.v)


def test_a_gap_that_is_said_to_be_enough_is_a_bound(p):
    engine, state, _ = after(p, 2)
    left = p.value(state.w) - p.value(bocce.minimize(p, "plane", tol=1e-11).w)
    assert left <= engine.gap(1e300).estimate * (1.0 + 1e-9) + 1e-13


def test_passes_beside_one_a_step_are_counted():
    p = CASES["softmax"]()
    engine = PlaneEngine(p, 3, inner=True)
    _, _, report = after(p, 3, engine)
    assert report.passes == engine.plane.passes > 0
