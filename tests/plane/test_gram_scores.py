"""A squared loss whose Gram matrix is bought at once: steps in d numbers, and when they end."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

import bocce
import plane_problems as given
from bocce.plane import IdentityPolicy, PlaneLimits, PlaneRun, Sample, choose, sums_suffice
from bocce.plane.metrics import HessianPolicy, Identity
from bocce.plane.scores import GramScores, MemoryScores
from bocce.problems import Problem, norm
from bocce.rows import Copied, Dense, Scaled

N, D = 400, 6


@pytest.fixture(autouse=True, scope="module")
def however_few():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "FEW", 0)
        yield


def data(seed=0, n=N, d=D):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ np.diag(np.geomspace(1.0, 30.0, d))
    return X, X @ rng.standard_normal(d) + rng.standard_normal(n), rng.random(n) + 0.2


def problem(kind="dense", weighted=False, ridge=None, seed=0):
    X, y, c = data(seed)
    ridge = np.linspace(0.0, 0.1, D) if ridge is None else ridge
    X = sp.csr_array(X * (np.abs(X) > 0.5)) if kind == "sparse" else X
    p = given.problem(X, y, given.Squared(), ridge, c if weighted else None)
    if kind in ("scaled", "copied"):
        rows = Scaled(X, np.zeros(D), np.ones(D), 0.0)
        rows = Copied(rows) if kind == "copied" else rows
        p = Problem.of(rows, y, p.loss, p.l2, weight=p.weight, penalty=p.penalty)
    return p


KINDS = ["dense", "sparse", "scaled", "copied"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_one_step_is_all_and_its_gradient_is_that_of_the_rows(kind, weighted):
    p = problem(kind, weighted)
    plane = PlaneRun(p, np.full(D, 0.5))
    assert isinstance(plane.scores, GramScores)
    assert plane.value == pytest.approx(p.value(plane.w), rel=1e-12)
    assert plane.gradient == pytest.approx(p.gradient(plane.w), rel=1e-11)
    first = plane.norm
    plane.step()
    assert plane.norm <= 1e-11 * first
    assert plane.value == pytest.approx(p.value(plane.w), rel=1e-12)
    assert plane.w == pytest.approx(p.minimiser(), rel=1e-9)
    assert plane.scores.gradient_error() is not None
    assert norm(p.gradient(plane.w)) <= plane.norm + norm(plane.scores.gradient_error())


@pytest.mark.parametrize("memory", [1, 3])
def test_with_the_identity_steps_are_those_that_scores_take(memory):
    """A plane by sums and one by scores, both kept from buying the metric that ends it all."""
    p = problem(ridge=0.05)
    by_sums = PlaneRun(p, np.zeros(D), memory=memory)
    assert isinstance(by_sums.scores, GramScores)
    by_scores = PlaneRun(p, np.zeros(D), memory=memory, metric="identity")
    assert type(by_scores.scores) is MemoryScores
    by_sums.policy = IdentityPolicy(p)  # P = I
    for _ in range(D - 1):
        by_sums.step()
        by_scores.step()
        assert by_sums.value == pytest.approx(by_scores.value, rel=1e-10)
        assert by_sums.w == pytest.approx(by_scores.w, rel=1e-8)
        nearly = {"rel": 1e-6, "abs": 1e-7 * norm(p.moment)}
        assert by_sums.gradient == pytest.approx(by_scores.gradient, **nearly)


@settings(max_examples=20, deadline=None)
@drawn(seed=st.integers(0, 99), powers=st.lists(st.integers(-8, 8), min_size=D, max_size=D))
def test_f_never_rises(seed, powers):
    X, y, _ = data(seed)
    p = given.problem(X * 10.0 ** np.array(powers), y, given.Squared(), 0.0)
    plane = PlaneRun(p, np.zeros(D))
    before = p.value(plane.w)
    for _ in range(4):
        slack = plane.slack
        plane.step()
        after = p.value(plane.w)
        assert after <= before + slack
        before = after


def test_refresh_goes_back_to_the_rows_with_the_metric_that_is_bought(monkeypatch):
    grams, gram = [], Dense.gram
    monkeypatch.setattr(Dense, "gram", lambda *given: grams.append(1) or gram(*given))
    p = problem()
    plane = PlaneRun(p, np.zeros(D))
    plane.step()
    plane.refresh()
    assert type(plane.scores) is MemoryScores
    assert plane.scores.gradient_error() is None
    assert np.array_equal(plane.gradient, p.gradient(plane.w))
    before = plane.norm
    assert not isinstance(plane.metric, Identity)
    plane.step()
    assert plane.norm < 1e-2 * before
    assert not grams  # the sums were all


def test_a_gradient_below_what_sums_can_tell_is_taken_from_the_rows():
    p = problem()
    plane = PlaneRun(p, np.zeros(D))
    first = plane.norm
    for _ in range(4):
        plane.step()
    assert plane.scores.gradient_error() is None
    assert norm(p.gradient(plane.w)) <= 1e-14 * first


def test_flat_directions_are_left_alone():
    """More columns than rows, and no penalty: what is left after a step is rounding, and so is
    where a further one would go."""
    rng = np.random.default_rng(0)
    p = given.problem(rng.standard_normal((8, 13)), rng.standard_normal(8), given.Squared(), 0.0)
    plane = PlaneRun(p, np.zeros(13))
    assert isinstance(plane.scores, GramScores)
    for _ in range(6):
        plane.step()
        assert np.abs(plane.w).max() < 2.0
        assert p.value(plane.w) < 1e-20


def test_rows_of_zeros_are_no_doubt():
    p = given.problem(np.zeros((50, 3)), np.ones(50), given.Squared(), 0.0)
    plane = PlaneRun(p, np.zeros(3))
    assert plane.norm == 0.0
    assert not plane.scores.gradient_error().any()


def test_a_start_at_the_minimiser_is_seen_from_the_rows():
    p = problem()
    plane = PlaneRun(p, p.minimiser())
    assert plane.norm <= norm(plane.scores.gradient_error())
    plane.step()
    assert plane.scores.gradient_error() is None
    assert plane.policy.taken == 1


@pytest.mark.parametrize("before", [1, 2, 4])
def test_a_run_that_was_stopped_goes_on_bit_for_bit(before):
    plane = PlaneRun(problem(seed=3), np.zeros(D))
    for _ in range(before):
        plane.step()
    state = {name: value.copy() for name, value in plane.state_dict().items()}
    other = PlaneRun.from_state(problem(seed=3), state)
    assert type(other.scores) is type(plane.scores)
    for _ in range(3):
        plane.step()
        other.step()
        assert np.array_equal(plane.w, other.w)
        assert np.array_equal(plane.gradient, other.gradient)


def test_sums_that_overflow_are_no_sums():
    X, y, _ = data()
    X[0, 0] = 1e200
    assert not sums_suffice(given.problem(X, y, given.Squared(), 0.1))
    assert sums_suffice(problem())
    assert not sums_suffice(given.problem(X, np.sign(y), given.Logistic(), 0.1))


def test_a_metric_that_does_not_pay_at_once_leaves_the_scores():
    _, y, _ = data()
    wide = np.random.default_rng(0).standard_normal((N, 4 * N))
    p = given.problem(wide, y, given.Squared(), 0.1)
    assert not HessianPolicy(p).before_first_step
    assert type(PlaneRun(p, np.zeros(4 * N)).scores) is MemoryScores


def test_other_targets_cost_no_gram_matrix():
    p = problem()
    assert p.sums.gram is p.replace(l2=3.0).sums.gram
    other = p.with_encoded(p.y**2)
    assert other.sums.gram is p.sums.gram
    assert other.sums.gradient(np.zeros(D)) == pytest.approx(-other.moment)
    run = PlaneRun(other, np.zeros(D))
    run.step()
    assert run.norm <= 1e-11 * norm(other.moment)


def test_a_path_takes_one_pass_for_all_penalties(monkeypatch):
    passes = []
    for kind in (Dense, Scaled):

        def counted(*given, moments=kind.moments):
            passes.append(1)
            return moments(*given)

        monkeypatch.setattr(kind, "moments", counted)
    X, y, _ = data()
    p = bocce.LeastSquares(X, y)
    l2s = [1.0, 0.1, 0.01]
    for l2, found in zip(l2s, bocce.path(p, l2s, tol=1e-8)):
        assert found.status == "converged"
        assert found.w == pytest.approx(p.replace(l2=l2).minimiser(), rel=1e-6)
    assert len(passes) == 1


class OwnSums(IdentityPolicy):
    """A policy from outside: the Hessian of a quadratic, bought before the first step."""

    before_first_step = True

    def update(self, view):
        if view.metric is not self.begin(view.ridge):
            return None
        return self.known(view.hessian(Sample()), view.ridge)


def test_a_policy_of_ones_own_may_use_sums():
    p = problem()
    plane = PlaneRun(p, np.zeros(D), metric=OwnSums)
    assert isinstance(plane.scores, GramScores)
    first = plane.norm
    plane.step()
    assert plane.norm <= 1e-11 * first
    r = bocce.minimize(p, "plane", tol=1e-12, metric=OwnSums)
    assert (r.status, r.n_iter) == ("converged", 1)
    assert r.w == pytest.approx(p.minimiser(), rel=1e-9)


class OwnSample(IdentityPolicy):
    """Another: it begins with the minimum over a sample of the rows, and the Hessian there."""

    samples_first = True


def test_a_policy_of_ones_own_may_begin_with_a_sample():
    X, y, _ = data(n=4000)
    p = bocce.Problem(X, y > 0.0, "logistic", l2=1e-3)
    limits = PlaneLimits(sample_numbers=1, sample_rows=1)
    plane = PlaneRun(p, np.zeros(D), metric=OwnSample, limits=limits)
    plane.step()
    assert plane.metric.newton_like
    alone = PlaneRun(p, np.zeros(D), metric="identity", limits=limits)
    alone.step()
    assert plane.value < alone.value
