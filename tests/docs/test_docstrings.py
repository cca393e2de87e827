"""Every public name says what it takes, what it returns and when it raises."""

import pkgutil

import pytest

import bocce
from docstrings import faults, faults_of, faults_of_function

# control is shown to users as bocce.policies, cli by its commands, separation by messages.
INSIDE = {"bocce.cli", "bocce.control", "bocce.separation"}
FRAMEWORKS = {"bocce.optax", "bocce.ray", "bocce.torch"}  # their tests have the packages they need
FOUND = {module.name for module in pkgutil.iter_modules(bocce.__path__, "bocce.")}
ROOMS = sorted(name for name in FOUND - INSIDE if not name.startswith("bocce._"))
# Names that the API pages show beside these rooms.
SHOWN = ["bocce.run.repeat.Repeated", "bocce.planning.Point", "bocce.planning.PlannedStage"]


@pytest.mark.parametrize("room", ["bocce", *ROOMS])
def test_every_public_name_documents_its_arguments(room):
    if room in FRAMEWORKS:
        pytest.importorskip(room.rpartition(".")[2])
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
