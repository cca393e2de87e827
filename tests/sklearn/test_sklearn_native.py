"""At home in scikit-learn: pipelines, searches, frames, routing, callbacks, pictures."""

from __future__ import annotations

import importlib.util
import pickle
import subprocess
import sys
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bocce
import sklearn
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor, _report
from bocce.sklearn._report import Reporter
from sklearn import datasets

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3000, 8)) * np.geomspace(0.1, 10, 8)
Y = X @ RNG.standard_normal(8) + RNG.standard_normal(3000)
LABELS = Y / 3 - RNG.logistic(size=3000) > 0
needs_callbacks = pytest.mark.skipif(
    not hasattr(HeavyBallClassifier, "set_callbacks"), reason="scikit-learn has no callbacks"
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


# -- pipelines, searches, frames ------------------------------------------------------------------


def test_scaling_before_is_not_needed():
    plain = HeavyBallRegressor(l2=0.0, tol=1e-7, random_state=0).fit(X, Y)
    piped = make_pipeline(StandardScaler(), HeavyBallRegressor(l2=0.0, tol=1e-7, random_state=0))
    np.testing.assert_allclose(piped.fit(X, Y).predict(X), plain.predict(X), atol=1e-4)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_and_their_names(library):
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    names = [f"x{j}" for j in range(8)]
    frame = frames.DataFrame(dict(zip(names, X.T)))
    model = HeavyBallClassifier(random_state=0).fit(
        frame, frames.Series("y", LABELS) if library == "polars" else LABELS
    )
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame[names]))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[names[::-1]])
    columns = make_column_transformer((StandardScaler(), names[:4]), remainder="passthrough")
    assert make_pipeline(columns, model).fit(frame, LABELS).score(frame, LABELS) > 0.7


def test_weights_are_routed():
    weights = RNG.integers(0, 3, 3000)
    with sklearn.config_context(enable_metadata_routing=True):
        model = HeavyBallClassifier(random_state=0).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), model)
        pipe.fit(X, LABELS, sample_weight=weights)
        cross_validate(model, X, LABELS, params={"sample_weight": weights}, cv=2)
    scaled = StandardScaler().fit_transform(X, sample_weight=weights)
    direct = HeavyBallClassifier(random_state=0).fit(scaled, LABELS, sample_weight=weights)
    np.testing.assert_array_equal(pipe[-1].coef_, direct.coef_)


def test_the_estimator_is_told_apart_by_its_tags():
    tags = HeavyBallRegressor().__sklearn_tags__()
    assert tags.estimator_type == "regressor"
    assert tags.target_tags.multi_output
    assert tags.input_tags.sparse
    tags = HeavyBallClassifier().__sklearn_tags__()
    assert (tags.estimator_type, tags.classifier_tags.multi_class) == ("classifier", True)


def test_bocce_does_not_import_scikit_learn():
    code = "import bocce, sys; assert 'sklearn' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_scikit_learn_without_callbacks_will_do(monkeypatch, capsys):
    """As in versions before 1.9, where sklearn.callback is missing."""
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    spec = importlib.util.spec_from_file_location("compat", _report.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.CallbackSupportMixin.__module__ == "compat"
    assert not hasattr(module.CallbackSupportMixin, "set_callbacks")
    report = Reporter(SimpleNamespace(verbose=1), X, Y, None, ["output 0", "output 1"])
    report.begin(1)
    assert not report.step(3, 0.5, 0.25, 1.0, dict)
    report.end()
    report.close()
    assert "output 1: step 3, objective 0.5, gradient 2.50e-01" in capsys.readouterr().out


# -- history, plan, picture -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [HeavyBallRegressor, HeavyBallClassifier])
def test_the_history_is_that_of_the_objective(kind):
    model = kind(tol=1e-6, random_state=0).fit(X, Y if kind is HeavyBallRegressor else LABELS)
    h = model.history_
    assert {len(column) for column in h.values()} == {len(h["value"])}
    assert set(h) == {"iteration", "passes", "value", "gradient_norm", "output"}
    assert (np.diff(h["iteration"]) > 0).all()
    assert (np.diff(h["passes"]) > 0).all()
    assert h["gradient_norm"][-1] <= 1e-6 * h["gradient_norm"][0]
    z = X @ np.ravel(model.coef_) + model.intercept_
    s = np.where(LABELS, 1.0, -1.0)
    losses = (z - Y) ** 2 / 2 if kind is HeavyBallRegressor else np.logaddexp(0.0, -s * z)
    value = losses.mean() + model.l2 / 2 * (model.coef_**2).sum()
    assert h["value"][-1] == pytest.approx(value, rel=1e-9)
    assert model.n_iter_ == max(1, round(h["passes"][-1]))


def test_the_plan_says_what_was_done_and_which_direct_solver_does_the_same():
    hard, y, _ = bocce.data.regression(3000, 8, kappa=1e4, noise_var=1.0)
    model = HeavyBallRegressor(tol=1e-9, random_state=0).fit(hard, y)
    assert f"Method 'auto' took {model.n_iter_} step" in model.plan_
    assert 'Ridge(alpha=0.3, solver="cholesky") gives the same coefficients' in model.plan_
    same = Ridge(alpha=0.3, solver="cholesky").fit(hard, y)
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-6)
    assert "direct" not in HeavyBallClassifier(random_state=0).fit(X, LABELS).plan_
    wide = RNG.standard_normal((50, 1100))
    assert "direct" not in HeavyBallRegressor(random_state=0).fit(wide, Y[:50]).plan_


def test_the_plan_is_of_the_last_fit_and_goes_with_a_pickle():
    model = HeavyBallRegressor(random_state=0).fit(X, Y)
    first = model.plan_
    assert pickle.loads(pickle.dumps(model.fit(X[:40], Y[:40]))).plan_ == model.plan_ != first


def test_the_plan_of_many_outputs_names_the_slowest():
    model = HeavyBallRegressor(random_state=0).fit(X, np.column_stack([Y, Y**2, -Y, Y**3]))
    assert "4 runs that share what is known of X. The 3 that took most passes:" in model.plan_
    assert model.plan_.count("Method 'auto' took") == 3


def test_the_picture_of_the_history():
    model = HeavyBallRegressor(random_state=0).fit(X, Y)
    ax = model.plot_history()
    x, y = ax.lines[0].get_data()
    np.testing.assert_array_equal(x, model.history_["passes"])
    np.testing.assert_array_equal(y, model.history_["gradient_norm"])
    assert ax.get_yscale() == "log"
    _, ax = plt.subplots()
    assert model.plot_history(ax=ax, x="iteration", y="value") is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("steps", "objective")
    with pytest.raises(ValueError, match="plot_history: y='loss' must be one of"):
        model.plot_history(y="loss")


def test_the_picture_has_a_line_for_each_output():
    model = HeavyBallRegressor(random_state=0).fit(X, np.column_stack([Y, -Y]))
    lines = model.plot_history().lines
    assert [line.get_label()[-8:] for line in lines] == ["output 0", "output 1"]


# -- those who watch ------------------------------------------------------------------------------


def test_verbose_prints_where_the_run_is(capsys):
    hinges = HeavyBallClassifier(loss="squared_hinge", verbose=1, random_state=0)
    hinges.fit(X, np.digitize(Y, [-5.0, 5.0]))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[HeavyBallClassifier] class 0: step 0, objective 0.")
    assert {line.split()[2] for line in lines} == {"0:", "1:", "2:"}
    HeavyBallClassifier(random_state=0).fit(X, LABELS)
    assert capsys.readouterr().out == ""


class Spy:
    """A callback that counts, and stops at a task it is told of."""

    def __init__(self, stop_at=None):
        self.begun, self.ended, self.scores, self.stop_at = [], [], [], stop_at

    def setup(self, estimator, context):
        self.begun.append("setup")

    def teardown(self, estimator, context):
        self.ended.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.begun.append((context.task_name, context.max_subtasks))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.ended.append(context.task_name)
        if fitted_estimator is not None and context.task_name == "progress":
            self.scores.append(fitted_estimator.score(X, y))
            return len(self.scores) == self.stop_at
        return False


@needs_callbacks
def test_callbacks_see_the_run_and_watching_changes_nothing():
    spy = Spy()
    model = HeavyBallClassifier(random_state=0).set_callbacks(spy).fit(X, LABELS)
    assert spy.begun[:2] == ["setup", ("fit", 20)]
    assert spy.ended[-2:] == ["fit", "teardown"]
    assert spy.ended.count("progress") == 20
    assert spy.scores[-1] == model.score(X, LABELS)
    plain = HeavyBallClassifier(random_state=0).fit(X, LABELS)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    pickle.dumps(plain)


@needs_callbacks
def test_callbacks_see_each_output():
    spy = Spy()
    HeavyBallRegressor(random_state=0).set_callbacks(spy).fit(X, np.column_stack([Y, -Y]))
    assert spy.begun.count(("output 0", 20)) == spy.begun.count(("output 1", 20)) == 1
    assert spy.ended.count("progress") == 40


@needs_callbacks
def test_a_callback_may_stop_the_run():
    spy = Spy(stop_at=1)
    model = HeavyBallClassifier(tol=1e-12, random_state=0).set_callbacks(spy).fit(X, LABELS)
    assert model.optimality_ > 1e-12  # and no warning: it was asked for
    assert "stopped by a callback" in model.plan_


@needs_callbacks
def test_progress_bars_and_scoring(capsys):
    from sklearn.callback import ProgressBar, ScoringMonitor

    bar = ProgressBar()
    search = GridSearchCV(HeavyBallClassifier(random_state=0), {"l2": [1e-4, 1e-2]}, cv=2)
    search.set_callbacks(bar).fit(X, LABELS)
    assert "HeavyBallClassifier - fit" in capsys.readouterr().out
    monitor = ScoringMonitor(scoring="neg_log_loss")
    model = HeavyBallClassifier(random_state=0).set_callbacks(monitor).fit(X, LABELS)
    frame = monitor.get_logs().data_as_pandas
    losses = frame.loc[frame["task_name"] == "progress", "neg_log_loss"].to_numpy()
    assert losses[-1] >= losses[0]
    assert model.n_iter_ >= 1


def test_a_run_that_newton_does_not_end_goes_on_by_the_driver():
    X, y = datasets.load_digits(n_class=3, return_X_y=True)
    model = HeavyBallClassifier(l2=1.0 / len(y)).fit(X, y)
    assert model.optimality_ <= 1e-4
    value, passes = model.history_["value"], model.history_["passes"]
    assert (np.diff(passes) > 0.0).all()
    assert (np.diff(value) <= 1e-12).all()
    assert model.n_iter_ == round(passes[-1])
