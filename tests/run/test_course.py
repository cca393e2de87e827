"""What a plan says that a table does, and the two measures that the sentence rests on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce import schedules
from bocce.planning.course import Course, _average, _moves
from bocce.schedules import Schedule, accelerated


def replayed(table, gradient):
    """The points w_0 .. w_T and y_0 .. y_{T-1} of the update, by its definition."""
    w = [0.0, 0.0]
    points = []
    for k in range(table.T):
        move = w[-1] - w[-2]
        points.append(w[-1] + table.theta[k] * move)
        w.append(w[-1] + table.beta[k] * move - table.alpha[k] * gradient(k, points[-1]))
    return np.array(w[1:]), np.array(points)


@settings(max_examples=50, deadline=None)
@given(T=st.integers(1, 60), seed=st.integers(0, 10**6), most=st.floats(0.0, 100.0))
def test_the_measures_are_those_of_the_update(T, seed, most):
    rng = np.random.default_rng(seed)
    columns = (rng.uniform(0.1, 1.0, T), rng.uniform(0.0, 0.99, T), rng.uniform(0.0, most, T))
    table = Schedule(*columns)
    w, _ = replayed(table, lambda k, y: 1.0)
    assert _moves(table) == pytest.approx(-np.diff(w), rel=1e-9)
    slopes = rng.standard_normal(T)
    w, points = replayed(table, lambda k, y: slopes[k])
    held = _average(table.theta)
    assert held.sum() == pytest.approx(1.0)
    assert held @ points == pytest.approx(w[-2], rel=1e-8, abs=1e-8 * np.abs(points).max())


def averaged_sgd(T, step=0.5):
    """z takes plain steps and w_k is the mean of z_0 .. z_k, as a table."""
    k = np.arange(T)
    return Schedule(step / (k + 2.0), k / (k + 2.0), k * 1.0)


def test_averaged_sgd_is_averaged_sgd():
    """The table is what the next test says that it is."""
    table = averaged_sgd(101)
    w, points = replayed(table, lambda k, y: y - 1.0)
    z = 1.0 - 0.5 ** np.arange(101)
    assert points == pytest.approx(z)
    assert w[:-1] == pytest.approx(np.cumsum(z) / np.arange(1, 102))


def restarted():
    """Heavy ball in the last 10 steps of 100: two pass before a step is twice a plain one."""
    return schedules.sgd(90, 1.0).then(Schedule(1.0, 0.9, T=10))


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (schedules.sgd(100, 4.0), "takes 100 plain steps."),
        (schedules.sgd_exponential(100, 4.0), "takes 100 plain steps, which shrink."),
        (schedules.polyak(50, 100.0, 1.0), "accelerates to the end (momentum up to 0.669)."),
        (schedules.nesterov(50, 1e4, 1.0), "accelerates to the end (momentum up to 0.98)."),
        (averaged_sgd(101), "does not accelerate: it averages over the last 91 of 101 steps."),
        (Schedule(0.1, 0.4, T=50), "neither accelerates nor averages over many steps."),
        (restarted(), "accelerates at 8 of 100 steps."),
        (Schedule(1.0, 1 - 2e-5, T=50), "accelerates to the end (momentum up to 1 - 2e-05)."),
    ],
)
def test_a_table_whose_truth_is_known(table, sentence):
    assert Course(table).sentence() == f"The table {sentence}"


def test_steps_that_become_short():
    first = schedules.polyak(60, 100.0, 1.0)
    table = first.then(schedules.sgd(20, 100.0))
    assert Course(table).accelerated == 60
    assert (
        Course(table)
        .sentence()
        .endswith("60 steps (momentum up to 0.669), then takes shorter steps.")
    )


def test_mass_accelerates_and_then_averages():
    """From K = 7 c on the effective step falls, until it is no longer twice a plain step."""
    known = (100.0, 1.0, 300.0, 30.0)
    table = schedules.mass_averaged(400, *known, n=1000, b=100)
    zeta2 = accelerated.sampling_noise("test", 1000, 100)
    _, _, c = accelerated.batch_constants(*known, zeta2)
    K = 7.0 * c
    found = Course(table)
    assert K < found.accelerated < 400 - found.averaged
    assert f"accelerates for {found.accelerated} steps" in found.sentence()
    assert "then averages over the last" in found.sentence()
    alone = Course(schedules.mass_averaged(400, *known, n=1000, b=1000))
    assert alone.accelerated == 400
    assert not alone.averages


def planned(kappa, b, noise, T):
    X, y, _ = bocce.data.regression(1000, 10, kappa, noise_var=noise)
    return bocce.plan(bocce.LeastSquares(X, y), batch_size=b, T=T)


def test_auto_in_batches_of_one_row_is_not_called_accelerated():
    """Its momentum comes near 1 because w is an average of the points where gradients are taken."""
    plan = planned(10.0, 1, 0.01, 300)
    assert plan.schedule.beta.max() > 0.99
    assert plan.schedule.theta.max() > 50.0
    assert plan.words.startswith("The table does not accelerate: it averages over the last")


def test_auto_accelerates_and_then_averages_where_there_is_noise():
    plan = planned(1000.0, 100, 0.01, 300)
    found = Course(plan.schedule)
    assert plan.words.startswith(f"{found.sentence()} ")
    assert 0 < found.accelerated <= 300 - found.averaged  # one after the other, as the words say
    assert f"accelerates for {found.accelerated} steps" in found.sentence()
    assert f"then averages over the last {found.averaged} steps" in found.sentence()


def test_auto_on_all_rows_accelerates_and_averages_little():
    plan = planned(1e5, 1000, 0.0, 300)
    found = Course(plan.schedule)
    assert plan.words.startswith("The table accelerates")
    assert found.accelerated >= 0.9 * 300
    assert found.averaged <= 0.1 * 300


def test_the_picture_of_a_plan_draws_its_table():
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    plan = planned(1000.0, 100, 0.01, 300)
    axes = plan.plot()
    drawn = [ax.lines[0].get_ydata() for ax in axes[2:]]
    assert np.array_equal(drawn[0], plan.schedule.alpha)
    assert np.array_equal(drawn[1], 1.0 - plan.schedule.beta)
    assert np.array_equal(drawn[2], plan.schedule.theta)
    two = plt.subplots(1, 2)[1]
    assert len(plan.plot(two)) == 2
    plt.close("all")


@pytest.mark.parametrize(
    ("cell", "accelerates"),
    [
        ((10.0, 1, 0.01, 300), False),
        ((1000.0, 1, 1.0, 300), False),
        ((10.0, 100, 1.0, 50), False),
        ((1000.0, 100, 0.01, 300), True),
        ((1e5, 999, 0.01, 300), True),
        ((1e5, 1000, 0.0, 300), True),
    ],
)
def test_the_word_is_true_where_there_is_no_noise(cell, accelerates):
    """In a flat direction, an accelerated table removes at least twice the error that constant
    plain steps remove in as many steps, the longest of the table; another one removes less."""
    table = planned(*cell).schedule
    found = Course(table)
    steps = found.accelerated or table.T
    longest = (table.alpha * (1.0 + np.append(table.theta[1:], table.theta[-1]))).max()
    curvature = 0.01 / (longest * steps)  # plain steps remove 0.01
    w, _ = replayed(table, lambda k, y: curvature * (y - 1.0))
    assert bool(found.accelerated) == accelerates
    assert (w[steps] >= 0.02) == accelerates
