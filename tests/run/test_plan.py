"""plan: thresholds from the theory, steps that come true, a sentence for every oddity."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import bocce
from bocce import theory
from bocce.cli import app
from bocce.exact import critical_batch_size, expected
from helpers import KINDS, design, problem


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
    assert plan.chi2 == pytest.approx(haar.noise().chi2, abs=1e-20)


def test_parameters_are_auto_s(haar):
    plan = bocce.plan(haar, batch_size=50)
    c = haar.constants()
    table = bocce.schedules.auto(10_000, c.L, c.mu, c.L_max, 500, 50, c.kappa_tilde)
    k = int(np.argmax(table.beta))  # where its memory has grown
    assert (plan.alpha, plan.beta, plan.theta) == (table.alpha[k], table.beta[k], table.theta[k])
    assert bocce.plan(haar, batch_size=0.1) == plan


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("kind", ["haar", "gaussian", "heavy"])
@pytest.mark.parametrize("b", [5, 60, 450])
def test_the_steps_come_true(kind, noise, b):
    """Exact expectations of auto for the steps planned: within a factor 5 of the accuracy."""
    X, y, _ = bocce.data.regression(500, 4, 30.0, noise_var=noise, design=kind)
    p = bocce.LeastSquares(X, y)
    plan = bocce.plan(p, batch_size=b, accuracy=1e-4)
    c = p.constants()
    table = bocce.schedules.auto(plan.steps, c.L, c.mu, c.L_max, 500, b, c.kappa_tilde)
    gap = expected(p, table, b).gap
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
    assert plan.batch_size == plan.recommended


def test_too_small_a_T_is_said(haar):
    plan = bocce.plan(haar, T=10)
    assert "T = 10 is too small for this kappa: about" in plan.words
    assert "is enough" in bocce.plan(haar, T=10**6).words


def test_a_direct_solver_is_named_where_it_wins(haar):
    assert "the normal equations" in bocce.plan(haar, accuracy=1e-12).words
    X = np.random.default_rng(0).standard_normal((60, 50))
    quick = bocce.plan(bocce.LeastSquares(X, X @ np.ones(50), l2=100.0), accuracy=0.5)
    assert "direct" not in quick.words


ODD = {
    "one row": (np.array([[1.0, 2.0]]), "There is one row only"),
    "duplicate rows": (np.ones((20, 1)) * [[1.0, 2.0]], "no curvature"),
    "one huge row": (np.vstack([np.eye(3), 1e6 * np.ones((1, 3))]), "direct solver"),
    "rank deficient": (np.hstack([np.eye(4), np.eye(4)]), "kappa is infinite"),
    "constant columns": (np.ones((20, 3)), "kappa is infinite"),
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
    text = str(bocce.plan(p, T=50))
    assert l2 > 0 or sentence in " ".join(text.split())
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "nan" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_logistic_says_what_is_not_proved(kind):
    p = problem("logistic", design(kind), l2=0.01)
    plan = bocce.plan(p, batch_size=3)
    assert "For logistic loss nothing is proved at b < n" in plan.words
    assert plan.exact_batch is None
    assert max(len(line) for line in str(plan).splitlines()) <= 80


def test_separable_labels_without_l2():
    X = np.random.default_rng(0).standard_normal((40, 2))
    words = bocce.plan(bocce.Logistic(X, X[:, 0] > 0)).words
    assert "The noise at the minimiser is unknown" in words


def test_large_columns_without_a_gram_matrix(monkeypatch):
    monkeypatch.setattr("bocce.problems.linear.GRAM_COLUMNS", 0)
    plan = bocce.plan(problem("squared", design("csr"), l2=0.1))
    assert "Lanczos" in plan.how
    assert plan.theta == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"accuracy": 0.0}, "plan: accuracy=0.0 must be"),
        ({"accuracy": 1.0}, "plan: accuracy=1.0 must be"),
        ({"T": 0}, "plan: T=0 must be"),
        ({"batch_size": 501}, "plan: batch_size=501 must be"),
    ],
)
def test_bad_arguments(haar, change, message):
    with pytest.raises(ValueError, match=message):
        bocce.plan(haar, **change)


def test_not_a_problem():
    with pytest.raises(TypeError, match="plan: p=ndarray must be a problem"):
        bocce.plan(np.eye(2))


# -- the command ---------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    X, y, _ = bocce.data.regression(60, 2, 5.0, noise_var=0.1)
    path = tmp_path / "table.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", fmt="%.17g")
    return path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_command_prints_the_plan(table):
    shown = run("plan", table, "-T", 20, "--batch-size", "0.5")
    assert shown.exit_code == 0
    assert "planned batch           30 of n = 60" in shown.stdout
    assert max(len(line) for line in shown.stdout.splitlines()) <= 80


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
