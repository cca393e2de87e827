"""What the explorer is told of a data set."""

import numpy as np
import pytest

import bocce
from bocce import exact, explorer


def test_the_twin_of_gaussian_rows_has_their_curve():
    """Many Gaussian rows: the exact curve of the data is that of its twin, in the twin's units."""
    n, d = 4000, 4
    X, y, _ = bocce.data.regression(n, d, 10.0, noise_var=0.5, design="gaussian", seed=1)
    p = bocce.LeastSquares(X, y)
    told = explorer.describe(p)
    twin = exact.Gaussian(told["spectrum"], noise=told["noise"], start=told["start"], n=n)
    c = p.constants()
    distance2 = float(p.minimiser() @ p.minimiser())
    ours = exact.expected(p, bocce.schedules.shb(200, c.L, c.mu), 400).error2 / distance2
    theirs = exact.expected(twin, bocce.schedules.shb(200, 1.0, c.mu / c.L), 400).error2
    assert ours == pytest.approx(theirs, rel=0.1)


def test_directions_that_no_row_touches_are_left_out():
    X = np.array([[1.0, 0.0, 1.0], [2.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    told = explorer.describe(bocce.LeastSquares(X, np.array([1.0, 2.0, 0.5])))
    assert len(told["spectrum"]) == len(told["start"]) == 2
    assert max(told["spectrum"]) == 1.0
    assert sum(told["start"]) == pytest.approx(1.0)


def test_too_many_columns_and_scores_are_refused():
    with pytest.raises(ValueError, match="d=1501 must be <= 1500"):
        explorer.describe(bocce.LeastSquares(np.ones((2, 1501)), np.ones(2)))
    X = np.eye(3)
    with pytest.raises(ValueError, match="one score a row"):
        explorer.describe(bocce.Problem(X, np.array([0, 1, 2]), "softmax", 0.1))
