"""Sample weights, penalties that differ by column, and inner variables (``problems.frame``)."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce.engines.numba import CompiledEngine, scaled
from bocce.problems import Frame, Line, ProblemLimits
from bocce.problems.frame import _scales
from bocce.rows import Scaled
from helpers import (
    assert_same_steps,
    constants,
    design,
    limited,
    schedule,
    where_it_lies,
    without_gram,
)
from pairwise import pairwise

N, D = 30, 4
BATCHES = (1, 10, 16, 29, 30)
LOSSES = {"squared": bocce.LeastSquares, "logistic": bocce.Logistic}


def targets(loss, n=N, seed=1):
    y = np.random.default_rng(seed).standard_normal(n)
    return y if loss == "squared" else np.sign(y)


def weights(n=N, seed=2):
    return np.random.default_rng(seed).integers(1, 5, n).astype(float)


PENALTY = np.array([1.0, 0.25, 4.0, 0.0])


def made(loss, X, l2=0.1, penalty=PENALTY, weight=True, intercept=False):
    weight = weights(X.shape[0]) if weight else None
    more = {"sample_weight": weight, "penalty": penalty, "intercept": intercept}
    return LOSSES[loss](X, targets(loss, X.shape[0]), l2, **more)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_repetitions(loss, kind):
    X, y, c = design(kind), targets(loss), weights()
    often = np.repeat(np.arange(N), c.astype(int))
    p = LOSSES[loss](X, y, 0.1, sample_weight=7.0 * c, penalty=PENALTY)
    q = LOSSES[loss](X[often], y[often], 0.1, penalty=PENALTY)
    w = np.linspace(-1.0, 2.0, D)
    assert p.value(w) == pytest.approx(q.value(w), rel=1e-13)
    np.testing.assert_allclose(p.gradient(w), q.gradient(w), atol=1e-13)
    np.testing.assert_allclose(p.minimiser(), q.minimiser(), atol=1e-10)
    a, b = p.constants(), q.constants()
    assert (a.L, a.mu) == pytest.approx((b.L, b.mu), rel=1e-12)
    assert a.L_max >= b.L_max  # a row of weight c is one row, c times as steep


@pytest.mark.parametrize("loss", LOSSES)
def test_constants_are_what_they_say(loss):
    """Row Hessians written out: their mean, the largest, and their second moments."""
    p = made(loss, design("dense"))
    h, c = p.loss.curvature, p.constants()
    rows = [h * k * np.outer(x, x) + np.diag(0.1 * PENALTY) for k, x in zip(p.weight, p.X)]
    A = np.mean(rows, axis=0)
    spectrum = np.linalg.eigvalsh(A)
    assert pytest.approx(spectrum[-1], rel=1e-12) == c.L
    assert c.mu == pytest.approx(spectrum[0] if loss == "squared" else 0.0, rel=1e-10)
    assert c.L_max >= max(np.linalg.eigvalsh(a)[-1] for a in rows)
    leverage = [h * k * x @ np.linalg.solve(A, x) for k, x in zip(p.weight, p.X)]
    assert c.kappa_tilde == pytest.approx(max(leverage), rel=1e-10)
    root = np.linalg.inv(np.linalg.cholesky(A))
    for middle, rho in ((np.eye(D), c.R2), (np.linalg.inv(A), c.R2_tilde)):
        moment = np.mean([a @ middle @ a for a in rows], axis=0)
        top = np.linalg.eigvalsh(root @ moment @ root.T)[-1]
        assert rho == pytest.approx(max(top, c.L if middle[0, 0] == 1.0 else 0.0), rel=1e-9)


@pairwise(kind=["dense", "float32", "csr", "csr32"], loss=LOSSES, b=BATCHES, weight=[True, False])
def test_engines_agree(kind, loss, b, weight):
    p = made(loss, design(kind), weight=weight)
    assert_same_steps(p, schedule("mass", 7, constants(p, b)), b)


@pytest.mark.parametrize("b", BATCHES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["dense", "float32"])
def test_engines_agree_where_the_rows_lie(kind, loss, b):
    p = where_it_lies(made(loss, design(kind)))
    assert_same_steps(p, schedule("nesterov-exp", 7, constants(p, b)), b)


@pairwise(loss=LOSSES, b=BATCHES, gram=[True, False], weight=[True, False], intercept=[True, False])
def test_engines_agree_on_scaled_rows(loss, b, gram, weight, intercept):
    X = 5.0 + design("float32") * np.float32(30.0)
    outer = limited(made(loss, X, penalty=None, weight=weight, intercept=intercept), copied=0)
    if not gram:
        outer = without_gram(outer)
    p = Frame.of(outer).problem(outer)
    assert isinstance(p.rows, Scaled)
    assert p.rows.X is outer.X
    assert_same_steps(p, schedule("nesterov", 7, constants(p, b)), b)
    copied = p.rows.take(np.arange(N))
    q = p.with_rows(copied)
    assert pytest.approx(q.constants().L, rel=1e-10) == p.constants().L
    u = np.ones(p.width)
    assert p.value(u) == pytest.approx(q.value(u), rel=1e-10)
    np.testing.assert_allclose(p.gradient(u), q.gradient(u), atol=1e-10)


@pytest.mark.parametrize("averaging", [False, True])
@pytest.mark.parametrize("mode", ["independent", "reshuffle"])
@pytest.mark.parametrize("name", ["shb", "nesterov", "multi-shb"])
@pytest.mark.parametrize("loss", LOSSES)
def test_sparse_rows_with_a_free_intercept(loss, name, mode, averaging):
    """The two-vector form corrects the columns that have an l2 of their own."""
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 200), density=0.02, format="csr", rng=rng)
    p = made(loss, X, l2=0.3, penalty=None, intercept=True)
    engine = CompiledEngine(p, 3, 5, mode)
    assert engine.kernel is scaled.advance_scaled
    assert_same_steps(p, schedule(name, 12, constants(p, 3)), 3, mode, averaging=averaging)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    exponents=st.lists(st.integers(-8, 8), min_size=3, max_size=3),
    loss=st.sampled_from(sorted(LOSSES)),
    sparse=st.booleans(),
    intercept=st.booleans(),
    l2=st.sampled_from([0.0, 1e-3, 10.0]),
)
def test_inner_variables_are_the_same_objective(seed, exponents, loss, sparse, intercept, l2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 3)) * 10.0 ** np.array(exponents)
    X = sp.csr_array(X * (rng.random(X.shape) < 0.6)) if sparse else X
    y, c = targets(loss, 12), weights(12)
    outer = LOSSES[loss](X, y, l2, sample_weight=c, intercept=intercept)
    frame = Frame.of(outer)
    p = frame.problem(outer)
    u = rng.standard_normal(p.width)
    w = frame.out(u)
    np.testing.assert_allclose(frame.into(w), u, rtol=1e-9, atol=1e-7)
    coef, constant = outer.split_intercept(w)
    plain = LOSSES[loss](X, y, 0.0, sample_weight=c)
    z = X @ coef + constant
    whole = plain.losses(z).mean() + 0.5 * l2 * coef @ coef
    assert p.value(u) == pytest.approx(whole, rel=1e-9)
    by_coef = plain.combine(plain.slopes(z)) / 12 + l2 * coef
    got, by_intercept = outer.split_intercept(frame.gradient_out(p.gradient(u)))
    room = 1e-7 * (np.abs(X).T @ np.abs(plain.slopes(z)) / 12 + l2 * np.abs(coef)) + 1e-300
    assert (np.abs(got - by_coef) <= room).all()
    if intercept:
        assert by_intercept == pytest.approx(plain.slopes(z).mean(), rel=1e-7, abs=1e-9)


@given(
    seed=st.integers(0, 99),
    shape=st.tuples(st.integers(1, 9), st.integers(1, 9)).filter(lambda size: size[0] >= size[1]),
    spread=st.floats(0.0, 4.0),
    l2=st.sampled_from([0.0, 1e-3, 0.1, 1.0, 10.0]),
)
def test_sparse_columns_that_are_not_looked_at_would_not_be_scaled(seed, shape, spread, l2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(shape) * 10.0 ** rng.uniform(-spread, spread, shape[1])
    p = bocce.LeastSquares(sp.csr_array(X * (rng.random(shape) < 0.5)), np.zeros(shape[0]), l2)
    squares, share = p.rows.squares(), np.mean(p.rows.X.toarray() != 0.0, axis=0)
    looked = _scales(squares, lambda: share, np.full(shape[1], l2))
    np.testing.assert_array_equal(Frame.of(p).scale, looked)


def test_sparse_rows_fewer_than_columns_keep_their_span():
    """Gradients in the frame's variables lie in the span of as many vectors as there are rows.

    Rows with fewer numbers would become dense.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 400)) * (rng.random((60, 400)) < 0.1)
    X *= 10.0 ** rng.uniform(-1.0, 1.0, 400)
    y = X @ rng.standard_normal(400)
    p = bocce.LeastSquares(sp.csr_array(X), y / y.std(), l2=1e-6)
    assert Frame.of(p).same
    assert not Frame.of(p.on(np.arange(60).repeat(7))).same  # as many rows as columns
    wide = bocce.minimize(p, "plane", tol=1e-6, metric="identity")
    assert wide.status == "converged"
    assert wide.n_iter <= 120  # in exact arithmetic 60, the rank


def test_framed_columns_look_alike():
    rng = np.random.default_rng(0)
    X = 3.0 + rng.standard_normal((400, 3)) * np.array([1e-8, 1.0, 1e8])
    outer = bocce.LeastSquares(X, targets("squared", 400), intercept=True)
    assert Frame.of(outer).problem(outer).constants().kappa < 5.0  # scales are powers of two
    assert bocce.LeastSquares(X, targets("squared", 400)).constants().kappa > 1e14


def test_constant_columns_are_not_blown_up():
    X = np.column_stack([np.full(20, 0.1), np.arange(20.0)])
    outer = bocce.LeastSquares(X, np.zeros(20), intercept=True)
    assert np.abs(Frame.of(outer).rows(outer.given).X[:, 0]).max() < 1e-15


def test_large_data_stay_where_they_are():
    X = np.random.default_rng(0).standard_normal((50, 3))
    X[:, 2] = 0.0
    X[3, 2] = 7e6  # nothing of it is in the sample
    outer = limited(bocce.LeastSquares(X, targets("squared", 50), intercept=True), copied=0)
    outer = outer.with_fields(limits=ProblemLimits(sample_rows=4))
    frame = Frame.of(outer)
    framed = frame.problem(outer).rows
    assert np.shares_memory(framed.X, X)
    assert np.abs(framed.made(slice(None))[:, 2]).max() == pytest.approx(7e6 * frame.scale[2])
    assert frame.scale[2] == pytest.approx(1e-6 / 7.0, rel=0.45)  # a power of two
    r = bocce.minimize(outer, tol=1e-9)
    assert r.status == "converged"


def test_rare_columns_are_looked_for_in_a_wider_sample_and_then_in_all_rows():
    X = np.random.default_rng(0).standard_normal((64, 4))
    X[:, 1:] = 0.0
    X[4, 1] = 1e6  # every 4th row is looked at second,
    X[5, 2] = 1e6  # and this one last
    p = bocce.LeastSquares(X, np.zeros(64))
    scale = Frame.of(p.with_fields(limits=ProblemLimits(sample_rows=4, rare_rows=16))).scale
    assert scale[1] == scale[2] == 2.0**-20
    assert scale[3] == 1.0


@pytest.mark.parametrize("loss", LOSSES)
def test_line_and_noise(loss):
    p = made(loss, design("dense"), penalty=None)
    w, rows = np.ones(D), np.arange(5, 20)
    line = Line(p, w, rows)
    np.testing.assert_allclose(line.gradient, p.gradient(w, rows))
    step = 0.3
    expected = p.value(w, rows) - p.value(w - step * line.gradient, rows)
    assert line.decrease(step) == pytest.approx(expected, rel=1e-10)
    gradients = [p.gradient(w, np.array([i])) for i in range(N)]
    assert p.noise_at(w).chi2 == pytest.approx(np.mean([g @ g for g in gradients]), rel=1e-10)


def test_other_targets_share_what_was_computed():
    p = made("squared", design("dense"))
    y = np.arange(N, dtype=float)
    assert p.gram is not None
    assert p.estimated().exact
    q = p.with_encoded(y)
    fresh = bocce.LeastSquares(p.X, y, 0.1, sample_weight=p.weight, penalty=PENALTY)
    assert q.gram is p.gram
    assert q.estimated() is p.estimated()
    np.testing.assert_allclose(q.minimiser(), fresh.minimiser(), atol=1e-12)
    np.testing.assert_allclose(p.y, targets("squared"))


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"sample_weight": np.ones(3)}, r"sample_weight has shape \(3,\), must be \(30,\)"),
        ({"sample_weight": np.r_[0.0, np.ones(29)]}, "must be finite and > 0; leave out rows"),
        ({"sample_weight": np.r_[np.nan, np.ones(29)]}, "must be finite and > 0"),
        ({"penalty": np.ones(3)}, r"penalty has shape \(3,\), must be \(4,\)"),
        ({"penalty": -np.ones(4)}, "must be finite and >= 0"),
    ],
)
def test_refused(argument, message):
    with pytest.raises(ValueError, match=message):
        bocce.LeastSquares(design("dense"), targets("squared"), 0.1, **argument)


def test_what_needs_plain_problems_says_so():
    p = made("squared", design("dense"))
    with pytest.raises(ValueError, match="penalty and intercept must be left out for noise"):
        p.noise()
    with pytest.raises(ValueError, match="neither sample_weight nor penalty"):
        bocce.exact.critical_batch_size(p, 0.1, 0.5)


def test_passes_are_a_budget():
    X = np.random.default_rng(0).standard_normal((200, 5))
    p = bocce.Logistic(X, X @ np.ones(5) > 0.3 * np.sin(np.arange(200)), l2=1e-4)
    r = bocce.minimize(p, tol=1e-12, passes=3)
    assert r.status == "finished"
    assert r.history["gradient_evaluations"][-1] <= 3 * 200
    assert bocce.minimize(p, "shb", passes=3, batch_size=10).n_iter == 60
    with pytest.raises(ValueError, match="passes=3"):
        bocce.minimize(p, "shb", T=5, passes=3)
