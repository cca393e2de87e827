"""Tables of the exhibits against what is known of them."""

import numpy as np

from bocce_paper.exhibits import bounds, thresholds


def test_bounds_are_beside_the_exact_error():
    out = bounds.bounds("thm2", (50, 100), 400, 1.0).numbers
    assert (out["exact"] <= out["corrected"]).all()
    assert (out["exact"] > 0).all()
    scaled = bounds.bounds("thm2", (50, 100), 400, 0.01).numbers
    np.testing.assert_allclose(scaled["exact"], out["exact"], rtol=1e-6)
    np.testing.assert_allclose(scaled["corrected"], out["corrected"], rtol=1e-6)


def test_the_observed_batch_is_where_runs_begin_to_settle():
    place = {"n": 200, "kappa": 30.0, "design": "heavy"}
    observed = thresholds.observed_batch(**place, T=400, seed=0).numbers["observed"][0]
    exact = thresholds.critical_batches(**place).numbers["exact"][0]
    assert 0.3 * exact < observed <= 1.3 * exact


def test_printed_bounds_notice_their_units():
    """What makes them false: in other units the same problem has another bound."""
    small, one = (bounds.bounds("two_phase", (16_000,), 10_000, mu).numbers for mu in (1e-6, 1.0))
    np.testing.assert_allclose(small["exact"], one["exact"], rtol=1e-6)
    np.testing.assert_allclose(small["corrected"], one["corrected"], rtol=1e-6)
    assert small["printed"][0] < 0.1 * small["exact"][0]
    assert one["printed"][0] > one["exact"][0]
