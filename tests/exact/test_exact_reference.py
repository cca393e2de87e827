"""The paper's synthetic problems: figures that any correct implementation must give."""

from __future__ import annotations

import numpy as np
import pytest

import bocce
from bocce import schedules
from bocce.exact import critical_batch_size, expected, stationary

N, D, B, T = 10_000, 20, 9000, 7000


def synthetic(kappa, design="haar", spectrum="sqrt", noise_var=0.0, seed=0):
    X, y, _ = bocce.data.regression(N, D, kappa, noise_var, design, 10.0, spectrum, seed)
    return bocce.LeastSquares(X, y)


def heavy_ball(p, a=1.0):
    c = p.constants()
    schedule = schedules.shb(2, c.L, c.mu, a)
    return float(schedule.alpha[1]), float(schedule.beta[1])


@pytest.mark.parametrize(
    ("design", "spectrum", "figures", "spread"),
    [
        ("haar", "sqrt", {10: 22, 100: 51, 1000: 146, 2000: 202}, 0.02),
        ("gaussian", "linear", {10: 25, 100: 68, 1000: 204, 2000: 285}, 0.02),
        ("heavy", "sqrt", {10: 5035, 100: 6850, 1000: 8604, 2000: 8959}, 0.03),
        ("heavy", "sqrt", {8: 4900, 128: 7100, 512: 8200, 2048: 9000}, 0.03),
    ],
)
def test_critical_batch_sizes(design, spectrum, figures, spread):
    for kappa, figure in figures.items():
        p = synthetic(kappa, design, spectrum)
        assert critical_batch_size(p, *heavy_ball(p)) == pytest.approx(figure, rel=spread)


def test_on_even_rows_a_tenth_of_the_data_is_always_enough():
    for kappa in (8, 128, 2048):
        p = synthetic(kappa)
        assert critical_batch_size(p, *heavy_ball(p)) < 0.021 * N


METHODS = {
    "SGD": lambda L, mu: schedules.sgd(T, L),
    "SHB": lambda L, mu: schedules.shb(T, L, mu),
    "Multi(fit)": lambda L, mu: schedules.multistage(T, L, mu, "fit"),
    "Multi(authors)": lambda L, mu: schedules.multistage(T, L, mu, "authors"),
    "Multi-CNST(authors)": lambda L, mu: schedules.multistage(T, L, mu, "authors", "constant"),
    "2P": lambda L, mu: schedules.two_phase(T, L, mu),
    "Nesterov-EXP": lambda L, mu: schedules.nesterov_exponential(T, L, mu),
}

FLOORS = {  # root mean square gradient norm at T, noise variance 0.01
    1000: [6.42e-2, 3.14e-1, 2.48e-1, 5.78e-2, 1.24e-2, 1.11e-2, 2.51e-2],
    500: [4.55e-2, 1.88e-1, 1.49e-1, 3.50e-2, 7.46e-3, 7.72e-3, 1.48e-2],
    200: [2.94e-2, 9.72e-2, 6.28e-2, 1.51e-2, 2.72e-3, 4.65e-3, 7.43e-3],
}


@pytest.mark.parametrize("kappa", FLOORS)
def test_floors_of_all_methods_on_even_rows(kappa):
    """Between seeds the floors move by about 2 %."""
    p = synthetic(kappa, noise_var=1e-2)
    c = p.constants()
    for (name, method), figure in zip(METHODS.items(), FLOORS[kappa]):
        curve = expected(p, method(c.L, c.mu), B)
        assert np.sqrt(curve.grad2[-1]) == pytest.approx(figure, rel=0.03), name


def test_heavy_rows_compare_methods_not_numbers():
    """On heavy rows 20 residuals decide the floor: its ratio to SGD's is what stays."""
    for kappa, ratios in {1000: (7.0, 10.5), 200: (3.5, 4.3)}.items():
        p = synthetic(kappa, "heavy", noise_var=1e-2)
        alpha, beta = heavy_ball(p)
        grad2 = [stationary(p, alpha, momentum, B).grad2 for momentum in (beta, 0.0)]
        assert ratios[0] < np.sqrt(grad2[0] / grad2[1]) < ratios[1]


def test_stationary_error_falls_as_the_root_of_the_step():
    p = synthetic(1000, noise_var=1e-2)
    figures = {1: 3.90e-9, 1 / 4: 1.79e-9, 1 / 16: 8.80e-10, 1 / 64: 4.38e-10}
    left = [stationary(p, *heavy_ball(p, a), B).error2 for a in figures]
    np.testing.assert_allclose(left, list(figures.values()), rtol=0.02)
    np.testing.assert_allclose(np.array(left[1:-1]) / left[2:], 2.0, rtol=0.03)


def test_first_arrival_at_twice_the_floor():
    """Heavy ball's arrival hardly depends on the seed (SGD's does, by a factor of 4)."""
    for kappa, figure in {1000: 587, 200: 251}.items():
        p = synthetic(kappa, noise_var=1e-2)
        curve = expected(p, schedules.shb(1000, p.constants().L, p.constants().mu), B)
        rms = np.sqrt(curve.grad2)
        assert np.argmax(rms <= 2 * rms[-1]) == pytest.approx(figure, rel=0.1)
