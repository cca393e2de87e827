"""Commands of other packages, by the entry-point group ``bocce.commands``."""

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest
import typer

from bocce.cli import commands
from bocce.cli._terminal import ELSEWHERE, Commands
from cli_helpers import run


def hello() -> None:
    """Say it."""
    commands.say("hello")


def found(monkeypatch, **points):
    """A command line with entry points of these names and values."""
    listed = [EntryPoint(name, value, commands.GROUP) for name, value in points.items()]
    monkeypatch.setattr(commands, "entry_points", lambda group: listed)
    app = typer.Typer(cls=Commands)
    app.callback()(lambda debug=False: None)
    commands.add_commands(app)
    return app


def test_an_entry_point_is_a_command(monkeypatch):
    from typer.testing import CliRunner

    app = found(monkeypatch, greet=f"{__name__}:hello")
    assert CliRunner().invoke(app, ["greet"]).stdout == "hello\n"


def test_a_broken_package_costs_its_own_commands_only(monkeypatch, capsys):
    from typer.testing import CliRunner

    app = found(monkeypatch, greet=f"{__name__}:hello", theory="no_such_module:theory")
    assert "the command theory of no_such_module:theory is broken" in capsys.readouterr().err
    assert CliRunner().invoke(app, ["greet"]).exit_code == 0


@pytest.mark.parametrize("name", ELSEWHERE)
def test_without_the_paper_s_package_its_commands_say_what_to_install(monkeypatch, name):
    from typer.testing import CliRunner

    app = found(monkeypatch)
    result = CliRunner().invoke(app, [name, "--json"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{name} is a command of the package bocce-paper" in result.stderr
    assert "pip install ./paper" in result.stderr


def test_an_unknown_command_is_still_unknown():
    result = run("reproduced")
    assert result.exit_code == 2
    assert "No such command 'reproduced'" in result.stderr


def test_help_does_not_load_what_commands_need():
    code = "import bocce.cli, sys; print(sorted({'scipy', 'numba', 'joblib'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
