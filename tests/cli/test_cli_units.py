"""One definition of the options that read and scale data; what standardised columns mean."""

import json

import numpy as np
import pandas as pd
import pytest
import typer

import bocce
from bocce.cli import app
from bocce.cli._options import ModelOptions, Reading
from bocce.problems import standardized
from cli_helpers import as_parquet, run

GROUP = typer.main.get_command(app)
SHARED = (*Reading._fields, *ModelOptions._fields)
UNITS = np.array([1.0, 1e4, 1e-4, 30.0])


def write(path, units=UNITS, loss="squared", n=300):
    """A table whose columns are measured in these units, far from zero."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    y = X @ [1.0, -1.0, 1.0, 0.5] + rng.standard_normal(n)
    if loss == "logistic":
        y = y > 0
    X = (X + np.array([0.0, 5.0, 10.0, 3.0])) * units
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.assign(y=y.astype(float)).to_csv(path, index=False)
    return path


def found(*words):
    result = run(*words, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_solve_plan_and_explore_read_and_scale_data_by_the_same_options():
    def options(command):
        known = {option.name: option for option in GROUP.commands[command].params}
        facts = ("opts", "secondary_opts", "default", "help", "metavar", "required")
        return {name: [getattr(known[name], fact) for fact in facts] for name in SHARED}

    assert options("plan") == options("solve")
    assert options("explore") == options("solve")
    assert {"target", "columns", "exclude", "weights", "offset", "standardize"} <= {*SHARED}


def test_no_other_option_of_solve_reads_or_scales_data():
    """The rest are about the run and its output: a new option must be put into a group."""
    own = {option.name for option in GROUP.commands["solve"].params} - {*SHARED}
    steps = {"method", "steps", "batch_size", "tol", "passes", "seed", "sampling"}
    output = {"errors", "checkpoint", "out", "force", "ray", "workers", "json"}
    assert own == {"file", *steps, *output}


def test_the_plan_of_an_unscaled_table_names_a_batch_size(tmp_path):
    path = write(tmp_path / "t.csv", UNITS)
    plain, planned = (
        " ".join(run("plan", path, *words).stdout.split()) for words in (("--no-standardize",), ())
    )
    assert "looks singular" in plain
    assert "looks singular" not in planned
    assert "recommended" in planned
    X, y = bocce.data.open(path)
    p = standardized(bocce.LeastSquares(X, y, intercept=True)).problem
    wanted = json.loads(json.dumps(bocce.plan(p).to_dict()))
    figures = found("plan", path)
    assert {name: figures[name] for name in wanted} == wanted


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_constants_and_batches_do_not_depend_on_units(tmp_path, loss):
    words = ("--loss", loss, "--l2", 0.01)
    here = found("plan", write(tmp_path / "a.csv", loss=loss), *words)
    there = found("plan", write(tmp_path / "b.csv", np.ones(4), loss), *words)
    for name in ("L", "mu", "L_max"):
        assert here["constants"][name] == pytest.approx(there["constants"][name], rel=1e-6)
    assert here["recommended"] == there["recommended"]
    steps = [[point["steps"] for point in plan["sweep"]] for plan in (here, there)]
    np.testing.assert_allclose(*steps, rtol=1e-3)


@pytest.mark.parametrize("words", [(), ("--method", "shb", "-T", 40, "--batch-size", 100)])
def test_coefficients_are_in_the_units_of_the_file(tmp_path, words):
    """A step sees standardised columns: after any number of steps units have no say."""
    words = (*words, "--l2", 0.01)
    here = found("solve", write(tmp_path / "a.csv"), *words)
    there = found("solve", write(tmp_path / "b.csv", np.ones(4)), *words)
    one, other = ([row["coef"] for row in fit["coefficients"]] for fit in (here, there))
    np.testing.assert_allclose(np.multiply(one, [*UNITS, 1.0]), other, rtol=1e-5)
    assert here["value"] == pytest.approx(there["value"], rel=1e-9)
    assert here["grad_norm"] == pytest.approx(there["grad_norm"], rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_data_in_parts_are_standardised_too(tmp_path, intercept):
    X, y = bocce.data.open(write(tmp_path / "t.csv"))
    path = as_parquet(tmp_path / "t.csv", tmp_path / "rows.parquet")
    file = bocce.data.open(path, memory=1000)
    here, there = (
        standardized(bocce.LeastSquares(*rows, intercept=intercept)).problem
        for rows in ((X, y), (file, None))
    )
    one, other = here.constants(), there.constants()
    assert (other.L, other.mu, other.L_max) == pytest.approx((one.L, one.mu, one.L_max))
    np.testing.assert_allclose(there.minimiser(), here.minimiser(), rtol=1e-8)
    steps = {"T": 50, "batch_size": 300}
    one, other = (bocce.minimize(p, "shb", **steps) for p in (here, there))
    np.testing.assert_allclose(other.w, one.w, rtol=1e-8)
    some = bocce.minimize(there, "shb", T=400, batch_size=200)  # reads its blocks ahead
    assert some.history["value"][-1] < 1.2 * some.history["value"].min()
    assert there.fingerprint() != bocce.LeastSquares(file, intercept=intercept).fingerprint()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_standardised_problem_has_the_same_minimiser(tmp_path, kind, intercept, weighted):
    from scipy.sparse import csr_array

    X, y = bocce.data.open(write(tmp_path / "t.csv"))
    rows = csr_array(X) if kind == "sparse" else X
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    how = {"l2": 0.1, "intercept": intercept, "sample_weight": weights}
    p = bocce.LeastSquares(rows, y, standardize=True, **how)
    scaled = standardized(p)
    w, b = scaled.out(*p.split_intercept(scaled.problem.minimiser()))
    units = UNITS if not intercept else [*UNITS, 1.0]
    slope = p.gradient(p.join_intercept(w, b)) / units
    assert np.abs(slope).max() < 1e-9 * np.abs(p.gradient(np.zeros(p.shape)) / units).max()
    variance = scaled.problem.given.column_moments(scaled.problem.weight)[1]
    np.testing.assert_allclose(variance, 1.0, rtol=1e-9)
