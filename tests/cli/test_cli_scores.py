"""``bocce solve``: weights, offsets, scores and standard errors."""

import json
import re

import numpy as np
import pytest
from sklearn.metrics import d2_tweedie_score

import bocce
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor
from cli_helpers import as_if_large, as_parquet, assert_refused, run


def people(path, classes=("no", "yes"), n=150, repeat=False):
    """A table with a column of weights 1, 2 and 3; or each row as often as its weight says."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2)).round(4)
    z = X @ [1.0, -0.5] + rng.standard_normal(n)
    cuts = np.quantile(z, np.arange(1, len(classes)) / len(classes))
    y, weights = np.array(classes)[np.digitize(z, cuts)], rng.integers(1, 4, n)
    rows = np.repeat(np.arange(n), weights) if repeat else np.arange(n)
    lines = [f"{X[i, 0]},{weights[i]},{X[i, 1]},{y[i]}" for i in rows]
    path.write_text("age,count,height,sport\n" + "\n".join(lines) + "\n")
    return path


def solved(*words):
    result = run("solve", *words, "--l2", 0.01, "--tol", 1e-9, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def column(found, name):
    return [row[name] for row in found["coefficients"]]


@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c")])
def test_a_row_of_weight_k_is_k_rows(tmp_path, classes):
    weighted = solved(people(tmp_path / "w.csv", classes), "--weights", "count")
    path = people(tmp_path / "r.csv", classes, repeat=True)
    repeated = solved(path, "--columns", "age,height")
    assert weighted["d"] == repeated["d"] == 2
    for name in ("coef", "std_error", "lower", "upper"):
        np.testing.assert_allclose(column(weighted, name), column(repeated, name), rtol=1e-6)
    fitted, again = weighted["scores"]["fitted"], repeated["scores"]["fitted"]
    assert fitted["accuracy"] == pytest.approx(again["accuracy"])


def test_the_advice_counts_a_row_of_weight_k_as_k_rows(tmp_path):
    """A column of small values that 40 rows would not show to matter, and 2,000 do."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) * [1.0, 1e-4]
    y = X @ [1.0, 1e4] + 5.0 * rng.standard_normal(40)
    rows = [f"{a!r},{b!r},50,{target!r}" for (a, b), target in zip(X.tolist(), y.tolist())]
    found = []
    for times, words in ((1, ("--weights", "count")), (50, ("--columns", "a,b"))):
        path = tmp_path / "rows.csv"
        path.write_text("\n".join(["a,b,count,y", *rows * times]) + "\n")
        result = run("solve", path, *words, "--no-standardize", "--l2", 1e-4, "--json")
        found.append(json.loads(result.stdout)["advice"])
    assert found[0] == found[1]
    assert "holds back the coefficient of b" in found[0]


def test_weights_are_no_feature(tmp_path):
    path = people(tmp_path / "train.csv")
    words = ("--weights", "count", "--columns", "height,age", "--out", tmp_path / "fit")
    assert run("solve", path, *words).exit_code == 0
    kept = json.loads((tmp_path / "fit.json").read_text())
    assert (kept["columns"], kept["weights"]) == (["height", "age"], "count")


def test_a_column_without_a_header_is_named_by_its_number(tmp_path):
    rows = [f"{i % 7},{i % 3 + 1},{i % 5}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    assert solved(tmp_path / "t.csv", "--weights", 1) == solved(
        tmp_path / "t.csv", "--weights", "x1"
    )


def test_plan_takes_weights_as_solve_does(tmp_path):
    path = people(tmp_path / "w.csv")
    found = json.loads(run("plan", path, "--l2", 0.01, "--weights", "count", "--json").stdout)
    assert found["d"] == 2


# ---------------------------------------------------------------- offset


def claims(path, n=300):
    """Counts over different exposures, whose logs are a column."""
    rng = np.random.default_rng(0)
    X, years = rng.standard_normal((n, 2)).round(4), rng.uniform(0.2, 3.0, n)
    y = rng.poisson(years * np.exp(X @ [0.3, -0.2] - 0.5))
    rows = np.column_stack([X[:, 0], np.log(years), X[:, 1], y])
    np.savetxt(path, rows, "%.17g", ",", header="age,log_years,height,claims", comments="")
    return X, np.log(years), y


def test_an_offset_is_that_of_the_estimators(tmp_path):
    X, offset, y = claims(tmp_path / "claims.csv")
    words = ("--loss", "poisson", "--offset", "log_years")
    found = solved(tmp_path / "claims.csv", *words, "--out", tmp_path / "fit")
    model = HeavyBallRegressor(l2=0.01, loss="poisson", tol=1e-10, standardize=True)
    table = model.fit(X, y, offset=offset).summary()
    assert [row["name"] for row in found["coefficients"]] == ["age", "height", "intercept"]
    for name in ("coef", "std_error", "lower", "upper"):
        np.testing.assert_allclose(column(found, name), table[name], rtol=1e-5)
    lost = d2_tweedie_score(y, model.predict(X, offset=offset), power=1)
    assert found["scores"]["fitted"]["D^2"] == pytest.approx(lost, rel=1e-5)
    assert json.loads((tmp_path / "fit.json").read_text())["offset"] == "log_years"


# ---------------------------------------------------------------- scores


@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c")])
def test_a_fit_is_that_of_the_estimators(tmp_path, classes):
    path = people(tmp_path / "people.csv", classes)
    found = solved(path)
    X, y = bocce.data.open(path)
    model = HeavyBallClassifier(l2=0.01, tol=1e-10, standardize=True).fit(X, y)
    accuracy = pytest.approx(model.score(X, y))
    assert found["scores"]["fitted"] == {"rows": 150, "accuracy": accuracy}
    names = [row["name"].split(": ")[-1] for row in found["coefficients"]]
    assert names[:4] == ["age", "count", "height", "intercept"]
    for name in ("coef", "std_error", "lower", "upper"):
        np.testing.assert_allclose(column(found, name), model.summary()[name], rtol=1e-4, atol=1e-6)


def test_numbers_have_r2(tmp_path):
    X, y, _ = bocce.data.regression(200, 3, 5.0, noise_var=0.5)
    np.savez(tmp_path / "t.npz", X=X, y=y)
    found = solved(tmp_path / "t.npz")
    model = HeavyBallRegressor(l2=0.01, tol=1e-10, standardize=True).fit(X, y)
    assert found["scores"]["fitted"]["R^2"] == pytest.approx(model.score(X, y))
    shown = run("solve", tmp_path / "t.npz").stdout
    assert re.search(r"^R\^2 +0\.\d+$", shown, re.M)


def test_data_in_parts_are_scored_too_and_keep_their_labels(tmp_path):
    path = people(tmp_path / "people.csv", ("a", "b", "c"))
    X, _ = bocce.data.open(path)
    file = bocce.data.open(as_parquet(path, tmp_path / "p.parquet"), memory=1000)
    p = bocce.Problem(file, None, "softmax", 0.01, intercept=True)
    assert list(p.classes) == ["a", "b", "c"]
    result = bocce.minimize(p, tol=1e-8)
    assert set(result.predict(X)) == {"a", "b", "c"}


def test_a_file_in_parts_is_scored_as_in_memory(tmp_path, monkeypatch):
    path = people(tmp_path / "people.csv", ("a", "b", "c"))
    path = as_parquet(path, tmp_path / "p.parquet")
    whole = solved(path)
    as_if_large(monkeypatch)
    found = solved(path)
    assert found["scores"] == whole["scores"]
    for name in ("coef", "std_error"):
        np.testing.assert_allclose(column(found, name), column(whole, name), rtol=1e-5)


# ---------------------------------------------------------------- what is printed


@pytest.mark.parametrize("columns", [60, 120])
@pytest.mark.parametrize("classes", ["ab", "abc", "abcdefghijkl"])
def test_the_summary_fits_the_terminal(tmp_path, columns, classes):
    path = people(tmp_path / "people.csv", [f"class {name}" for name in classes], n=300)
    words = ("solve", path.name, "--l2", 0.01)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        result = run(*words, env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert [line for line in lines if len(line) > columns or line != line.rstrip()] == []
    assert "\x1b" not in result.stdout
    text = " ".join(result.stdout.split())
    assert "accuracy" in text
    assert "the most frequent class" in text
    if len(classes) <= 3:
        assert "95 % from" in text
        assert "intervals are for those without the penalty" in text
    else:
        assert "3 x 12 coefficients: --out FIT writes them" in text


def test_many_coefficients_are_printed_where_they_are_asked_for(tmp_path):
    path = people(tmp_path / "people.csv", [f"c{i:02}" for i in range(12)], n=300)
    assert "coefficients" not in solved(path)
    found = solved(path, "--errors", "sandwich")
    assert len(found["coefficients"]) == 4 * 12
    assert "Standard errors are by residuals alone (sandwich)." in found["notes"]


def test_a_loss_without_a_model_has_robust_errors(tmp_path):
    found = solved(people(tmp_path / "p.csv"), "--loss", "squared_hinge")
    assert "Standard errors are by residuals alone (sandwich)." in found["notes"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("-T", 50, "--batch-size", 20), "the run ended before the minimum"),
        (("--loss", "squared_hinge", "--errors", "model"), "has none; use --errors 'sandwich'"),
    ],
)
def test_why_there_are_no_standard_errors_is_said(tmp_path, words, why):
    result = run("solve", people(tmp_path / "p.csv"), "--l2", 0.01, *words)
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "No standard errors: " in text
    assert why in text
    assert re.search(r"^age +-?\d", result.stdout, re.M)


def test_standard_errors_that_cost_more_than_the_fit_wait_to_be_asked(tmp_path, monkeypatch):
    monkeypatch.setattr("bocce.run.coefficients.CHEAP_ERRORS", 0.0)
    X, y, _ = bocce.data.regression(100, 8, 5.0, noise_var=1.0)
    np.savez(tmp_path / "t.npz", X=X, y=y)
    found = solved(tmp_path / "t.npz")
    assert found["notes"] == [
        'No standard errors: they would take longer than the fit; --errors "model" asks for them.'
    ]
    assert "std_error" in solved(tmp_path / "t.npz", "--errors", "model")["coefficients"][0]


# ---------------------------------------------------------------- bad input


WRONG = [
    (("--weights", "coutn"), "--weights 'coutn' must be a column of", "'age', 'count', 'height'"),
    (("--weights", "sport"), "--weights 'sport' must be a column of", "the target 'sport'"),
    (("--weights", "age"), "--weights: the column 'age' has the value -", "must be > 0"),
    (("--weights", "count", "--columns", "age,count"), "must name each feature once"),
    (("--weights", "count", "--ray", "local"), "--weights count must be left out with --ray"),
    (("--offset", "years"), "--offset 'years' must be a column of", "'age', 'count', 'height'"),
    (("--offset", "age", "--ray", "local"), "--offset age must be left out with --ray"),
    (("--offset", "age", "--loss", "softmax"), "offset must be left out with the softmax loss"),
    (("--errors", "maybe"), "Invalid value for '--errors'"),
]


@pytest.mark.parametrize(("words", "messages"), [(case[0], case[1:]) for case in WRONG])
def test_bad_input_is_refused_before_the_run(tmp_path, monkeypatch, words, messages):
    def never(*_, **__):
        raise AssertionError("a run was begun")

    monkeypatch.setattr("bocce.run.minimize", never)
    path = people(tmp_path / "people.csv")
    before = sorted(tmp_path.rglob("*"))
    result = run("solve", path, "--out", tmp_path / "o", *words)
    assert_refused(result, before, tmp_path, *messages)


def test_rows_without_names_have_no_column_of_weights(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(3), y=np.ones(3))
    result = run("solve", tmp_path / "t.npz", "--weights", "count")
    assert result.exit_code == 2
    assert "--weights needs a table in memory with a name for each column" in result.stderr
