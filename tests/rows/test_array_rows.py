"""Rows of other libraries' arrays give what NumPy's rows give, in blocks of any length."""

from __future__ import annotations

import sys

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import bocce
from array_problems import on
from bocce.problems import Frame, Problem, ProblemLimits
from bocce.rows import ArrayRows, Dense, RowLimits, Scaled, foreign, host, rows_of
from bocce.rows.arrays import Ferried
from bocce.rows.backend import Backend, set_row
from refusal import refused

N, D = 23, 4


def numbers(seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, D)) * [1.0, 3.0, 0.1, 1.0] + [0.0, 1.0, 2.0, -3.0]


def held(X, frame=None, numbers=7 * D):  # several blocks
    rows = ArrayRows.of(strict.asarray(X.copy()), RowLimits(on_device=numbers))
    return rows if frame is None else rows.framed(*frame)


def ferried(X, frame=None, most=5):
    rows = ArrayRows(Ferried(X, Backend.of(strict.empty(0)), most))
    return rows if frame is None else rows.framed(*frame)


FRAMES = {
    "plain": None,
    "centred": (np.arange(D) / 2.0, np.array([1.0, 0.5, 8.0, 1.0]), 0.0),
    "intercept": (np.arange(D) / 2.0, np.array([1.0, 0.5, 8.0, 1.0]), 2.0),
}
MAKERS = {"held": held, "ferried": ferried}


@pytest.fixture(params=FRAMES)
def frame(request):
    return FRAMES[request.param]


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


def twin(X, frame):
    """NumPy's rows in the same variables."""
    return Dense(X.copy()) if frame is None else Scaled(X, *frame)


def test_what_is_foreign():
    assert foreign(strict.ones(3))
    assert not any(map(foreign, ([1.0], np.ones(2), np.float64(1.0), "a", None, Dense)))
    assert host("a") == "a"
    assert isinstance(rows_of(strict.ones((2, 3))), ArrayRows)


@pytest.mark.parametrize("outputs", [(), (3,)])
def test_products(make, frame, outputs):
    X, rng = numbers(), np.random.default_rng(1)
    ours, theirs = twin(X, frame), make(X, frame)
    assert (theirs.n, theirs.d) == (ours.n, ours.d)
    assert len(theirs.parts()) > 1
    w, c = rng.standard_normal((ours.d, *outputs)), rng.standard_normal((N, *outputs))
    some = np.array([3, 0, 3, 22])
    np.testing.assert_allclose(theirs.times(w), ours.times(w), atol=1e-12)
    np.testing.assert_allclose(theirs.times(w, some), ours.times(w, some), atol=1e-12)
    np.testing.assert_allclose(theirs.combine(c), ours.combine(c), atol=1e-11)
    np.testing.assert_allclose(
        theirs.combine(c[some], some), ours.combine(c[some], some), atol=1e-11
    )


def test_both_is_times_then_combine(make, frame):
    X = numbers()
    ours, theirs = twin(X, frame), make(X, frame)
    w = np.linspace(-1.0, 1.0, ours.d)
    seen = []

    def slopes(j, z):
        seen.append(host(z))
        return z * z

    total = theirs.both(w, slopes)
    z = ours.times(w)
    np.testing.assert_allclose(np.concatenate(seen), z, atol=1e-12)
    np.testing.assert_allclose(total, ours.combine(z * z), atol=1e-10)


def test_sums_of_squares_and_gram(make, frame):
    X, weights = numbers(), np.linspace(0.0, 2.0, N)
    ours, theirs = twin(X, frame), make(X, frame)
    directions = np.random.default_rng(2).standard_normal((ours.d, 2))
    np.testing.assert_allclose(theirs.norms2, ours.norms2)
    np.testing.assert_allclose(theirs.projections2(directions), ours.projections2(directions))
    for c in (None, weights):
        np.testing.assert_allclose(theirs.gram(c), ours.gram(c), atol=1e-11)
        np.testing.assert_allclose(theirs.squares(c), ours.squares(c), atol=1e-11)
    some = np.array([1, 1, 7])
    np.testing.assert_allclose(theirs.take(some).gram(), ours.take(some).gram(), atol=1e-11)
    np.testing.assert_allclose(np.concatenate([*theirs.blocks()]), np.concatenate([*ours.blocks()]))
    np.testing.assert_allclose(next(theirs.blocks(some)), next(ours.blocks(some)))


@given(block=st.integers(1, 2 * N), seed=st.integers(0, 50))
def test_blocks_of_any_length(block, seed):
    X = numbers(seed)
    rows = ferried(X, most=block)
    assert next(part.stop - part.start for part in rows.parts()) == min(block, N)
    np.testing.assert_allclose(rows.times(np.ones(D)), X.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(rows.combine(np.ones(N)), X.sum(axis=0), atol=1e-11)


def test_a_fingerprint_knows_every_number(make):
    X = numbers()
    other = X.copy()
    other[N - 1, D - 1] += 1e-13
    assert make(X).fingerprint() == make(X.copy()).fingerprint()
    assert make(X).fingerprint() != make(other).fingerprint()
    assert make(X).fingerprint() != make(X, FRAMES["centred"]).fingerprint()


def test_float32_far_from_zero_is_centred_before_it_is_multiplied():
    """x = 10,000 + e: the products lose e, to four digits, unless 10,000 is taken off first."""
    rng = np.random.default_rng(0)
    X = (1e4 + rng.standard_normal((200, 3))).astype(np.float32)
    exact = X.astype(np.float64)
    centre, scale = exact.mean(axis=0), np.ones(3)
    near = held(X, (centre, scale, 1.0))
    assert near.moved is not None
    assert held(X, (0.0 * centre, scale, 1.0)).moved is None
    w = np.array([1.0, -1.0, 0.5, 2.0])
    wanted = (exact - centre) @ w[:3] + 2.0
    np.testing.assert_allclose(near.times(w), wanted, atol=2e-6 + 1e4 * 2.0**-24)
    c = rng.standard_normal(200)
    np.testing.assert_allclose(near.combine(c)[:3], (exact - centre).T @ c, atol=0.2)


def test_sums_of_float32_rows_are_float64():
    """2^24 + 1 is not a float32: adding ones to it block by block stays exact."""
    X = np.ones((9, 1), dtype=np.float32)
    rows = held(X, numbers=1)
    assert rows.dtype == np.float32
    c = np.array([2.0**24, *[1.0] * 8])
    assert rows.combine(c).tolist() == [2.0**24 + 8.0]
    assert float(np.float32(2.0**24) + np.float32(1.0)) == 2.0**24, "the check can fail"


@pytest.mark.parametrize("intercept", [True, False])
def test_the_frame_is_that_of_numpy(make, intercept):
    X = numbers() * [1.0, 100.0, 1.0, 1.0]
    X[:, 3] = 7.0
    y = np.arange(N)
    ours = Problem(X, y, l2=1e-3, intercept=intercept)
    theirs = Problem(make(X), y, l2=1e-3, intercept=intercept)
    a, b = Frame.of(ours), Frame.of(theirs)
    np.testing.assert_array_equal(a.centre, b.centre)
    np.testing.assert_array_equal(a.scale, b.scale)
    assert a.unit == b.unit
    w = np.linspace(0.0, 1.0, ours.width)
    inner, outer = a.problem(ours), b.problem(theirs)
    np.testing.assert_allclose(outer.predict(w), inner.predict(w), atol=1e-10)


def test_a_column_that_looks_constant_in_the_sample_is_looked_at_whole():
    X = numbers()
    X[:, 1] = 0.0
    X[1, 1] = 50.0  # in no sample of every third row
    y = np.arange(N)
    few = ProblemLimits(sample_rows=8)
    a, b = (
        Frame.of(Problem(rows, y, intercept=True).with_fields(limits=few)) for rows in (X, held(X))
    )
    np.testing.assert_array_equal(a.scale, b.scale)
    np.testing.assert_array_equal(a.centre, b.centre)


@pytest.mark.parametrize("device", ["CPU_DEVICE", "device1", "no_float64", "no_x64"])
def test_a_device_has_the_widest_numbers_it_can(device):
    there = Backend.of(on(device, np.float32)(np.ones(2)))
    assert there.wide == (strict.float32 if device.startswith("no") else strict.float64)
    assert there.real == strict.float32
    assert there.indices([1, 0]).device == there.device
    assert there.name == "array_api_strict"


def test_rows_that_are_whole_numbers_become_the_widest_ones():
    X = np.arange(6).reshape(3, 2)
    rows = ArrayRows.of(strict.asarray(X))
    assert rows.dtype == np.float64
    np.testing.assert_array_equal(rows.times(np.array([1.0, 10.0])), X @ [1.0, 10.0])


def test_a_row_is_set_in_place_or_in_a_new_array():
    U = strict.zeros((2, 3))
    assert set_row(U, 1, strict.ones(3)) is U

    class Fixed:
        """As JAX's arrays are."""

        def __init__(self, rows):
            self.rows = rows
            self.at = {slot: self.Row(self, slot) for slot in range(len(rows))}

        class Row:
            def __init__(self, whole, slot):
                self.whole, self.slot = whole, slot

            def set(self, row):
                rows = list(self.whole.rows)
                rows[self.slot] = row
                return Fixed(rows)

    first = Fixed(["a", "b"])
    assert set_row(first, 1, "c").rows == ["a", "c"]
    assert first.rows == ["a", "b"]


def test_without_the_package_that_fills_the_gaps_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "\.\[arrays\]"'):
        bocce.LeastSquares(strict.ones((2, 1)), [1.0, 2.0])


# -- stream_to_device --------------------------------------------------------------------------


def test_stream_to_device_refuses_what_it_cannot_use():
    X, like = numbers(), strict.empty(0)
    bad = X.copy()
    bad[2, 1] = np.nan
    refused(
        lambda: bocce.data.stream_to_device(X, np.empty(0)),
        TypeError,
        r"stream_to_device: like=ndarray must be an array on the device .*torch\.empty\(0, .*",
    )
    refused(
        lambda: bocce.data.stream_to_device(X, like, 0),
        ValueError,
        r"stream_to_device: block_rows=0 must be .*; give a number of rows that fit .*\.",
    )
    refused(
        lambda: bocce.data.stream_to_device(sp.csr_array(X), like),
        TypeError,
        r"stream_to_device: X=csr_array must be dense; give a sparse matrix to Problem itself\.",
    )
    refused(
        lambda: bocce.data.stream_to_device(bad, like),
        ValueError,
        r"stream_to_device: X has NaN or infinity \(first at row 2\), must be finite; .*",
    )


def test_stream_to_device_computes_in_what_data_and_device_have():
    X = numbers()
    single = on("no_float64", np.float32)(np.ones(1))
    assert bocce.data.stream_to_device(X, strict.empty(0)).dtype == np.float64
    assert bocce.data.stream_to_device(X.astype(np.float32), strict.empty(0)).dtype == np.float32
    assert bocce.data.stream_to_device(X, single).dtype == np.float32
    strict_rows = bocce.data.stream_to_device(strict.asarray(X.copy()), strict.empty(0), 3)
    np.testing.assert_allclose(strict_rows.times(np.ones(D)), X.sum(axis=1), atol=1e-12)


def test_moments_of_the_given_columns(make):
    X, c = numbers(), np.linspace(0.5, 1.5, N)
    for weights in (None, c):
        found, expected = (rows.column_moments(weights) for rows in (make(X), Dense(X.copy())))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
