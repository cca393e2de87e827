"""``bocce solve``: what it prints, what it writes, how it ends."""

import errno
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import bocce
from bocce.data import libsvm
from bocce.problems import standardized
from cli_helpers import as_if_large, as_parquet, assert_refused, run, write_table


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "table.csv")


@pytest.mark.parametrize("loss", sorted(set(bocce.losses.REGISTRY) & {"squared", "huber"}))
@pytest.mark.parametrize("chosen", [(), ("--no-intercept",), ("--no-standardize",)])
def test_solve_is_minimize(table, tmp_path, loss, chosen):
    words = ("-T", 300, "--batch-size", 0.9, "--method", "sgd", "--seed", 3, "--l2", 0.01)
    words += (*chosen, "--loss", loss)
    result = run("solve", table, *words, "--out", tmp_path / "fit", "--json")
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    written = printed.pop("wrote")
    assert written == [str(tmp_path / "fit.npz"), str(tmp_path / "fit.json")]
    kept = json.loads((tmp_path / "fit.json").read_text())
    assert kept == {**printed, "columns": ["x0", "x1"], "target": "x2"}
    X, y = bocce.data.open(table)
    problem = bocce.Problem(X, y, loss, 0.01, intercept=not ({"--no-intercept"} & {*chosen}))
    scaled = standardized(problem)
    if "--no-standardize" not in chosen:
        problem = scaled.problem
    wanted = bocce.minimize(problem, "sgd", T=300, batch_size=0.9, seed=3, record_every="auto")
    w, intercept = wanted.w, wanted.intercept
    if "--no-standardize" not in chosen:
        w, intercept = scaled.out(w, intercept)
    with np.load(tmp_path / "fit.npz", allow_pickle=False) as kept:
        assert np.array_equal(kept["w"], w)
        assert kept["intercept"] == intercept
        for name, values in wanted.history.items():
            assert np.array_equal(kept[name], values)
    assert printed["intercept"] == (None if "--no-intercept" in chosen else intercept)
    assert printed["stages"] == [{"method": "sgd", "steps": 300, "batch": 54}]
    assert printed["value"] == wanted.history["value"][-1]
    assert printed["grad_norm"] == wanted.history["grad_norm"][-1]
    assert (printed["n"], printed["d"], printed["batch_size"]) == (60, 2, 54)
    assert (printed["status"], printed["iterations"]) == ("finished", 300)


def test_solve_finds_the_solution_and_says_so(table):
    result = run("solve", table, "--tol", 1e-9)
    assert result.exit_code == 0
    assert re.search(r"^status +converged: gradient norm at most", result.stdout, re.M)
    assert re.search(r"^R\^2 +1$", result.stdout, re.M)
    assert re.search(r"^x0 +2 ", result.stdout, re.M)
    assert re.search(r"^intercept ", result.stdout, re.M)
    assert not re.search(r"^intercept ", run("solve", table, "--no-intercept").stdout, re.M)


def test_solve_logistic_with_any_two_labels(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1 2:1\n2 1:-1\n1 1:2\n2 1:-1 2:0.5\n")
    words = ("--loss", "logistic", "--l2", 0.1, "--sampling", "reshuffle", "--batch-size", 2)
    printed = json.loads(run("solve", path, *words, "-T", 200, "--json").stdout)
    assert (printed["loss"], printed["batch_size"]) == ("logistic", 2)
    assert printed["value"] < np.log(2.0)


def test_solve_takes_the_name_of_a_data_set(tmp_path, monkeypatch):
    monkeypatch.setitem(libsvm.KNOWN, "tiny", libsvm.Known(2, 1, (1, 2), None))
    monkeypatch.setenv("BOCCE_DATA", str(tmp_path))
    monkeypatch.setenv("BOCCE_CACHE", str(tmp_path))
    (tmp_path / "tiny").write_text("1 1:1\n2 1:2\n")
    monkeypatch.chdir(tmp_path.parent)
    assert json.loads(run("solve", "tiny", "-T", 5, "--json").stdout)["n"] == 2


def test_solve_goes_on_from_a_checkpoint(table, tmp_path):
    words = ("solve", table, "-T", 100, "--batch-size", 30, "--json")
    whole = run(*words).stdout
    assert run(*words, "--checkpoint", tmp_path / "c").stdout == whole
    assert (tmp_path / "c").is_file()
    assert run(*words, "--checkpoint", tmp_path / "c").stdout == whole
    other = run(*words, "--seed", 1, "--checkpoint", tmp_path / "c")
    assert other.exit_code == 2
    assert "checkpoint" in other.stderr


def test_a_diverged_run_is_exit_code_1_and_still_written(tmp_path):
    X, _, _ = bocce.data.diagonal(50, 100.0)
    np.savez(tmp_path / "d.npz", X=X.toarray(), y=np.ones(50))
    words = ("--method", "shb", "--batch-size", 1, "-T", 5000, "--json", "--out", tmp_path / "o")
    words += ("--no-intercept", "--no-standardize")
    result = run("solve", tmp_path / "d.npz", *words)
    assert result.exit_code == 1
    assert "diverged at step" in result.stderr
    assert json.loads(result.stdout)["status"] == "diverged"
    with np.load(tmp_path / "o.npz", allow_pickle=False) as kept:
        assert np.isfinite(kept["w"]).all()


def test_a_run_that_ends_above_its_start_is_exit_code_1(tmp_path):
    X, y, _ = bocce.data.regression(n=2000, d=10, kappa=500.0)
    np.savez(tmp_path / "d.npz", X=X, y=y)
    words = ("--method", "shb", "--batch-size", 30, "-T", 500, "--no-standardize")
    result = run("solve", tmp_path / "d.npz", *words)
    assert result.exit_code == 1
    assert "diverged: shb diverged: f is" in result.stderr
    assert "use the method auto, a larger batch" in result.stderr


def test_warnings_are_words(table):
    result = run("solve", table, "--method", "multi-shb", "-T", 30)
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: --steps 30 leaves no stage")
    assert ".py" not in result.stderr


WRONG = [
    (("--method", "shbb"), "--method 'shbb' must be one of", "did you mean 'shb'?"),
    (("--batch-size", 61), "--batch-size 61"),
    (("--batch-size", 0), "--batch-size 0"),
    (("--batch-size", 1.5), "--batch-size 1.5"),
    (("--batch-size", "many"), "Invalid value for '--batch-size'"),
    (("--steps", 0), "--steps 0 must be an integer from 1"),
    (("-T", "x"), "Invalid value for '--steps'"),
    (("--tol", -1), "--tol -1.0 must be"),
    (("--seed", -1), "--seed -1"),
    (("--l2", -1), "--l2 -1.0 must be"),
    (("--l2", "nan"), "--l2 nan must be"),
    (("--loss", "hinge"), "--loss 'hinge' must be one of", "did you mean 'squared_hinge'?"),
    (("--loss", "logistic"), "two"),
    (("--sampling", "random"), "Invalid value for '--sampling'"),
    (("--out", "absent/o"), "--out: there is no folder"),
    (("--checkpoint", "absent/c"), "--checkpoint: there is no folder 'absent'; make it first."),
    (("--passes", 0), "--passes 0.0 must be"),
    (("--passes", 3, "-T", 5), "must be left out where --steps 5 is given"),
    (("--out", "."), "--out: '.' is a directory; name the files in it"),
    (("--out", "/dev/null"), "--out: '/dev/null' is a device"),
    (("--ray", "local", "--sampling", "reshuffle"), "--sampling reshuffle must be independent"),
    (("--nonsense",), "No such option"),
    (("--tol", "tight"), "'tight' must be a number, such as 1e-6, or auto"),
    (("--workers", 3), "--workers 3 must be left out without --ray"),
    (("--columns", "x2"), "--columns ['x2'] must name each feature once, and not the target"),
    (("--exclude", "x0,x1"), "--exclude ['x0', 'x1'] must leave table.csv a feature"),
    (("--columns", "x0", "--exclude", "x1"), "--exclude ['x1'] must be left out where --columns"),
]


@pytest.mark.parametrize(("words", "messages"), [(case[0], case[1:]) for case in WRONG])
def test_bad_input_to_solve(table, tmp_path, monkeypatch, words, messages):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    out = () if "--out" in words else ("--out", tmp_path / "o")
    assert_refused(run("solve", table, *out, *words), before, tmp_path, *messages)


def test_a_bad_file_is_named_with_its_line(tmp_path):
    (tmp_path / "bad.svm").write_text("1 1:2\n1 1:x\n")
    before = sorted(tmp_path.rglob("*"))
    result = run("solve", tmp_path / "bad.svm", "--out", tmp_path / "o")
    assert_refused(result, before, tmp_path, "error: bad.svm, line 2: '1:x'")


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("command", "option"),
    [("solve", "--out"), ("solve", "--checkpoint"), ("plan", "--plot"), ("explore", "--out")],
)
def test_a_folder_that_is_closed_is_found_before_any_work(tmp_path, monkeypatch, command, option):
    table = () if command == "explore" else (tmp_path / "absent.csv",)
    monkeypatch.setattr("os.access", lambda *_: False)
    result = run(command, *table, option, tmp_path / "there.png")
    said = f"error: {option}: the folder '{tmp_path}' must be one that you may write to; choose"
    assert_refused(result, [], tmp_path, said)


def test_what_the_machine_says_has_no_number(table, monkeypatch):
    def closed(*_):
        raise PermissionError(13, "Permission denied", "d.csv")

    monkeypatch.setattr("bocce.cli.solve.read", closed)
    result = run("solve", table)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: 'd.csv': permission denied; ask for the permission,")


def test_a_file_without_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("solve", "")
    assert_refused(result, [], tmp_path, "error: source='' must name a file, a folder or a glob.")


@pytest.mark.parametrize("name", ["book.xlsx", "book.XLS", "book.ods"])
def test_a_spreadsheet_is_named(tmp_path, name):
    (tmp_path / name).write_bytes(b"PK\x03\x04")
    result = run("solve", tmp_path / name)
    assert result.exit_code == 2
    assert f"{name} is a spreadsheet, must be Parquet, Arrow" in result.stderr


def test_a_folder_is_called_a_folder(tmp_path):
    result = run("solve", tmp_path)
    assert result.exit_code == 2
    assert result.stderr == f"error: there is no file in the folder '{tmp_path}'.\n"


def test_a_misspelt_data_set_is_suggested(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("solve", "mushroms")
    assert result.exit_code == 2
    assert "there is no file 'mushroms'; did you mean the data set mushrooms?" in result.stderr


def test_nothing_is_overwritten_without_force(table, tmp_path):
    words = ("solve", table, "--out", tmp_path / "fit.npz")  # the suffix is not doubled
    first = run(*words)
    assert first.stdout.endswith(f"\nwrote {tmp_path / 'fit.npz'} and {tmp_path / 'fit.json'}\n")
    before, kept = sorted(tmp_path.rglob("*")), (tmp_path / "fit.npz").read_bytes()
    assert_refused(run(*words, "--l2", 1), before, tmp_path, "would be overwritten", "--force")
    assert (tmp_path / "fit.npz").read_bytes() == kept
    assert run(*words, "--l2", 1, "--force").exit_code == 0
    assert (tmp_path / "fit.npz").read_bytes() != kept
    assert run("solve", table, "--force").exit_code == 2


def test_a_full_disk_does_not_lose_the_result(table, tmp_path, monkeypatch):
    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("bocce._atomic.atomic_write", full)
    result = run("solve", table, "--out", tmp_path / "o", "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["status"] == "converged"
    assert json.loads(result.stdout)["wrote"] == []
    assert "could not be written: No space left on device" in result.stderr


PEOPLE = "age,height,sport\n20,1.8,yes\n40,1.6,no\n30,1.7,no\n25,1.7,yes\n"


def test_names_of_columns_are_kept(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE)
    words = ("solve", tmp_path / "people.csv", "--loss", "logistic", "--l2", 0.1)
    words += ("--target", "sport", "--columns", "age,1")
    result = run(*words, "--out", tmp_path / "fit")
    assert result.exit_code == 0, result.stderr
    assert re.search(r"^age +-0\.\d+.*\nheight +\S+", result.stdout, re.M)
    with np.load(tmp_path / "fit.npz", allow_pickle=False) as kept:
        assert kept["columns"].tolist() == ["age", "height"]
        assert str(kept["target"]) == "sport"
    assert json.loads((tmp_path / "fit.json").read_text())["columns"] == ["age", "height"]


def test_a_data_set_has_no_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("solve", "mushrooms", "--target", 3)
    assert result.exit_code == 2
    assert "--target must be left out for the data set mushrooms" in result.stderr


def test_data_in_parts_have_an_intercept_too(table, tmp_path, monkeypatch):
    path = as_parquet(table, tmp_path / "b.parquet")
    X, y = bocce.data.open(path)
    as_if_large(monkeypatch)
    result = run("solve", path, "--json")
    assert result.exit_code == 0, result.stderr
    whole = bocce.minimize(bocce.LeastSquares(X, y, intercept=True), tol=1e-9)
    assert json.loads(result.stdout)["intercept"] == pytest.approx(whole.intercept, rel=1e-4)
    assert result.stderr == ""


# ---------------------------------------------------------------- exit codes


def test_a_tolerance_that_is_not_met_is_exit_code_3(table):
    few = run("solve", table, "--method", "shb", "-T", 3, "--tol", 1e-9)
    assert few.exit_code == 3
    assert few.stderr.startswith("not converged: ")
    assert re.search(r"^status +finished", few.stdout, re.M)
    assert run("solve", table, "--method", "shb", "-T", 3).exit_code == 0  # none was asked for


def test_a_closed_pipe_changes_no_exit_code(table, tmp_path):
    command = [sys.executable, "-m", "bocce", "solve", str(table), "--out", str(tmp_path / "o")]
    for more, code in ((), 0), (("--method", "shb", "-T", "3", "--tol", "1e-9", "--force"), 3):
        with subprocess.Popen([*command, *more], stdout=subprocess.PIPE) as child:
            child.stdout.close()
            assert child.wait(300) == code
        assert (tmp_path / "o.json").exists()
