"""plan: thresholds from the theory, steps that come true, a sentence for every oddity."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce import theory
from bocce.exact import critical_batch_size, expected
from bocce.planning.forecast import Design
from cli_helpers import run, write_table
from helpers import KINDS, design, problem, without_gram


@pytest.fixture(scope="module")
def haar():
    X, y, _ = bocce.data.regression(500, 5, 100.0)
    return bocce.LeastSquares(X, y)


def test_thresholds_are_the_theory_s(haar):
    plan = bocce.plan(haar)
    c = haar.constants()
    paper = bocce.schedules.shb(1, c.L, c.mu)
    alpha, beta = float(paper.alpha[0]), float(paper.beta[0])
    assert plan.paper_batch == theory.batch_threshold(500, c.L_max / c.mu)
    assert plan.certified_batch == theory.certified_batch_size(500, alpha, beta, c.L_max, c.mu, c.L)
    assert plan.exact_batch == critical_batch_size(haar, alpha, beta)
    assert plan.exact_batch <= plan.certified_batch <= plan.paper_batch
    zeta2 = theory.zeta2(500, plan.accelerating)
    assert zeta2 * c.L_max <= np.sqrt(c.mu * c.L) * (1 + 1e-12)
    assert plan.chi2 == pytest.approx(haar.noise().chi2, abs=1e-12)


def test_every_field_of_a_record_is_an_attribute_of_the_plan(haar):
    plan = bocce.plan(haar, batch_size=50, T=400)
    found = plan.to_dict()
    names = {"words"}
    for record in (plan.run, plan.batches, plan.data, plan.outlook):
        for field in fields(record):
            assert getattr(plan, field.name) is getattr(record, field.name)
            names.add(field.name)
    assert found.keys() == names
    assert json.loads(json.dumps(found))["steps"] == plan.run.steps


def test_parameters_are_auto_s(haar):
    plan = bocce.plan(haar, batch_size=50, T=400)
    c = haar.constants()
    told = {"spectrum": c.spectrum, "noise": haar.pilot().noise}
    table = bocce.schedules.auto(400, c.L, c.mu, c.R2, 500, 50, c.R2_tilde, **told)
    assert plan.schedule == table
    assert plan.words.startswith("The table accelerates")
    k = int(np.argmax(table.alpha / (1 - table.beta)))  # where its memory has grown
    assert (plan.alpha, plan.beta, plan.theta) == (table.alpha[k], table.beta[k], table.theta[k])
    assert bocce.plan(haar, batch_size=0.1, T=400) == plan


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("kind", ["haar", "gaussian", "heavy"])
@pytest.mark.parametrize("b", [5, 60, 450])
def test_the_steps_come_true(kind, noise, b):
    """Exact expectations of auto for the steps planned: within a factor 5 of the accuracy."""
    X, y, _ = bocce.data.regression(500, 4, 30.0, noise_var=noise, design=kind)
    p = bocce.LeastSquares(X, y)
    plan = bocce.plan(p, batch_size=b, accuracy=1e-4)
    gap = expected(p, "auto", b, T=plan.steps).gap
    assert gap[-1] <= 5e-4 * gap[0]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), d=st.integers(1, 4), l2=st.floats(0, 1))
def test_choices_are_what_they_say(seed, n, d, l2):
    p = problem("squared", design("dense", n, d, seed), l2=l2)
    plan = bocce.plan(p)
    sweep = {point.batch_size: point for point in plan.sweep}
    assert {1, n} <= set(sweep)
    fewest = min(point.evaluations for point in plan.sweep)
    assert sweep[plan.cheapest].evaluations == fewest
    assert sweep[plan.recommended].evaluations <= 1.5 * fewest
    assert sweep[plan.knee].steps <= 1.5 * sweep[n].steps
    assert plan.batch_size == n  # there are few rows: a run takes all of them


# -- plan and minimize agree ---------------------------------------------------------------


def rows_for(loss, n=3000, d=6, seed=0):
    """Columns of different sizes, and targets that the loss takes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.geomspace(1.0, 20.0, d) + 1.0
    z = X @ rng.standard_normal(d) / d + rng.standard_normal(n)
    if loss in ("logistic", "squared_hinge"):
        return X, z > z.mean()
    if loss == "softmax":
        return X, np.digitize(z, np.quantile(z, [0.3, 0.6]))
    if loss == "gamma":
        return X, np.exp(0.1 * z.clip(-5, 5))
    return X, rng.poisson(np.exp(0.1 * z.clip(-5, 5))) if loss == "poisson" else z


def outline(stages):
    return [(stage.method, stage.batch) for stage in stages]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", bocce.losses.REGISTRY)
def test_on_few_rows_the_plan_is_the_run(loss, intercept):
    p = bocce.Problem(*rows_for(loss), loss, 1e-3, intercept=intercept)
    plan, run = bocce.plan(p, tol=1e-6), bocce.minimize(p, tol=1e-6)
    assert [(s.method, s.steps, s.batch) for s in plan.stages] == [tuple(s) for s in run.stages]
    assert all(stage.certain for stage in plan.stages)
    assert plan.batch_size == run.batch_size
    assert plan.passes == run.history["gradient_evaluations"][-1] / p.n
    assert f"the {loss} loss" in plan.words or p.loss.description in str(plan)
    others = {"logistic", "huber", "squared_hinge"} - {loss}
    assert not any(f"the {other} loss" in str(plan) for other in others)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "huber", "squared_hinge"])
def test_on_many_rows_batches_come_first_and_as_planned(loss, intercept, monkeypatch):
    """As if the data did not fit into memory: what is small enough for a test."""
    monkeypatch.setattr("bocce.run.controllers.batches_pay", lambda p: True)
    monkeypatch.setattr("bocce.planning.forecast.TRIAL_NUMBERS", 5000)
    p = bocce.Problem(*rows_for(loss), loss, 1e-3, intercept=intercept)
    plan, run = bocce.plan(p, tol=1e-6), bocce.minimize(p, tol=1e-6)
    assert (
        outline(plan.stages)
        == outline(run.stages)
        == [
            ("auto", plan.batch_size),
            ("plane", p.n),
        ]
    )
    assert plan.stages[0].certain
    assert plan.stages[0].steps == run.stages[0].steps
    assert plan.stages[0].alpha > 0
    assert run.stages[1].steps <= 2 * plan.stages[1].steps
    assert "The number of steps comes from a trial on" in plan.words
    assert "one pass is made in batches" in plan.words


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_data_in_memory_are_not_taken_in_batches(loss):
    """However many numbers there are: full-batch steps end sooner, and need no compiler."""
    X = np.broadcast_to(np.random.default_rng(0).standard_normal((1, 40)), (250_000, 40))
    p = bocce.Problem(X + np.arange(250_000)[:, None] % 7, np.arange(250_000) % 2, loss, 0.1)
    stages = bocce.minimize(p, tol=1e-2).stages
    assert [stage.method for stage in stages] == ["plane"]


GIVEN = [
    {"T": 40},
    {"T": 40, "batch_size": 100},
    {"T": 40, "batch_size": 0.5, "method": "shb"},
    {"T": 5, "method": "plane"},
    {"method": "sgd", "passes": 3},
    {"method": "shb-sls-exp", "T": 7},
    {"batch_size": 50, "tol": 0.0, "passes": 4},
]


@pytest.mark.parametrize("arguments", GIVEN, ids=str)
def test_given_arguments_are_planned_for(arguments):
    p = bocce.LeastSquares(*rows_for("squared"), l2=1e-2)
    plan = bocce.plan(p, **arguments)
    run = bocce.minimize(p, **{"tol": plan.tol, "record_every": "auto", **arguments})
    assert outline(plan.stages) == outline(run.stages)
    assert sum(s.steps for s in plan.stages) == run.n_iter
    assert plan.passes == pytest.approx(run.history["gradient_evaluations"][-1] / p.n)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_given_batch_is_where_the_run_begins(loss):
    """How many stages of batches there are is known of least squares only: one."""
    p = bocce.Problem(*rows_for(loss), loss, l2=1e-2)
    plan, run = bocce.plan(p, batch_size=20), bocce.minimize(p, batch_size=20, tol=1e-6)
    assert outline(plan.stages)[0] == outline(run.stages)[0] == ("auto", 20)
    assert plan.stages[0].steps <= run.stages[0].steps
    assert outline(plan.stages)[-1] == ("plane", p.n)
    if loss == "logistic":
        assert plan.passes is None
    else:
        assert plan.passes == pytest.approx(run.history["gradient_evaluations"][-1] / p.n, abs=1)


def test_a_problem_without_curvature_bound_has_a_plan():
    @bocce.losses.loss("quartic")
    class Quartic(NamedTuple):
        curvature = None

        def value(loss, z, y):
            return 0.25 * (z - y) ** 4

        def slope(loss, z, y):
            return (z - y) ** 3

        def bend(loss, z, y):
            return 3.0 * (z - y) ** 2

    try:
        p = bocce.Problem(*rows_for("squared", n=200), Quartic(), 0.1)
        plan = bocce.plan(p)
        assert outline(plan.stages) == [("plane", 200)]
        assert (plan.constants, plan.recommended, plan.alpha, plan.sweep) == (None, None, None, ())
        assert "the best step is computed each time" in plan.words
        assert "nan" not in str(plan)
    finally:
        del bocce.losses.REGISTRY["quartic"]


def test_weights_penalties_and_an_intercept_have_a_plan():
    X, y = rows_for("squared", n=300)
    extras = {"sample_weight": np.linspace(1.0, 2.0, 300), "penalty": np.arange(6.0)}
    p = bocce.Problem(X, y, "squared", 0.1, intercept=True, **extras)
    plan, run = bocce.plan(p), bocce.minimize(p, tol=1e-6)
    assert [(s.method, s.steps, s.batch) for s in plan.stages] == [tuple(s) for s in run.stages]
    assert plan.exact_batch is None


def test_the_certified_error_is_the_theory_s(haar):
    plan = bocce.plan(haar, batch_size=100, T=300)
    c = haar.constants()
    told = {"spectrum": c.spectrum, "noise": haar.pilot().noise}
    table = bocce.schedules.auto(300, c.L, c.mu, c.R2, 500, 100, c.R2_tilde, **told)
    assert plan.certified_error == theory.certify_run(haar, table, 100).total ** 0.5
    assert "Certified: after 300 steps at b = 100 the error is at most" in str(plan)


def test_too_small_a_T_is_said(haar):
    plan = bocce.plan(haar, T=10)
    assert "T = 10 is too small: about" in plan.words
    assert "is enough" in bocce.plan(haar, T=10**6).words


def test_a_direct_solver_is_named_where_it_wins(haar):
    assert "a direct solver would be faster: the normal equations" in bocce.plan(haar, T=500).words
    assert "direct" not in bocce.plan(haar).words  # the run is one
    X = np.random.default_rng(0).standard_normal((60, 50))
    quick = bocce.plan(bocce.LeastSquares(X, X @ np.ones(50), l2=100.0), T=9, accuracy=0.5)
    assert "direct" not in quick.words


ODD = {
    "one row": (np.array([[1.0, 2.0]]), "There is one row only"),
    "duplicate rows": (np.ones((20, 1)) * [[1.0, 2.0]], "The problem looks singular"),
    "one huge row": (np.vstack([np.eye(3), 1e6 * np.ones((1, 3))]), ""),
    "rank deficient": (np.hstack([np.eye(4), np.eye(4)]), "The problem looks singular"),
    "constant columns": (np.ones((20, 3)), "The problem looks singular"),
    "zero": (np.zeros((9, 2)), "Every row is zero"),
    "a few heavy rows": (np.vstack([np.eye(2)] * 500 + [300 * np.eye(2)]), "a few rows dominate"),
}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize("name", ODD)
def test_odd_data_get_a_sentence(name, l2, sparse):
    X, sentence = ODD[name]
    y = np.random.default_rng(0).standard_normal(len(X))
    p = bocce.LeastSquares(sp.csr_array(X) if sparse else X, y, l2=l2)
    text = str(bocce.plan(p, T=None if name == "zero" else 50))
    assert l2 > 0 or sentence in " ".join(text.split())
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "nan" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_logistic_says_what_is_not_proved(kind):
    p = problem("logistic", design(kind), l2=0.01)
    plan = bocce.plan(p, batch_size=3)
    assert "For the logistic loss nothing is proved for batches" in plan.words
    assert plan.exact_batch is None
    assert max(len(line) for line in str(plan).splitlines()) <= 80


@pytest.mark.parametrize("intercept", [False, True])
def test_separable_labels_without_l2(intercept):
    X = np.random.default_rng(0).standard_normal((40, 2))
    p = bocce.Problem(X, X[:, 0] > 0, "logistic", intercept=intercept)
    plan = bocce.plan(p)
    assert "A little l2 would help" in plan.words
    assert "nan" not in str(plan)
    assert outline(plan.stages) == outline(bocce.minimize(p, tol=1e-6).stages)


def test_the_page_speaks_to_a_practitioner(haar):
    words = [str(bocce.plan(haar)), str(bocce.plan(haar, T=10))]
    X, y = rows_for("logistic", n=300)
    words.append(str(bocce.plan(bocce.Problem(X, y, "logistic", 0.1, intercept=True))))
    for riddle in ("kappa", "R2", "knee", "chi^2", "is certain along", "zeta"):
        assert not any(riddle in text for text in words), riddle


def test_large_columns_without_a_gram_matrix():
    plan = bocce.plan(without_gram(problem("squared", design("csr"), l2=0.1)))
    assert "Lanczos" in plan.how
    assert plan.theta == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"accuracy": 0.0}, "plan: accuracy=0.0 must be"),
        ({"accuracy": 1.0}, "plan: accuracy=1.0 must be"),
        ({"T": 0}, "plan: T=0 must be"),
        ({"batch_size": 501}, "plan: batch_size=501 must be"),
        ({"method": "shbb"}, "plan: method='shbb' must be one of"),
        ({"tol": 2.0}, "plan: tol=2.0 must be"),
        ({"memory": 0}, "plan: memory=0 must be"),
        ({"passes": 0}, "plan: passes=0.0 must be"),
    ],
)
def test_bad_arguments(haar, change, message):
    with pytest.raises(ValueError, match=message):
        bocce.plan(haar, **change)


def test_not_a_problem():
    with pytest.raises(TypeError, match="plan: p=ndarray must be a problem"):
        bocce.plan(np.eye(2))
    with pytest.raises(TypeError, match="plan: method=3 must be a registry name"):
        bocce.plan(bocce.LeastSquares([[1.0]], [1.0]), method=3)


# -- the command ---------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "table.csv", noise_var=0.1)


def test_command_prints_the_plan(table):
    shown = run("plan", table, "-T", 20, "--batch-size", "0.5")
    assert shown.exit_code == 0
    assert "1. auto: 20 steps in batches of 30 rows" in shown.stdout
    assert max(len(line) for line in shown.stdout.splitlines()) <= 80


@pytest.mark.parametrize("words", [(), ("--loss", "huber"), ("-T", 9), ("--no-intercept",)])
def test_the_commands_agree(table, words):
    planned = json.loads(run("plan", table, *words, "--json").stdout)
    solved = json.loads(run("solve", table, *words, "--json").stdout)
    stages = [{name: s[name] for name in ("method", "steps", "batch")} for s in planned["stages"]]
    assert stages == solved["stages"]
    assert planned["tol"] == solved["tol"]


def test_command_json_and_plot(table, tmp_path):
    picture = tmp_path / "plan.png"
    shown = run("plan", table, "--json", "--plot", picture, "--l2", 0.1)
    found = json.loads(shown.stdout)
    assert found["n"] == 60
    assert found["constants"]["exact"] is True
    assert next(point["batch_size"] for point in found["sweep"]) == 1
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_command_refuses_before_work(table, tmp_path):
    bad = run("plan", table, "--plot", tmp_path / "none" / "plan.png")
    assert (bad.exit_code, bad.stdout) == (2, "")
    assert "--plot: there is no folder" in bad.stderr
    assert run("plan", table, "--accuracy", 2).exit_code == 2


def test_time_constant_is_the_slow_direction_s():
    """Against the powers of the step matrix."""
    for tilde, b, mu in ((None, 10, 1.0), (20.0, 10, 1.0), (20.0, 1, 0.3), (None, 1000, 0.1)):
        course = Design(1000, 100.0, 900.0, tilde, mu, b)
        alpha, beta, theta = course.parameters()
        x = alpha * mu
        step = [[1 + beta - x * (1 + theta), x * theta - beta], [1, 0]]
        radius = np.abs(np.linalg.eigvals(step)).max()
        assert course.time_constant() == pytest.approx(-1 / np.log(radius), rel=0.05)


@given(kappa=st.floats(2.0, 1e6))
def test_rounding_of_the_curvature_hardly_changes_the_time_constant(kappa):
    """All rows: the roots meet, and rounding decides whether they are real."""
    near = 1.0 + np.finfo(float).eps * np.arange(-300, 300)
    times = [Design(1000, kappa, 2.0 * kappa, 0.1 * kappa, m, 1000).time_constant() for m in near]
    assert max(times) <= (1.0 + 1e-3) * min(times)
