"""What people type first: labels as targets, files that are not what they seem."""

import json

import numpy as np
import pytest

import bocce
from cli_helpers import assert_refused, run


def write_labels(path, classes, rows=90):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 2))
    cuts = np.quantile(X[:, 0], np.arange(1, len(classes)) / len(classes))
    y = np.array(classes)[np.digitize(X[:, 0] + 0.3 * rng.standard_normal(rows), cuts)]
    lines = [f"{a:.6f},{b:.6f},{c}" for (a, b), c in zip(X, y)]
    path.write_text("age,height,sport\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("classes", "loss"), [(["no", "yes"], "logistic"), (["boules", "golf", "tennis"], "softmax")]
)
def test_labels_choose_their_loss(tmp_path, classes, loss):
    path = write_labels(tmp_path / "people.csv", classes)
    words = (path, "--target", "sport", "--l2", 0.01)
    solved = run("solve", *words)
    assert solved.exit_code == 0, solved.stderr
    assert f"{loss} (sport has {len(classes)} labels; --loss chooses another)" in " ".join(
        solved.stdout.split()
    )
    found = json.loads(run("solve", *words, "--json").stdout)
    named = json.loads(run("solve", *words, "--loss", loss, "--json").stdout)
    assert found == named
    assert found["loss"] == loss
    planned = run("plan", *words)
    assert planned.exit_code == 0, planned.stderr
    assert f"sport has {len(classes)} labels" in " ".join(planned.stdout.split())
    assert json.loads(run("plan", *words, "--json").stdout)["loss"] == loss


def test_the_target_is_the_last_column_by_default(tmp_path):
    assert run("solve", write_labels(tmp_path / "p.csv", ["a", "b"]), "--l2", 0.1).exit_code == 0


def test_numbers_are_still_least_squares(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,0\n2,1\n3,0\n4,1\n")
    assert json.loads(run("solve", path, "--json").stdout)["loss"] == "squared"


def test_labels_in_parts_choose_their_loss(tmp_path, monkeypatch):
    path = write_labels(tmp_path / "people.csv", ["a", "b", "c"])
    X, y = bocce.data.open(path)
    bocce.data.write_blocks(tmp_path / "people.blocks", [(X, y)], block_rows=10)
    found = json.loads(run("solve", tmp_path / "people.blocks", "--l2", 0.01, "--json").stdout)
    assert found["loss"] == "softmax"


def test_theory_of_two_labels_is_that_of_their_loss(tmp_path):
    path = write_labels(tmp_path / "people.csv", ["no", "yes"])
    result = run("theory", path, "--l2", 0.01)
    assert result.exit_code == 0, result.stderr
    X, y = bocce.data.open(path)
    c = bocce.Logistic(X, y, l2=0.01).constants()
    assert "logistic (sport has 2 labels" in " ".join(result.stdout.split())
    setting = json.loads(run("theory", path, "--l2", 0.01, "--json").stdout)["setting"]
    assert setting["mu"] == pytest.approx(0.01)
    assert pytest.approx(c.L) == setting["L"]


def test_theory_of_three_labels_names_the_command_that_works(tmp_path):
    path = write_labels(tmp_path / "people.csv", ["a", "b", "c"])
    before = sorted(tmp_path.rglob("*"))
    for words in ((), ("--l2", 0.01)):
        refused = run("theory", path, *words)
        assert_refused(refused, before, tmp_path, "sport has 3 labels", "bocce plan")


@pytest.mark.parametrize(
    ("command", "words", "messages"),
    [
        (
            "solve",
            ("--loss", "squared"),
            ["--loss squared", "sport holds labels", "--loss logistic"],
        ),
        ("plan", ("--loss", "huber"), ["--loss huber", "sport holds labels", "--loss logistic"]),
        ("theory", (), ["mu=0", "l2 > 0"]),
        ("solve", ("--method", "shb"), ["--l2 0.0 must be > 0", "logistic", "auto, sgd"]),
    ],
)
def test_what_labels_cannot_do_is_exit_2(tmp_path, command, words, messages):
    path = write_labels(tmp_path / "people.csv", ["no", "yes"])
    before = sorted(tmp_path.rglob("*"))
    assert_refused(run(command, path, *words), before, tmp_path, *messages)


def test_one_label_is_no_classification(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("a,b\n1,x\n2,x\n3,x\n")
    for words in ((), ("--loss", "logistic"), ("--loss", "softmax")):
        result = run("solve", path, *words)
        assert result.exit_code == 2
        assert "one label only ('x')" in " ".join(result.stderr.split())


@pytest.mark.parametrize("command", ["solve", "plan"])
def test_a_method_that_cannot_run_is_refused_before_the_file_is_read(tmp_path, command):
    result = run(command, tmp_path / "absent.csv", "--loss", "logistic", "--method", "shb")
    assert result.exit_code == 2
    assert "--l2 0.0 must be > 0 for --method 'shb'" in " ".join(result.stderr.split())


def test_an_intercept_does_not_forbid_the_paper_s_methods(tmp_path):
    path = write_labels(tmp_path / "people.csv", ["no", "yes"])
    words = ("--method", "shb", "--l2", 0.05, "-T", 300, "--batch-size", 80)
    result = run("solve", path, *words)
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize(
    ("name", "content", "words", "messages"),
    [
        ("t.json", '{"a": [1, 2], "b": [2, 3]}', (), ["t.json", "JSON", "to_csv"]),
        ("t.jsonl", '{"a": 1, "b": 2}\n{"a": 2, "b": 3}\n', (), ["t.jsonl", "JSON"]),
        ("rows", '[{"a": 1, "b": 2}]', (), ["rows", "JSON"]),
        ("c.csv", "a,b,\n1,2,\n3,4,\n", (), ["c.csv, line 1", "column 3 has no name"]),
        ("c.csv", "a,b,c\n1,2,3\n4,5,7\n", ("--target", 3), ["--target 3", "from -3 to 2"]),
        ("c.csv", "a,b,c\n1,2,3\n4,5,7\n", ("--target", -4), ["--target -4", "from -3 to 2"]),
        ("c.csv", "a,b,c\n1,2,3\n4,5,7\n", ("--columns", "0,7"), ["7", "from -3 to 2"]),
    ],
)
def test_files_that_are_not_what_they_seem(tmp_path, name, content, words, messages):
    path = tmp_path / name
    path.write_text(content)
    before = sorted(tmp_path.rglob("*"))
    assert_refused(run("solve", path, *words), before, tmp_path, *messages)


def test_a_damaged_npz_is_named(tmp_path):
    """Every byte of the end of the archive, and its length, changed in several ways."""
    np.savez(tmp_path / "good.npz", X=np.eye(3), y=np.ones(3))
    good = (tmp_path / "good.npz").read_bytes()
    rng = np.random.default_rng(0)
    for trial in range(150):
        bad = bytearray(good)
        for place in rng.integers(len(bad) - 60, len(bad), rng.integers(1, 4)):
            bad[place] = rng.integers(256)
        path = tmp_path / f"{trial}.npz"
        path.write_bytes(bytes(bad))
        message = path.name
        try:
            bocce.data.open(path)
        except ValueError as error:  # nothing else may be raised
            message = str(error)
        assert path.name in message


@pytest.mark.parametrize(
    "change",
    [
        lambda note: [],
        lambda note: {**note, "profile": "huge"},
        lambda note: {key: note[key] for key in ("profile", "last")},
        lambda note: {**note, "figures": {"no_such_figure": ["paper"]}},
        lambda note: {**note, "figures": 3},
        lambda note: {**note, "last": None},
        None,
    ],
)
def test_an_altered_run_json_is_exit_2(tmp_path, change):
    from bocce.paper import EXHIBITS
    from bocce.paper.specs import PROFILES

    figure = next(iter(EXHIBITS.values()))
    note = {
        "profile": next(iter(PROFILES)),
        "figures": {figure.label: list(figure.settings)[:1]},
        "last": {"cells": 1, "of": 1, "processes": 1, "elapsed": 1.0, "processor": 1.0},
    }
    text = "{ not json" if change is None else json.dumps(change(note))
    (tmp_path / "run.json").write_text(text)
    for command in ("claims", "report"):
        result = run(command, tmp_path)
        assert result.exit_code == 2, (command, result.stderr)
        assert "run.json" in result.stderr
        assert "bocce reproduce" in " ".join(result.stderr.split())


def test_the_hint_for_labels_in_a_regressor_is_a_classifier():
    from bocce.sklearn import HeavyBallRegressor

    with pytest.raises((TypeError, ValueError)) as said:
        HeavyBallRegressor().fit(np.eye(3), np.array(["a", "b", "a"]))
    assert "use Logistic" not in str(said.value)
