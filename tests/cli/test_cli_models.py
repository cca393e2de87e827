"""``bocce solve``: columns left out, standardised columns."""

import json

import numpy as np
import pandas as pd
import pytest

import bocce
from cli_helpers import as_if_large, assert_refused, run

SIZES = np.array([1.0, 1e-4, 10.0])


@pytest.fixture
def table(tmp_path):
    """Rows with a counter, a note, and a target in {no, yes}."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3)) * SIZES
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["sport"] = np.where(X / SIZES @ [1.0, 1.0, 0.5] + rng.logistic(size=200) > 0, "yes", "no")
    frame.insert(0, "id", np.arange(200))
    frame.insert(4, "note", [f"row {i}" for i in range(200)])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return frame


def solved(tmp_path, *words):
    found = run("solve", tmp_path / "rows.csv", *words, "--tol", 1e-10, "--json")
    assert found.exit_code == 0, found.stderr
    return json.loads(found.stdout)


def fitted(frame, **how):
    features = frame[["a", "b", "c"]].to_numpy()
    return bocce.minimize(
        bocce.Logistic(features, frame["sport"].to_numpy(), intercept=True, **how), tol=1e-10
    )


def test_a_penalty_that_hides_a_column_is_said(table, tmp_path):
    words = ("--exclude", "id,note", "--no-standardize", "--l2", 1e-3)
    advice = solved(tmp_path, *words)["advice"]
    assert advice.startswith("--l2 0.001 holds back the coefficient of b: columns differ")
    assert "use --standardize, or scale the columns" in advice
    assert "advice" not in solved(tmp_path, *words, "--standardize")
    assert "advice" not in solved(tmp_path, "--exclude", "id,note", "--l2", 1e-3)
    shown = run("solve", tmp_path / "rows.csv", *words).stdout
    assert "holds back the coefficient of b" in " ".join(shown.split())


def test_tol_auto(table, tmp_path):
    words = ("solve", tmp_path / "rows.csv", "--exclude", "id,note")
    shown = run(*words, "--tol", "auto")
    assert shown.exit_code == 0
    said = " ".join(shown.stdout.split())
    assert "Every coefficient is within 0.01 standard errors of the minimiser (proved)." in said
    assert_refused(
        run(*words, "--tol", "auto", "-T", 100),
        sorted(tmp_path.rglob("*")),
        tmp_path,
        "--tol 'auto' must be a number where T, a method with a schedule or a checkpoint is given",
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--exclude", "id,nope"), "--exclude 'nope' must be a column of rows.csv"),
        (("--exclude", "sport", "--target", "sport"), "must not name the target 'sport'"),
        (("--exclude", "id", "--columns", "a"), "must be left out where --columns"),
    ],
)
def test_what_cannot_be_done_is_refused(table, tmp_path, words, message):
    before = sorted(tmp_path.rglob("*"))
    assert_refused(run("solve", tmp_path / "rows.csv", *words), before, tmp_path, message)


def test_an_offset_in_a_file_that_is_read_in_parts(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    X, o = rng.standard_normal((400, 2)), rng.standard_normal(400)
    y = rng.poisson(np.exp(X @ [0.5, -0.3] + o))
    frame = pd.DataFrame({"a": X[:, 0], "o": o, "b": X[:, 1], "y": y})
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=10)
    words = ("solve", tmp_path / "rows.parquet", "--loss", "poisson", "--offset", "o")
    found = []
    for out in ("here", "parts"):
        if out == "parts":
            as_if_large(monkeypatch)
        said = run(*words, "--tol", 1e-9, "--json", "--out", tmp_path / out)
        assert said.exit_code == 0, said.stderr
        found.append(json.loads(said.stdout))
    here, parts = found
    for name in ("coef", "std_error"):
        one, other = ([row[name] for row in table["coefficients"]] for table in found)
        np.testing.assert_allclose(other, one, rtol=1e-6)
    assert parts["scores"]["fitted"]["D^2"] == pytest.approx(here["scores"]["fitted"]["D^2"])
