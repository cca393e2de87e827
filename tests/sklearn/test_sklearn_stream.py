"""partial_fit: the schedule across calls, streams, and what may go wrong in one."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, LogisticRegression

import bocce
from bocce import engines, sampling
from bocce.engines import Recorder, State
from bocce.problems import Frame, Problem
from bocce.schedules.adaptive import design
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor
from helpers import recorder
from refusal import refused


def regression(n=6000, kappa=100.0, noise=0.1, seed=0):
    X, y, _ = bocce.data.regression(n, 8, kappa, noise_var=noise, design="gaussian", seed=seed)
    return X * np.geomspace(1e-2, 1e2, 8), y


def labels(y, seed=0):
    return y / y.std() > np.random.default_rng(seed).logistic(size=y.size)


def framed(X, y, l2) -> tuple[Frame, Problem]:
    """The variables that an estimator steps in, and the problem there."""
    p = bocce.LeastSquares(X, y, l2)
    frame = Frame.of(p)
    return frame, frame.problem(p)


def stream(model, X, y, size=250, **keywords):
    for start in range(0, X.shape[0], size):
        model.partial_fit(X[start : start + size], y[start : start + size], **keywords)
    return model


# -- one schedule ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["shb", "2p-shb", "nesterov-exp", "sgd-exp"])
def test_calls_are_one_run_of_the_engine(method):
    """All rows at each step: k calls on the same chunk are k full-batch steps of the table, and
    beyond its T its last values are held."""
    X, y = regression(n=300)
    model = HeavyBallRegressor(method=method, batch_size=1.0, max_iter=30, fit_intercept=False)
    calls = 40
    for _ in range(calls):
        model.partial_fit(X, y)
    frame, p = framed(X, y, model.l2)
    c = p.constants()
    values = {"L": c.L, "mu": c.mu, "L_max": c.L_max, "n": 300, "b": 300}
    table = bocce.schedules.REGISTRY[method].build(30, values)
    held = np.minimum(np.arange(calls), 29)
    table = bocce.Schedule(table.alpha[held], table.beta[held], table.theta[held])
    state = State(np.zeros(8), np.zeros(8))
    engines.make("reference", p, table, 300, 0, "reshuffle").advance(
        state, table, calls, recorder(calls)
    )
    np.testing.assert_allclose(model.coef_, frame.out(state.w), rtol=1e-9)
    assert model.history_["iteration"].tolist() == list(range(1, calls + 1))


def test_the_batches_of_a_chunk_are_those_of_its_own_seed():
    """Two chunks, batches of 10: step by step on the rows that ``sampling`` names."""
    X, y = regression(n=200)
    model = HeavyBallRegressor(method="sgd", batch_size=10, fit_intercept=False, random_state=3)
    model.partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    frame, _ = framed(X[:100], y[:100], model.l2)
    seed = int(np.random.RandomState(3).randint(2**31 - 1))
    u, alpha = np.zeros(8), None
    for chunk, rows in enumerate((slice(0, 100), slice(100, 200))):
        p = frame.problem(bocce.LeastSquares(X[rows], y[rows], model.l2))
        alpha = alpha or 1.0 / p.constants().L
        for k in range(10):
            batch = sampling.batch(sampling.part_seed(seed, chunk), k, 100, 10, "reshuffle")
            u = u - alpha * p.gradient(u, batch)
    np.testing.assert_allclose(model.coef_, frame.out(u), rtol=1e-9)


def test_auto_is_stages_that_double_and_a_mean_over_the_last_four():
    """Batches of 8: stages of 32, 64, ... steps, written out, and run by the readable engine."""
    X, y = regression(n=8 * 600)
    model = HeavyBallRegressor(batch_size=8, fit_intercept=False, random_state=0)
    model.partial_fit(X, y)
    frame, p = framed(X, y, model.l2)
    c = p.constants()
    three = []
    for stage, length in enumerate((32, 64, 128, 256, 120)):
        mu = max(c.mu, c.L / 30 / 4**stage)
        alpha, beta, theta = design(c.L, mu, c.L_max, None, 1 / 8)
        three += [(alpha * 0.5 ** (stage / 2), beta, theta)] * length
    table = bocce.Schedule(*np.transpose(three))
    seed = sampling.part_seed(int(np.random.RandomState(0).randint(2**31 - 1)), 0)
    engine = engines.make("reference", p, table, 8, seed, "reshuffle")
    state = State(np.zeros(8), np.zeros(8))
    engine.advance(state, table, 32, Recorder(np.zeros(0, dtype=np.int64)))
    state.tally = np.zeros(8)
    engine.advance(state, table, 600, Recorder(np.zeros(0, dtype=np.int64)))
    np.testing.assert_allclose(model.coef_, frame.out(state.tally / 568), rtol=1e-8)


@pytest.mark.parametrize("kind", [HeavyBallRegressor, HeavyBallClassifier])
@pytest.mark.parametrize("method", ["auto", "2p-shb"])
def test_a_pickled_stream_goes_on_where_it_was(kind, method):
    X, y = regression()
    keywords = {} if kind is HeavyBallRegressor else {"classes": [False, True]}
    y = y if kind is HeavyBallRegressor else labels(y)
    whole = stream(kind(method=method, random_state=0), X, y, **keywords)
    half = stream(kind(method=method, random_state=0), X[:3000], y[:3000], **keywords)
    again = stream(pickle.loads(pickle.dumps(half)), X[3000:], y[3000:])
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    assert again.plan_ == whole.plan_


# -- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [50, 1000])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_one_pass_comes_near_the_minimiser(size, container):
    """Within 1e-4 of what can be explained, of all rows at once."""
    X, y = regression(n=20_000)
    exact = LinearRegression().fit(X, y)
    model = stream(HeavyBallRegressor(l2=0.0, random_state=0), container(X), y, size)
    lost = ((model.predict(X) - y) ** 2).mean() - ((exact.predict(X) - y) ** 2).mean()
    assert lost <= 1e-4 * y.var()
    target = labels(y)
    exact = LogisticRegression(C=np.inf, solver="newton-cholesky").fit(X, target)
    model = HeavyBallClassifier(l2=0.0, random_state=0)
    stream(model, container(X), target, size, classes=[False, True])
    excess = _log_loss(model, X, target) - _log_loss(exact, X, target)
    assert excess <= 20 * 8 / 20_000


def _log_loss(model, X, y):
    return -np.log(model.predict_proba(X)[np.arange(y.size), y.astype(int)]).mean()


def test_longer_streams_are_better():
    X, y = regression(n=40_000)
    best = ((LinearRegression().fit(X, y).predict(X) - y) ** 2).mean()
    lost = []
    for n in (2000, 10_000, 40_000):
        model = stream(HeavyBallRegressor(l2=0.0, random_state=0), X[:n], y[:n])
        lost.append(((model.predict(X) - y) ** 2).mean() - best)
    assert lost[0] > 2 * lost[1] > 4 * lost[2]


def test_outputs_classes_and_chunks_of_one_class():
    X, y = regression()
    both = stream(HeavyBallRegressor(random_state=0), X, np.column_stack([y, -y]))
    np.testing.assert_allclose(both.coef_[0], -both.coef_[1])
    three = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    order = np.argsort(three, kind="stable")
    sorted_ = stream(HeavyBallClassifier(random_state=0), X[order], three[order], classes=range(3))
    mixed = stream(HeavyBallClassifier(random_state=0), X, three, classes=range(3))
    assert sorted_.coef_.shape == (3, 8)
    assert np.isfinite(sorted_.coef_).all()
    assert mixed.score(X, three) > 0.6
    assert set(mixed.history_["output"]) == {0}, "one run for all classes"
    np.testing.assert_allclose(mixed.predict_proba(X).sum(axis=1), 1.0)
    hinges = HeavyBallClassifier(loss="squared_hinge", random_state=0)
    assert set(stream(hinges, X, three, classes=range(3)).history_["output"]) == {0, 1, 2}


def test_a_fit_goes_on_as_a_stream_and_a_stream_ends_with_a_fit():
    X, y = regression()
    model = HeavyBallRegressor(random_state=0).fit(X, y)
    fitted = model.score(X, y)
    assert stream(model, X, y).score(X, y) == pytest.approx(fitted, abs=1e-3)
    assert model.fit(X, y).score(X, y) == pytest.approx(fitted, abs=1e-6)
    assert model.history_["passes"][0] == 0.0


# -- what may go wrong ----------------------------------------------------------------------------


def test_a_first_chunk_that_misleads_is_survived():
    """Its rows, and y with them, are a thousand times smaller than those that follow."""
    X, y = regression(n=4000)
    X[:100] *= 1e-3
    y[:100] *= 1e-3
    for method in ("auto", "shb", "nesterov"):
        model = HeavyBallRegressor(method=method, random_state=0, fit_intercept=False)
        stream(model, X, y, 100)
        assert ((model.predict(X) - y) ** 2).mean() < 4 * (y**2).mean()
        # "auto" has seen the larger rows before it steps; the others follow what they know
        assert ("taken back and done again" in model.plan_) == (method != "auto")


def test_chunks_shorter_than_a_batch_and_weights():
    X, y = regression(n=1000)
    weights = np.random.default_rng(0).integers(0, 3, 1000).astype(float)
    model = HeavyBallRegressor(batch_size=64, random_state=0)
    for start in range(0, 1000, 30):
        part = slice(start, start + 30)
        model.partial_fit(X[part], y[part], sample_weight=weights[part])
    assert model.history_["iteration"][-1] == 34
    kept = HeavyBallRegressor(batch_size=64, random_state=0)
    for start in range(0, 1000, 30):
        part = np.arange(start, min(start + 30, 1000))
        part = part[weights[part] > 0]
        kept.partial_fit(X[part], y[part], sample_weight=weights[part])
    np.testing.assert_array_equal(model.coef_, kept.coef_)


@pytest.mark.parametrize(
    ("setting", "keywords", "message"),
    [
        ({}, {}, r"partial_fit: classes must be passed on the first call\."),
        ({}, {"classes": [1]}, r"partial_fit: classes=\[1\] must be two or more .*"),
        ({}, {"classes": [0, 2]}, r"partial_fit: y has 1, must be one of classes .*"),
        (
            {"class_weight": "balanced"},
            {"classes": [0, 1]},
            r"partial_fit: class_weight='balanced' must be a dict or None, .*",
        ),
        (
            {"method": "sgd-sls-exp"},
            {"classes": [0, 1]},
            r"partial_fit: method='sgd-sls-exp' looks at rows before it steps, must be a "
            r"schedule; use 'auto'\.",
        ),
    ],
)
def test_what_a_stream_cannot_be_is_refused(setting, keywords, message):
    X, y = regression(n=100)
    y = (y > 0).astype(int)
    model = HeavyBallClassifier(**setting)
    refused(lambda: model.partial_fit(X, y, **keywords), ValueError, message)


def test_later_calls_agree_with_the_first():
    X, y = regression(n=100)
    model = HeavyBallClassifier(random_state=0).partial_fit(X, y > 0, classes=[False, True])
    model.partial_fit(X, y > 0, classes=[True, False]).partial_fit(X, y > 0)
    with pytest.raises(ValueError, match="must be those of the first call"):
        model.partial_fit(X, y > 0, classes=[False, True, 2])
    with pytest.raises(ValueError, match="7 features"):
        model.partial_fit(X[:, :7], y > 0)
    outputs = HeavyBallRegressor(random_state=0).partial_fit(X, np.column_stack([y, y]))
    refused(
        lambda: outputs.partial_fit(X, y),
        ValueError,
        r"partial_fit: y has 1 outputs, must have 2 as at the first call; start with a clone\.",
    )
