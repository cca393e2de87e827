"""What ``minimize`` refuses, and that it does so before any work."""

import re

import numpy as np
import pytest

import bocce
from bocce import LeastSquares, Logistic, schedules
from bocce.problems import Problem, curvature
from refusal import refused

NAN, INF = float("nan"), float("inf")
X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [2.0, -1.0]])
Y = np.array([1.0, 0.0, 1.0, 3.0])
P = LeastSquares(X, Y)


# -- minimize: everything is checked before any work --------------------------------------------


@pytest.fixture
def idle(monkeypatch):
    """Any pass over the data, or any eigenvalue, is a failure."""

    def work(*_, **__):
        raise AssertionError("work was done before the arguments were checked")

    monkeypatch.setattr(Problem, "predict", work)
    monkeypatch.setattr(Problem, "combine", work)
    monkeypatch.setattr(curvature, "constants", work)


ROWS = r"give rows \(1 to n=4\), or a share of n above 0 and at most 1, such as 0.5\."


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(
    ("arguments", "kind", "rule"),
    [
        ({"p": (X, Y)}, TypeError, r"p=tuple must be a problem; build one with bocce\.Least.*"),
        ({"method": "sbh"}, ValueError, r"method='sbh' must be one of .*; did you mean 'shb'\?"),
        ({"method": "nestrov"}, ValueError, r"method=.*; did you mean 'nesterov'\?"),
        ({"method": "two-phase"}, ValueError, r"method='two-phase' must be one of 'sgd', .*"),
        (
            {"method": 3},
            TypeError,
            r"method=3 must be a registry name .*, a Schedule or a .*",
        ),
        ({"method": None}, TypeError, r"method=None must be a registry name .*"),
        ({"memory": 0}, ValueError, r"memory=0 must be an integer from 1 to 10; 5 is usual\."),
        ({"passes": 0.0}, ValueError, r"passes=0.0 must be .* > 0; give a number of passes\."),
        ({"passes": 3, "T": 5}, ValueError, r"passes=3.0 must be left out where T=5 is given\."),
        ({"T": 0}, ValueError, r"T=0 must be an integer from 1 to 100000000; give .*"),
        ({"T": -5}, ValueError, r"T=-5 must be an integer from 1 to 100000000; give .*"),
        ({"T": 10.0}, TypeError, r"T=10.0 must be an integer from 1 to 100000000; give .*"),
        ({"batch_size": 0}, ValueError, rf"batch_size=0 must be .* from 1 to 4; {ROWS}"),
        ({"batch_size": 5}, ValueError, rf"batch_size=5 must be .* from 1 to 4; {ROWS}"),
        ({"batch_size": 0.0}, ValueError, rf"batch_size=0.0 must be .*> 0 and <= 1; {ROWS}"),
        ({"batch_size": 1.5}, ValueError, rf"batch_size=1.5 must be .*> 0 and <= 1; {ROWS}"),
        ({"batch_size": NAN}, ValueError, rf"batch_size=nan must be a finite number .*; {ROWS}"),
        ({"batch_size": True}, TypeError, rf"batch_size=True must be an integer .*; {ROWS}"),
        ({"batch_size": "all"}, TypeError, rf"batch_size='all' must be an integer .*; {ROWS}"),
        ({"seed": -1}, ValueError, r"seed=-1 must be an integer from 0 to .*; a seed is .*\."),
        ({"seed": 0.5}, TypeError, r"seed=0.5 must be an integer from 0 to .*; a seed is .*\."),
        (
            {"tol": -1.0},
            ValueError,
            r'tol=-1.0 must be .*>= 0 and < 1; 0 never .*, "auto" when .*',
        ),
        (
            {"tol": NAN},
            ValueError,
            r'tol=nan must be .*>= 0 and < 1; 0 never .*, "auto" when .*',
        ),
        ({"sampling": "shuffle"}, ValueError, r"sampling=.*; did you mean 'reshuffle'\?"),
        ({"engine": "compile"}, ValueError, r"engine=.*; did you mean 'compiled'\?"),
        ({"record_every": 0}, ValueError, r'record_every=0 must be .*>= 1; .*or "auto"\.'),
        ({"record_every": "all"}, TypeError, r"record_every='all' must be an integer .*"),
        ({"w0": [NAN, 0.0]}, ValueError, r"w0 has NaN or infinity, must be finite; start from .*"),
        ({"w0": [0.0, INF]}, ValueError, r"w0 has NaN or infinity, must be finite; start from .*"),
        ({"method": schedules.sgd(9, 4.0), "T": 8}, ValueError, r"T=8 must equal .*T=9; leave .*"),
    ],
    ids=str,
)
def test_minimize(arguments, kind, rule):
    arguments = {"p": P, "method": "shb"} | arguments
    refused(lambda: bocce.minimize(**arguments), kind, f"minimize: {rule}")


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(
    ("w0", "kind", "rule"),
    [
        (np.zeros(3), ValueError, r"w0 has shape \(3,\), must be \(2,\); X has 2 columns\."),
        (np.zeros((2, 1)), ValueError, r"w0 has shape \(2, 1\), must be \(2,\); X has 2 .*"),
        (0.0, ValueError, r"w0 has shape \(\), must be \(2,\); X has 2 columns\."),
        (["0", "1"], TypeError, r"w0 has dtype <U1, must be numeric; give a float vector\."),
        (np.ones(2) * 1j, TypeError, r"w0 has dtype complex128, must be numeric; .*"),
    ],
    ids=str,
)
def test_starting_points(w0, kind, rule):
    refused(lambda: bocce.minimize(P, "sgd", w0=w0), kind, f"LeastSquares: {rule}")


def test_points_of_another_length():
    for call in (P.value, P.gradient):
        rule = r"LeastSquares: w has shape \(3,\), must be \(2,\); X has 2 columns\."
        refused(lambda call=call: call(np.zeros(3)), ValueError, rule)


def test_a_method_that_the_problem_cannot_feed():
    flat = Logistic(X[:, [0, 0]], Y > 0)  # least squares take the curvature of the row space
    rule = r"minimize: l2=0.0 must be > 0 for method='shb' with the logistic loss, .*sgd.*\."
    refused(lambda: bocce.minimize(flat, "shb", T=10), ValueError, rule)


# -- checkpoints of another run -------------------------------------------------------------------


RUN = {"T": 12, "batch_size": 2, "seed": 3, "method": "sgd"}


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"p": LeastSquares(X, Y + 1)}, "problem"),
        ({"p": LeastSquares(X + 1e-9, Y)}, "problem"),
        ({"p": LeastSquares(X, Y, l2=0.1)}, "problem"),
        ({"p": Logistic(X, Y > 0)}, "problem"),
        ({"method": "sgd-exp"}, "schedule"),
        ({"T": 13}, "schedule"),
        ({"seed": 4}, r"seed \(3, not 4\)"),
        ({"batch_size": 3}, r"batch_size \(2, not 3\)"),
        ({"sampling": "reshuffle"}, r"sampling \('independent', not 'reshuffle'\)"),
        ({"tol": 0.1}, r"tol \(0.0, not 0.1\)"),
        ({"w0": [0.0, 1.0]}, r"w0 .*"),
    ],
    ids=str,
)
def test_a_checkpoint_of_another_run(tmp_path, changed, what):
    path = tmp_path / "run.npz"
    arguments = {"p": P, "checkpoint": path, "engine": "reference", **RUN}
    bocce.minimize(**arguments)
    before = path.read_bytes()
    rule = rf"minimize: checkpoint='.*run.npz' is of another {what}; delete the file or give .*"
    refused(lambda: bocce.minimize(**arguments | changed), ValueError, rule)
    assert path.read_bytes() == before, "the other run's checkpoint is still there"


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"PK\x03\x04 half"])
def test_a_file_that_is_no_checkpoint(tmp_path, content):
    path = tmp_path / "run.npz"
    path.write_bytes(content)
    rule = r"(?s)minimize: checkpoint='.*run.npz' is not a readable checkpoint \(.*\); delete .*"
    arguments = {"p": P, "checkpoint": path, "engine": "reference", **RUN}
    refused(lambda: bocce.minimize(**arguments), ValueError, rule)
    assert path.read_bytes() == content


@pytest.mark.parametrize("where", ["missing/run.npz", "."])
def test_a_checkpoint_that_cannot_be_written(tmp_path, where):
    rule = r"minimize: checkpoint='.*' must be a file in an existing folder; create the .*"
    refused(lambda: bocce.minimize(P, checkpoint=tmp_path / where, **RUN), ValueError, rule)


@pytest.mark.parametrize("given", [3, True, ["run.npz"]])
def test_a_checkpoint_that_is_no_path(given):
    rule = rf"minimize: checkpoint={re.escape(repr(given))} must be a path; name a file, or None\."
    refused(lambda: bocce.minimize(P, checkpoint=given, **RUN), TypeError, rule)


@pytest.mark.parametrize(
    ("arguments", "kind", "rule"),
    [
        (("p", [1.0]), TypeError, r"path: p=str must be a problem; build one with .*"),
        ((P, 3.0), TypeError, r"path: l2s=3.0 must be several numbers; give penalties such .*"),
        ((P, [1.0], -1), ValueError, r"path: tol=-1.0 must be a finite number >= 0 and < 1; .*"),
        ((P, [1.0], "auto"), TypeError, r"path: tol='auto' must be a finite number >= 0 .*"),
    ],
)
def test_the_arguments_of_a_path(arguments, kind, rule):
    refused(lambda: bocce.path(*arguments), kind, rule)


def test_a_callback_that_cannot_be_called():
    rule = r"minimize: callback=3 must be a function of one Progress; or None\."
    refused(lambda: bocce.minimize(P, callback=3, **RUN), TypeError, rule)
