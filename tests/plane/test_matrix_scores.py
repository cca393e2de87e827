"""Scores of several outputs, kept or computed again: their answers are those of plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import bocce
from bocce.plane import Sample
from bocce.plane.parts import PartLimits
from bocce.plane.scores import MemoryScores, RecomputedScores
from plane_problems import second_derivatives_times

N, D, K = 1300, 6, 5  # three parts
RNG = np.random.default_rng(1)
X = RNG.standard_normal((N, D))
FORMS = {
    "float64": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sp.csr_array,
}


@pytest.fixture(params=[(form, most, w) for form in FORMS for most in (1 << 32, 0) for w in (0, 1)])
def case(request):
    form, most, weighted = request.param
    y = (X @ RNG.standard_normal((D, K)) + RNG.gumbel(size=(N, K))).argmax(axis=1)
    weight = RNG.uniform(0.5, 1.5, N) if weighted else None
    p = bocce.Problem(FORMS[form](X), y, "softmax", 0.1, sample_weight=weight)
    scores = (MemoryScores if most else RecomputedScores)(p, 2, (K,), PartLimits(numbers=1))
    assert RecomputedScores.needed(p, 2, most) == (most == 0)
    assert len(scores.parts) == 3
    return scores, p


def mean_loss(p, w):
    return float(p.losses(p.predict(w)).mean())


def slope(p, w):
    return p.combine(p.slopes(p.predict(w)))


def test_answers_are_those_of_plain_formulas(case):
    scores, p = case
    rough = 1e-6 if scores.eps > 1e-10 else 1e-10
    start, d, e = RNG.standard_normal((3, D, K))
    assert scores.start(start).value == pytest.approx(mean_loss(p, start))
    np.testing.assert_allclose(scores.gradient(), slope(p, start), atol=1e-10)
    for slot, direction in ((0, d), (1, e)):
        change = scores.add_direction(slot, direction)
        assert change == pytest.approx(np.abs(p.predict(direction)).max())
        scores.scale_direction(slot, 2.0)
    directions = np.stack([d, e]) / 2.0
    c = np.array([0.3, -0.2])
    step = np.tensordot(c, directions, 1)
    found = scores.try_step(c)
    point = start + step
    assert found.value == pytest.approx(mean_loss(p, point), rel=rough)
    along = np.tensordot(directions, slope(p, point), 2) / N
    np.testing.assert_allclose(found.plane_gradient, along, atol=rough)
    np.testing.assert_allclose(scores.gradient(), slope(p, point), atol=N * rough)
    most = np.abs(p.predict(step)).max()
    assert (1.0 - rough) * most <= scores.max_change <= 3.0 * most
    z = p.predict(point)
    bent = [second_derivatives_times(p, z, p.predict(v)) for v in directions]
    curved = [[np.vdot(p.predict(u), b) / N for b in bent] for u in directions]
    np.testing.assert_allclose(scores.curvature(2), curved, atol=rough)
    np.testing.assert_allclose(scores.curvature(2, 1)[:, 0], np.array(curved)[:, 1], atol=rough)
    bends = p.bends(z).mean(axis=1)
    np.testing.assert_allclose(scores.row_curvature(), bends, atol=rough)
    np.testing.assert_allclose(scores.hessian(Sample()), p.rows.gram(bends), atol=rough)
    np.testing.assert_allclose(scores.hessian_diagonal(), p.rows.squares(bends), atol=rough)
    assert scores.infimum() <= found.value
    scores.accept(2, 4.0)
    np.testing.assert_allclose(scores.gradient(), slope(p, point), atol=N * rough)
    np.testing.assert_allclose(scores.scores(slice(3, 9)), z[3:9], atol=10.0 * rough)
    assert scores.look().value == pytest.approx(mean_loss(p, point), rel=rough)
    third = np.vdot(p.predict(step), second_derivatives_times(p, z, p.predict(step))) / N / 16.0
    assert scores.curvature(3)[2, 2] == pytest.approx(third, rel=1e-4)
    assert scores.max_score() == (
        pytest.approx(np.abs(z).max()) if type(scores) is MemoryScores else np.inf
    )
    assert scores.gradient_error() is scores.first_direction() is None
    assert not scores.predicts_gradient(True)


def test_a_loss_of_ones_own_needs_the_product_with_its_second_derivative():
    from typing import NamedTuple

    from bocce.losses import loss
    from refusal import refused

    class Two(NamedTuple):
        multi_output, curvature = True, 1.0
        value = slope = bend = None

    refused(lambda: loss("two")(Two), TypeError, r"loss: Two must .*; add bend_times\.")
