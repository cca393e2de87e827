"""What the tests of the command line share."""

import os
import pty
import shlex
import signal
import subprocess
import sys

import numpy as np
import pandas
from typer.testing import CliRunner

import bocce
from bocce.cli import app


def run(*words, **options):
    return CliRunner(**options).invoke(app, [str(word) for word in words])


def write_table(path, noise_var=0.0):
    """A CSV of 60 rows of which the least-squares solution is (2, -1), but for noise."""
    X, _, _ = bocce.data.regression(60, 2, 5.0)
    y = X @ [2.0, -1.0] + np.sqrt(noise_var) * np.random.default_rng(0).standard_normal(60)
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", fmt="%.17g")
    return path


def write_labels(path, classes, rows=90):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 2))
    cuts = np.quantile(X[:, 0], np.arange(1, len(classes)) / len(classes))
    y = np.array(classes)[np.digitize(X[:, 0] + 0.3 * rng.standard_normal(rows), cuts)]
    lines = [f"{a:.6f},{b:.6f},{c}" for (a, b), c in zip(X, y)]
    path.write_text("age,height,sport\n" + "\n".join(lines) + "\n")
    return path


def as_parquet(table, path):
    """The rows of a CSV file in row groups of 10."""
    pandas.read_csv(table).to_parquet(path, row_group_size=10)
    return path


def as_if_large(monkeypatch):
    """From now on files are read in parts."""
    whole = bocce.data.open
    monkeypatch.setattr(bocce.data, "open", lambda *a, **how: whole(*a, **how, memory=1000))


def assert_refused(result, folder_before, folder, *messages):
    """Exit code 2, a message on stderr, nothing on stdout, no file, no traceback."""
    assert result.exit_code == 2
    assert result.stdout == ""
    for message in messages:
        assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert sorted(folder.rglob("*")) == folder_before


def assert_plain_table(path, *words):
    """80 columns, but for lines with the path of a file; no colours, no space at the end."""
    result = run(*words, env={"COLUMNS": None})
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert [line for line in lines if len(line) > 80 and str(path) not in line] == []
    assert [line for line in lines if line != line.rstrip()] == []
    assert "\x1b" not in result.stdout


def command(*words):
    return [sys.executable, "-m", "bocce", *map(str, words)]


def on_terminal(*words, until=None, **environment):
    """Run with stdout and stderr on a terminal; Ctrl-C once ``until`` was shown.

    Returns the exit code and all that was shown.
    """
    main_end, terminal = pty.openpty()
    variables = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    variables |= {"TERM": "xterm-256color", "COLUMNS": "80", **environment}
    shown = b""
    with subprocess.Popen(
        command(*words), stdout=terminal, stderr=terminal, env=variables
    ) as child:
        os.close(terminal)
        try:
            while piece := os.read(main_end, 1 << 16):
                shown += piece
                if until is not None and until in shown:
                    child.send_signal(signal.SIGINT)
                    until = None
        except OSError:  # how Linux says that the other side is closed
            pass
        finally:
            os.close(main_end)
    return child.returncode, shown


def completed(*words):
    """What the shell is offered for the last of these words."""
    asked = {"_BOCCE_COMPLETE": "complete_bash", "COMP_WORDS": shlex.join(["bocce", *words])}
    asked["COMP_CWORD"] = str(len(words))
    return CliRunner().invoke(app, prog_name="bocce", env=asked).stdout.split()
