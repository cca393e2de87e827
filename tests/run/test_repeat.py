"""The mean over seeds against the exact expectation."""

import numpy as np
import pytest

import bocce

SEEDS = 200


@pytest.fixture(scope="module")
def p():
    X, y, _ = bocce.data.regression(100, 3, 10.0, noise_var=0.1)
    return bocce.LeastSquares(X, y)


def test_the_mean_is_the_expectation_within_its_standard_error(p):
    repeated = bocce.repeat(p, "shb", T=30, batch_size=60, seeds=range(SEEDS))
    curve = bocce.exact.expected(p, "shb", 60, T=30)
    least = p.value(p.minimiser())
    np.testing.assert_array_equal(repeated.mean["k"], curve.k)
    for name, truth in (("value", least + curve.gap), ("grad2", curve.grad2)):
        off = np.abs(repeated.mean[name] - truth)[1:]
        assert np.all(off <= 5.0 * repeated.standard_error[name][1:] + 1e-12 * truth[0])


def test_the_runs_are_those_of_minimize(p):
    repeated = bocce.repeat(p, "sgd", T=12, batch_size=10, seeds=(3, 5), record_every=4)
    alone = [bocce.minimize(p, "sgd", T=12, batch_size=10, seed=s, record_every=4) for s in (3, 5)]
    norms = np.array([r.history["grad_norm"] for r in alone])
    np.testing.assert_array_equal(repeated.mean["grad_norm"], norms.mean(axis=0))
    np.testing.assert_allclose(
        repeated.standard_error["grad_norm"], norms.std(axis=0, ddof=1) / np.sqrt(2.0)
    )
    assert [r.seed for r in repeated.results] == [3, 5]
    assert repeated.mean["k"].tolist() == [0, 4, 8, 12]


def test_runs_of_different_length_are_compared_where_all_were_recorded(p):
    repeated = bocce.repeat(p, "shb", T=400, batch_size=100, tol=1e-3, seeds=range(3))
    short = min(r.history["k"].size for r in repeated.results)
    assert repeated.mean["k"].size == short


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"seeds": ()}, ValueError, "seeds=.*at least one"),
        ({"seeds": 5}, TypeError, "seeds=5 must be .*range"),
        ({"seeds": (1, 1)}, ValueError, "seeds=.*differ"),
        ({"seed": 3}, TypeError, "seed"),
        ({"checkpoint": "here"}, ValueError, "checkpoint"),
    ],
)
def test_bad_arguments(p, options, kind, message):
    with pytest.raises(kind, match=message):
        bocce.repeat(p, "sgd", T=5, **options)
