"""A sampled Hessian that several parts add up is the one of all rows in one place."""

from __future__ import annotations

import numpy as np
import pytest

from bocce.plane.scores.sampled import part_of_hessian, sampled_hessian, set_right
from bocce.rows import Dense, rows_of

N, D = 400, 5


@pytest.mark.parametrize("cuts", [[200], [1, 399], [0, 150, 150, 300]])
def test_parts_add_up_to_the_whole(cuts):
    """The draws are over the sum of all bends, so the rows that are named are the same."""
    rng = np.random.default_rng(0)
    X, bend = rng.standard_normal((N, D)), rng.random(N) ** 4
    whole, before = (N, float(bend.sum())), 0.0
    total = np.zeros((D, D))
    for part, share in zip(np.split(X, cuts), np.split(bend, cuts)):
        if len(part):
            total += part_of_hessian(Dense(part), share, 60, 3, (whole[0], before, whole[1]))
        before += float(share.sum())
    np.testing.assert_allclose(total, sampled_hessian(Dense(X), bend, 60, 3), rtol=1e-12)


def test_a_part_in_which_nobody_is_drawn_adds_nothing():
    rows = rows_of(np.ones((2, D)))
    H = part_of_hessian(rows, np.full(2, 1e-9), 3, 0, (N, 0.0, 1.0))
    assert H.shape == (D, D)
    assert not H.any()


def test_only_entries_that_are_far_too_small_are_set_right():
    H = np.diag([1.0, 0.4, 0.0]) + 0.1
    np.testing.assert_allclose(set_right(H, np.ones(3)).diagonal(), [1.1, 0.5, 1.0])
