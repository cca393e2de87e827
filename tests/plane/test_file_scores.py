"""The plane over a file: the same steps as in memory, and no more reads than said."""

from __future__ import annotations

import numpy as np
import pytest

import bocce
import plane_problems as given
from bocce.plane import PlaneRun
from bocce.plane import plane as plane_module
from bocce.plane.metrics import FactorMetric
from bocce.plane.scores import Evaluation, FileScores, MemoryScores
from helpers import accepted
from tables_on_disk import parts_on_disk

N, D = 900, 6


@pytest.fixture
def pair(tmp_path, request):
    """The problem of a file in 9 parts, and of the same rows in memory."""
    loss = getattr(request, "param", "logistic")
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, D)) * np.linspace(0.3, 1.5, D)
    y = accepted(bocce.losses.REGISTRY[loss](), N)
    file = parts_on_disk(tmp_path / "rows.arrow", X, y, 100)
    return bocce.Problem(file, None, loss, 1e-3), bocce.Problem(X, y, loss, 1e-3)


def reads_of(problem):
    """Count the blocks that are read from now on."""
    blocks, stream = [], problem.given.X.stream

    def counted(plan):
        for i, block in zip(named := list(plan), stream(named)):
            blocks.append(i)
            yield block

    problem.given.X.stream = counted
    return blocks


def arrays(answer):
    """What was seen, but for ``size``, a bound that depends on how rows are cut into blocks."""
    parts = (answer.value, answer.plane_gradient) if isinstance(answer, Evaluation) else (answer,)
    return [np.asarray(x) for x in parts]


ONE_SCORE = sorted(bocce.losses.REGISTRY.keys() - {"softmax"})  # its scores are a matrix


@pytest.mark.parametrize("pair", ONE_SCORE, indirect=True)
def test_scores_are_those_of_rows_in_memory(pair):
    rng = np.random.default_rng(0)
    w, d, c = rng.standard_normal(D), rng.standard_normal(D), np.array([0.3, -0.2])
    found = []
    for scores in (FileScores(pair[0], 1, ()), MemoryScores(pair[1], 1, ())):
        seen = [scores.start(w), scores.gradient()]
        seen += [scores.add_direction(0, d), scores.add_direction(1, w), scores.curvature(2)]
        scores.scale_direction(1, 2.0)
        seen += [
            scores.try_step(c),
            scores.max_change,
            scores.gradient(),
            scores.hessian_diagonal(),
        ]
        scores.accept(1, 0.5)
        seen += [scores.look(), scores.gradient(), scores.curvature(2), scores.z, scores.U]
        found.append(np.concatenate([x.ravel() for one in seen for x in arrays(one)]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10, atol=1e-12)


def test_a_look_reads_once_and_a_step_twice_or_in_a_metric_once(pair):
    """And the Hessian of a sample reads no more blocks than hold so many rows."""
    problem = pair[0]
    blocks = reads_of(problem)
    plane = PlaneRun(problem, np.zeros(D), metric="identity")
    assert blocks == list(range(9))
    plane.step()
    assert len(blocks) == 3 * 9
    blocks.clear()
    plane = PlaneRun(problem, np.zeros(D))
    plane.policy.rows, blocks[:] = 150, []
    plane.policy.regret = np.inf
    plane.step()
    assert len(blocks) == 2 + 9


def test_the_minimum_is_that_of_memory(pair):
    r = bocce.minimize(pair[0], "plane", tol=1e-9)
    assert r.status == "converged"
    np.testing.assert_allclose(r.w, pair[1].minimiser(), rtol=1e-7)


def test_a_run_that_was_stopped_goes_on_bit_for_bit(pair, tmp_path):
    path = tmp_path / "run"
    bocce.minimize(pair[0], "plane", tol=1e-9, checkpoint=path, callback=lambda now: now.k == 2)
    again = bocce.minimize(pair[0], "plane", tol=1e-9, checkpoint=path)
    whole = bocce.minimize(pair[0], "plane", tol=1e-9)
    np.testing.assert_array_equal(again.w, whole.w)


# -- what a sample is solved for --------------------------------------------------------------


@pytest.fixture
def many(tmp_path, request):
    """32 blocks, of which 2 are solved ahead: the problem of the file, and that of memory."""
    loss = getattr(request, "param", "logistic")
    rng = np.random.default_rng(2)
    X = rng.standard_normal((32 * 400, D)) * np.linspace(0.3, 1.5, D)
    y = X @ np.ones(D) + rng.standard_normal(len(X))
    y = y if loss != "logistic" else np.sign(y)
    file = parts_on_disk(tmp_path / "rows.arrow", X, y, 400)
    pairs = [tuple(np.array(part) for part in file.read(i)) for i in range(file.n_parts)]
    return bocce.Problem(file, None, loss, 1e-3), bocce.Problem(X, y, loss, 1e-3), pairs


def test_the_first_step_goes_to_the_minimum_of_a_sample_and_reads_nothing(many):
    problem, _, pairs = many
    blocks = reads_of(problem)
    plane = PlaneRun(problem, np.zeros(D))
    assert blocks == [0, 16, *range(32)]
    blocks.clear()
    plane.step()
    X, y = (np.concatenate(column) for column in zip(pairs[0], pairs[16]))
    sample = bocce.Problem(X, y, "logistic", 1e-3)
    assert blocks == []
    least, first = sample.value(sample.minimiser()), sample.value(np.zeros(D))
    assert sample.value(plane.w) - least < 1e-4 * (first - least)
    gradient = many[1].gradient(plane.w)
    np.testing.assert_allclose(plane.gradient, gradient, rtol=1e-9, atol=1e-14)
    best = many[1].value(many[1].minimiser())
    gap = plane.value - best
    plane.step()
    assert blocks == list(range(32))
    assert plane.value - best < 0.1 * gap  # the sample's Hessian is that of all rows but for noise


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_a_run_with_a_step_ahead_goes_on_bit_for_bit(many, tmp_path, k):
    path, problem = tmp_path / "run", many[0]
    bocce.minimize(problem, "plane", tol=1e-10, checkpoint=path, callback=lambda now: now.k == k)
    again = bocce.minimize(problem, "plane", tol=1e-10, checkpoint=path)
    whole = bocce.minimize(problem, "plane", tol=1e-10)
    assert again.n_iter == whole.n_iter > 3
    np.testing.assert_array_equal(again.w, whole.w)
    np.testing.assert_array_equal(again.history["value"], whole.history["value"])


@pytest.mark.parametrize("factor", [-1.0, 50.0, 1e6])
def test_a_sample_that_misleads_costs_a_step_and_no_more(many, monkeypatch, factor):
    """A direction that leads up, or far too far: f does not rise, the minimum is found."""
    solve = plane_module.minimum_of_sample

    def misled(*args):
        direction, hessian = solve(*args)
        return factor * direction, hessian

    monkeypatch.setattr(plane_module, "minimum_of_sample", misled)
    r = bocce.minimize(many[0], "plane", tol=1e-9)
    assert r.status == "converged"
    assert (np.diff(r.history["value"]) <= 1e-15).all()
    np.testing.assert_allclose(r.w, many[1].minimiser(), rtol=1e-6)


def test_a_start_that_is_given_is_believed(many):
    blocks = reads_of(many[0])
    PlaneRun(many[0], np.ones(D))
    assert blocks == list(range(32))


@pytest.mark.parametrize("many", ["squared"], indirect=True)
def test_least_squares_takes_two_reads(many):
    """One for the gradient and the Gram matrix, one for the step, which is exact."""
    blocks = reads_of(many[0])
    plane = PlaneRun(many[0], np.zeros(D))
    plane.step()
    assert blocks == 2 * list(range(32))
    np.testing.assert_allclose(plane.w, many[1].minimiser(), rtol=1e-9)


def test_a_step_that_ends_elsewhere_takes_a_second_read(pair):
    """In a metric ten times too steep Newton's step is ten times too short: the plane knows."""
    H = pair[1].hessian(np.zeros(D))
    planes = [
        PlaneRun(p, np.zeros(D), metric=given.fixed(FactorMetric.of(10.0 * H, 0.0))) for p in pair
    ]
    blocks = reads_of(pair[0])
    for plane in planes:
        plane.step()
    assert blocks == 2 * list(range(9))
    assert planes[0].value == pytest.approx(planes[1].value, rel=1e-12)
    np.testing.assert_allclose(planes[0].w, planes[1].w, rtol=1e-9)


@pytest.mark.parametrize("pair", ONE_SCORE, indirect=True)
def test_an_intercept_is_that_of_memory(pair):
    file, whole = (
        bocce.Problem(p.given.X, y, p.loss, 1e-3, intercept=True)
        for p, y in zip(pair, (None, pair[1].y))
    )
    r = bocce.minimize(file, "plane", tol=1e-9)
    s = bocce.minimize(whole, "plane", tol=1e-10)
    assert r.status == "converged"
    np.testing.assert_allclose([*r.w, r.intercept], [*s.w, s.intercept], rtol=1e-6, atol=1e-8)
    plan, batches = bocce.schedules.nesterov(T=20, L=20.0, mu=0.1), {"batch_size": 300, "seed": 3}
    t, u = (bocce.minimize(file, plan, engine=name, **batches) for name in bocce.engines.REGISTRY)
    np.testing.assert_allclose([*t.w, t.intercept], [*u.w, u.intercept], rtol=1e-9)


def test_scores_without_room_say_what_is_needed(pair, monkeypatch):
    def full(self, memory, dtype):
        raise MemoryError

    monkeypatch.setattr(MemoryScores, "_make_room", full)
    file = next(p for p in pair if p.in_parts)
    said = rf"scores of {file.n:,} rows of a file \(96 bytes a row\): needs .* MB more.*batch_size"
    with pytest.raises(MemoryError, match=said):
        bocce.minimize(file, "plane", tol=1e-6)
