"""What tests of schedules share: constants to draw, and a table that is the same in every row."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

FEW = settings(max_examples=60, deadline=None)
positive = st.floats(1e-6, 1e6)


@st.composite
def curvatures(draw, most_kappa=1e6):
    """(L, mu) with mu <= L, kappa = 1 among them."""
    L = draw(positive)
    kappa = draw(st.one_of(st.just(1.0), st.floats(1.0, most_kappa)))
    return L, min(L, L / kappa)


@st.composite
def batch_constants(draw):
    L, mu = draw(curvatures())
    n = draw(st.integers(1, 10_000))
    L_max = L * draw(st.floats(1.0, 1e4))
    return {"L": L, "mu": mu, "L_max": L_max, "n": n, "b": draw(st.integers(1, n))}


def is_constant(schedule, T, alpha, beta, theta):
    table = np.array([schedule.alpha, schedule.beta, schedule.theta])
    expected = np.repeat([[alpha], [beta], [theta]], T, axis=1)
    return table == pytest.approx(expected, rel=1e-9, abs=1e-13)
