"""Every public name says what it takes, what it returns and when it raises."""

import pytest

from docstrings import faults, faults_of, faults_of_function

FINISHED = [
    "bocce.data",
    "bocce.exact",
    "bocce.explorer",
    "bocce.inference",
    "bocce.losses",
    "bocce.policies",
    "bocce.sampling",
    "bocce.schedules",
    "bocce.sklearn",
    "bocce.theory",
]
# Names that the pages of the API show beside these rooms.
SHOWN = [
    "bocce.LeastSquares",
    "bocce.Logistic",
    "bocce.Problem",
    "bocce.problems.Constants",
    "bocce.problems.Line",
    "bocce.problems.Look",
    "bocce.problems.Noise",
    "bocce.problems.norm",
    "bocce.problems.Objective",
    "bocce.rows.Rows",
    "bocce.rows.digest",
    "bocce.rows.rows_of",
    "bocce.load",
    "bocce.minimize",
    "bocce.path",
    "bocce.plan",
    "bocce.repeat",
    "bocce.Plan",
    "bocce.Result",
    "bocce.run.Progress",
    "bocce.run.StageRun",
    "bocce.run.repeat.Repeated",
    "bocce.run.plan.Point",
    "bocce.run.forecast.PlannedStage",
]


@pytest.mark.parametrize("room", FINISHED)
def test_every_public_name_documents_its_arguments(room):
    assert faults(room) == []


@pytest.mark.parametrize("name", SHOWN)
def test_every_name_of_the_api_pages_documents_its_arguments(name):
    assert faults_of(name) == []


def bare(T: int, *more: float) -> float:
    """T : the number of steps."""
    raise ValueError(f"bare: T={T}")


def full(T: int, *more: float) -> float:
    """Count steps.

    Parameters
    ----------
    T : int
        The number of steps.
    *more : float
        Others.

    Returns
    -------
    float
        The number.
    """
    return float(T)


def test_what_is_missing_is_named():
    assert faults_of_function("full", full) == []
    assert faults_of_function("bare", bare) == [
        "bare: Parameters does not describe T",
        "bare: Parameters does not describe more",
        "bare: no Returns",
        "bare: no Raises",
    ]
