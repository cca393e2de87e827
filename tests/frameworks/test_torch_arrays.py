"""PyTorch's tensors as data: fitted where they are, with the results of NumPy's arrays."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

import bocce
from array_estimators import ESTIMATORS, SAID
from array_problems import LOSSES, D, N, design, pair, somewhere, targets
from bocce.losses import REGISTRY
from bocce.losses.lifted import derivatives
from bocce.rows import host
from bocce.rows.backend import namespace
from bocce.sklearn import HeavyBallClassifier
from refusal import refused
from sklearn import config_context

WIDE = [-800.0, -30.0, -1.0, 0.0, 1e-9, 1.0, 30.0, 700.0]


def tensor(values):
    return torch.asarray(np.array(values))


def single(values):
    made = tensor(values)
    return made.float() if made.is_floating_point() else made


# -- losses and problems -------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_on_tensors_is_that_on_arrays(loss):
    made, xp = REGISTRY[loss](), namespace(torch.ones(1))
    y = made.targets(loss, targets(loss, design()))[0]
    scores = np.random.default_rng(0).standard_normal((N, 4)) * 10.0
    z = scores if made.multi_output else np.resize(WIDE, N)
    three = derivatives(made, xp, torch.float64)
    with np.errstate(over="ignore"):
        ours = made.value_slope_bend(z, y)
    for a, b in zip(ours, three(tensor(z), tensor(y))):
        if a is not None:
            np.testing.assert_allclose(host(b), a + np.zeros(b.shape), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("blocks", [1, 5])
@pytest.mark.parametrize("loss", LOSSES)
def test_minimize_ends_where_it_does_on_numpy(loss, blocks):
    p, q = pair(loss, tensor, numbers=-(-N * D // blocks))
    w = somewhere(p)
    assert q.value(w) == pytest.approx(p.value(w), rel=1e-12)
    np.testing.assert_allclose(q.gradient(w), p.gradient(w), atol=1e-11)
    a, b = (bocce.minimize(r, tol=1e-10) for r in (p, q))
    assert b.status == a.status == "converged"
    np.testing.assert_allclose(b.w, a.w, atol=1e-8)
    np.testing.assert_allclose(b.intercept, a.intercept, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_float32_tensors(loss):
    exact, p = pair(loss, single)
    assert p.given.dtype == np.float32
    run = bocce.minimize(p, tol=1e-5)
    assert run.status == "converged"
    u = exact.join_intercept(run.w, run.intercept)
    first = np.linalg.norm(exact.gradient(np.zeros(exact.shape)))
    assert np.linalg.norm(exact.gradient(u)) <= 1e-4 * first


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loss", LOSSES)
def test_rows_on_the_host_go_through_the_device(loss, dtype):
    """Blocks of a tensor, or of an array, moved one at a time."""
    X = design(dtype)
    y = targets(loss, X)
    tol, near = (1e-10, 1e-8) if dtype is np.float64 else (1e-5, 1e-2)
    a = bocce.minimize(bocce.Problem(X, y, loss, 1e-2, intercept=True), tol=tol)
    for source in (X, torch.asarray(X)):
        rows = bocce.data.stream_to_device(source, like=torch.empty(0), block_rows=17)
        b = bocce.minimize(bocce.Problem(rows, y, loss, 1e-2, intercept=True), tol=tol)
        np.testing.assert_allclose(b.w, a.w, atol=near)


def test_nothing_as_long_as_the_data_leaves_the_device(monkeypatch):
    """In a run on the plane, what comes to the host is short: sums, and never a score a row."""
    _, q = pair("huber", tensor, weighted=False)
    q.there  # noqa: B018  targets went there
    seen = []
    for module in ("bocce.rows.arrays", "bocce.plane.scores.array"):
        monkeypatch.setattr(f"{module}.to_host", lambda x: (seen.append(x.shape), host(x))[1])
    plane = bocce.plane.PlaneRun(q, np.zeros(q.shape), metric="identity")
    for _ in range(5):
        plane.step()
    assert len(seen) > 10
    assert max(size for shape in seen for size in (0, *shape)) < N


def test_tensors_that_are_part_of_a_graph():
    X = tensor(design()).requires_grad_()
    p = bocce.LeastSquares(X, X.detach() @ torch.ones(5, dtype=torch.float64), l2=1e-9)
    np.testing.assert_allclose(bocce.minimize(p, tol=1e-9).w, 1.0, atol=1e-5)
    assert X.requires_grad
    assert X.grad is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64, torch.bool])
def test_other_types_of_numbers(dtype):
    X = (tensor(design()) > 3.0).to(dtype)
    y = targets("squared", design())
    p = bocce.LeastSquares(X, torch.asarray(y), l2=0.1)
    half = bocce.LeastSquares(X, torch.asarray(y).bfloat16(), l2=0.1)
    np.testing.assert_allclose(half.y, y, rtol=2.0**-8)
    assert p.given.dtype == (np.float32 if dtype.is_floating_point else np.float64)
    exact = bocce.LeastSquares(X.double().numpy(), y, l2=0.1)
    np.testing.assert_allclose(bocce.minimize(p, tol=1e-5).w, exact.minimiser(), atol=1e-4)


def test_sparse_tensors_are_refused():
    refused(
        lambda: bocce.LeastSquares(torch.eye(3).to_sparse(), [1.0, 2.0, 3.0]),
        TypeError,
        r"LeastSquares: X has layout torch\.sparse_coo, must be dense or a SciPy sparse matrix; "
        r"convert it with X\.to_dense\(\) or scipy\.sparse\.csr_array\.",
    )


# -- estimators ----------------------------------------------------------------------------------


@pytest.fixture
def dispatch(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with config_context(array_api_dispatch=True):
        yield


@pytest.mark.parametrize("loss", ESTIMATORS)
def test_estimators_give_tensors_for_tensors(loss, dispatch):
    X = design()
    y = targets(loss, X)
    ours = clone(ESTIMATORS[loss]).fit(X, y)
    for make, near in ((tensor, 1e-8), (single, 5e-3)):
        theirs = clone(ESTIMATORS[loss]).fit(make(X), make(y))
        assert theirs.coef_.dtype == theirs.intercept_.dtype == make(X).dtype
        np.testing.assert_allclose(host(theirs.coef_), ours.coef_, atol=near)
        assert isinstance(theirs.score(make(X), make(y)), float)
        for name in SAID:
            if hasattr(ours, name):
                said = getattr(theirs, name)(make(X))
                assert isinstance(said, torch.Tensor)
                wanted = getattr(ours, name)(X)
                np.testing.assert_allclose(host(said), wanted, atol=near, rtol=near)


def test_without_dispatch_a_tensor_is_what_numpy_makes_of_it():
    X = design()
    y = targets("logistic", X)
    model = HeavyBallClassifier().fit(tensor(X), tensor(y))
    assert isinstance(model.coef_, np.ndarray)
    np.testing.assert_array_equal(model.coef_, HeavyBallClassifier().fit(X, y).coef_)


def checks():
    for loss, estimator in ESTIMATORS.items():
        for model, check in estimator_checks_generator(estimator):
            words = str(check.keywords)
            ours = "'cpu'" in words and "dpnp" not in words
            if "array_api" in check.func.__name__ and ours:
                name = f"{loss}-{check.func.__name__}-{check.keywords.get('dtype_name', '')}"
                yield pytest.param(model, check, id=name)


@pytest.mark.parametrize(("model", "check"), list(checks()))
def test_scikit_learns_own_checks(model, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(model)
