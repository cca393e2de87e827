"""The plane as a run sees it: how far f may still fall."""

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

import plane_problems as given
from bocce.engines.base import Recorder, State
from bocce.plane.engine import PlaneEngine


def engine_after(steps, ridge, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 6)) * np.geomspace(1.0, 0.1, 6)
    p = given.problem(X, np.sign(rng.standard_normal(40)), given.Logistic(), ridge)
    engine, state = PlaneEngine(p, 5), State.at_rest(np.zeros(6))
    engine.advance(state, None, steps, Recorder(np.zeros(0)))
    return p, engine


@drawn(
    seed=st.integers(0, 99), power=st.integers(-4, 1), steps=st.integers(1, 3), free=st.booleans()
)
def test_what_is_said_to_be_enough_is_proved(seed, power, steps, free):
    ridge = 10.0**power * np.linspace(0.0 if free else 1.0, 2.0, 6)
    p, engine = engine_after(steps, ridge, seed)
    size = float(engine.plane.norm)
    bound = np.inf if free else size * (size / (2.0 * ridge.min()))
    left = given.value(p, engine.plane.w) - given.value(p, p.minimiser())
    if not free:
        assert engine.gap(2.0 * bound).estimate == pytest.approx(bound)
        assert left <= bound * (1.0 + 1e-9) + 1e-14
    else:
        assert engine.gap(1e300) == engine.gap(0.0)


@pytest.mark.parametrize("size", [1e-250, 1e250])
def test_squares_of_very_small_and_large_numbers_are_not_formed(size):
    _, engine = engine_after(1, 1e-3)
    engine.plane.norm = size
    engine.plane.ridge = np.array(size)
    assert engine.gap(size).estimate == pytest.approx(0.5 * size)


def test_less_than_a_bound_is_estimated_as_without():
    _, engine = engine_after(2, 1e-3)
    bound = float(engine.plane.norm) ** 2 / 2e-3
    assert engine.gap(0.5 * bound) == engine.gap(0.0)
