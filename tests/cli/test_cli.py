"""The command line: what it prints, what it writes, and how it fails."""

import json
import re
import subprocess
import sys

import pytest

import bocce
from bocce.control import registry
from cli_helpers import run, write_table


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "table.csv")


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
    assert bad.stderr == "error: there is no file 'absent.svm'; check its name.\n"
    assert subprocess_run("nonsense").returncode == 2


COMMANDS = [
    ("methods",),
    ("doctor",),
    ("plan", "TABLE"),
    ("solve", "TABLE", "-T", 20),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: "-".join(map(str, words)))
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
