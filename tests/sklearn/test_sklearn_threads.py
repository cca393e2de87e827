"""Small fits use one BLAS thread, and leave the setting as it was."""

import numpy as np
from threadpoolctl import threadpool_info

from bocce.sklearn import HeavyBallRegressor, _base, _threads


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_small_work_takes_one_thread_and_large_work_all():
    before = blas_threads()
    assert before, "there is a BLAS to look at"
    with _threads.few_threads(1000):
        assert blas_threads() == [1] * len(before)
    with _threads.few_threads(1e12):
        assert blas_threads() == before
    assert blas_threads() == before


def test_a_fit_is_limited_where_it_runs(monkeypatch):
    seen = []

    def watching(*args, run=_base.descend, **keywords):
        seen.append(set(blas_threads()))
        return run(*args, **keywords)

    monkeypatch.setattr(_base, "descend", watching)
    rng = np.random.default_rng(0)
    HeavyBallRegressor().fit(rng.standard_normal((50, 3)), rng.standard_normal(50))
    assert seen == [{1}]
