"""The command line: what it prints, what it writes, and how it fails."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import bocce
from bocce.cli import app
from bocce.data import libsvm
from bocce.paper import thresholds
from bocce.solve import registry


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def table(tmp_path):
    """A small CSV of which the least-squares solution is (2, -1)."""
    X, _, _ = bocce.data.regression(60, 2, 5.0)
    rows = np.column_stack([X, X @ [2.0, -1.0]])
    path = tmp_path / "table.csv"
    np.savetxt(path, rows, delimiter=",", fmt="%.17g")
    return path


def assert_refused(result, folder_before, folder, *messages):
    """Exit code 2, a message on stderr, nothing on stdout, no file, no traceback."""
    assert result.exit_code == 2
    assert result.stdout == ""
    for message in messages:
        assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert sorted(folder.rglob("*")) == folder_before


# ---------------------------------------------------------------- the command itself


def subprocess_run(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "bocce", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,
    )


def test_help_imports_nothing_heavy():
    code = (
        "import sys, bocce.cli; "
        "print([m for m in ('numba', 'scipy', 'sklearn', 'matplotlib', 'torch', 'jax', 'ray') "
        "if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_exit_codes_of_the_real_command(table):
    assert subprocess_run("--help").returncode == 0
    assert subprocess_run("--version").stdout == f"bocce {bocce.__version__}\n"
    good = subprocess_run("solve", table, "-T", 50)
    assert (good.returncode, good.stderr) == (0, "")
    assert "\x1b" not in good.stdout
    bad = subprocess_run("solve", "absent.svm")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("error: read_table: there is no file 'absent.svm'")
    assert subprocess_run("nonsense").returncode == 2


COMMANDS = [("methods",), ("doctor",), ("theory", "-b", 9000), ("solve", "TABLE", "-T", 20)]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_json_is_json(words, table):
    result = run(*(table if word == "TABLE" else word for word in words), "--json")

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    json.loads(result.stdout, parse_constant=refuse)


# ---------------------------------------------------------------- methods


def test_methods_lists_the_registry():
    listed = json.loads(run("methods", "--json").stdout)
    assert [entry["name"] for entry in listed] == list(registry())
    assert {"shb": ["L", "mu"], "auto": ["L", "mu", "L_max", "n", "b"]}.items() <= {
        entry["name"]: entry["needs"] for entry in listed
    }.items()
    text = run("methods").stdout
    assert all(re.search(rf"^{re.escape(name)} ", text, re.M) for name in registry())


# ---------------------------------------------------------------- solve


def test_solve_is_minimize(table, tmp_path):
    words = ("-T", 300, "--batch-size", 0.9, "--method", "shb", "--seed", 3, "--l2", 0.01)
    result = run("solve", table, *words, "--out", tmp_path / "fit", "--json")
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    assert printed == json.loads((tmp_path / "fit.json").read_text())
    X, y = bocce.data.read_table(table)
    wanted = bocce.minimize(
        bocce.LeastSquares(X, y, l2=0.01),
        "shb",
        T=300,
        batch_size=0.9,
        seed=3,
        record_every="auto",
    )
    with np.load(tmp_path / "fit.npz", allow_pickle=False) as kept:
        assert np.array_equal(kept["w"], wanted.w)
        for name, values in wanted.history.items():
            assert np.array_equal(kept[name], values)
    assert printed["value"] == wanted.history["value"][-1]
    assert printed["grad_norm"] == wanted.history["grad_norm"][-1]
    assert (printed["n"], printed["d"], printed["batch_size"]) == (60, 2, 54)
    assert (printed["status"], printed["iterations"]) == ("finished", 300)


def test_solve_finds_the_solution_and_says_so(table):
    result = run("solve", table, "--tol", 1e-9)
    assert result.exit_code == 0
    assert re.search(r"^status +converged *$", result.stdout, re.M)


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
    result = run("solve", tmp_path / "d.npz", *words)
    assert result.exit_code == 1
    assert "diverged at step" in result.stderr
    assert json.loads(result.stdout)["status"] == "diverged"
    with np.load(tmp_path / "o.npz", allow_pickle=False) as kept:
        assert np.isfinite(kept["w"]).all()


def test_warnings_are_words(table):
    result = run("solve", table, "--method", "multi-shb", "-T", 30)
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: multistage: T=30 leaves no stage")
    assert ".py" not in result.stderr


WRONG = [
    (("--method", "shbb"), "method='shbb' must be one of", "did you mean 'shb'?"),
    (("--batch-size", 61), "batch_size=61"),
    (("--batch-size", 0), "batch_size=0"),
    (("--batch-size", 1.5), "batch_size=1.5"),
    (("--batch-size", "many"), "Invalid value for '--batch-size'"),
    (("--steps", 0), "T=0 must be an integer from 1"),
    (("-T", "x"), "Invalid value for '--steps'"),
    (("--tol", -1), "tol=-1.0 must be"),
    (("--seed", -1), "seed=-1"),
    (("--l2", -1), "l2=-1.0 must be"),
    (("--l2", "nan"), "l2=nan must be"),
    (("--loss", "hinge"), "Invalid value for '--loss'"),
    (("--loss", "logistic"), "two"),
    (("--sampling", "random"), "Invalid value for '--sampling'"),
    (("--out", "absent/o"), "--out: there is no folder"),
    (("--checkpoint", "absent/c"), "checkpoint="),
    (("--nonsense",), "No such option"),
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


# ---------------------------------------------------------------- theory


def test_theory_prints_the_functions_values():
    report = json.loads(
        run("theory", "-n", 10_000, "--kappa", 10, "-b", 9950, "-T", 500, "--json").stdout
    )
    rows = {(row["group"], row["name"]): row for row in report["rows"]}
    theory = bocce.theory
    batch = {name: row["value"] for (group, name), row in rows.items() if group.startswith("batch")}
    assert batch["b* (Theorem 2)"] == theory.batch_threshold(10_000, 10.0)
    assert batch["lower bound, exact"] == theory.lower_bound_threshold(10_000, 10.0)
    bound = theory.bound_shb(500, L=10.0, mu=1.0, n=10_000, b=9950, L_max=10.0)
    row = rows["bound on the error after T steps", "Theorem 2, corrected"]
    assert (row["value"], row["valid"], row["note"]) == (bound.total, bound.valid, bound.why)
    assert report["setting"]["b"] == 9950


def test_theory_of_data_knows_what_is_exact(table):
    """On the diagonal problem the certificate is sharp: certified equals exact."""
    X, y, _ = bocce.data.diagonal(40, 25.0)
    setting = thresholds.from_problem(bocce.LeastSquares(X, y), T=100, b=30)
    rows = {(row.group, row.name): row.value for row in thresholds.table(setting)}
    group = "batch size from which"
    exact = rows[group, "exact"]
    assert rows[group, "certified (Theorem S)"] == pytest.approx(exact, rel=1e-9)
    assert rows[group, "lower bound, exact"] == pytest.approx(exact, rel=1e-9)
    result = run("theory", table, "-b", 20, "--l2", 0.1, "--json")
    setting = json.loads(result.stdout)["setting"]
    constants = bocce.LeastSquares(*bocce.data.read_table(table), l2=0.1).constants()
    assert (setting["n"], setting["L"], setting["mu"]) == (60, constants.L, constants.mu)


def test_theory_does_not_start_what_takes_too_long():
    X, y, _ = bocce.data.regression(200, thresholds.EXACT_COLUMNS + 1, 5.0)
    rows = thresholds.table(thresholds.from_problem(bocce.LeastSquares(X, y), T=100))
    notes = [row.note for row in rows if row.name == "exact"]
    assert notes == ["not computed: slow beyond d = 60"] * 2


def test_the_sweep_over_l2_has_the_kappas_it_wants():
    X, y, _ = bocce.data.regression(80, 3, 50.0, noise_var=0.1)
    setting = thresholds.from_problem(bocce.LeastSquares(X, y, l2=0.5), T=2)
    curve = thresholds.sweep(setting)["data"]
    assert curve["kappa"] == pytest.approx(np.geomspace(2.0, setting.kappa, 9), rel=1e-9)
    assert all(e <= c * (1 + 1e-9) for e, c in zip(curve["exact"], curve["certified"]))


def test_theory_plots(table, tmp_path):
    assert run("theory", table, "--plot", tmp_path / "p.png").exit_code == 0
    assert (tmp_path / "p.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert run("theory", "-n", 300, "--plot", tmp_path / "p.svg").exit_code == 0
    assert b"<svg" in (tmp_path / "p.svg").read_bytes()


WRONG_THEORY = [
    (("--kappa", 0.5), "kappa=0.5 must be"),
    (("-b", 0), "b=0 must be an integer from 1 to 10000"),
    (("-b", 10_001), "b=10001 must be"),
    (("-n", 1), "n=1 must be"),
    (("-T", 0), "T=0 must be"),
    (("--ratio", 0.5), "ratio=0.5 must be"),
    (("--l2", 1.0), "--l2 is about the data"),
    (("TABLE", "--kappa", 3, "-n", 5), "FILE decides n, kappa"),
    (("--plot", "absent/p.png"), "there is no folder"),
    (("-n", 100, "--plot", "p.nonsense"), "nonsense"),
]


@pytest.mark.parametrize(("words", "message"), WRONG_THEORY)
def test_bad_input_to_theory(table, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    result = run("theory", *(table if word == "TABLE" else word for word in words))
    assert_refused(result, before, tmp_path, message)


def test_singular_data_need_l2(tmp_path):
    (tmp_path / "t.csv").write_text("1,1,1\n2,2,3\n3,3,1\n")
    result = run("theory", tmp_path / "t.csv")
    assert result.exit_code == 2
    assert "--l2" in result.stderr
