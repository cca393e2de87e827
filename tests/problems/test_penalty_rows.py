"""A penalty of one's own is d more rows with a loss: the problem is the sum of both terms."""

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
CONTAINERS = {"dense": np.asarray, "sparse": sp.csr_array}


@pytest.fixture(scope="module", autouse=True)
def own_loss():
    """The logistic loss where y is -1 or 1, and sqrt(z^2 + eps^2) - eps where y is 0."""

    @loss("logistic or root")
    class LogisticOrRoot(NamedTuple):
        curvature = 1.0 / EPS

        def value(loss, z, y):
            return np.where(y == 0.0, root(z), np.logaddexp(0.0, -y * z))

        def slope(loss, z, y):
            return np.where(y == 0.0, root_slope(z), -y / (1.0 + np.exp(y * z)))

        def bend(loss, z, y):
            e = np.exp(-np.abs(y * z))
            curved = EPS**2 / (z * z + EPS**2) ** 1.5
            return np.where(y == 0.0, curved, y * y * e / (1.0 + e) ** 2)

    yield
    del REGISTRY["logistic or root"]


def root(z):
    return np.sqrt(z * z + EPS**2) - EPS


def root_slope(z):
    return z / np.sqrt(z * z + EPS**2)


def penalised(container, lam, offset):
    """The problem of both kinds of rows, and its factor of the sum of both terms."""
    rows = container(np.vstack([X, np.eye(D)]))
    y = np.append(SIGNS, np.zeros(D))
    weight = np.append(np.ones(N), np.full(D, N * lam))
    more = np.append(offset, np.zeros(D))
    p = bocce.Problem(rows, y, "logistic or root", sample_weight=weight, offset=more)
    return p, 1.0 / (1.0 + D * lam)


@pytest.mark.parametrize("container", CONTAINERS)
@settings(max_examples=15, deadline=None)
@given(
    w=st.lists(st.floats(-3.0, 3.0), min_size=D, max_size=D).map(np.array),
    lam=st.floats(1e-3, 10.0),
)
def test_f_is_the_sum_of_its_terms(container, w, lam):
    offset = np.linspace(-0.5, 0.5, N)
    p, factor = penalised(CONTAINERS[container], lam, offset)
    margin = SIGNS * (X @ w + offset)
    value = np.logaddexp(0.0, -margin).mean() + lam * root(w).sum()
    slopes = -SIGNS / (1.0 + np.exp(margin))
    gradient = X.T @ slopes / N + lam * root_slope(w)
    assert p.value(w) == pytest.approx(factor * value, rel=1e-12)
    np.testing.assert_allclose(p.gradient(w), factor * gradient, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_minimum_is_found_and_the_penalty_shrinks_coefficients(container):
    sizes = []
    for lam in (1e-3, 1e-2, 1e-1):
        p, _ = penalised(CONTAINERS[container], lam, np.zeros(N))
        r = bocce.minimize(p, tol=1e-9)
        assert r.status == "converged"
        assert np.linalg.norm(p.gradient(r.w)) <= 1e-9 * np.linalg.norm(p.gradient(0.0 * r.w))
        sizes.append(root(r.w).sum())
    assert sizes[0] > sizes[1] > sizes[2]
