"""What the tests of the command line share."""

import numpy as np
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


def assert_refused(result, folder_before, folder, *messages):
    """Exit code 2, a message on stderr, nothing on stdout, no file, no traceback."""
    assert result.exit_code == 2
    assert result.stdout == ""
    for message in messages:
        assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert sorted(folder.rglob("*")) == folder_before
