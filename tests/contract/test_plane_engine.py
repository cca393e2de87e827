"""The engine contract, of the engines that step on all rows: nothing optional, looks are pure."""

from __future__ import annotations

import numpy as np
import pytest

import bocce
from bocce import engines
from bocce.engines import Goal, Recorder, State, StepReport
from bocce.plane import NewtonEngine, PlaneEngine, engine_for
from bocce.plane.rough_newton import RoughNewton
from bocce.plane.small import NewtonBySums, SmallNewton

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


MAKERS = {
    "plane": lambda p: PlaneEngine(p, 3),
    "newton": lambda p: NewtonEngine(SmallNewton(p), PlaneEngine(p, 3)),
    "sums": lambda p: NewtonEngine(NewtonBySums(p), PlaneEngine(p, 3)),
    "rough": lambda p: NewtonEngine(RoughNewton(p), PlaneEngine(p, 3, inner=True)),
}
ONLY = {"sums": "squared", "rough": "softmax"}  # the losses that these are for
PAIRS = [(make, case) for make in MAKERS for case in CASES if ONLY.get(make, case) == case]


@pytest.fixture(params=PAIRS, ids="-".join)
def made(request):
    """What makes an engine, and the problem."""
    make, case = request.param
    p = CASES[case]()
    return lambda: MAKERS[make](p), p


def nothing():
    return Recorder(np.zeros(0, dtype=np.int64))


def after(p, steps, engine):
    state = State.at_rest(np.zeros(p.shape))
    report = None
    for k in range(steps):
        report = engine.advance(state, None, k + 1, nothing(), GOAL)
    return engine, state, report


# of a run that goes on to rounding
GOAL = Goal(remaining=1e-15)


def test_every_engine_has_the_whole_contract(made):
    make, p = made
    for engine in [
        make(),
        *(other(p, p.n, 0, "independent") for other in engines.REGISTRY.values()),
    ]:
        assert engine.grain >= 1
        assert all(callable(getattr(engine, name)) for name in METHODS)


def test_a_report_knows_the_new_point(made):
    make, p = made
    _, state, report = after(p, 3, make())
    assert isinstance(report, StepReport)
    look = p.look(state.w)
    assert report.look.value == pytest.approx(look.value, rel=1e-12)
    np.testing.assert_allclose(report.look.gradient, look.gradient, atol=1e-10)
    assert (state.k, report.verdict) == (3, "")


def test_looking_elsewhere_changes_nothing(made):
    make, p = made
    one, first, _ = after(p, 2, make())
    other, second, _ = after(p, 2, make())
    elsewhere = RNG.standard_normal(p.shape)
    assert one.look(elsewhere).value == pytest.approx(p.value(elsewhere))
    one.record(elsewhere, Recorder(np.array([5])))
    one.advance(first, None, 5, nothing(), GOAL)
    other.advance(second, None, 5, nothing(), GOAL)
    np.testing.assert_array_equal(first.w, second.w)


def test_no_step_makes_sure_of_what_is_known(made):
    make, p = made
    engine, state, _ = after(p, 2, make())
    report = engine.advance(state, None, state.k, nothing(), Goal(tight=True))
    look = p.look(state.w)
    assert state.k == 2
    np.testing.assert_allclose(report.look.gradient, look.gradient, atol=1e-13)
    assert report.gradient_error is None


def test_f_never_rises_from_step_to_step(made):
    make, p = made
    engine, state = make(), State.at_rest(np.zeros(p.shape))
    values = [engine.look(state.w).value]
    for k in range(10):
        values.append(engine.advance(state, None, k + 1, nothing(), GOAL).look.value)
    assert (np.diff(values) <= 1e-13 * abs(values[0])).all()


@pytest.mark.parametrize("cut", [0, 1, 2, 3, 8, 12])
def test_a_cut_run_is_the_same_run_bit_for_bit(made, cut):
    """Ten steps after the cut, which comes before the first step, among the first ones, and after
    no further fall can be measured."""
    make, p = made
    whole, wanted, _ = after(p, cut, make())
    saved = {name: np.array(array) for name, array in whole.state_dict().items()}
    resumed, state = make(), wanted.copy()
    resumed.load_state_dict(saved)
    for k in range(wanted.k, wanted.k + 10):
        known = whole.advance(wanted, None, k + 1, nothing(), GOAL)
        found = resumed.advance(state, None, k + 1, nothing(), GOAL)
        assert found.verdict == known.verdict
        np.testing.assert_array_equal(state.w, wanted.w)
        np.testing.assert_array_equal(state.v, wanted.v)
        assert resumed.gap(0.0) == whole.gap(0.0)


@pytest.mark.parametrize("name", ["last.solved", "corrections.0.step", "metric_at"])
def test_a_saved_run_of_another_shape_is_refused(name):
    p = CASES["logistic"]()
    make = MAKERS["newton"]
    engine, _, _ = after(p, 4, make(p))
    engine.newton.relative_price = 1e9  # keeps the Hessian, so that there are corrections
    engine, _, _ = after(p, 6, engine)
    saved = engine.state_dict()
    saved[f"newton.{name}"] = np.zeros(3)
    with pytest.raises(ValueError, match=f"'{name}' has another shape"):
        make(p).load_state_dict(saved)


def test_a_gap_that_is_said_to_be_enough_is_a_bound(made):
    make, p = made
    engine, state, _ = after(p, 2, make())
    if isinstance(engine, NewtonEngine) and isinstance(engine.newton, RoughNewton):
        return  # whose estimates are for steps near the minimum: tests/plane/test_rough_newton.py
    left = p.value(state.w) - p.value(bocce.minimize(p, "plane", tol=1e-11).w)
    assert left <= engine.gap(1e300).estimate * (1.0 + 1e-9) + 1e-13


def test_passes_beside_one_a_step_are_counted():
    p = CASES["softmax"]()
    engine = PlaneEngine(p, 3, inner=True)
    state = State.at_rest(np.zeros(p.shape))
    report = engine.advance(state, None, 3, nothing())
    assert report.passes == engine.plane.passes > 0


def test_the_plane_goes_on_where_newtons_method_ends():
    p = CASES["logistic"]()
    engine = NewtonEngine(SmallNewton(p), PlaneEngine(p, 3))
    engine.newton.most_steps = 2
    values = []
    state = State.at_rest(np.zeros(p.shape))
    for k in range(12):
        values.append(engine.advance(state, None, k + 1, nothing(), GOAL).look.value)
        assert engine.plane_steps == (k >= 2)
    assert (np.diff(values) <= 1e-13 * abs(values[0])).all()
    assert np.linalg.norm(p.gradient(state.w)) < 1e-9


def test_who_steps_on_all_rows():
    from bocce.control import PlaneSteps

    p = CASES["logistic"]()
    assert isinstance(engine_for(p, PlaneSteps(inner=True)), NewtonEngine)
    # a number of steps, or a metric, is the plane's
    assert isinstance(engine_for(p, PlaneSteps(T=5)), PlaneEngine)
    named = PlaneSteps(inner=True, metric="identity")
    assert isinstance(engine_for(p, named), PlaneEngine)
