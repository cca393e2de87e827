"""Every command that the README and ``--help`` print runs in a fresh clone, without a network."""

import re
import shlex
import socket
import webbrowser
from pathlib import Path

import pytest
import typer

from bocce.cli import app
from cli_helpers import run

ROOT = Path(__file__).parents[2]
GROUP = typer.main.get_command(app)
TEXTS = [(ROOT / "README.md").read_text(), GROUP.help]
TEXTS += [command.help for command in GROUP.commands.values()]
SMOKE = ("--profile", "smoke")  # The paper's own sizes take minutes.


def commands():
    """Each printed command once, without the comment beside it."""
    found = []
    for text in TEXTS:
        joined = re.sub(r"\n {30,}", "  ", text)  # a comment on a line of its own
        found += re.findall(r"^ {2,6}(bocce [a-z]\S*.*?)(?: {2,}.*| +#.*)?$", joined, re.MULTILINE)
    lines = dict.fromkeys(line for line in found if " FILE" not in line)
    return [pytest.param(line, marks=marks(line)) for line in lines]


def marks(line):
    """Every reproduction but the shortest takes a minute, even as a smoke test."""
    long = line.startswith("bocce reproduce") and "--data" not in line
    return [pytest.mark.slow] if long else []


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What `report` and `claims` read: the smoke results of one figure."""
    folder = tmp_path_factory.mktemp("printed") / "results"
    made = run("reproduce", "fig1", *SMOKE, "--out", folder)
    assert made.exit_code == 0, made.stderr
    return folder


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A folder with the tracked examples, without a network."""

    def no_network(*_):
        raise AssertionError("a printed command asked for the network")

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BOCCE_DATA", raising=False)
    monkeypatch.setenv("BOCCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(socket, "create_connection", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    monkeypatch.setattr(webbrowser, "open", lambda *_: True)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def test_the_readme_and_every_help_print_a_command():
    printed = [line.values[0] for line in commands()]
    assert len(printed) > 20
    named = {line.split()[1] for line in printed}
    assert named == set(GROUP.commands)


@pytest.mark.parametrize("line", commands())
def test_the_command_runs(line, clone, request):
    words = shlex.split(line.split(" > ")[0])[1:]
    if words[0] == "reproduce":
        words += SMOKE
    if "results" in words:
        (clone / "results").symlink_to(request.getfixturevalue("results"))
    result = run(*words)
    assert result.exit_code == 0, result.output


def test_the_table_is_what_its_script_writes(clone):
    names = {}
    script = ROOT / "examples" / "people.py"
    exec(compile(script.read_text(), str(script), "exec"), names)
    header, *rows = (ROOT / "examples" / "people.csv").read_text().splitlines()
    assert header == names["NAMES"]
    assert [[float(cell) for cell in row.split(",")] for row in rows] == names["people"]().tolist()
