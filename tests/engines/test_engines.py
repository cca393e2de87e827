"""compiled equals reference at every step, on the same batches."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

import bocce
from bocce.engines.numba import CompiledEngine, loop, scaled
from bocce.engines.numba.loss import slope as slope_of
from bocce.engines.numba.rows import NUMBERS_TOGETHER, ROWS_TOGETHER
from bocce.engines.reference import ReferenceEngine
from bocce.losses import Logistic
from bocce.schedules import REGISTRY
from helpers import (
    KINDS,
    assert_same_steps,
    at_rest,
    constants,
    design,
    problem,
    recorder,
    schedule,
    where_it_lies,
)
from pairwise import pairwise

N = 30
BATCHES = (1, 2, N // 3, N // 2, N // 2 + 1, round(0.9 * N), N - 1, N)


@pairwise(
    name=REGISTRY,
    b=BATCHES,
    kind=KINDS,
    loss=("squared", "logistic"),
    mode=("independent", "reshuffle"),
    l2=(0.0, 0.3),
)
def test_steps_are_those_of_the_reference(name, b, kind, loss, mode, l2):
    p = problem(loss, design(kind), l2=l2)
    assert_same_steps(p, schedule(name, 9, constants(p, b)), b, mode)


@settings(max_examples=60)
@given(
    name=st.sampled_from(sorted(REGISTRY)),
    b=st.integers(1, N),
    kind=st.sampled_from(KINDS),
    loss=st.sampled_from(["squared", "logistic"]),
    mode=st.sampled_from(["independent", "reshuffle"]),
    l2=st.floats(0.0, 1.0),
    seed=st.integers(0, 2**63),
)
def test_any_steps_are_those_of_the_reference(name, b, kind, loss, mode, l2, seed):
    """Drawn from all combinations, where the test above takes pairs."""
    p = problem(loss, design(kind, seed=seed % 97), l2=l2)
    assert_same_steps(p, schedule(name, 9, constants(p, b)), b, mode, seed)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_memory_mapped_rows(tmp_path, loss):
    X = design("dense")
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    p = problem(loss, mapped, l2=0.1)
    assert np.shares_memory(p.X, mapped)
    assert_same_steps(p, schedule("shb", 6, constants(p, 20)), 20)


@pytest.mark.parametrize("b", [1, 10, 16, 29, 30])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("kind", ["dense", "float32"])
def test_rows_where_they_lie_and_no_gram(kind, loss, b):
    """What large data take: no padded copy, no Gram matrix."""
    p = where_it_lies(problem(loss, design(kind), l2=0.1))
    engine = CompiledEngine(p, b, 0, "independent")
    assert np.shares_memory(engine.rows.X, p.X)
    assert not engine.objective.has_gram
    assert_same_steps(p, schedule("nesterov-exp", 6, constants(p, b)), b)
    assert_same_steps(p, schedule("shb", 6, constants(p, b)), b)


@pytest.mark.parametrize("b", [63, 65, 130, 170])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_batches_of_several_blocks(kind, b):
    p = where_it_lies(problem("logistic", design("dense", 300), l2=0.1))
    if kind == "csr":
        p = problem("logistic", design("csr", 300), l2=0.1)
    assert max(b, p.n - b) > ROWS_TOGETHER
    assert_same_steps(p, schedule("nesterov-exp", 4, constants(p, b)), b)


def test_long_rows_come_in_smaller_blocks():
    p = problem("logistic", design("dense", 60, 700), l2=0.1)
    assert p.width * ROWS_TOGETHER > NUMBERS_TOGETHER
    assert_same_steps(p, schedule("shb", 4, constants(p, 30)), 30)


def test_only_rows_that_do_not_lie_in_one_piece_are_copied():
    by_rows, by_columns = (problem("squared", design(kind)) for kind in ("dense", "fortran"))
    assert np.shares_memory(CompiledEngine(by_rows, 3, 0, "independent").rows.X, by_rows.X)
    copied = CompiledEngine(by_columns, 3, 0, "independent").rows.X
    assert copied.flags.c_contiguous
    assert not np.shares_memory(copied, by_columns.X)
    many = CompiledEngine(where_it_lies(by_columns), 3, 0, "independent").rows.X
    assert np.shares_memory(many, by_columns.X)


class TestScaledSparse:
    """The two-vector form, which never touches the columns a batch leaves alone."""

    @staticmethod
    def wide(loss, l2):
        X = sp.random_array((40, 600), density=0.01, format="csr", rng=np.random.default_rng(0))
        return problem(loss, X, l2=l2)

    @pairwise(name=REGISTRY, loss=("squared", "logistic"), l2=(0.0, 0.2), b=(1, 4))
    def test_equals_reference(self, name, loss, l2, b):
        p = self.wide(loss, l2)
        table = schedule(name, 60, constants(p, b))
        engine = CompiledEngine(p, b, 3, "reshuffle")
        assert engine.kernel is scaled.advance_scaled
        s, f, rs, rf = at_rest(p), at_rest(p), recorder(60, 25), recorder(60, 25)
        ReferenceEngine(p, b, 3, "reshuffle").advance(s, table, 60, rs)
        assert engine.advance(f, table, 60, rf).verdict == ""
        np.testing.assert_allclose(f.w, s.w, rtol=0, atol=1e-11 * max(1, np.abs(s.w).max()))
        np.testing.assert_allclose(rf.value[:-1], rs.value[:-1], rtol=1e-10)

    def test_batches_of_several_blocks(self):
        X = sp.random_array((200, 9_000), density=0.001, format="csr", rng=np.random.default_rng(0))
        p = problem("logistic", X, l2=0.1)
        assert CompiledEngine(p, 90, 0, "independent").kernel is scaled.advance_scaled
        assert_same_steps(p, schedule("nesterov-exp", 4, constants(p, 90)), 90)

    def test_velocity_is_right_where_the_next_step_reads_it(self):
        p = self.wide("squared", 0.1)
        table = schedule("sgd", 7, constants(p, 1)).then(schedule("shb", 7, constants(p, 1)))
        s, f = at_rest(p), at_rest(p)
        engine = CompiledEngine(p, 1, 3, "independent")
        for stop in (3, 7, 9, 14):
            ReferenceEngine(p, 1, 3, "independent").advance(s, table, stop, recorder(14, 14))
            engine.advance(f, table, stop, recorder(14, 14))
            np.testing.assert_allclose(f.w, s.w, atol=1e-12)

    @pytest.mark.parametrize("cut", [1, 2, 3])
    def test_cut_at_grain_changes_no_bit(self, monkeypatch, cut):
        p = self.wide("logistic", 0.1)
        T = 3 * scaled.GRAIN + 100
        table = schedule("shb", T, constants(p, 1))
        whole, parts = at_rest(p), at_rest(p)
        CompiledEngine(p, 1, 3, "independent").advance(whole, table, T, recorder(T, T))
        measured = recorder(T, T)
        for stop in (cut * scaled.GRAIN, T):
            CompiledEngine(p, 1, 3, "independent").advance(parts, table, stop, measured)
        assert np.array_equal(whole.w, parts.w)

    def test_used_only_where_it_pays(self):
        p = self.wide("squared", 0.0)
        assert CompiledEngine(p, 4, 0, "independent").kernel is scaled.advance_scaled
        assert CompiledEngine(p, 40, 0, "independent").kernel is loop.advance
        narrow = problem("squared", design("csr"))
        assert CompiledEngine(narrow, 10, 0, "independent").kernel is loop.advance


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 12),
    d=st.integers(1, 14),
    loss=st.sampled_from(["squared", "logistic"]),
    kind=st.sampled_from(KINDS),
    share=st.floats(0.01, 1.0),
    mode=st.sampled_from(["independent", "reshuffle"]),
    l2=st.sampled_from([0.0, 0.5]),
    seed=st.integers(0, 2**63),
)
def test_shapes_and_sizes(n, d, loss, kind, share, mode, l2, seed):
    """n = 1, d = 1, d > n, empty and duplicated rows."""
    if loss == "logistic" and n < 2:
        n = 2
    p = problem(loss, design(kind, n, d, seed % 97), l2=l2)
    b = max(1, round(share * n))
    assert_same_steps(p, schedule("nesterov", 4, constants(p, b)), b, mode, seed)
    assert_same_steps(p, schedule("2p-shb", 6, constants(p, b)), b, mode, seed)


@njit
def compiled_slope(loss, z, y):
    return slope_of(loss, z, y)


@settings(deadline=None)
@given(st.floats(-1e308, 1e308))
def test_logistic_slope_is_accurate(margin):
    exact = -np.exp(-np.logaddexp(0.0, np.longdouble(margin)))
    slope = compiled_slope(Logistic(), margin, 1.0)
    assert slope == pytest.approx(float(exact), rel=1e-15, abs=1e-300)


def test_long_run_keeps_the_digits():
    """Complement and Gram against direct sums, 2,000 steps on."""
    X, y, _ = bocce.data.regression(400, 6, 50.0, noise_var=0.01)
    p = bocce.LeastSquares(X, y)
    table = schedule("shb", 2000, constants(p, 360, kappa=50.0))
    s, f = at_rest(p), at_rest(p)
    ReferenceEngine(p, 360, 0, "independent").advance(s, table, 2000, recorder(2000, 2000))
    CompiledEngine(p, 360, 0, "independent").advance(f, table, 2000, recorder(2000, 2000))
    np.testing.assert_allclose(f.w, s.w, rtol=1e-12)
