"""The divergence guard: wrong constants cost steps, never the run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce.control import GuardedRun, Levels, Stage, StageReport
from bocce.control.base import Best
from bocce.control.guard import shorter
from bocce.policies import guard
from bocce.problems import Look
from helpers import constants, design, misjudged, problem, schedule


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
    retreats = r.message.split("point ")[1].split()[0] if "guard" in r.message else "0"
    assert int(retreats) <= np.log2(factor) + 2


def test_without_the_guard_it_diverges(haar):
    c = misjudged(haar, 10).constants()
    table = bocce.schedules.auto(4000, c.L, c.mu, c.L_max, haar.n, 380, c.kappa_tilde)
    assert bocce.minimize(haar, table, batch_size=380).status == "diverged"
    r = bocce.minimize(haar, guard(table), batch_size=380)
    assert r.status == "finished"
    # the table goes on where it was, soon with averages, and so more slowly than one built anew
    assert haar.value(r.w) <= 1e-5 * haar.value(np.zeros(6))
    assert "The guard returned to the best point" in r.message


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
    """Bit for bit what the schedule does; what is returned is the best iterate of its looks."""
    rng = np.random.default_rng(0)
    for p in (haar, bocce.LeastSquares(haar.X, haar.y + rng.standard_normal(400))):
        r = bocce.minimize(p, guard(name), T=1500, batch_size=380)
        plain = bocce.minimize(p, r.schedule, batch_size=380)
        assert "guard" not in r.message
        assert np.array_equal(r.history["value"][:-1], plain.history["value"][:-1])
        rounding = 1e-12 * p.value(np.zeros(6))
        assert np.array_equal(r.w, plain.w) or p.value(r.w) <= p.value(plain.w) + rounding


def test_what_is_returned_is_never_above_the_start():
    """Logistic loss, momentum sized for l2: small batches lead above f(0) and back."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 30))
    p = bocce.Logistic(X, X @ rng.standard_normal(30) + rng.standard_normal(1000) > 0, l2=1e-5)
    c = p.constants()
    for b in (1, 8, 64):
        wild = bocce.schedules.mass(300, c.L, c.mu, c.L_max, c.kappa_tilde, p.n, b)
        r = bocce.minimize(p, guard(wild), batch_size=b)
        assert p.value(r.w) <= p.value(np.zeros(30))
        assert r.history["value"][-1] == pytest.approx(p.value(r.w), rel=1e-9)


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


@pytest.mark.xfail(
    strict=False,
    reason="the rest is searched with the spectrum and the noise of the pilot, which are not here",
)
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


def run_of(noise=1e-3, T=1000):
    """A guarded table that starts at f = 1 with a gradient of norm 1."""
    run = GuardedRun(bocce.schedules.sgd(T, L=1.0), 10, "sgd", Levels(1e-12, noise, 0.0))
    run.begin(np.zeros(1), Look(1.0, np.ones(1)))
    run.next(None)
    return run


def seen(k, value, norm=1.0, norms=(), verdict=""):
    def look(w):
        return Look(value, np.full(1, norm))

    return StageReport(np.full(1, float(k)), k, None, look, np.array(norms), verdict, 10 * k)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(0.1, 8.0), st.floats(0.1, 50.0)), max_size=8))
def test_state_survives_a_checkpoint(looks):
    """A run that is loaded decides what the one that was saved decides."""
    run, k = run_of(), 0
    for value, norm in looks:
        k += run.current().count
        run.next(seen(k, value, norm, [norm] * 3))
        again = run_of()
        again.load({name: np.array(array) for name, array in run.state().items()})
        assert again.current() == run.current()
        assert again.state().keys() == run.state().keys()
        for name, array in run.state().items():
            assert np.array_equal(again.state()[name], array), name


def test_judgements():
    full = run_of(noise=0.0)
    assert full._diverges(1.1, 1.0, np.zeros(0))
    run = run_of()
    assert run._diverges(4.1, 1.0, np.zeros(0))
    assert not run._diverges(3.9, 1.0, np.zeros(0))
    assert run._diverges(np.nan, 1.0, np.zeros(0))
    run.next(seen(16, 0.5, 0.1, [0.2, 0.1]))
    assert run.best == Best(np.full(1, 16.0), 0.5, 0.1)
    rising = np.array([1.2, 1.5, 2.0])
    assert run._diverges(0.9, 2.0, rising)
    assert not run._diverges(0.9, 2.0, rising[1:])  # two are not three running
    run.highest = 5.0  # an oscillation that dies out
    assert not run._diverges(0.9, 2.0, rising)


def test_a_retreat_starts_at_the_best_point_at_rest_with_half_the_step():
    run = run_of()
    run.next(seen(16, 0.5))
    stage = run.next(seen(32, 9.0))
    assert isinstance(stage, Stage)
    assert stage.start == np.full(1, 16.0)
    assert (stage.row, stage.steps.alpha[31], stage.steps.alpha[32]) == (32, 1.0, 0.5)
    assert run.retreats == 1


def test_refused():
    with pytest.raises(TypeError, match=r"guard: method=.* must be a schedule or a registry name"):
        guard(bocce.policies.sgd_sls_exponential(10))
    table = bocce.schedules.sgd(4, L=1.0)
    assert shorter(table, 4, 1, None) is table
    assert shorter(table, 2, 1, None).alpha.tolist() == [1.0, 1.0, 0.5, 0.5]
    assert shorter(table, 0, 1, None).alpha.tolist() == [0.5] * 4
