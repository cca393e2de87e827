"""Full batch: each eigen-direction of a quadratic follows its own 2 x 2 recurrence."""

import warnings

import numpy as np
import pytest

import bocce
from bocce.schedules import REGISTRY, multistage

T = 60
N, D, KAPPA = 30, 4, 40.0


@pytest.fixture(scope="module")
def design():
    """X with X^T X/n = V diag(eigenvalues) V^T."""
    rng = np.random.default_rng(5)
    U, _ = np.linalg.qr(rng.standard_normal((N, D)))
    V, _ = np.linalg.qr(rng.standard_normal((D, D)))
    eigenvalues = np.geomspace(1.0, KAPPA, D)
    return np.sqrt(N) * (U * np.sqrt(eigenvalues)) @ V.T, eigenvalues, V


def tables(constants):
    """One schedule a registry name, and multi-stage ones that reach several stages."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from ((name, method.build(T, constants)) for name, method in REGISTRY.items())
    L, mu = constants["L"], constants["mu"]
    for momentum in ("stage", "constant"):
        s = multistage(T, L, mu, stages="authors", momentum=momentum)
        assert np.unique(s.alpha).size > 3
        yield f"authors' stages, {momentum}", s


def scalar_recurrence(schedule, lam, start):
    """e_{k+1} = (1 + beta - alpha lam (1 + theta)) e_k - (beta - alpha lam theta) e_{k-1}."""
    e = before = start
    errors = [start]
    for alpha, beta, theta in zip(schedule.alpha, schedule.beta, schedule.theta):
        ahead = 1 + beta - alpha * lam * (1 + theta)
        behind = -beta + alpha * lam * theta
        e, before = ahead * e + behind * before, e
        errors.append(e)
    return errors


def iterates(p, schedule, w0, engine):
    """w_0 .. w_T of a full-batch run."""
    seen = []
    bocce.minimize(
        p, schedule, batch_size=N, w0=w0, engine=engine, callback=lambda at: seen.append(at.w)
    )
    return np.array(seen)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("l2", [0.0, 0.7])
def test_every_schedule_follows_the_recurrence(design, engine, l2):
    X, eigenvalues, V = design
    rng = np.random.default_rng(6)
    p = bocce.LeastSquares(X, rng.standard_normal(N), l2=l2)
    star, w0 = p.minimiser(), rng.standard_normal(D)
    c = p.constants()
    constants = {
        "L": c.L, "mu": c.mu, "L_max": c.L_max, "kappa_tilde": c.kappa_tilde, "n": N, "b": N
    }  # fmt: skip
    for name, schedule in tables(constants):
        measured = (iterates(p, schedule, w0, engine) - star) @ V
        start = V.T @ (w0 - star)
        expected = [scalar_recurrence(schedule, e + l2, s) for e, s in zip(eigenvalues, start)]
        assert measured == pytest.approx(np.transpose(expected), abs=1e-10), name


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_relative_accuracy_lasts_when_the_minimiser_is_zero(design, engine):
    """y = 0: nothing hides behind ||w*||, so the errors agree however small they get."""
    X, eigenvalues, V = design
    p = bocce.LeastSquares(X, np.zeros(N))
    w0 = np.random.default_rng(7).standard_normal(D)
    schedule = REGISTRY["nesterov"].build(400, {"L": KAPPA, "mu": 1.0})
    r = bocce.minimize(p, schedule, batch_size=N, w0=w0, engine=engine, record_every=400)
    expected = [scalar_recurrence(schedule, e, s)[-1] for e, s in zip(eigenvalues, V.T @ w0)]
    assert np.linalg.norm(expected) < 1e-20
    assert V.T @ r.w == pytest.approx(expected, abs=1e-10 * np.linalg.norm(expected))
