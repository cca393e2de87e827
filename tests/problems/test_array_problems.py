"""Problems of other libraries' arrays: the same answers as of NumPy's, or an error that helps."""

from __future__ import annotations

from functools import partial

import array_api_strict as strict
import numpy as np
import pandas as pd
import pytest

import bocce
from array_problems import DEVICES, LOSSES, D, N, design, on, somewhere, targets
from array_problems import pair as made
from bocce.losses import REGISTRY
from bocce.problems import Problem
from bocce.problems.arrays import ArrayProblem
from refusal import refused

pair = partial(made, numbers=200)  # several blocks
BATCHED = [name for name in LOSSES if REGISTRY[name].curvature is not None]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("loss", LOSSES)
def test_value_gradient_and_look(loss, device):
    p, q = pair(loss, on(device))
    assert type(q) is ArrayProblem
    w, some = somewhere(p), np.array([5, 1, 77, 5])
    for rows in (None, some):
        assert q.value(w, rows) == pytest.approx(p.value(w, rows), rel=1e-12)
        np.testing.assert_allclose(q.gradient(w, rows), p.gradient(w, rows), atol=1e-11)
        a, b = p.look(w, rows), q.look(w, rows)
        assert b.value == pytest.approx(a.value, rel=1e-12)
        np.testing.assert_allclose(b.gradient, a.gradient, atol=1e-11)


@pytest.mark.parametrize("loss", LOSSES)
def test_what_a_problem_knows_of_itself(loss):
    p, q = pair(loss, on("CPU_DEVICE"))
    w = somewhere(p)
    assert q.row_gradient_mean2(w) == pytest.approx(p.row_gradient_mean2(w), rel=1e-10)
    np.testing.assert_allclose(q.minimiser(), p.minimiser(), atol=1e-7)
    if p.loss.curvature is not None:
        a, b = p.constants(), q.constants()
        assert (b.L, b.L_max) == (pytest.approx(a.L), pytest.approx(a.L_max))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("loss", LOSSES)
def test_minimize_ends_where_it_does_on_numpy(loss, device):
    p, q = pair(loss, on(device))
    a, b = (bocce.minimize(r, tol=1e-10) for r in (p, q))
    assert b.status == a.status == "converged"
    assert isinstance(b.w, np.ndarray)
    np.testing.assert_allclose(b.w, a.w, atol=1e-8)
    np.testing.assert_allclose(b.intercept, a.intercept, atol=1e-8)


@pytest.mark.parametrize("block", [13, N, 10 * N])
@pytest.mark.parametrize("loss", LOSSES)
def test_rows_that_go_through_a_device_in_blocks(loss, block):
    X = design()
    y = targets(loss, X)
    rows = bocce.data.stream_to_device(X, like=on("device1")(X[:1]), block_rows=block)
    a, b = (
        bocce.minimize(bocce.Problem(r, y, loss, 1e-2, intercept=True), tol=1e-10)
        for r in (X, rows)
    )
    np.testing.assert_allclose(b.w, a.w, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_path_of_penalties(loss):
    p, q = pair(loss, on("CPU_DEVICE"))
    l2s = [1e-3, 1.0, 1e-1]
    for a, b in zip(bocce.path(p, l2s, tol=1e-11), bocce.path(q, l2s, tol=1e-11)):
        np.testing.assert_allclose(b.w, a.w, atol=1e-7)


@pytest.mark.parametrize("loss", BATCHED)
def test_batches_are_those_of_the_reference_engine(loss):
    """Products on the device, steps on the host: the same iterates, step by step."""
    p, q = pair(loss, on("CPU_DEVICE"))
    how = {"T": 40, "batch_size": 20, "seed": 3}
    a = bocce.minimize(p, "sgd", engine="reference", **how)
    b = bocce.minimize(q, "sgd", **how)
    np.testing.assert_allclose(b.w, a.w, atol=1e-12)
    np.testing.assert_allclose(b.history["grad_norm"], a.history["grad_norm"], rtol=1e-9)


def test_a_checkpoint_goes_on_bit_for_bit(tmp_path):
    _, q = pair("softmax", on("CPU_DEVICE"))
    file = tmp_path / "run.npz"
    whole = bocce.minimize(q, tol=1e-9)
    bocce.minimize(q, tol=1e-9, checkpoint=file, callback=lambda now: now.k == 4)
    assert file.exists()
    again = bocce.minimize(q, tol=1e-9, checkpoint=file)
    assert again.n_iter == whole.n_iter > 4
    np.testing.assert_array_equal(again.w, whole.w)


def test_other_targets_and_penalties_share_the_rows():
    X = design()
    make = on("device1")
    y, other = targets("squared", X), targets("huber", X)[::-1].copy()
    p, q = (Problem(r, y, "huber", 0.1) for r in (X, make(X)))
    w = somewhere(p)
    q.value(w)  # so that the first targets are on the device
    moved = q.with_encoded(other)
    assert moved.rows is q.rows
    assert moved.value(w) == pytest.approx(p.with_encoded(other).value(w))
    assert q.value(w) == pytest.approx(p.value(w))
    assert q.replace(l2=3.0).value(w) == pytest.approx(p.replace(l2=3.0).value(w))


def test_points_and_factors_may_be_such_arrays_too():
    make = on("device1")
    X = design()
    penalty = np.linspace(0.0, 2.0, D)
    y = targets("squared", X)
    p = Problem(X, y, l2=0.5, penalty=penalty)
    q = Problem(make(X), y, l2=0.5, penalty=make(penalty))
    w = somewhere(p)
    assert q.value(make(w)) == pytest.approx(p.value(w))
    a, b = (bocce.minimize(r, "sgd", T=5, batch_size=10, w0=s) for r, s in ((p, w), (q, make(w))))
    np.testing.assert_allclose(b.w, a.w, atol=1e-12)


def test_a_frame_with_a_column_of_that_name_is_a_frame():
    frame = pd.DataFrame({"foreign": [1.0, 2.0, 4.0], "x": [0.0, 1.0, 0.0]})
    assert type(Problem(frame, [1.0, 2.0, 3.0])) is Problem


def test_float32_far_from_zero_for_its_spread():
    """Columns of 1 +- 0.001: the digits of the spread are those that count."""
    X = (1.0 + 1e-3 * np.random.default_rng(0).standard_normal((N, D))).astype(np.float32)
    y = (X.astype(np.float64) - 1.0) @ np.arange(1.0, D + 1.0)
    exact = Problem(X.astype(np.float64), y, intercept=True, l2=1e-12)
    rough = Problem(on("CPU_DEVICE")(X), y, intercept=True, l2=1e-12)
    a, b = bocce.minimize(exact, tol=1e-10), bocce.minimize(rough, tol=1e-5)
    np.testing.assert_allclose(b.w, a.w, rtol=4e-6)


def test_it_says_what_it_is():
    _, q = pair("huber", on("CPU_DEVICE"))
    expected = f"Problem(huber, array_api_strict {N} x {D} float64, l2=0.01, intercept)"
    assert repr(q) == expected


# -- bad input -----------------------------------------------------------------------------------


def test_bad_arrays_are_refused():
    bad = design()
    bad[101, 2] = np.inf
    y = np.arange(N)
    cases = [
        (strict.ones(3), ValueError, r"LeastSquares: X has shape \(3,\), must have two dimen.*"),
        (strict.ones((0, 3)), ValueError, r"LeastSquares: X has shape \(0, 3\), must have at.*"),
        (
            strict.ones((N, 1), dtype=strict.complex128),
            TypeError,
            r"LeastSquares: X has dtype .*complex128, must be numeric; convert it to floats .*",
        ),
        (
            strict.asarray(bad),
            ValueError,
            r"LeastSquares: X has NaN or infinity \(first at row 101\), must be finite; .*",
        ),
    ]
    for X, kind, message in cases:
        refused(lambda X=X: bocce.LeastSquares(X, y), kind, message)
    refused(
        lambda: bocce.LeastSquares(strict.asarray(design()), strict.ones(3)),
        ValueError,
        r"LeastSquares: y has shape \(3,\), must be \(120,\) as X has 120 rows; .*",
    )
