"""What every penalty of one's own must obey: d more rows with a loss make a problem that is the sum
of both terms, in value, gradient and Hessian, and a run reaches its minimiser.

A penalty needs one line in ``PENALTIES``: rho and its two derivatives, of one coefficient.
"""

from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce.losses import REGISTRY, loss

N, D, EPS = 80, 4, 0.1
RNG = np.random.default_rng(3)
X = RNG.standard_normal((N, D)) * (RNG.random((N, D)) < 0.7)
SIGNS = np.where(X[:, 0] + 0.3 * RNG.standard_normal(N) > 0.0, 1.0, -1.0)
OFFSET = np.linspace(-0.5, 0.5, N)
CONTAINERS = {"dense": np.asarray, "sparse": sp.csr_array}


class Penalty(NamedTuple):
    rho: object
    slope: object
    bend: object


PENALTIES = {
    "root": Penalty(
        lambda z: np.hypot(z, EPS) - EPS,
        lambda z: z / np.hypot(z, EPS),
        lambda z: EPS**2 / np.hypot(z, EPS) ** 3,
    ),
    "log-cosh": Penalty(
        lambda z: np.logaddexp(z, -z) - np.log(2.0),
        np.tanh,
        lambda z: 1.0 - np.tanh(z) ** 2,
    ),
    "square of coefficients above zero": Penalty(
        lambda z: 0.5 * np.maximum(z, 0.0) ** 2,
        lambda z: np.maximum(z, 0.0),
        lambda z: np.where(z > 0.0, 1.0, 0.0),
    ),
}


@pytest.fixture(scope="module", params=PENALTIES)
def penalty(request):
    """A penalty, and the loss that is logistic where y is -1 or 1, and the penalty where y is 0."""
    one = PENALTIES[request.param]
    name = f"logistic or {request.param}"

    @loss(name)
    class LogisticOrPenalty(NamedTuple):
        curvature = 1.0 / EPS

        def value(loss, z, y):
            return np.where(y == 0.0, one.rho(z), np.logaddexp(0.0, -y * z))

        def slope(loss, z, y):
            return np.where(y == 0.0, one.slope(z), -y / (1.0 + np.exp(y * z)))

        def bend(loss, z, y):
            e = np.exp(-np.abs(y * z))
            return np.where(y == 0.0, one.bend(z), y * y * e / (1.0 + e) ** 2)

    yield one, LogisticOrPenalty()
    del REGISTRY[name]


def penalised(own, container, lam, offset):
    """The problem of both kinds of rows, and its factor of the sum of both terms."""
    rows = container(np.vstack([X, np.eye(D)]))
    y = np.append(SIGNS, np.zeros(D))
    weight = np.append(np.ones(N), np.full(D, N * lam))
    more = np.append(offset, np.zeros(D))
    p = bocce.Problem(rows, y, own, sample_weight=weight, offset=more)
    return p, 1.0 / (1.0 + D * lam)


@pytest.mark.parametrize("container", CONTAINERS)
@settings(max_examples=15, deadline=None)
@given(
    w=st.lists(st.floats(-3.0, 3.0), min_size=D, max_size=D).map(np.array),
    lam=st.floats(1e-3, 10.0),
)
def test_f_is_the_sum_of_its_terms(penalty, container, w, lam):
    one, own = penalty
    p, factor = penalised(own, CONTAINERS[container], lam, OFFSET)
    z = X @ w + OFFSET
    value = np.logaddexp(0.0, -SIGNS * z).mean() + lam * one.rho(w).sum()
    gradient = X.T @ (-SIGNS / (1.0 + np.exp(SIGNS * z))) / N + lam * one.slope(w)
    bend = 0.25 / np.cosh(0.5 * z) ** 2
    hessian = (X.T * bend) @ X / N + lam * np.diag(one.bend(w))
    assert p.value(w) == pytest.approx(factor * value, rel=1e-12)
    np.testing.assert_allclose(p.gradient(w), factor * gradient, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(p.hessian(w), factor * hessian, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("lam", [1e-2, 1e-1])
def test_a_run_reaches_the_minimiser(penalty, container, lam):
    """Where the gradient of the sum vanishes, which the rows' own numbers say."""
    one, own = penalty
    p, factor = penalised(own, CONTAINERS[container], lam, np.zeros(N))
    r = bocce.minimize(p, tol=1e-9)
    assert r.status == "converged"
    slopes = -SIGNS / (1.0 + np.exp(SIGNS * (X @ r.w)))
    left = X.T @ slopes / N + lam * one.slope(r.w)
    assert np.linalg.norm(left) <= 2e-9 * np.linalg.norm(p.gradient(np.zeros(D))) / factor
    assert p.value(r.w) <= p.value(p.minimiser()) + 1e-14


def test_a_stronger_penalty_shrinks_what_it_measures(penalty):
    one, own = penalty
    sizes = []
    for lam in (1e-3, 1e-2, 1e-1):
        p, _ = penalised(own, np.asarray, lam, np.zeros(N))
        sizes.append(one.rho(bocce.minimize(p, tol=1e-9).w).sum())
    assert sizes[0] > sizes[1] > sizes[2]
