"""``bocce predict`` and ``bocce.load``: what solve wrote, applied to new data."""

import numpy as np
import pytest

import bocce
from cli_helpers import run
from refusal import refused


def table(path, n=40, seed=0, classes=("no", "yes"), extra=""):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    places = (X[:, 0] > 0).astype(int) + (X[:, 0] > 1) * (len(classes) > 2)
    rows = [f"{a:.6f},{b:.6f},{classes[k]}" for (a, b), k in zip(X, places)]
    path.write_text("age,height,sport\n" + "\n".join(rows) + "\n")
    return X


@pytest.fixture
def fitted(tmp_path):
    table(tmp_path / "train.csv")
    assert run("solve", tmp_path / "train.csv", "--loss", "logistic", "--l2", 0.01,
               "--out", tmp_path / "fit").exit_code == 0  # fmt: skip
    return tmp_path


def test_labels_are_those_of_the_fit(fitted):
    X = table(fitted / "new.csv", n=9, seed=5)
    (fitted / "plain.csv").write_text(
        "height,age\n" + "\n".join(f"{b:.6f},{a:.6f}" for a, b in X) + "\n"
    )
    with_target = run("predict", fitted / "fit", fitted / "new.csv")
    without = run("predict", fitted / "fit.npz", fitted / "plain.csv")
    assert with_target.exit_code == without.exit_code == 0
    assert with_target.stdout == without.stdout
    lines = with_target.stdout.splitlines()
    assert lines[0] == "sport"
    model = bocce.load(fitted / "fit")
    assert lines[1:] == model.predict(X.round(6)).tolist()
    assert model.columns == ["age", "height"]


def test_probabilities_have_a_column_for_each_class(fitted):
    X = table(fitted / "new.csv", n=5, seed=5)
    shown = run("predict", fitted / "fit", fitted / "new.csv", "--proba", "--out", fitted / "p.csv")
    assert shown.exit_code == 0
    assert "wrote 5 predictions" in shown.stdout
    lines = (fitted / "p.csv").read_text().splitlines()
    assert lines[0] == "no,yes"
    found = np.array([[float(cell) for cell in line.split(",")] for line in lines[1:]])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(found, bocce.load(fitted / "fit").predict_proba(X.round(6)))
    again = run("predict", fitted / "fit", fitted / "new.csv", "--out", fitted / "p.csv")
    assert again.exit_code == 2
    assert "would be overwritten" in again.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("age\n1\n2\n", "new.csv: has no column 'height', must have every"),
        ("age,height,weight\n1,2,3\n2,3,4\n", "'weight' is not one of the fit"),
        ("age,height\n1,tall\n2,3\n", "'tall' in column 'height' must be a number"),
    ],
)
def test_columns_that_do_not_fit_are_named(fitted, text, says):
    (fitted / "new.csv").write_text(text)
    shown = run("predict", fitted / "fit", fitted / "new.csv")
    assert shown.exit_code == 2
    assert says in shown.stderr


def test_extra_columns_may_be_ignored(fitted):
    (fitted / "new.csv").write_text("id,age,height\n7,1.0,2.0\n8,-1.0,3.0\n")
    shown = run("predict", fitted / "fit", fitted / "new.csv", "--extra", "ignore")
    assert shown.stdout.splitlines() == ["sport", "yes", "no"]


def test_files_in_parts_give_the_same(fitted, monkeypatch):
    table(fitted / "new.csv", n=120_000, seed=7)  # many parts of 78 kB of text
    whole = run("predict", fitted / "fit", fitted / "new.csv").stdout
    monkeypatch.setattr("bocce.data.read.files.machine_memory", lambda: 5_000_000)
    assert run("predict", fitted / "fit", fitted / "new.csv").stdout == whole
    assert whole.count("\n") == 120_001


def test_several_classes_counts_and_sparse_rows(tmp_path):
    table(tmp_path / "train.csv", classes=("a", "b", "c"), n=200)
    assert run("solve", tmp_path / "train.csv", "--loss", "softmax", "--l2", 0.01,
               "--out", tmp_path / "fit").exit_code == 0  # fmt: skip
    shown = run("predict", tmp_path / "fit", tmp_path / "train.csv").stdout.splitlines()[1:]
    assert set(shown) == {"a", "b", "c"}
    (tmp_path / "counts.svm").write_text("3 1:1 3:2\n1 2:1\n0 1:-1\n2 3:1\n")
    assert run("solve", tmp_path / "counts.svm", "--loss", "poisson", "--l2", 0.1,
               "--out", tmp_path / "rates").exit_code == 0  # fmt: skip
    (tmp_path / "short.svm").write_text("0 1:1\n0 2:1\n")
    rates = run("predict", tmp_path / "rates", tmp_path / "short.svm").stdout.splitlines()[1:]
    assert all(float(rate) > 0 for rate in rates)
    assert len(rates) == 2


def test_a_damaged_fit_is_refused(fitted, tmp_path):
    """A half of a file, and a file with other bytes in its middle: bad input, no defect of ours."""
    whole = (fitted / "fit.npz").read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:700] + b"x" * 20 + whole[720:]):
        (tmp_path / "damaged.npz").write_bytes(damaged)
        shown = run("predict", tmp_path / "damaged", fitted / "plain.csv")
        assert (shown.exit_code, shown.stdout) == (2, "")
        assert "must be a fit written by `bocce solve --out`" in shown.stderr


def test_what_is_no_fit_is_refused(tmp_path):
    refused(
        lambda: bocce.load(tmp_path / "gone"),
        FileNotFoundError,
        r"load: there is no file .*gone\.npz'; write one with .*",
    )
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    refused(
        lambda: bocce.load(tmp_path / "other"), ValueError, r"load: .* must be a fit written by .*"
    )
    p = bocce.LeastSquares(np.eye(3), np.ones(3))
    result = bocce.minimize(p, tol=1e-6)
    refused(
        lambda: result.predict(np.ones((2, 4))),
        ValueError,
        r"predict: X has shape \(2, 4\), must have 3 columns as in the fit; .*",
    )
    refused(
        lambda: result.predict_proba(np.eye(3)),
        ValueError,
        r"predict_proba: the loss 'squared' has no probabilities of classes, .*",
    )
