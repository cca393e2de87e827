"""``--encode onehot``: text, categories and dates at the shell, and the same in predictions."""

import json

import numpy as np
import pytest

import bocce
from cli_helpers import run


def table(path, n=80, seed=0, sizes=("L", "M", "S"), target=True):
    rng = np.random.default_rng(seed)
    lines = ["age,size,day,smoker,weight" + ",price" * target]
    for _ in range(n):
        age, size = rng.standard_normal(), sizes[rng.integers(len(sizes))]
        day, smoker = f"2024-01-{rng.integers(1, 29):02d}", bool(rng.random() < 0.5)
        price = age + 2.0 * (size == "L") + 0.1 * rng.standard_normal()
        lines.append(f"{age:.5f},{size},{day},{smoker},1" + f",{price:.5f}" * target)
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def fitted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a long path would take the room of the table
    words = ("--encode", "onehot", "--weights", "weight", "--l2", 0.001, "--out", tmp_path / "fit")
    table(tmp_path / "train.csv")
    shown = run("solve", "train.csv", *words)
    assert shown.exit_code == 0, shown.stderr
    return tmp_path, " ".join(shown.stdout.split())


def test_the_summary_says_what_was_encoded(fitted):
    folder, shown = fitted
    said = "size as 3 columns of 0 and 1; day as days since 1970-01-01; smoker as 0 and 1"
    assert f"encoded {said}" in shown
    assert "size=L" in shown
    kept = json.loads((folder / "fit.json").read_text())["encoding"]
    assert kept["categories"] == {"size": ["L", "M", "S"]}
    assert (kept["dates"], kept["booleans"]) == (["day"], ["smoker"])
    assert bocce.load(folder / "fit").encoding.features == ["age", "size", "day", "smoker"]


def test_predictions_are_encoded_as_the_fit_was(fitted):
    folder, _ = fitted
    table(folder / "new.csv", n=9, seed=3, sizes=("S", "M"), target=False)
    shown = run("predict", folder / "fit", folder / "new.csv")
    assert shown.exit_code == 0, shown.stderr
    model = bocce.load(folder / "fit")
    X, _ = bocce.data.open(folder / "new.csv", target="weight", encode=model.encoding)
    assert X.shape == (9, 6)
    found = [float(line) for line in shown.stdout.splitlines()[1:]]
    np.testing.assert_allclose(found, model.predict(X))


def test_unseen_categories_are_named_or_ignored(fitted):
    folder, _ = fitted
    table(folder / "new.csv", n=9, seed=3, sizes=("S", "XXL"), target=False)
    shown = run("predict", folder / "fit", folder / "new.csv")
    assert shown.exit_code == 2
    said = " ".join(shown.stderr.split())
    assert "'XXL' in column 'size' must be one of the 3 categories" in said
    assert "--unknown" in said
    ignored = run("predict", folder / "fit", folder / "new.csv", "--unknown", "ignore")
    assert ignored.exit_code == 0
    assert len(ignored.stdout.splitlines()) == 10
    again = ("--encode", "onehot", "--unknown", "ignore", "--out", folder / "other", "--l2", 0.001)
    assert run("solve", folder / "train.csv", *again).exit_code == 0
    assert run("predict", folder / "other", folder / "new.csv", "--extra", "ignore").exit_code == 0
    refused = ("--extra", "ignore", "--unknown", "refuse")
    assert run("predict", folder / "other", folder / "new.csv", *refused).exit_code == 2


def test_text_without_encode_names_the_option(tmp_path):
    shown = run("solve", table(tmp_path / "train.csv"))
    assert shown.exit_code == 2
    said = " ".join(shown.stderr.split())
    assert "in column 'size' must be a number" in said
    assert '--encode "onehot"' in said


def test_held_out_rows_and_an_offset_are_encoded_too(tmp_path):
    path = table(tmp_path / "train.csv")
    words = ("--encode", "onehot", "--offset", "weight", "--test", 0.2, "--l2", 0.001)
    shown = run("solve", path, *words, "--out", tmp_path / "fit")
    assert shown.exit_code == 0, shown.stderr
    again = run("predict", tmp_path / "fit", path)
    assert again.exit_code == 0, again.stderr
    assert len(again.stdout.splitlines()) == 81
