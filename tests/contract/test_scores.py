"""What all scores must obey, wherever the rows lie: their answers are those of plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from array_api_strict import asarray

import bocce
from bocce.plane import SCORES, Sample
from bocce.plane.scores import GramScores
from tables_on_disk import parts_on_disk

N, D = 60, 4
RNG = np.random.default_rng(1)
X = RNG.standard_normal((N, D))
Y = X @ RNG.standard_normal(D) + RNG.standard_normal(N)


def made(name, loss, folder):
    """The scores, a problem of the same rows in memory, w and the directions that they are of."""
    y = Y > 0.0 if loss == "logistic" else Y
    plain = bocce.Problem(X, y, loss, l2=0.1)
    w, directions = np.zeros(D), np.zeros((3, D))
    p = plain
    if name == "file":
        p = bocce.Problem(parts_on_disk(folder / "rows.arrow", X, plain.y, 16), None, loss, l2=0.1)
    elif name == "array":
        p = bocce.Problem(asarray(X), asarray(np.asarray(y, dtype=float)), loss, l2=0.1)
    if name == "gram":
        return GramScores(p, p.sums, w, directions), plain, w, directions
    return SCORES[name](p, 2, ()), plain, w, directions


CASES = [(name, "squared") for name in SCORES]
CASES += [(name, "logistic") for name in SCORES if name != "gram"]  # sums serve squares alone


@pytest.fixture(params=CASES, ids="-".join)
def case(request, tmp_path):
    name, loss = request.param
    return made(name, loss, tmp_path)


def mean_loss(p, w):
    return float(p.losses(p.predict(w)).mean())


def slope(p, w):
    return p.combine(p.slopes(p.predict(w)))


def test_answers_are_those_of_plain_formulas(case):
    scores, p, w, directions = case
    start, d, e = RNG.standard_normal(D), RNG.standard_normal(D), RNG.standard_normal(D)
    w[:] = start
    assert scores.start(w).value == pytest.approx(mean_loss(p, start))
    np.testing.assert_allclose(scores.gradient(), slope(p, start), atol=1e-10)
    for slot, direction in ((0, d), (1, e)):
        change = scores.add_direction(slot, direction)
        assert change > 0.0
        scores.scale_direction(slot, 2.0)
        directions[slot] = direction / 2.0
    c = np.array([0.3, -0.2])
    point = start + c @ directions[:2]
    found = scores.try_step(c)
    assert found.value == pytest.approx(mean_loss(p, point))
    assert found.scale >= 0.0
    along = directions[:2] @ slope(p, point) / N
    np.testing.assert_allclose(found.plane_gradient, along, atol=1e-12)
    H = p.hessian(point)
    np.testing.assert_allclose(scores.curvature(2), directions[:2] @ H @ directions[:2].T)
    np.testing.assert_allclose(scores.curvature(2, 1)[:, 0], directions[:2] @ H @ directions[1])
    np.testing.assert_allclose(scores.hessian(Sample()), H, atol=1e-12)
    np.testing.assert_allclose(scores.hessian_diagonal(), H.diagonal(), atol=1e-12)
    assert scores.row_curvature().shape == (N,)
    assert scores.infimum() <= found.value
    assert scores.max_change > 0.0
    scores.accept(2, 4.0)
    w += c @ directions[:2]
    directions[2] = (c @ directions[:2]) / 4.0
    assert scores.look().value == pytest.approx(mean_loss(p, point))
    np.testing.assert_allclose(scores.gradient(), slope(p, point), atol=1e-10)
    np.testing.assert_allclose(scores.curvature(3), directions @ p.hessian(point) @ directions.T)


def test_errors_of_the_gradient_are_bounded(case):
    scores, p, w, _ = case
    w[:] = RNG.standard_normal(D)
    scores.start(w)
    error = scores.gradient_error()
    exact = slope(p, w) / N
    if error is not None:
        assert (np.abs(scores.gradient() / N - exact) <= error + 1e-15).all()


def test_the_state_comes_back_bit_for_bit(case, tmp_path):
    scores, p, w, directions = case
    w[:] = RNG.standard_normal(D)
    scores.start(w)
    directions[1] = RNG.standard_normal(D)
    scores.add_direction(1, directions[1])
    state = {name: np.array(array) for name, array in scores.state_dict(2).items()}
    scores.add_direction(1, np.ones(D))
    scores.load_state_dict(state, w, directions[1:2])
    again = scores.state_dict(2)
    assert state.keys() == again.keys()
    for name, array in state.items():
        np.testing.assert_array_equal(array, again[name])
    assert scores.look().value == pytest.approx(mean_loss(p, w))
