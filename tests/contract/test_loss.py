"""What every loss must obey; a loss that is registered is tested, without a line more.

A loss in a file of its own (see docs/extend/loss.md) inherits these tests by
``python -m pytest -p its_module tests/contract/test_loss.py -k its-name``.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy.optimize import minimize_scalar

import bocce
from bocce.engines.numba import CompiledEngine, scaled
from bocce.engines.numba.loss import slope as compiled_slope_of
from bocce.engines.numba.loss import value as compiled_value_of
from bocce.engines.numba.sums import RowSums, sum_rows
from bocce.losses import REGISTRY
from bocce.problems import Frame, Line, Problem
from bocce.rows import Scaled
from helpers import (
    accepted,
    assert_same_steps,
    constants,
    design,
    limited,
    schedule,
    where_it_lies,
    without_gram,
)
from pairwise import pairwise
from refusal import refused

N, D = 30, 4
BATCHES = (1, 7, 20, N - 1, N)
# losses of one score a row; those of several are matrices (tests/losses/test_softmax.py)
each = pytest.mark.parametrize("name", [n for n, kind in REGISTRY.items() if not kind.multi_output])
scores = st.floats(-30.0, 30.0)
seeds = st.integers(0, 1000)
# how rows are stored, and what else a problem may have
STORED = ("dense", "fortran", "float32", "csr", "csr32")
EXTRAS = {
    "plain": {},
    "weights": {"sample_weight": np.linspace(0.5, 2.0, N)},
    "penalty": {"penalty": np.array([1.0, 0.25, 4.0, 0.0])},
    "intercept": {"intercept": True, "sample_weight": np.linspace(0.5, 2.0, N)},
    "offset": {"intercept": True, "offset": np.linspace(-1.0, 1.5, N)},
}


def made(name):
    return REGISTRY[name]()


def targets(name, seed=1, n=N):
    """Targets as the loss wants them."""
    loss = made(name)
    return loss.targets(name, accepted(loss, n, seed))[0]


def problem(name, X=None, l2=0.1, **extras):
    X = design("dense") if X is None else X
    return Problem(X, accepted(made(name), X.shape[0]), made(name), l2, **extras)


def wide(name, **extras):
    """Sparse rows of which a batch touches few columns."""
    X = sp.random_array((N, 300), density=0.01, format="csr", rng=np.random.default_rng(0))
    return problem(name, X, **extras)


# -- the three functions -----------------------------------------------------------------------


@each
@given(z=scores, seed=seeds)
def test_slope_is_the_derivative_of_value(name, z, seed):
    """By central differences: wrong by at most h times the bend nearby."""
    loss, y, h = made(name), targets(name, seed), 1e-5
    difference = (loss.value(z + h, y) - loss.value(z - h, y)) / (2 * h)
    near = np.max([loss.bend(z + s, y) for s in (-h, 0.0, h)], axis=0)
    room = h * near + 1e-9 * (1.0 + loss.value(z, y))
    assert (np.abs(loss.slope(z, y) - difference) <= room).all()


@each
@given(start=scores, length=st.floats(0.01, 20.0), seed=seeds)
def test_bend_is_the_derivative_of_slope(name, start, length, seed):
    """Its integral is the rise of the slope, whatever kinks the slope has."""
    loss, y = made(name), targets(name, seed)[:3]
    z = np.linspace(start, start + length, 4001)[:, None]
    bends = loss.bend(z, y)
    step = length / 4000
    rise = loss.slope(z[-1], y) - loss.slope(z[0], y)
    area = step * (bends.sum(axis=0) - 0.5 * (bends[0] + bends[-1]))
    room = step * bends.max(axis=0) + 1e-9 * np.abs(rise)
    assert (np.abs(rise - area) <= room + 1e-14 * (1.0 + np.abs(loss.slope(z[0], y)))).all()


@each
@given(z=scores, seed=seeds)
def test_bend_lies_between_zero_and_the_curvature(name, z, seed):
    """So the loss is convex, and steps of 1/L are safe."""
    loss, y = made(name), targets(name, seed)
    assert np.all(loss.bend(z, y) >= 0.0)
    if loss.curvature is not None:
        assert np.all(loss.bend(z, y) <= loss.curvature * (1 + 1e-14))


@each
@given(a=scores, b=scores, seed=seeds)
def test_value_lies_above_its_tangents_and_below_its_chords(name, a, b, seed):
    loss, y = made(name), targets(name, seed)
    at_a, at_b = loss.value(a, y), loss.value(b, y)
    sizes = np.abs(at_a) + np.abs(at_b) + np.abs(loss.slope(a, y)) * abs(b - a)
    rounding = 1e-12 * (1.0 + sizes)
    assert (at_b >= at_a + loss.slope(a, y) * (b - a) - rounding).all()
    assert (loss.value(0.5 * (a + b), y) <= 0.5 * (at_a + at_b) + rounding).all()


@each
@given(seed=seeds)
def test_floor_is_the_infimum(name, seed):
    """Never above the value; and met where the slope changes its sign, or far out."""
    loss, y = made(name), targets(name, seed)
    floor = loss.infimum(y)
    assert floor.shape == y.shape
    low, high = np.full(y.shape, -700.0), np.full(y.shape, 700.0)
    for _ in range(80):
        middle = 0.5 * (low + high)
        falls = loss.slope(middle, y) < 0.0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    assert loss.value(0.5 * (low + high), y) == pytest.approx(floor, abs=1e-9)
    for z in (-20.0, -1.0, 0.0, 0.5, 20.0):
        assert (loss.value(z, y) >= floor - 1e-12).all()


@each
@given(seed=seeds)
def test_the_best_constant_is_one_or_is_not_known(name, seed):
    loss, y = made(name), targets(name, seed)
    constant = loss.best_constant(float(y.mean()))
    assert constant == 0.0 or abs(loss.slope(constant, y).mean()) < 1e-12


@each
@given(z=st.lists(scores, min_size=N, max_size=N), seed=seeds)
def test_arrays_and_numbers_agree(name, z, seed):
    loss, z, y = made(name), np.array(z), targets(name, seed)
    for function in (loss.value, loss.slope, loss.bend):
        one_by_one = [float(function(float(a), float(b))) for a, b in zip(z, y)]
        whole = function(z, y)
        assert whole.shape == z.shape
        assert whole.dtype == np.float64
        np.testing.assert_allclose(whole, one_by_one, rtol=1e-14, atol=1e-300)


@each
@given(z=st.lists(scores, min_size=N, max_size=N), seed=seeds)
def test_the_three_together_are_the_three(name, z, seed):
    loss, z, y = made(name), np.array(z), targets(name, seed)
    three = loss.value(z, y), loss.slope(z, y), loss.bend(z, y)
    for one, alone in zip(loss.value_slope_bend(z, y), three):
        np.testing.assert_allclose(one, alone, rtol=1e-13, atol=1e-300)


@each
@given(z=scores)
def test_facts_are_true(name, z):
    """``margin``: a function of y z alone. ``quadratic``: the slope is z - y."""
    loss, y = made(name), targets(name)
    if loss.margin:
        assert set(np.abs(y)) == {1.0}
        np.testing.assert_array_equal(loss.value(z, y), loss.value(-z, -y))
        np.testing.assert_array_equal(loss.slope(z, y), -loss.slope(-z, -y))
        np.testing.assert_array_equal(loss.bend(z, y), loss.bend(-z, -y))
    far = np.array([-20.0, 0.3, 20.0])[:, None]
    assert loss.quadratic == np.allclose(loss.slope(far, y), far - y)


@njit
def compiled_value(loss, z, y):
    return compiled_value_of(loss, z, y)


@njit
def compiled_slope(loss, z, y):
    return compiled_slope_of(loss, z, y)


@each
@given(z=scores, seed=seeds)
def test_the_compiled_functions_are_the_readable_ones(name, z, seed):
    loss = made(name)
    y = float(targets(name, seed)[0])
    assert compiled_value(loss, z, y) == pytest.approx(
        float(loss.value(z, y)), rel=1e-12, abs=1e-14
    )
    assert compiled_slope(loss, z, y) == pytest.approx(
        float(loss.slope(z, y)), rel=1e-12, abs=1e-14
    )


# -- targets -----------------------------------------------------------------------------------


@each
@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (lambda y: y[:-1], r"y has shape \(29,\), must be \(30,\) as X has 30 rows; .*\."),
        (lambda y: y[:, None], r"y has shape \(30, 1\), must be \(30,\) as X has 30 rows; .*\."),
        (lambda y: np.ma.masked_less(y, np.inf), r"y is a masked array .*, must .*; .*\."),
        (lambda y: np.where(np.arange(N) == 4, np.nan, y), r"y has NaN .*row 4\), must .*; .*\."),
        (lambda y: np.where(np.arange(N) == 4, np.inf, y), r"y has NaN .*row 4\), must .*; .*\."),
    ],
    ids=["short", "a column", "masked", "NaN", "infinite"],
)
def test_bad_targets_are_refused(name, spoil, rule):
    loss = made(name)
    bad = spoil(np.asarray(accepted(loss, N), dtype=float))
    refused(lambda: Problem(design("dense"), bad, loss), ValueError, f"{loss.problem_name}: {rule}")


@each
def test_words_are_classes_or_refused(name):
    loss, words = made(name), np.array(["a", "b", "c", "d", "e"] * 6)
    try:
        p = Problem(design("dense"), words, loss)
    except (TypeError, ValueError) as error:
        text = str(error)
        assert re.fullmatch(rf"{loss.problem_name}: y( has .*,|=.*) must .*; .*\.", text)
    else:
        assert p.classes.tolist() == ["a", "b", "c", "d", "e"]


@each
def test_targets_are_a_copy(name):
    given = np.asarray(accepted(made(name), N), dtype=float)
    p = Problem(design("dense"), given, made(name))
    assert not np.shares_memory(p.y, given)
    assert not p.y.flags.writeable


# -- problems ----------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("extras", EXTRAS)
@pytest.mark.parametrize("stored", STORED)
def test_gradient_is_the_derivative_of_value(name, stored, extras):
    p = problem(name, design(stored), **EXTRAS[extras])
    w, rows = np.linspace(-1.0, 1.5, p.width), np.array([0, 3, 4, 11, 29])
    for some in (None, rows):
        steps = 1e-6 * np.eye(p.width)
        slopes = [(p.value(w + s, some) - p.value(w - s, some)) / 2e-6 for s in steps]
        np.testing.assert_allclose(p.gradient(w, some), slopes, atol=1e-6)
        look = p.look(w, some)
        assert look.value == p.value(w, some)
        np.testing.assert_array_equal(look.gradient, p.gradient(w, some))


@each
@pytest.mark.parametrize("extras", EXTRAS)
@pytest.mark.parametrize("gram", [True, False], ids=["solve", "CG"])
def test_the_minimiser_is_stationary(name, extras, gram):
    p = problem(name, **EXTRAS[extras])
    if not gram:
        p = without_gram(p)
    first = np.linalg.norm(p.gradient(np.zeros(p.width)))
    assert np.linalg.norm(p.gradient(p.minimiser())) <= 1e-9 * first


@each
def test_the_constants_bound_the_hessian(name):
    p = problem(name)
    if p.loss.curvature is None:
        refused(p.constants, ValueError, rf"{p.loss.problem_name}: .* no bound .*, must .*; .*\.")
        return
    c = p.constants()
    for w in np.random.default_rng(0).standard_normal((10, D)):
        spectrum = np.linalg.eigvalsh(p.hessian(w) + p.l2 * np.eye(D))
        assert c.mu * (1 - 1e-12) <= spectrum[0]
        assert spectrum[-1] <= c.L * (1 + 1e-12)
    assert c.L_max >= c.L


@each
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.02, 3.0])
def test_noise_by_brute_force(name, l2, weighted):
    """Row by row: f_i depends on w along x_i only, plus l2 across it."""
    extras = {"sample_weight": np.linspace(0.5, 2.0, N)} if weighted else {}
    p, w = problem(name, l2=l2, **extras), np.array([0.3, -0.2, 0.1, 0.4])
    chi2, sigma2 = [], []
    for i, x in enumerate(p.X):
        chi2.append(np.sum(p.gradient(w, [i]) ** 2))
        reach = 200.0 / max(x @ x, 0.1)
        lowest = minimize_scalar(
            lambda t, i=i, x=x: p.value(t * x, [i]),
            bounds=(-reach, reach),
            method="bounded",
            options={"xatol": 1e-10 * reach},
        ).fun
        sigma2.append(p.value(w, [i]) - lowest)
    noise = p.noise_at(w)
    assert noise.chi2 == pytest.approx(np.mean(chi2), rel=1e-10)
    assert noise.sigma2 == pytest.approx(np.mean(sigma2), rel=1e-6)


@each
def test_a_line_search_sees_the_batch_objective(name):
    p, w, rows = problem(name), np.ones(D), np.arange(5, 20)
    line = Line(p, w, rows)
    assert line.value == pytest.approx(p.value(w, rows), rel=1e-14)
    np.testing.assert_allclose(line.gradient, p.gradient(w, rows), rtol=1e-14)
    expected = p.value(w, rows) - p.value(w - 0.3 * line.gradient, rows)
    assert line.decrease(0.3) == pytest.approx(expected, rel=1e-9)


# -- steps: the compiled kernels are the readable loop ------------------------------------------


def values(p, b):
    """Constants for a table, also where the loss has none of its own."""
    if p.loss.curvature is not None:
        return constants(p, b)
    return {"L": 50.0, "mu": 1.0, "L_max": 99.0, "kappa_tilde": 9.0, "n": p.n, "b": b}


@each
@pairwise(b=BATCHES, extras=EXTRAS, stored=STORED)
def test_compiled_steps_are_the_reference_steps(name, stored, extras, b):
    p = problem(name, design(stored), **EXTRAS[extras])
    assert_same_steps(p, schedule("mass", 7, values(p, b)), b, averaging=True)


@each
@pytest.mark.parametrize("b", BATCHES)
@pytest.mark.parametrize("intercept", [True, False])
def test_compiled_steps_on_scaled_rows(name, intercept, b):
    outer = limited(problem(name, 5.0 + 30.0 * design("dense"), intercept=intercept), copied=0)
    p = Frame.of(outer).problem(outer)
    if isinstance(p.rows, Scaled):
        assert_same_steps(p, schedule("nesterov", 7, values(p, b)), b)
    else:
        assert not intercept  # nothing to centre, and columns alike


@each
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("b", [1, 4])
def test_compiled_steps_that_touch_few_columns(name, b, intercept):
    p = wide(name, intercept=intercept)
    assert CompiledEngine(p, b, 0, "independent").kernel is scaled.advance_scaled
    assert_same_steps(p, schedule("multi-shb", 12, values(p, b)), b, averaging=True)


@each
@pytest.mark.parametrize("b", [10, 25, N])
def test_compiled_steps_where_the_rows_lie(name, b):
    """What large data take: no padded copy, no Gram matrix."""
    p = where_it_lies(problem(name, **EXTRAS["weights"]))
    assert_same_steps(p, schedule("shb", 7, values(p, b)), b)


@each
@pytest.mark.parametrize("stored", ["dense", "float32", "csr"])
def test_the_sum_of_row_gradients_is_the_same_with_and_without_the_losses(name, stored):
    """To the bit, for the engine sums losses only where it records."""
    for n, d in ((3, 1), (N, D), (200, 9), (321, 37)):
        p = problem(name, design(stored, n, d))
        sums, w = RowSums(p), np.random.default_rng(n).standard_normal(d)
        sums.at[:d] = w
        with_losses = sums.everything(w)[1]
        sum_rows(sums.rows, np.zeros(1, np.int64), n, False, sums.at, sums.g, False)
        assert np.array_equal(sums.g[:d], with_losses)


# -- runs ----------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("asked", [{}, {"batch_size": 10}, {"method": "plane"}], ids=str)
@pytest.mark.parametrize("extras", ["plain", "intercept"])
def test_runs_without_a_number_of_steps_reach_the_tolerance(name, asked, extras):
    p = problem(name, **EXTRAS[extras])
    if p.loss.curvature is None and "batch_size" in asked:
        return  # no constants, no table of steps
    r = bocce.minimize(p, tol=1e-8, **asked)
    assert r.status == "converged"
    w = np.append(r.w, r.intercept) if p.intercept else r.w
    first = np.linalg.norm(p.gradient(np.zeros(p.width)))
    assert np.linalg.norm(p.gradient(w)) <= 1.01e-8 * first
    assert p.value(w) == pytest.approx(p.value(p.minimiser()), rel=1e-12)


@each
def test_a_line_search_makes_the_objective_fall(name):
    p = problem(name)
    r = bocce.minimize(p, "shb-sls-exp", T=200, batch_size=15)
    lowest, first = p.value(p.minimiser()), p.value(np.zeros(D))
    assert p.value(r.w) - lowest < 0.5 * (first - lowest)


@each
def test_words_name_the_loss(name):
    p = problem(name)
    assert name in repr(p) or p.loss.problem_name != "Problem"
    if p.loss.curvature is not None:
        plan = bocce.plan(p, batch_size=10)
        assert plan.problem.startswith(p.loss.description)
        assert (f"For the {name} loss nothing is proved" in plan.words) != p.loss.quadratic
