"""The paper's commands where they are used: terminals, pipes and shells; and what they refuse."""

import json
import re

import pytest

import bocce
from bocce_paper.exhibits import EXHIBITS
from bocce_paper.specs import PROFILES
from cli_helpers import (
    assert_plain_table,
    assert_refused,
    completed,
    on_terminal,
    run,
    write_labels,
    write_table,
)


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "table.csv", noise_var=0.1)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder that reproduce filled, and what it printed."""
    folder = tmp_path_factory.mktemp("results")
    result = run("reproduce", "fig1", "table1", "--jobs", 1, "--out", folder)
    assert result.exit_code == 0, result.stderr
    return folder, result.stdout


TABLES = [
    ("theory", "-b", 9000),
    ("theory", "-b", 9000, "--ratio", 30),
    ("theory", "-n", 123_457, "--kappa", 98_765.4321, "--ratio", 12.3456789, "-b", 77_777),
    ("theory", "TABLE"),
    ("claims", "RESULTS"),
]


@pytest.mark.parametrize("words", TABLES, ids=lambda words: "-".join(map(str, words[:2])))
def test_tables_fit_in_80_columns_without_colours(words, table, results):
    known = {"TABLE": table, "RESULTS": results[0]}
    assert_plain_table(table, *(known.get(word, word) for word in words))


@pytest.mark.parametrize("words", [("-b", 9000), ("-b", 9000, "--ratio", 3)])
def test_json_is_json(words):
    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    json.loads(run("theory", *words, "--json").stdout, parse_constant=refuse)


def test_reproduce_prints_the_verdicts(results):
    folder, printed = results
    sizes, _, rest = printed.partition("\n\n")
    *verdicts, wrote, took = rest.splitlines()
    part = " ".join(verdicts).find("These verdicts are of a part of the paper")
    assert part > 0
    said = " ".join(verdicts)[part:]
    assert "non_acc_alpha_beta (paper, authors); der_beta (paper); n = 10,000" in said
    verdicts = verdicts[: next(i for i, v in enumerate(verdicts) if v.startswith("These verdicts"))]
    assert sizes.startswith("the paper's own sizes, 3 cells on 1 process: n = 10,000")
    assert wrote == f"wrote {folder / 'report.html'}; claims.json and figures/ are beside it"
    assert "\n".join(verdicts) == run("claims", folder).stdout.rstrip()
    assert max(map(len, [*verdicts, took])) <= 80
    assert re.fullmatch(r".* elapsed, .* CPU, 1 process; (\d+) of \1 cells computed", took)


PROGRESS = [
    (("theory", "TABLE"), b"thresholds and bounds"),
    (("claims", "RESULTS"), b"judging the claims"),
    (("report", "RESULTS"), b"writing the report"),
]


@pytest.mark.parametrize(("words", "label"), PROGRESS, ids=lambda x: x[0] if len(x) < 5 else "")
def test_progress_is_shown_on_a_terminal(words, label, table, results):
    known = {"TABLE": table, "RESULTS": results[0]}
    code, shown = on_terminal(*(known.get(word, word) for word in words))
    assert code == 0
    assert label in shown


def test_the_shell_completes_figures():
    assert completed("reproduce", "shb") == [label for label in EXHIBITS if label[:3] == "shb"]
    assert completed("reproduce", "table") == ["table1"]
    assert completed("theory", "") == []


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


def test_theory_needs_strong_convexity(tmp_path):
    path = write_labels(tmp_path / "people.csv", ["no", "yes"])
    before = sorted(tmp_path.rglob("*"))
    assert_refused(run("theory", path), before, tmp_path, "mu=0", "l2 > 0")


@pytest.mark.parametrize(
    "change",
    [
        lambda note: [],
        lambda note: {**note, "profile": "huge"},
        lambda note: {key: note[key] for key in ("profile", "last")},
        lambda note: {**note, "figures": {"no_such_figure": ["paper"]}},
        lambda note: {**note, "figures": 3},
        lambda note: {**note, "last": None},
        pytest.param("{ not json", id="not JSON"),
        pytest.param("[" * 100_000, id="brackets"),
    ],
)
def test_an_altered_run_json_is_exit_2(tmp_path, change):
    figure = next(iter(EXHIBITS.values()))
    note = {
        "profile": next(iter(PROFILES)),
        "figures": {figure.label: list(figure.settings)[:1]},
        "last": {"cells": 1, "of": 1, "processes": 1, "elapsed": 1.0, "processor": 1.0},
    }
    text = change if isinstance(change, str) else json.dumps(change(note))
    (tmp_path / "run.json").write_text(text)
    for command in ("claims", "report"):
        result = run(command, tmp_path)
        assert result.exit_code == 2, (command, result.stderr)
        assert "run.json" in result.stderr
        assert "bocce reproduce" in " ".join(result.stderr.split())
