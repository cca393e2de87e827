"""The divergence guard: wrong constants cost steps, never the run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce.policies import guard
from bocce.policies.guard import Watch, shorter
from helpers import constants, design, problem, schedule


def misjudged(p, factor):
    """The same problem, with every curvature of a row under-estimated by ``factor``."""
    c = p.constants()
    L = c.L / factor
    wrong = dataclasses.replace(
        c,
        L=L,
        mu=min(c.mu, L),
        L_max=max(L, c.L_max / factor),
        kappa_tilde=max(1.0, c.kappa_tilde / factor),
        R2=max(L, c.R2 / factor),
        R2_tilde=max(1.0, c.R2_tilde / factor),
    )
    other = type(p)(p.X, p.y, l2=p.l2)
    other.__dict__["_constants"] = wrong
    return other


@pytest.fixture(scope="module")
def haar():
    X, y, _ = bocce.data.regression(400, 6, 50.0)
    return bocce.LeastSquares(X, y)


@pytest.fixture(scope="module")
def heavy():
    X, y, _ = bocce.data.regression(400, 6, 50.0, design="heavy")
    return bocce.LeastSquares(X, y)


@pytest.mark.parametrize("b", [20, 200, 380, 400])
@pytest.mark.parametrize("factor", [2, 10, 100])
@pytest.mark.parametrize("rows", ["haar", "heavy"])
def test_under_estimated_curvature_is_survived(request, rows, factor, b):
    p = request.getfixturevalue(rows)
    r = bocce.minimize(misjudged(p, factor), "auto", T=4000, batch_size=b, seed=1)
    assert r.status == "finished"
    first = p.value(np.zeros(p.d))
    assert p.value(r.w) <= (1e-9 if b >= 200 else 0.05) * first
    retreats = r.message.split("iterate ")[1].split()[0] if "guard" in r.message else "0"
    assert int(retreats) <= np.log2(factor) + 2


def test_without_the_guard_it_diverges(haar):
    c = misjudged(haar, 10).constants()
    table = bocce.schedules.auto(4000, c.L, c.mu, c.L_max, haar.n, 380, c.kappa_tilde)
    assert bocce.minimize(haar, table, batch_size=380).status == "diverged"
    r = bocce.minimize(haar, guard(table), batch_size=380)
    assert r.status == "finished"
    assert haar.value(r.w) <= 1e-9 * haar.value(np.zeros(6))
    assert "The guard went back to the best iterate" in r.message


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("name", ["shb", "nesterov", "sgd", "2p-shb"])
def test_any_schedule_can_be_wrapped(kind, name):
    """Steps 50 times too long, on targets that can be fitted."""
    X = design(kind, n=60)
    p = bocce.LeastSquares(X, X @ np.ones(4))
    L = 0.02 * p.constants().L
    wild = schedule(name, 2000, constants(p, 40) | {"L": L, "mu": 0.1 * L})
    assert bocce.minimize(p, wild, batch_size=40).status == "diverged"
    r = bocce.minimize(p, guard(wild), batch_size=40)
    assert r.status == "finished"
    assert r.history["value"][-1] < 1e-3 * r.history["value"][0]
    assert r.schedule.name == name


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_logistic_loss_stays_within_bounds(kind):
    """Its gradients are bounded, so nothing overflows: f > 4 f(w0) is what is seen."""
    p = problem("logistic", design(kind, n=60), l2=0.1)
    wild = bocce.schedules.nesterov(600, L=0.01 * p.constants().L, mu=1e-4)
    r = bocce.minimize(p, guard(wild), batch_size=60)
    assert "guard" in r.message
    assert p.value(r.w) <= p.value(np.zeros(p.d))


@pytest.mark.filterwarnings("ignore:multistage")
@pytest.mark.parametrize("name", ["auto", "auto-shb", "shb", "multi-shb", "sgd"])
def test_a_healthy_run_is_left_alone(haar, name):
    """Bit for bit what the schedule does, with and without noise in the targets."""
    rng = np.random.default_rng(0)
    for p in (haar, bocce.LeastSquares(haar.X, haar.y + rng.standard_normal(400))):
        r = bocce.minimize(p, guard(name), T=1500, batch_size=380)
        plain = bocce.minimize(p, r.schedule, batch_size=380)
        assert "guard" not in r.message
        assert np.array_equal(r.w, plain.w)
        assert np.array_equal(r.history["value"], plain.history["value"])


def test_start_at_the_minimiser_is_no_reason_to_go_back(haar):
    for p in (haar, bocce.LeastSquares(haar.X, haar.y + np.sin(np.arange(400)))):
        for b in (1, 40, 400):
            r = bocce.minimize(p, "auto", T=300, batch_size=b, w0=p.minimiser())
            assert "guard" not in r.message, b


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("stops", [(5, 20), (40, 41, 200), (395, 400)])
def test_resume_bit_for_bit(tmp_path, haar, engine, stops):
    p = misjudged(haar, 8)
    settings_ = {"T": 400, "batch_size": 380, "engine": engine, "seed": 3, "record_every": 5}
    whole = bocce.minimize(p, "auto", **settings_)
    assert "guard" in whole.message
    path = tmp_path / "run.npz"
    for stop in stops:

        def leave(progress, stop=stop):
            if progress.k >= stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            bocce.minimize(p, "auto", checkpoint=path, callback=leave, **settings_)
    parts = bocce.minimize(p, "auto", checkpoint=path, **settings_)
    assert np.array_equal(whole.w, parts.w)
    assert whole.message == parts.message
    assert whole.schedule == parts.schedule
    for key in whole.history:
        assert np.array_equal(whole.history[key], parts.history[key]), key


def test_watching_changes_no_bit(haar):
    p = misjudged(haar, 8)
    seen = []
    alone = bocce.minimize(p, "auto", T=300, batch_size=350, record_every=7)
    watched = bocce.minimize(
        p, "auto", T=300, batch_size=350, record_every=7, callback=lambda now: seen.append(now.k)
    )
    assert np.array_equal(alone.w, watched.w)
    assert seen == watched.history["k"].tolist()


def test_the_schedule_tells_what_was_done(haar):
    """Where the guard went back, the rest is the method for the steps left, constants doubled."""
    p = misjudged(haar, 3)
    r = bocce.minimize(p, "auto", T=500, batch_size=400)
    c = p.constants()
    at_rest = np.flatnonzero(r.schedule.beta == 0.0)
    assert "guard" in r.message
    k, j = int(at_rest[-1]), len(at_rest)
    scale = 2.0**j
    again = bocce.schedules.auto(
        500 - k, scale * c.L, c.mu, scale * c.L_max, 400, 400, scale * c.kappa_tilde
    )
    np.testing.assert_allclose(r.schedule.alpha[k:], again.alpha)
    np.testing.assert_allclose(r.schedule.beta[k + 1 :], again.beta[1:])


@given(
    st.lists(st.floats(0, 1e6), min_size=3, max_size=8),
    st.integers(0, 50),
    st.lists(st.integers(1, 10**9), max_size=4),
)
@settings(max_examples=50, deadline=None)
def test_memory_survives_a_checkpoint(numbers, seen, retreats):
    w = np.array(numbers)
    watch = Watch(10**9, 1.0, 0.1, 0.5, w, *numbers[:3], seen, 7, 16, 99, retreats)
    again = Watch.unpack(10**9, watch.pack())
    assert np.array_equal(again.best_w, w)
    assert dataclasses.replace(again, best_w=w) == watch


def test_judgements():
    none = np.zeros(0)
    full = Watch(1000, 1.0, 1e-12, 0.0, np.zeros(1), 1.0, 1.0)
    assert full.judge(1.1, 1.0, none) == "f rose above 1 f(w0)"
    watch = Watch(1000, 1.0, 1e-12, 1e-3, np.zeros(1), 1.0, 1.0)
    assert watch.judge(4.1, 1.0, none) == "f rose above 4 f(w0)"
    assert watch.judge(3.9, 1.0, none) == ""
    assert watch.judge(np.nan, 1.0, none) == "overflow"
    watch.keep(np.ones(1), 0.5, 0.1, np.array([0.2, 0.1]))
    rising = np.array([1.2, 1.5, 2.0])
    assert "gradient norm rose" in watch.judge(0.9, 2.0, rising)
    assert watch.judge(0.9, 2.0, rising[1:]) == ""  # two are not three running
    watch.highest = 5.0  # an oscillation that dies out
    assert watch.judge(0.9, 2.0, rising) == ""


def test_refused():
    with pytest.raises(TypeError, match=r"guard: method=.* must be a schedule or a registry name"):
        guard(bocce.policies.sgd_sls_exponential(10))
    table = bocce.schedules.sgd(4, L=1.0)
    assert shorter(table, 4, 1, None) is table
    assert shorter(table, 2, 1, None).alpha.tolist() == [1.0, 1.0, 0.5, 0.5]
    assert shorter(table, 0, 1, None).alpha.tolist() == [0.5] * 4
