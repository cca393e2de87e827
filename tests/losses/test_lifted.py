"""Losses on arrays of other libraries are what they are on NumPy's, from the same lines."""

from __future__ import annotations

from typing import NamedTuple

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from array_problems import LOSSES, on
from bocce.losses import REGISTRY, Softmax, loss
from bocce.losses.lifted import Lifted, derivatives
from bocce.rows import host
from helpers import accepted
from refusal import refused

ONE_SCORE = [name for name in LOSSES if not REGISTRY[name].multi_output]
WIDE = [-800.0, -30.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 1.0, 30.0, 700.0]
scores = st.lists(st.floats(-40.0, 40.0), min_size=1, max_size=20)


def lifted(values):
    return Lifted(strict.asarray(np.asarray(values)), strict, strict.float64)


def encoded(name, n, seed=0):
    made = REGISTRY[name]()
    return made.targets(name, accepted(made, n, seed))[0]


def compare(name, z, make):
    """All three functions, and ``together``."""
    made, z = REGISTRY[name](), np.asarray(z)
    y = encoded(name, max(2, z.size))[: z.size]
    with np.errstate(over="ignore"):
        ours = made.value(z, y), made.slope(z, y), made.bend(z, y) + 0.0 * z
        theirs = derivatives(made, strict, strict.float64)(make(z), make(y))
    for a, b in zip(ours, theirs):
        assert b.dtype == strict.float64
        assert b.shape == z.shape
        np.testing.assert_allclose(host(b), a, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("name", ONE_SCORE)
@given(z=scores)
def test_a_loss_is_the_same_on_other_arrays(name, z):
    compare(name, z, on("CPU_DEVICE"))


@pytest.mark.parametrize("device", ["CPU_DEVICE", "device1"])
@pytest.mark.parametrize("name", ONE_SCORE)
def test_scores_of_any_size(name, device):
    compare(name, WIDE, on(device))


@pytest.mark.parametrize("name", ONE_SCORE)
def test_float32_stays_float32(name):
    made, make = REGISTRY[name](), on("no_float64", np.float32)
    z = np.linspace(-3.0, 3.0, 9)
    y = encoded(name, 9)
    theirs = derivatives(made, strict, strict.float32)(make(z), make(y))
    assert {part.dtype for part in theirs} == {strict.float32}
    np.testing.assert_allclose(host(theirs[0]), made.value(z, y), rtol=1e-6, atol=1e-6)


def test_numpy_functions_pass_to_the_library():
    x, y = np.array([-1.5, 0.25, 0.5]), np.array([0.5, 2.0, -3.0])
    one = [np.exp, np.expm1, np.sin, np.tanh, np.abs, np.sign, np.floor, np.square, np.negative]
    two = [np.add, np.maximum, np.minimum, np.hypot, np.arctan2, np.logaddexp, np.copysign]
    for function in one:
        np.testing.assert_allclose(host(function(lifted(x)).array), function(x), rtol=1e-15)
    for function in two:
        got = function(lifted(x), lifted(y)).array
        np.testing.assert_allclose(host(got), function(x, y), rtol=1e-15)
        np.testing.assert_allclose(host(function(lifted(x), 2.0).array), function(x, 2.0))


def test_truth_values_are_numbers_where_they_are_calculated_with():
    x = np.array([-1.0, 0.0, 2.0])
    z = lifted(x)
    got = [
        2.0 * (z > 0.0),
        (z <= 0.0) / (1.0 + z * z),
        np.where(z > 0, z, 1.0),
        np.clip(z, -0.5, 1),
    ]
    wanted = [2.0 * (x > 0), (x <= 0) / (1.0 + x * x), np.where(x > 0, x, 1.0), np.clip(x, -0.5, 1)]
    for a, b in zip(got, wanted):
        np.testing.assert_array_equal(host(a.array), b)
    both = np.logical_and(z > -2.0, z < 1.0).array
    assert host(both).tolist() == [True, True, False]
    np.testing.assert_array_equal(host((np.float64(3.0) * z).array), 3.0 * x)


def test_in_place_is_a_new_array_and_leaves_the_old_one_alone():
    array = strict.asarray(np.array([1.0, 2.0]))
    z = Lifted(array, strict, strict.float64)
    z -= 1.0
    z *= z
    assert host(z.array).tolist() == [0.0, 1.0]
    assert host(array).tolist() == [1.0, 2.0]


def test_a_loss_of_ones_own_needs_no_line_more():
    @loss("log-cosh-there")
    class LogCosh(NamedTuple):
        curvature = 1.0

        def value(loss, z, y):
            return np.logaddexp(z - y, y - z) - np.log(2.0)

        def slope(loss, z, y):
            return np.tanh(z - y)

        def bend(loss, z, y):
            return 1.0 / np.cosh(z - y) ** 2

    try:
        compare("log-cosh-there", np.linspace(-5.0, 5.0, 11), on("CPU_DEVICE"))
    finally:
        del REGISTRY["log-cosh-there"]


def test_what_a_library_has_not_is_named():
    z = lifted([1.0, 2.0])
    remedy = r" cannot be passed on to array_api_strict, must be .*; write the loss with those, .*"
    refused(lambda: np.cbrt(z), TypeError, r"loss: np\.cbrt" + remedy)
    refused(lambda: np.sum(z), TypeError, r"loss: np\.(sum|add)( with \w+)?" + remedy)
    refused(lambda: np.add.reduce(z), TypeError, r"loss: np\.add with reduce" + remedy)
    refused(lambda: z + np.ones(2), TypeError, r"loss: an array of type ndarray .*" + remedy)


# -- softmax -----------------------------------------------------------------------------------


@given(seed=st.integers(0, 100), classes=st.integers(2, 6), size=st.floats(0.1, 100.0))
def test_softmax_is_the_same_on_other_arrays(seed, classes, size):
    rng = np.random.default_rng(seed)
    z, y = size * rng.standard_normal((7, classes)), rng.integers(classes, size=7)
    V, c = rng.standard_normal((3, 7, classes)), rng.random(7)
    ours, (Z, Y, U) = Softmax(), map(strict.asarray, (z, y, V))
    value, slope, _ = ours.value_slope_bend(z, y)
    theirs = derivatives(ours, strict, strict.float64)(Z, Y)
    np.testing.assert_allclose(host(theirs[0]), value, rtol=1e-12)
    np.testing.assert_allclose(host(theirs[1]), slope, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(host(ours.bend(Z, Y)), ours.bend(z, y), atol=1e-15)
    for weight, there in ((None, None), (c, strict.asarray(c))):
        wanted = ours.bend_products(z, y, weight, V, V)
        got = host(ours.bend_products(Z, Y, there, U, U))
        np.testing.assert_allclose(got, wanted, atol=1e-12)
        got = host(ours.bend_products(Z, Y, there, U, U[1:2, ...]))
        np.testing.assert_allclose(got, wanted[:, 1:2], atol=1e-12)


def test_another_loss_of_several_scores_is_refused():
    class Other(NamedTuple):
        name, multi_output = "other", True
        any_library = False

    refused(
        lambda: derivatives(Other(), strict, strict.float64),
        TypeError,
        r"Problem: the other loss has several scores .*; give X as a NumPy array\.",
    )
