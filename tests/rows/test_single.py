"""Sums over float32 rows in float32: how wrong they may be, and how they are corrected."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce import LeastSquares
from bocce.problems import Frame, ProblemLimits
from bocce.rows import Dense, RowLimits, Scaled
from bocce.rows.moments import Moments

# Few rows, too, are summed in float32 and not copied.
FEW = RowLimits(copied_single=0, summed_single=0, single_numbers=0, single_rows=64)
dense = partial(Dense, limits=FEW)


def drawn(seed, n=300, d=5, spread=8, offset=3.0):
    """Rows of unlike columns in float32, targets, and weights."""
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, d)) + offset) * 2.0 ** rng.integers(-spread, spread + 1, d)
    X = X.astype(np.float32)
    y = X @ rng.standard_normal(d) + rng.standard_normal(n) + offset
    return X, y.astype(np.float64), rng.random(n) + 0.1


def framed(X):
    """Centre and scale as a frame has them, and an intercept."""
    centre = X.mean(axis=0, dtype=np.float64).astype(np.float32).astype(np.float64)
    scale = np.exp2(-np.rint(np.log2(np.abs(X).max(axis=0).astype(np.float64))))
    return Scaled(X, centre, scale, 0.5, FEW)


KINDS = {
    "dense": dense,
    "by columns": lambda X: dense(np.asfortranarray(X)),
    "scaled": framed,
    "scaled, by columns": lambda X: framed(np.asfortranarray(X)),
}


def written_out(rows):
    return np.concatenate(list(rows.blocks()))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(list(KINDS)),
    weighted=st.booleans(),
    spread=st.integers(0, 12),
    offset=st.sampled_from([0.0, 3.0, 1e3]),
    ridge=st.sampled_from([0.0, 1e-3]),
)
def test_the_bound_holds_before_and_after_the_correction(
    seed, kind, weighted, spread, offset, ridge
):
    X, y, c = drawn(seed, spread=spread, offset=offset)
    rows = KINDS[kind](X)
    rough = rows.rough_moments(y, c if weighted else None)
    assert rough.rough > 0
    assert not rough.corrected
    exact = rows.moments(y, c if weighted else None)
    X = written_out(rows)
    c = c if weighted else np.ones(len(X))
    near = rough.solve(np.full(rows.d, ridge))
    slope = c * (X @ near - y)
    fixed = rough.through(near, X.T @ slope / len(X), 0.5 * slope @ (X @ near - y) / len(X), 999)
    rng = np.random.default_rng(seed)
    for sums in (rough, fixed):
        for w in (np.zeros(rows.d), near, near * (1.0 + 1e-4 * rng.standard_normal(rows.d))):
            wrong = np.abs(sums.gradient(w) - exact.gradient(w))
            assert (wrong <= sums.error(w) + exact.error(w)).all()
            values = [0.5 * w @ s.gram @ w - s.moment @ w + 0.5 * s.target2 for s in (sums, exact)]
            assert abs(values[0] - values[1]) <= sums.value_error(w) + exact.value_error(w)
    assert np.linalg.norm(fixed.error(near)) < 1e-3 * np.linalg.norm(rough.error(near))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_its_twin_sums_in_float64(kind, weighted):
    X, y, c = drawn(1)
    rows = KINDS[kind](X)
    rough = rows.rough_moments(y, c if weighted else None)
    exact = rows.moments(y, c if weighted else None)
    size = np.outer(exact.roots, exact.roots)
    assert (np.abs(rough.gram - exact.gram) <= 1e-5 * size).all()
    assert not np.array_equal(rough.gram, exact.gram)
    assert np.array_equal(rough.gram, rough.gram.T)
    assert (
        np.abs(rough.moment - exact.moment) <= 1e-5 * exact.roots * np.sqrt(exact.target2)
    ).all()
    assert rough.target2 == pytest.approx(exact.target2, rel=1e-12)
    assert np.array_equal(rows.rough_gram(c), rows.rough_moments(np.zeros(300), c).gram)


def test_numbers_without_squares_in_float32_are_summed_in_float64():
    X, y, _ = drawn(2, spread=0)
    for factor in (1e-25, 1e25):
        sums = dense(X * np.float32(factor)).rough_moments(y)
        assert sums.rough == 0
        assert sums.sound
    empty = X.copy()
    empty[:, 1] = 0.0  # vanishes in truth
    assert dense(empty).rough_moments(y).rough > 0
    between = Scaled(X, X.mean(axis=0, dtype=np.float64) / 3.0, np.ones(5), 1.0, FEW)
    assert between.rough_moments(y).rough == 0  # a centre that is no float32
    assert dense(X.astype(np.float64)).rough_moments(y).rough == 0
    X[3, 2] = np.nan
    with np.errstate(all="ignore"):
        assert not dense(X).rough_moments(y).sound


def test_corrected_sums_keep_what_is_known_when_columns_are_multiplied():
    X, y, _ = drawn(3)
    sums = dense(X).rough_moments(y)
    fixed = sums.through(sums.solve(np.zeros(5)), np.zeros(5), 0.25, 10)
    factors = 2.0 ** np.arange(5)
    scaled = fixed.scaled(factors)
    assert np.allclose(scaled.near * factors, fixed.near)
    assert np.allclose(scaled.gradient(scaled.near), 0.0, atol=1e-9 * np.abs(scaled.moment).max())
    assert isinstance(scaled, Moments)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_problem_corrects_its_sums(weighted):
    X, y, c = drawn(4, offset=100.0)
    weight = c if weighted else None
    p = LeastSquares(dense(X), y, l2=1e-3, intercept=True, sample_weight=weight)
    p = p.with_fields(limits=ProblemLimits(corrected=700))  # several blocks
    inner = Frame.of(p).problem(p)
    sums = inner.sums
    assert sums.corrected
    assert sums.rough > 0
    w = sums.near
    looked = inner.look(w)
    np.testing.assert_allclose(
        sums.gradient(w) + inner.penalty_gradient(w), looked.gradient, atol=1e-12
    )
    value = 0.5 * w @ sums.gram @ w - sums.moment @ w + 0.5 * sums.target2
    assert abs(value + inner.ridge_value(w) - looked.value) <= sums.value_error(w)
    assert sums.value_error(w) <= 1e-12 * sums.target2
    other = inner.with_encoded(2.0 * inner.y)  # the Gram matrix is shared
    assert other.sums.gram is sums.gram
    at = other.sums.near
    found = other.sums.gradient(at) + other.penalty_gradient(at)
    np.testing.assert_allclose(found, other.look(at).gradient, atol=1e-12)
