"""Expected curves against enumeration, against each other, and against Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce.exact import expected, moments, row_walk, stationary
from bocce.schedules import Schedule
from exact_enumeration import enumerated_curve

LOOKAHEADS = {"heavy ball": 0.0, "nesterov": 1.0, "other": 1.7}  # theta as a multiple of beta


def problem(n, d, l2=0.0, seed=0, rank=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if rank is not None:
        X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    return bocce.LeastSquares(X, rng.standard_normal(n), l2=l2)


def three_steps(p, multiple, seed=1):
    rng = np.random.default_rng(seed)
    beta = np.array([0.3, 0.6, 0.0]) + 0.2 * rng.random(3)
    return Schedule(rng.uniform(0.3, 1.0, 3) / p.constants().L, beta, multiple * beta, "three")


def assert_curve(curve, reference, tolerance):
    for name, want in zip(("error2", "grad2", "gap", "bias2"), reference):
        got = getattr(curve, name)
        np.testing.assert_allclose(
            got, want, rtol=tolerance, atol=tolerance * want[0], err_msg=name
        )


@pytest.fixture(params=["table", "rows"])
def operator(request, monkeypatch):
    """Both ways to apply the noise operator, whatever they cost."""
    cost = 0.0 if request.param == "table" else np.inf
    monkeypatch.setattr(moments, "table_cost", lambda *sizes: cost)
    return request.param


@pytest.mark.parametrize("l2", [0.0, 0.7])
@pytest.mark.parametrize("b", [1, 2, 3])
@pytest.mark.parametrize("multiple", LOOKAHEADS.values(), ids=LOOKAHEADS)
def test_equals_the_average_over_all_batch_sequences(operator, multiple, b, l2):
    p = problem(5, 3, l2)
    schedule, w0 = three_steps(p, multiple), np.array([1.0, -2.0, 0.5])
    curve = expected(p, schedule, b, w0)
    assert curve.T == 3
    assert p.noise().chi2 > 0.05  # the data's noise takes part
    assert_curve(curve, enumerated_curve(p, schedule, b, w0), 1e-13)


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_directions_that_no_row_touches(operator, l2):
    p = problem(5, 7, l2, rank=3)
    schedule, w0 = three_steps(p, 1.0), np.linspace(-1.0, 2.0, 7)
    curve = expected(p, schedule, 2, w0)
    assert_curve(curve, enumerated_curve(p, schedule, 2, w0), 1e-12)


@given(
    n=st.integers(2, 6),
    d=st.integers(1, 4),
    data=st.data(),
    l2=st.sampled_from([0.0, 0.05, 2.0]),
    multiple=st.floats(0.0, 2.0),
    seed=st.integers(0, 10_000),
)
@settings(deadline=None, max_examples=60)
def test_equals_enumeration_on_any_shape(n, d, data, l2, multiple, seed):
    p = problem(n, d, l2, seed)
    b = data.draw(st.integers(1, n))
    w0 = np.random.default_rng(seed).standard_normal(d)
    schedule = three_steps(p, multiple, seed)
    assert_curve(expected(p, schedule, b, w0), enumerated_curve(p, schedule, b, w0), 1e-9)


def test_a_restart_is_a_zero_momentum(operator):
    p = problem(8, 3, 0.1)
    L, mu = p.constants().L, p.constants().mu
    whole = bocce.schedules.shb(20, L, mu).then(bocce.schedules.shb(5, L, mu, a=0.25))
    velocity_kept = Schedule(whole.alpha, np.full(25, whole.beta[1]), whole.theta)
    first = expected(p, bocce.schedules.shb(20, L, mu), 3)
    curve = expected(p, whole, 3)
    np.testing.assert_allclose(curve.error2[:21], first.error2, rtol=1e-12)
    assert not np.allclose(curve.error2[21:], expected(p, velocity_kept, 3).error2[21:])


def test_table_and_rows_agree_on_a_larger_problem():
    X, y, _ = bocce.data.regression(n=300, d=12, kappa=100.0, noise_var=0.1, design="heavy")
    p = bocce.LeastSquares(X, y, l2=0.5)
    schedule = bocce.schedules.nesterov_exponential(200, p.constants().L, p.constants().mu)
    frame = moments.frame_of("test", p)
    lam, start = frame.along(np.zeros(12))
    several = 1000  # numbers of a block: several blocks
    walks = [
        row_walk.plain_walk(lam, noise, bocce.theory.zeta2(300, 250), schedule, start)
        for noise in (moments.Tabulated(frame, several), moments.Streamed(frame, several))
    ]
    for table, rows in zip(*walks):
        np.testing.assert_allclose(rows, table, rtol=1e-9, atol=1e-12 * np.abs(table).max())
    whole = row_walk.plain_walk(
        lam, moments.Streamed(frame), bocce.theory.zeta2(300, 250), schedule, start
    )
    np.testing.assert_allclose(walks[1][1], whole[1], rtol=1e-9, atol=1e-12 * whole[1].max())


def test_dense_sparse_and_float32_rows_are_the_same_problem(operator):
    rng = np.random.default_rng(4)
    X = (rng.standard_normal((40, 6)) * (rng.random((40, 6)) < 0.4)).astype(np.float32)
    y = rng.standard_normal(40)
    kinds = [X.astype(np.float64), X, sp.csr_array(X), sp.csr_array(X.astype(np.float64))]
    schedule = bocce.schedules.shb(30, 2.0, 0.1)
    error2 = [expected(bocce.LeastSquares(kind, y, 0.1), schedule, 10).error2 for kind in kinds]
    for other in error2[1:]:
        np.testing.assert_allclose(other, error2[0], rtol=1e-11)


def test_full_batch_is_the_noise_free_recurrence():
    X, y, _ = bocce.data.regression(n=200, d=6, kappa=50.0, noise_var=1.0)
    p = bocce.LeastSquares(X, y)
    L, beta = p.constants().L, np.full(300, 0.7)
    schedule = Schedule(np.full(300, 0.8 / L), beta, 0.5 * beta)
    lam, V = np.linalg.eigh(X.T @ X / p.n)
    e = e_old = V.T @ -p.minimiser()
    error2 = []
    for alpha, beta, theta in zip(schedule.alpha, schedule.beta, schedule.theta):
        error2.append(e @ e)
        point = e + theta * (e - e_old)
        e, e_old = e + beta * (e - e_old) - alpha * lam * point, e
    for batch_size in (200, 1.0):
        curve = expected(p, schedule, batch_size)
        np.testing.assert_allclose(curve.error2[:-1], error2, rtol=1e-10)
        np.testing.assert_allclose(curve.error2, curve.bias2, rtol=1e-14)


def test_one_row_has_no_noise():
    p = bocce.LeastSquares(np.array([[2.0, 0.0]]), np.array([1.0]))
    curve = expected(p, bocce.schedules.sgd(3, 4.0), 1, [0.0, 3.0])
    np.testing.assert_allclose(curve.error2, [9.25, 9.0, 9.0, 9.0])  # one step, then the null space
    np.testing.assert_allclose(curve.gap, [0.5, 0.0, 0.0, 0.0], atol=1e-15)


def _simulated(p, schedule, b, runs, rng):
    """(runs, T + 1) squared errors of plain NumPy runs on fresh batches without replacement."""
    W = W_old = np.zeros((runs, p.d))
    errors = []
    for alpha, beta, theta in zip(schedule.alpha, schedule.beta, schedule.theta):
        errors.append(((W - p.minimiser()) ** 2).sum(axis=1))
        rows = np.argpartition(rng.random((runs, p.n)), b, axis=1)[:, :b]
        Y = W + theta * (W - W_old)
        slopes = np.einsum("rbd,rd->rb", p.X[rows], Y) - p.y[rows]
        gradient = np.einsum("rb,rbd->rd", slopes, p.X[rows]) / b + p.l2 * Y
        W, W_old = W + beta * (W - W_old) - alpha * gradient, W
    return np.column_stack([*errors, ((W - p.minimiser()) ** 2).sum(axis=1)])


@pytest.mark.parametrize("name", ["shb", "nesterov-exp"])
def test_monte_carlo_within_four_standard_errors(name):
    X, y, _ = bocce.data.regression(n=80, d=6, kappa=20.0, noise_var=0.5, seed=3)
    p = bocce.LeastSquares(X, y, l2=0.2)
    L, mu, T, runs = p.constants().L, p.constants().mu, 60, 6000
    factory = {"shb": bocce.schedules.shb, "nesterov-exp": bocce.schedules.nesterov_exponential}
    schedule = factory[name](T, L, mu)
    curve = expected(p, schedule, 20)
    errors = _simulated(p, schedule, 20, runs, np.random.default_rng(7))
    standard = errors.std(axis=0, ddof=1) / np.sqrt(runs)
    assert (standard[1:] < 0.05 * curve.error2[1:]).all()  # the comparison has power
    assert (np.abs(errors.mean(axis=0) - curve.error2)[1:] < 4.0 * standard[1:]).all()


def test_divergence_is_infinite_and_never_nan(operator):
    p = problem(6, 3)
    schedule = bocce.schedules.sgd(3000, p.constants().L)
    curve = expected(p, schedule, 1)
    lost = np.argmax(np.isinf(curve.error2))
    assert 0 < lost < 3000
    for column in (curve.error2, curve.grad2, curve.gap):
        assert np.isfinite(column[:lost]).all()
        assert np.isposinf(column[lost:]).all()
    assert curve.bias2[-1] < 1e-6 * curve.bias2[0]  # the mean converges all the same
    unstable = Schedule(np.full(3000, 10.0), np.zeros(3000), np.zeros(3000))
    for b in (1, 6):
        curve = expected(p, unstable, b)
        assert np.isposinf(
            [curve.error2[-1], curve.grad2[-1], curve.gap[-1], curve.bias2[-1]]
        ).all()
        assert not np.isnan(
            np.concatenate([curve.error2, curve.grad2, curve.gap, curve.bias2])
        ).any()


def test_the_model_of_cost_chooses_table_then_rows():
    frames = {d: moments.frame_of("test", problem(400, d)) for d in (3, 60)}
    assert isinstance(moments.noise_of("test", frames[3], 1000), moments.Tabulated)
    assert isinstance(moments.noise_of("test", frames[60], 10), moments.Streamed)
    curve = 10_000, 7000  # rows and steps of the paper's experiments
    table = [
        d
        for d in range(2, 999)
        if moments.table_cost(curve[0], d, 7000) < moments.stream_cost(curve[0], d, 7000)
    ]
    assert table == list(range(2, table[-1] + 1))
    assert 50 <= table[-1] <= 200


def test_memory_decides_too(monkeypatch):
    frame = moments.frame_of("test", problem(400, 20))
    monkeypatch.setattr(moments, "memory_budget", lambda: moments.table_bytes(20) - 1.0)
    assert isinstance(moments.noise_of("test", frame, 10_000), moments.Streamed)
    monkeypatch.setattr(moments, "memory_budget", lambda: 1e4)
    with pytest.raises(ValueError, match=r"expected: d=20 needs .* GB .*keep fewer columns"):
        expected(problem(30, 20), bocce.schedules.sgd(2, 1.0), 3)


def test_bad_arguments_are_named():
    p, schedule = problem(6, 3), bocce.schedules.sgd(4, 1.0)
    with pytest.raises(ValueError, match=r"expected: batch_size=7 must be .* 1 to 6"):
        expected(p, schedule, 7)
    with pytest.raises(ValueError, match=r"expected: w0 .*\(2,\) must be 3 finite"):
        expected(p, schedule, 2, np.ones(2))
    with pytest.raises(ValueError, match=r"expected: w0"):
        expected(p, schedule, 2, [1.0, np.nan, 0.0])
    with pytest.raises(TypeError, match=r"schedule=.* must be a Schedule or a name"):
        expected(p, bocce.policies.sgd_sls_exponential(4), 2)
    with pytest.raises(ValueError, match=r"T=None must be the number of steps"):
        expected(p, "shb", 2)
    labels = bocce.Logistic(np.eye(2), np.array([0, 1]))
    with pytest.raises(TypeError, match=r"p=Logistic must be a LeastSquares"):
        expected(labels, schedule, 2)


def test_the_packed_triangle_keeps_dot_products():
    rng, triangle = np.random.default_rng(0), moments.Triangle(5)
    P, Q = (M + M.T for M in rng.standard_normal((2, 5, 5)))
    assert triangle.D == 15
    np.testing.assert_allclose(triangle.unpack(triangle.pack(P)), P)
    np.testing.assert_allclose(triangle.pack(P) @ triangle.pack(Q), np.trace(P @ Q))
    z = rng.standard_normal(5)
    np.testing.assert_allclose(triangle.squares(z[None])[0], triangle.pack(np.outer(z, z)))


def test_rounding_keeps_the_long_recurrence_symmetric():
    """Thousands of steps at a large condition number end at the stationary covariance."""
    X, y, _ = bocce.data.regression(n=500, d=4, kappa=1e4, noise_var=1.0, spectrum="sqrt")
    p = bocce.LeastSquares(X, y)
    schedule = bocce.schedules.shb(20_000, p.constants().L, p.constants().mu)
    limit = stationary(p, float(schedule.alpha[1]), float(schedule.beta[1]), 400)
    assert expected(p, schedule, 400).error2[-1] == pytest.approx(limit.error2, rel=1e-9)


@given(
    n=st.integers(2, 60),
    d=st.integers(1, 6),
    share=st.floats(0.0, 1.0),
    l2=st.sampled_from([0.0, 0.3]),
    multiple=st.floats(0.0, 2.0),
    step=st.floats(0.1, 3.0),
    seed=st.integers(0, 10_000),
)
@settings(deadline=None, max_examples=40)
def test_the_kernel_walks_as_its_readable_twin(n, d, share, l2, multiple, step, seed):
    """At every step, converging or not, to where the variance overflows and beyond."""
    p = problem(n, d, l2, seed)
    rng = np.random.default_rng(seed)
    T, b = 300, max(1, round(share * n))
    beta = rng.uniform(0.0, 0.95, T)
    schedule = Schedule(step * rng.uniform(0.3, 1.0, T) / p.constants().L, beta, multiple * beta)
    frame = moments.frame_of("test", p)
    lam, start = frame.along(rng.standard_normal(d))
    given = (lam, moments.Tabulated(frame), bocce.theory.zeta2(n, b), schedule, start)
    with np.errstate(over="ignore", invalid="ignore"):
        plain, compiled = row_walk.plain_walk(*given), row_walk.compiled_walk(*given)
        for want, got in zip(plain, compiled):
            largest = np.where(np.isfinite(want), np.abs(want), np.inf).max(axis=1, keepdims=True)
            seen = largest[:, 0] < 1e300  # above, rounding decides which of the two overflows first
            tolerance = 1e-9 * np.maximum.accumulate(largest)[seen]
            assert (np.abs(got - want)[seen] <= tolerance).all()
            gone = ~np.isfinite(largest[:, 0])
            gone[1:] &= gone[:-1]  # for two steps
            assert not np.isfinite(got[gone]).all(axis=1).any()


def test_a_long_curve_is_the_kernels_and_the_same():
    """One step fewer, and the curve is walked in Python."""
    X, y, _ = bocce.data.regression(n=300, d=12, kappa=100.0, noise_var=0.1, design="heavy")
    p = bocce.LeastSquares(X, y)
    schedule = bocce.schedules.two_phase(row_walk.COMPILED_STEPS, p.constants().L, p.constants().mu)
    compiled = expected(p, schedule, 250)
    plain = expected(p, Schedule(*(column[:-1] for column in schedule.table)), 250)
    for name in ("error2", "grad2", "gap", "bias2"):
        np.testing.assert_allclose(getattr(compiled, name)[:-1], getattr(plain, name), rtol=1e-10)


def test_a_small_table_is_made_once_for_a_problem(monkeypatch):
    p = problem(200, 4)
    made = []
    build = moments.Tabulated.__init__
    monkeypatch.setattr(
        moments.Tabulated, "__init__", lambda self, frame: (made.append(1), build(self, frame))[1]
    )
    schedule = bocce.schedules.sgd(600, p.constants().L)
    first, second = expected(p, schedule, 20), expected(p, schedule, 50)
    assert len(made) == 1
    assert first.error2[-1] > second.error2[-1]
