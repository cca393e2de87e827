"""What people type first: labels as targets, files that are not what they seem."""

import json

import numpy as np
import pytest

import bocce
from cli_helpers import as_if_large, as_parquet, assert_refused, run, write_labels


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
    path = as_parquet(path, tmp_path / "people.parquet")
    as_if_large(monkeypatch)
    found = json.loads(run("solve", path, "--l2", 0.01, "--json").stdout)
    assert found["loss"] == "softmax"


@pytest.mark.parametrize(
    ("command", "words", "messages"),
    [
        (
            "solve",
            ("--loss", "squared"),
            ["--loss squared", "sport holds labels", "--loss logistic"],
        ),
        ("plan", ("--loss", "huber"), ["--loss huber", "sport holds labels", "--loss logistic"]),
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


def test_the_hint_for_labels_in_a_regressor_is_a_classifier():
    from bocce.sklearn import HeavyBallRegressor

    with pytest.raises((TypeError, ValueError)) as said:
        HeavyBallRegressor().fit(np.eye(3), np.array(["a", "b", "a"]))
    assert "use Logistic" not in str(said.value)
