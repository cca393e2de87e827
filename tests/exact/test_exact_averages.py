"""Averages of iterates against every batch sequence; typical rates against closed forms."""

import itertools
import math

import numpy as np
import pytest

import bocce
from bocce.exact import expected, expected_average, mean_square_rate, typical_rate
from exact_enumeration import batches
from helpers import problem

SCHEDULES = {
    "heavy ball": bocce.Schedule(np.array([0.2, 0.1, 0.15, 0.05]), np.full(4, 0.6), np.zeros(4)),
    "lookahead": bocce.Schedule(np.full(4, 0.1), np.full(4, 0.5), np.array([0.0, 0.7, 0.3, 1.2])),
}
WAYS = {"half": {"tail": 0.5}, "all": {"tail": 1.0}, "memory": {"memory": 0.7}}


def enumerated(p, schedule, b, w0, average):
    """error2, grad2, gap, bias2 of the average of w_0 .. w_T over all batch sequences."""
    w_star = p.minimiser()
    A = p.X.T @ p.X / p.n + p.l2 * np.eye(p.d)
    ends = []
    for rows in itertools.product(batches(p.n, b), repeat=schedule.T):
        w = past = w0
        path = [w0]
        for B, alpha, beta, theta in zip(rows, schedule.alpha, schedule.beta, schedule.theta):
            g = p.gradient(w + theta * (w - past), np.array(B))
            w, past = w + beta * (w - past) - alpha * g, w
            path.append(w)
        ends.append(average(path) - w_star)
    E = np.array(ends)
    gap = 0.5 * np.einsum("ij,ij->i", E @ A, E).mean()
    grad2 = ((E @ A) ** 2).sum(axis=1).mean()
    return [(E**2).sum(axis=1).mean(), grad2, gap, (E.mean(axis=0) ** 2).sum()]


def averages(way):
    if "memory" in way:
        rho = way["memory"]

        def exponential(path):
            a = path[0]
            for w in path[1:]:
                a = rho * a + (1 - rho) * w
            return a

        return exponential
    return lambda path: np.mean(path[1 + int((len(path) - 1) * (1 - way["tail"])) :], axis=0)


@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SCHEDULES)
def test_the_average_over_every_batch_sequence(name, way, l2):
    rng = np.random.default_rng(3)
    p = bocce.LeastSquares(rng.standard_normal((4, 2)), rng.standard_normal(4), l2=l2)
    w0, schedule = np.array([0.5, -1.0]), SCHEDULES[name]
    curve = expected_average(p, schedule, 2, w0, **WAYS[way])
    found = [curve.error2[-1], curve.grad2[-1], curve.gap[-1], curve.bias2[-1]]
    exactly = enumerated(p, schedule, 2, w0, averages(WAYS[way]))
    np.testing.assert_allclose(found, exactly, rtol=1e-12)


def test_no_memory_is_the_last_iterate():
    p = problem("squared", np.random.default_rng(0).standard_normal((30, 3)))
    s = bocce.schedules.shb(40, p.constants().L, p.constants().mu)
    ours, last = expected_average(p, s, 10, memory=0.0), expected(p, s, 10)
    np.testing.assert_allclose(ours.error2, last.error2, rtol=1e-12)
    np.testing.assert_allclose(ours.gap, last.gap, rtol=1e-12)


def test_until_the_tail_begins_it_is_the_iterate():
    p = problem("squared", np.random.default_rng(0).standard_normal((30, 3)))
    s = bocce.schedules.shb(40, p.constants().L, p.constants().mu)
    ours, last = expected_average(p, s, 10, tail=0.25), expected(p, s, 10)
    np.testing.assert_allclose(ours.error2[:32], last.error2[:32], rtol=1e-12)
    assert ours.error2[-1] < last.error2[-1]


def test_directions_that_no_row_touches_are_averaged_too():
    p = bocce.LeastSquares(np.array([[1.0, 0.0], [2.0, 0.0]]), np.zeros(2), l2=0.5)
    s = bocce.schedules.sgd(3, 4.0)
    path = np.array([0.0, 1.0]) * (1 - 0.125) ** np.arange(4)[:, None]
    curve = expected_average(p, s, 1, [0.0, 1.0], tail=1.0)
    assert curve.error2[-1] == pytest.approx(path[1:, 1].mean() ** 2)


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ({}, "tail=None and memory=None must be one number"),
        ({"tail": 0.5, "memory": 0.5}, r"tail=0\.5 and memory=0\.5 must be"),
        ({"tail": 0.0}, r"tail=0\.0 must be"),
        ({"memory": 1.0}, r"memory=1\.0 must be"),
    ],
)
def test_one_average_at_a_time(way, message):
    p = problem("squared", np.eye(3))
    with pytest.raises(ValueError, match=message):
        expected_average(p, bocce.schedules.sgd(3, 1.0), 1, **way)


# -- typical rates -------------------------------------------------------------------------------


def test_one_coordinate_has_a_closed_form():
    """ln rate = mean of ln |1 - alpha (x_i^2 + l2)|, whatever the mean square does."""
    x = np.array([0.5, 1.0, 2.0, 3.0])
    p = bocce.LeastSquares(x[:, None], np.ones(4), l2=0.1)
    for alpha in (0.05, 0.3, 0.5):
        exactly = math.exp(np.log(np.abs(1 - alpha * (x**2 + 0.1))).mean())
        found = typical_rate(p, alpha, 0.0, 1, steps=5000)
        assert abs(found.rate - exactly) < 4 * found.error
        assert found.error < 0.02 * found.rate
        assert found.rate < mean_square_rate(p, alpha, 0.0, 1) + 4 * found.error


def test_all_rows_have_one_rate():
    p = problem("squared", np.random.default_rng(0).standard_normal((20, 3)))
    c = p.constants()
    s = bocce.schedules.nesterov(1, c.L, c.mu)
    three = float(s.alpha[0]), float(s.beta[0]), float(s.theta[0])
    found = typical_rate(p, *three[:2], 20, theta=three[2], steps=4000)
    # at the slow end roots are double: k rho^k, which is slower than rho^k by 1/k
    assert found.rate == pytest.approx(
        mean_square_rate(p, *three[:2], 20, theta=three[2]), abs=2e-3
    )


def test_diverges_in_mean_square_and_converges_in_nearly_every_run():
    """Factors 3/4 and -5/4: their squares have mean 17/16, their logarithms a negative one."""
    p = bocce.LeastSquares(np.array([[1.0], [3.0]]), np.zeros(2))
    assert mean_square_rate(p, 0.25, 0.0, 1) == pytest.approx(math.sqrt(17 / 16))
    found = typical_rate(p, 0.25, 0.0, 1, steps=6000)
    assert abs(found.rate - math.sqrt(15 / 16)) < 4 * found.error
    assert found.rate + 4 * found.error < 1.0
    sgd = bocce.schedules.sgd(2000, 4.0)
    ends = [bocce.minimize(p, sgd, batch_size=1, seed=seed, w0=[1.0]).w[0] for seed in range(5)]
    assert np.abs(ends).max() < 1e-12


def test_refusals_of_the_typical_rate():
    p = problem("logistic", np.eye(3), l2=0.1)
    with pytest.raises(TypeError, match="typical_rate: p=Logistic must be"):
        typical_rate(p, 0.1, 0.0, 1)
    with pytest.raises(ValueError, match="steps=10 must be"):
        typical_rate(problem("squared", np.eye(3)), 0.1, 0.0, 1, steps=10)
