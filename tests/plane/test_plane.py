"""Heavy ball with the best step and momentum: descent, conjugate gradients, every size of data."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, settings
from hypothesis import given as drawn
from hypothesis import strategies as st

import plane_problems as given
from bocce.plane.linalg import norm
from bocce.plane.metrics import FactorMetric
from bocce.plane.parts import PartLimits
from bocce.plane.plane import PlaneLimits, PlaneRun
from bocce.plane.scores import MemoryScores

CLASSES = (given.Logistic(), given.SquaredHinge())
LOSSES = (*CLASSES, given.Squared(), given.Huber(0.5), given.Poisson())


def data(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    return X, X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n)


def targets(loss, y):
    if loss in CLASSES:
        return np.where(y > 0, 1.0, -1.0)
    return np.round(np.exp(np.clip(y, -3, 3))) if loss == given.Poisson() else y


def problem(loss, n=60, d=5, seed=0, ridge=1e-3, weight=None, scale=1.0):
    X, y = data(n, d, seed)
    return given.problem(X * scale, targets(loss, y), loss, ridge, weight)


def run(p, steps=200, tol=1e-9, w0=None, **options):
    """The plane after its last step, and all steps; it stops where ||g|| <= tol ||g_0||."""
    plane = PlaneRun(p, np.zeros(p.rows.d) if w0 is None else w0, **options)
    first, taken = plane.norm, []
    while len(taken) < steps and plane.norm > tol * first:
        taken.append(SimpleNamespace(verdict=plane.step(), value=plane.value))
        if taken[-1].verdict:
            break
    return plane, taken


# -- conjugate gradients --------------------------------------------------------------------------


def conjugate_gradients(A, b, P, steps):
    """Preconditioned, from 0: the points after each step (the textbook's)."""
    w, r = np.zeros(len(b)), b.copy()
    s = P(r)
    p, points = s.copy(), []
    for _ in range(steps):
        rho, Ap = r @ s, A @ p
        w = w + rho / (p @ Ap) * p
        r = r - rho / (p @ Ap) * Ap
        s = P(r)
        p = s + (r @ s) / rho * p
        points.append(w)
    return points


@pytest.mark.parametrize("memory", [1, 3])
@pytest.mark.parametrize("kind", ["identity", "diagonal", "matrix"])
@pytest.mark.parametrize("weighted", [False, True])
def test_on_least_squares_it_is_conjugate_gradients(memory, kind, weighted):
    rng = np.random.default_rng(3)
    n, d = 50, 8
    X = rng.standard_normal((n, d)) * np.geomspace(1.0, 0.05, d)
    ridge = np.linspace(0.0, 0.1, d)
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    p = given.problem(X, rng.standard_normal(n), given.Squared(), ridge, weight)
    c = np.ones(n) if p.weight is None else p.weight
    A = X.T @ (X * c[:, None]) / n + np.diag(ridge)
    D = np.diag(np.diag(A))
    M, metric = {
        "identity": (np.eye(d), "identity"),
        "diagonal": (D, given.fixed(FactorMetric.of(np.diag(A) - ridge, ridge))),
        "matrix": (A + 0.3 * D, given.fixed(FactorMetric.of(A + 0.3 * D, 0.0))),
    }[kind]
    plane = PlaneRun(p, np.zeros(d), memory=memory, metric=metric)
    exact = conjugate_gradients(A, X.T @ (c * p.y) / n, lambda g: np.linalg.solve(M, g), d)
    start, best = norm(exact[-1]), exact[-1]
    for point in exact:
        plane.step()
        assert norm(plane.w - point) <= 1e-9 * start
    assert norm(plane.w - best) <= 1e-9 * start


def test_the_exact_hessian_of_a_quadratic_takes_one_step():
    X, y = data(4000, 12)
    plane, steps = run(given.problem(X, y, given.Squared(), 1e-3), tol=1e-10)
    assert len(steps) == 1
    assert plane.policy.taken == 1


# -- descent --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@drawn(
    seed=st.integers(0, 999),
    power=st.integers(-8, 8),
    n=st.integers(1, 70),
    d=st.integers(1, 9),
    memory=st.integers(0, 6),
    metric=st.sampled_from(["identity", "auto"]),
    weighted=st.booleans(),
    ridge=st.sampled_from([0.0, 1e-9, 1e-2, 10.0]),
    start=st.sampled_from([0.0, 1.0]),
)
@settings(max_examples=60)
@example(5, 8, 1, 9, 1, "auto", True, 0.0, 0.0)
def test_f_never_rises(loss, seed, power, n, d, memory, metric, weighted, ridge, start):
    rng = np.random.default_rng(seed)
    X, y = data(n, d, seed)
    weight = rng.uniform(0.0, 3.0, n) + 1e-3 if weighted else None
    p = given.problem(X * 10.0**power, targets(loss, y), loss, ridge, weight)
    w0 = start * rng.standard_normal(d) / 10.0**power
    plane = PlaneRun(p, w0, memory=memory, metric=metric)
    first = before = plane.value
    for _ in range(12):
        plane.step()
        # beside the rounding of f's sum that of the scores, which are as exact as the first ones:
        # where they are computed anew, f is corrected by that
        assert plane.value <= before + plane.slack + 1e-14 * abs(first)
        assert np.isfinite(plane.w).all()
        before = plane.value
    with np.errstate(all="ignore"):
        assert plane.value == pytest.approx(
            given.value(p, plane.w), rel=1e-9, abs=1e-12 * abs(first)
        )


@pytest.mark.parametrize("seed", range(20))
def test_where_the_scores_are_corrected_f_has_not_risen(seed):
    """What a refresh adds to the value is rounding of the scores; f itself, from w, stays put."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 60)), int(rng.integers(1, 12))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 3, d)
    p = given.problem(X, np.sign(rng.standard_normal(n)), given.SquaredHinge(), 1e-6)
    plane = PlaneRun(p, 100.0 * rng.standard_normal(d), metric="identity")
    before = given.value(p, plane.w)
    for _ in range(70):
        plane.step()
        after = given.value(p, plane.w)
        assert after <= before * (1.0 + 1e-14)
        before = after


@pytest.mark.parametrize("metric", ["identity", "auto"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_minimum_is_found_whatever_the_units(loss, scale, metric):
    p = problem(loss, ridge=1e-2 * scale**2, scale=scale)
    plane, steps = run(p, metric=metric, tol=1e-8)
    plane.refresh()
    g = given.gradient(p, plane.w)
    assert norm(g) <= 1e-8 * norm(given.gradient(p, np.zeros(p.rows.d)))
    assert plane.gradient == pytest.approx(g, abs=1e-3 * norm(g))
    assert not steps[-1].verdict


@pytest.mark.parametrize("size", [1e-85, 1e77])
def test_squares_of_very_small_and_large_numbers_are_not_formed(size):
    X, y = data()
    plane, steps = run(given.problem(X * size, y * size, given.Squared(), 0.0), tol=1e-9)
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    assert steps
    assert plane.w == pytest.approx(exact, rel=1e-6)


# -- every kind of data ---------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_weights_are_as_good_as_rows_repeated(loss):
    X, y = data(30, 4)
    y = targets(loss, y)
    times = np.random.default_rng(1).integers(1, 4, 30)
    once = given.problem(X, y, loss, 1e-2, weight=times)
    often = given.problem(np.repeat(X, times, axis=0), np.repeat(y, times), loss, 1e-2)
    assert run(once)[0].w == pytest.approx(run(often)[0].w, abs=1e-7)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_sparse_and_single_precision_rows_have_the_same_minimum(loss):
    X, y = data(80, 6)
    X = np.float32(X * (np.random.default_rng(2).random(X.shape) < 0.5))
    y = targets(loss, y)
    exact = run(given.problem(X.astype(float), y, loss, 1e-2), tol=1e-7)[0].w
    assert run(given.problem(X, y, loss, 1e-2), tol=1e-7)[0].w == pytest.approx(exact, abs=1e-5)
    csr = given.problem(sp.csr_array(X.astype(float)), y, loss, 1e-2)
    assert run(csr, tol=1e-7)[0].w == pytest.approx(exact, abs=1e-5)


def test_an_intercept_without_penalty_fits_the_mean():
    X, y = data(200, 3)
    X[:, -1] = 1.0
    p = given.problem(X, y + 100.0, given.Squared(), np.array([1e-2, 1e-2, 0.0]))
    plane, _ = run(p)
    assert (X @ plane.w - y - 100.0).mean() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("metric", ["identity", "auto"])
def test_fewer_rows_than_columns_and_columns_that_repeat(metric):
    X, y = data(12, 30)
    X[:, 20:] = X[:, :10]
    X[:, 3] = 0.0
    plane, steps = run(given.problem(X, y, given.Squared(), 0.0), metric=metric)
    assert plane.value < 1e-15
    assert plane.w[3] == 0.0
    assert len(steps) <= 40


def test_what_no_row_sees_is_left_to_the_penalty():
    X = np.array([[1.0, 0.0], [2.0, 0.0]])
    p = given.problem(X, np.zeros(2), given.Squared(), 0.5)
    plane = PlaneRun(p, np.array([0.0, 3.0]), metric="identity")
    plane.step()
    assert plane.norm <= 1e-9
    assert plane.w == pytest.approx([0.0, 0.0], abs=1e-9)


def test_the_oldest_displacement_makes_room():
    p = problem(given.Logistic(), d=9)
    plane = PlaneRun(p, np.zeros(9), memory=3, metric="identity")
    points = [plane.w.copy()]
    for _ in range(5):
        plane.step()
        points.append(plane.w.copy())
    last = np.diff(points, axis=0)[-3:]
    for row in plane.directions.D[1:]:
        along = [abs(row @ d) / norm(row) / norm(d) for d in last]
        assert max(along) == pytest.approx(1.0)


def test_softmax_is_a_matrix_of_scores():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 4))
    y = np.eye(3)[(X @ rng.standard_normal((4, 3)) + rng.gumbel(size=(90, 3))).argmax(axis=1)]
    weight = rng.uniform(0.5, 2.0, 90)
    p = given.problem(X, y, given.Softmax(), np.array([1e-2, 1e-2, 1e-2, 0.0]), weight)
    plane, steps = run(p, w0=np.zeros((4, 3)), tol=1e-8)
    assert max(np.diff([step.value for step in steps])) < 1e-15, "but for rounding"
    first = norm(given.gradient(p, np.zeros((4, 3))))
    assert norm(given.gradient(p, plane.w)) <= 1e-7 * first


def test_blocks_of_rows_change_nothing_but_the_order_of_sums():
    p = problem(given.Logistic(), n=300)
    rng = np.random.default_rng(0)
    w, d = rng.standard_normal((2, p.d))
    whole = MemoryScores(p, 1, ())
    parts = MemoryScores(p, 1, (), PartLimits(block=64))
    assert len(parts.places) == 5
    assert len(whole.places) == 1
    assert parts.start(w).value == pytest.approx(whole.start(w).value, rel=1e-14)
    assert parts.gradient() == pytest.approx(whole.gradient(), rel=1e-10)
    assert parts.add_direction(0, d) == pytest.approx(whole.add_direction(0, d), rel=1e-14)
    for scores in (parts, whole):
        scores.scale_direction(0, 0.5)
    found, wanted = (scores.try_step(np.array([0.3])) for scores in (parts, whole))
    assert found.value == pytest.approx(wanted.value, rel=1e-14)
    assert found.plane_gradient == pytest.approx(wanted.plane_gradient, rel=1e-10)
    assert parts.gradient() == pytest.approx(whole.gradient(), rel=1e-10)
    assert parts.curvature(1) == pytest.approx(whole.curvature(1), rel=1e-10)
    assert parts.hessian_diagonal() == pytest.approx(whole.hessian_diagonal(), rel=1e-10)


# -- when to stop ---------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["identity", "auto"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_where_no_fall_can_be_measured_it_stops_and_says_so(loss, metric):
    p = problem(loss, n=200)
    plane, steps = run(p, steps=400, tol=0.0, metric=metric)
    assert plane.norm == 0.0 or steps[-1].verdict == "stalled"
    assert len(steps) < 100
    assert norm(given.gradient(p, plane.w)) <= 1e-12 * norm(given.gradient(p, 0.0 * plane.w))


@pytest.mark.parametrize("metric", ["identity", "auto"])
def test_rare_columns_meet_a_tolerance_near_rounding(metric):
    rng = np.random.default_rng(0)
    X = (rng.random((20_000, 20)) < 0.01).astype(float)
    y = np.sign(X @ rng.standard_normal(20) + rng.standard_normal(20_000))
    plane, steps = run(given.problem(X, y, given.Logistic(), 1e-6), tol=1e-10, metric=metric)
    assert plane.norm <= 1e-10 * norm(given.gradient(plane.problem, np.zeros(20)))
    assert len(steps) < 60


@pytest.mark.parametrize("metric", ["identity", "auto"])
@pytest.mark.parametrize("quasi", [False, True])
def test_separable_classes_without_penalty_run_away_and_it_says_so(metric, quasi):
    X, y = data(100, 4)
    y = np.where(y > 0, 1.0, -1.0)
    if quasi:  # only one column gives its rows away
        X[:, 0] = 0.0
        X[:10, 0], y[:10] = 1.0, 1.0
    else:
        X[:, 0] = y
    _, steps = run(given.problem(X, y, given.Logistic(), 0.0), steps=300, tol=0.0, metric=metric)
    slow = quasi and metric == "identity"  # f is at rounding before w has gone far
    assert steps[-1].verdict in (("unbounded", "stalled") if slow else ("unbounded",))
    assert len(steps) < 150


def test_a_start_at_which_f_is_infinite_is_refused():
    p = problem(given.Poisson())
    with pytest.raises(ValueError, match=r"f\(w0\)=inf must be finite.*scale the data"):
        PlaneRun(p, np.full(5, 1e6))


def test_at_the_minimum_nothing_moves():
    p = given.problem(np.eye(3), np.zeros(3), given.Squared(), 0.0)
    plane = PlaneRun(p, np.zeros(3))
    assert plane.step() == ""
    assert (plane.norm, plane.predicted) == (0.0, 0.0)


def test_a_step_costs_two_products_and_foresees_its_fall():
    X, y = data(400, 5)
    p = given.problem(X, y, given.Squared(), 1e-3)
    plane = PlaneRun(p, np.zeros(5), metric="identity")
    before, products = plane.value, plane.products
    plane.step()
    assert plane.products - products == 2
    assert before - plane.value == pytest.approx(plane.predicted, rel=1e-9)


# -- a killed run goes on -------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["identity", "auto"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("stop", [0, 1, 3, 7])
def test_a_run_goes_on_from_its_state_bit_for_bit(loss, metric, stop):
    p = problem(loss, n=3000, d=4, weight=np.linspace(1.0, 2.0, 3000))
    straight = PlaneRun(p, np.zeros(4), memory=3, metric=metric)
    for _ in range(stop):
        straight.step()
    state = {name: np.array(array) for name, array in straight.state_dict().items()}
    resumed = PlaneRun.from_state(p, state, metric)
    assert resumed.value == straight.value
    assert (resumed.gradient == straight.gradient).all()
    for _ in range(4):
        assert straight.step() == resumed.step()
        assert (resumed.w == straight.w).all()
        assert (resumed.gradient == straight.gradient).all()
        assert (resumed.value, resumed.predicted) == (straight.value, straight.predicted)
        assert (resumed.products, resumed.evaluations) == (straight.products, straight.evaluations)


def test_scores_are_computed_anew_now_and_then():
    p = problem(given.Logistic())
    plane = PlaneRun(p, np.zeros(5), metric="identity", limits=PlaneLimits(refresh_every=3))
    for _ in range(3):
        plane.step()
    plane.scores.z += 1e-3  # as if rounding had gathered
    plane.step()
    assert plane.value == pytest.approx(given.value(p, plane.w), rel=1e-14)
