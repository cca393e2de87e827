"""How the command line behaves where it is used: terminals, pipes, shells, and Ctrl-C."""

import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import typer
from typer.completion import get_completion_script

import bocce
from bocce import control
from bocce import run as running
from bocce._extras import install
from bocce.cli import app
from bocce.control import registry
from cli_helpers import (
    assert_plain_table,
    command,
    completed,
    on_terminal,
    run,
    write_table,
)

GROUP = typer.main.get_command(app)
COLOUR = re.compile(rb"\x1b\[[0-9;]*(3[0-7]|38;5)")


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "table.csv", noise_var=0.1)


# ---------------------------------------------------------------- help


@pytest.mark.parametrize("name", ["", *GROUP.commands])
def test_help_fits_in_80_columns_and_shows_examples(name):
    text = run(*filter(None, [name]), "--help").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "Examples:\n" in text


@pytest.mark.parametrize("name", ["", *GROUP.commands])
def test_the_examples_can_be_typed(name):
    shown = re.findall(r"^ {4}bocce ([a-z].*)", run(*filter(None, [name]), "--help").stdout, re.M)
    assert shown
    for line in shown:
        words = shlex.split(re.split(r" {3,}| > ", line)[0])
        GROUP.commands[words[0]].make_context(words[0], words[1:])


def test_a_long_path_is_folded_and_cuts_nothing_off(tmp_path):
    """A word that is wider than the terminal made the table wider, and every line was cut."""
    folder = tmp_path / ("a_long_name_" * 6) / ("another_" * 5)
    folder.mkdir(parents=True)
    file = write_table(folder / "table.csv", noise_var=0.1)
    lines = run("solve", file).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    text = "".join(line.strip() for line in lines)
    assert str(file) in text
    assert "after 2 steps, 2 passes of all n=" in " ".join(" ".join(lines).split())


def test_every_command_is_summed_up_in_one_line():
    listed = run("--help").stdout.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == list(GROUP.commands)
    assert not any(line.endswith("...") for line in listed)


# ---------------------------------------------------------------- tables and colours

TABLES = [
    ("methods",),
    ("doctor",),
    ("plan", "TABLE"),
    ("solve", "TABLE", "-T", 20),
]


@pytest.mark.parametrize("words", TABLES, ids=lambda words: "-".join(map(str, words[:2])))
def test_tables_fit_in_80_columns_without_colours(words, table):
    assert_plain_table(table, *(table if word == "TABLE" else word for word in words))


def test_a_long_plan_is_wrapped():
    """As where L comes from Lanczos: that line is longer than the others."""
    X, y, _ = bocce.data.regression(60, 5, 5.0)
    plan = bocce.plan(bocce.LeastSquares(X, y))
    plan = replace(plan, data=replace(plan.data, how="L from Lanczos; " * 8))
    lines = str(plan).splitlines()
    assert max(map(len, lines)) <= 80
    place = next(i for i, line in enumerate(lines) if line.startswith("  curvature "))
    assert lines[place + 1].startswith(" " * 16)


def test_colours_on_a_terminal_unless_no_color():
    words = ("solve", "absent.csv")
    assert COLOUR.search(on_terminal(*words)[1])
    code, shown = on_terminal(*words, NO_COLOR="1")
    assert code == 2
    assert b"error: there is no file 'absent.csv'" in shown
    assert not COLOUR.search(shown)


# ---------------------------------------------------------------- progress


PROGRESS = [
    (("solve", "TABLE", "-T", 50), b"50/50"),
    (("plan", "TABLE"), b"a trial, constants"),
    (("doctor",), b"compiling a kernel"),
]


@pytest.mark.parametrize(("words", "label"), PROGRESS, ids=lambda x: x[0] if len(x) < 5 else "")
def test_progress_is_shown_on_a_terminal(words, label, table):
    code, shown = on_terminal(*(table if word == "TABLE" else word for word in words))
    assert code == 0
    assert label in shown


def test_the_first_compilation_is_told_and_the_second_run_has_none(table, tmp_path):
    words = ("solve", table, "-T", 50, "--batch-size", 20)
    first = on_terminal(*words, NUMBA_CACHE_DIR=str(tmp_path / "kernels"))[1]
    assert b"compiling once for this kind of data" in first
    assert b"compiling" not in on_terminal(*words, NUMBA_CACHE_DIR=str(tmp_path / "kernels"))[1]


def test_no_progress_without_a_terminal(table):
    found = subprocess.run(command("plan", table), capture_output=True, check=True, timeout=300)
    assert found.stderr == b""
    assert b"\x1b" not in found.stdout


# ---------------------------------------------------------------- errors, Ctrl-C, pipes


@pytest.mark.parametrize(
    ("before", "after", "variables"),
    [(["--debug"], [], {}), ([], ["--debug"], {}), ([], [], {"BOCCE_DEBUG": "1"})],
    ids=["before", "after", "variable"],
)
def test_tracebacks_only_with_debug(before, after, variables):
    plain = run("solve", "absent")
    assert plain.stderr.startswith("error: there is no file 'absent'")
    assert "Traceback" not in plain.stderr
    full = run(*before, "solve", "absent", *after, env=variables)
    assert full.exit_code == plain.exit_code == 2
    assert full.stderr.startswith("Traceback")
    assert "there is no file 'absent'" in full.stderr


def test_a_defect_is_called_one(monkeypatch):
    monkeypatch.setattr(control, "registry", lambda: {}["no such key"])
    result = run("methods")
    assert result.exit_code == 4
    assert result.stderr.startswith("error: KeyError: 'no such key'. This is a defect of bocce")
    assert "Traceback" in run("methods", "--debug").stderr


def test_an_interrupt_is_one_line(table):
    long = ("solve", table, "-T", 10**6, "--tol", 0, "--method", "sgd-sls-exp")  # in plain Python
    code, shown = on_terminal(*long, until=b"gradient norm")
    assert code == 130
    assert shown.endswith(b"interrupted\x1b[0m\r\n")
    assert b"Traceback" not in shown


def test_an_interrupt_says_what_is_kept(monkeypatch, table, tmp_path):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "minimize", stopped)
    kept = tmp_path / "run"
    words = ("solve", table, "--checkpoint", kept)
    assert run(*words).stderr == "interrupted\n"
    kept.write_bytes(b"")
    result = run(*words)
    assert result.stderr == f"interrupted: the same command resumes from {kept}\n"
    assert (result.exit_code, result.stdout) == (130, "")


def test_a_closed_pipe_is_no_error():
    """Nor divergence, which has exit code 1."""
    with subprocess.Popen(
        command("methods", "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(300) == 0


def test_a_closed_stderr_does_not_hide_what_is_wrong():
    with subprocess.Popen(command("solve", "absent"), stderr=subprocess.PIPE) as child:
        child.stderr.close()
        assert child.wait(300) == 2


def test_head_is_silent():
    line = f"{shlex.join(command('methods'))} | head -1"
    found = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["method", "what", "it", "is", "needs"]
    assert found.stderr == ""


# ---------------------------------------------------------------- completion


def test_the_shell_completes_methods_data_sets_and_choices():
    assert completed("solve", "f", "--method", "m") == [m for m in registry() if m[0] == "m"]
    assert completed("plan", "mush") == ["mushrooms"]
    assert completed("solve", "f", "--loss", "l") == ["logistic"]
    assert completed("plan", "f", "--loss", "h") == ["huber"]
    assert completed("pl") == ["plan"]


def test_files_are_left_to_the_shell():
    """It completes them itself where a command offers nothing."""
    assert completed("plan", "./") == []
    assert completed("solve", "f", "--out", "./") == []


def test_bash_completes(tmp_path):
    """With the very script that --install-completion puts into ~/.bash_completions."""
    code = "import sys; sys.argv = ['bocce']; from bocce.cli import main; main()"
    program = tmp_path / "bocce"
    program.write_text(f"#!/bin/sh\nexec {shlex.join([sys.executable, '-c', code])}\n")
    program.chmod(0o755)
    script = get_completion_script(prog_name="bocce", complete_var="_BOCCE_COMPLETE", shell="bash")
    script += f"""
        COMP_WORDS=(bocce solve f --method multi-shb-) COMP_CWORD=4
        _bocce_completion {program}
        echo "${{COMPREPLY[@]}}"
    """
    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert found.stdout.split() == ["multi-shb-cnst", "multi-shb-pan"], found.stderr


# ---------------------------------------------------------------- doctor


def doctor():
    return json.loads(run("doctor", "--json").stdout)


def test_doctor_finds_versions_data_and_folders(tmp_path, monkeypatch):
    (tmp_path / "a9a.bz2").write_bytes(b"")
    monkeypatch.setenv("BOCCE_DATA", str(tmp_path))
    monkeypatch.setenv("BOCCE_CACHE", str(tmp_path / "cache"))
    report = doctor()
    assert report["versions"]["numpy"] == np.__version__
    assert {"scikit-learn", "torch", "optax", "ray", "pooch", "sympy"} <= set(report["versions"])
    assert "pytest" not in report["versions"]
    assert report["data"]["a9a"] == str(tmp_path / "a9a.bz2")
    assert report["data"]["w8a"] == "not here"
    assert report["folders"]["cache"] == f"{tmp_path / 'cache'} (made when needed)"
    assert report["kernels"]["state"].endswith("agrees with the reference")
    assert "writable" in report["kernels"]["cache"]
    assert report["machine"]["memory"].endswith("iB")


def test_doctor_says_how_to_get_what_is_missing(tmp_path, monkeypatch):
    from importlib import metadata

    def version(package):
        if package in ("torch", "jax"):
            raise metadata.PackageNotFoundError(package)
        return "1.0"

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setenv("BOCCE_DATA", str(tmp_path / "absent"))
    report = doctor()
    for package, extra in (("torch", "torch"), ("jax", "optax")):
        assert report["versions"][package] == f"not installed; run {install(extra)}"
    assert report["folders"]["BOCCE_DATA"].endswith("(there is no such folder)")


def test_doctor_says_when_kernels_are_broken(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("cannot cache function")

    monkeypatch.setattr(running, "minimize", broken)
    assert doctor()["kernels"] == {"state": "broken: RuntimeError: cannot cache function"}


def test_control_characters_of_names_never_reach_the_terminal(tmp_path):
    """A column called ESC]0;... would rename the window, ESC[2J would clear it."""
    path = tmp_path / "evil\x1b[2J.csv"
    rows = "\n".join(f"{i}.5,{i * i % 7},{i}" for i in range(20))
    path.write_text(f"a\x1b]0;owned\x07,b\x9b31m,target\n{rows}\n", encoding="utf-8")
    for arguments in (
        ["plan", str(path)],
        ["solve", str(path)],
        ["solve", str(path), "--target", "c"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "bocce", *arguments], capture_output=True, check=False
        )
        shown = (done.stdout + done.stderr).decode()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown), arguments
        assert "\\x1b" in shown
