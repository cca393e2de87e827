"""How losses are registered, found and refused; what each must obey is in tests/contract."""

from typing import NamedTuple

import numpy as np
import pytest

import bocce
from bocce.losses import REGISTRY, Huber, Logistic, Squared, SquaredHinge, loss, loss_of
from bocce.losses.targets import sign_targets
from refusal import refused


@pytest.fixture(autouse=True)
def own_registry():
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def quartic(**changed):
    """The members of a loss that is complete, but for what is changed; None leaves it out."""
    members = {
        "curvature": None,
        "value": lambda loss, z, y: 0.25 * (z - y) ** 4,
        "slope": lambda loss, z, y: (z - y) ** 3,
        "bend": lambda loss, z, y: 3.0 * (z - y) ** 2,
    }
    return {name: part for name, part in {**members, **changed}.items() if part is not None}


def test_what_is_left_out_has_a_usual_value():
    kind = loss("quartic")(
        type("Quartic", (NamedTuple("Base", []),), {**quartic(), "curvature": None})
    )
    assert REGISTRY["quartic"] is kind
    assert (kind.problem_name, kind.description) == ("Problem", "the quartic loss")
    assert (kind.quadratic, kind.margin, kind().best_constant(3.0)) == (False, False, 0.0)
    assert kind().infimum(np.ones(3)).tolist() == [0.0, 0.0, 0.0]
    assert kind.targets("test", np.array([1, 2]))[0].dtype == np.float64
    assert kind.compiled() == {}


def test_a_loss_without_a_bound_on_its_curvature_runs_on_the_plane():
    loss("quartic")(type("Quartic", (NamedTuple("Base", []),), {**quartic(), "curvature": None}))
    X = np.random.default_rng(0).standard_normal((40, 3))
    p = bocce.Problem(X, X @ np.ones(3) + np.sin(np.arange(40.0)), "quartic", l2=0.1)
    rule = r"Problem: the quartic loss has no bound on its curvature, must have one .*; use .*\."
    refused(p.constants, ValueError, rule)
    r = bocce.minimize(p, tol=1e-8)
    assert r.status == "converged"
    np.testing.assert_allclose(r.w, p.minimiser(), atol=1e-6)


def test_what_is_no_loss_is_refused():
    class Plain:
        curvature = 1.0

    class Bare(NamedTuple):
        width: float
        curvature = 1.0
        value = slope = bend = len

    class Half(NamedTuple):
        curvature = 1.0
        value = len

    whole = r"loss: Plain must be a NamedTuple with value, slope, bend, curvature; add .*\."
    refused(lambda: loss("plain")(Plain), TypeError, whole)
    refused(lambda: loss("half")(Half), TypeError, r"loss: Half must be .*; add slope, bend\.")
    rule = r"loss: Bare has the field width without a default, must have one, .*; write width.*\."
    refused(lambda: loss("bare")(Bare), TypeError, rule)
    assert not {"plain", "half", "bare"} & set(REGISTRY)


def test_losses_by_name_and_by_instance():
    assert loss_of("test", "huber") == Huber(1.0)
    assert loss_of("test", Huber(3.0)).delta == 3.0
    rule = r"test: loss='hubert' must be one of .*; did you mean 'huber'\?"
    refused(lambda: loss_of("test", "hubert"), ValueError, rule)
    for wrong in (Huber, 3, None):
        rule = r"test: loss=.* must be a loss such as bocce\.losses\.Huber\(1\.0\), or a name: .*\."
        refused(lambda wrong=wrong: loss_of("test", wrong), TypeError, rule)


@pytest.mark.parametrize(
    ("made", "z", "y", "value", "slope", "bend"),
    [
        (Squared(), 3.0, 1.0, 2.0, 2.0, 1.0),
        (Huber(2.0), 5.0, 0.0, 8.0, 2.0, 0.0),
        (Huber(2.0), -1.0, 0.0, 0.5, -1.0, 1.0),
        (Logistic(), 0.0, -1.0, np.log(2.0), 0.5, 0.25),
        (SquaredHinge(), -1.0, 1.0, 4.0, -4.0, 2.0),
        (SquaredHinge(), 2.0, 1.0, 0.0, 0.0, 0.0),
    ],
)
def test_by_hand(made, z, y, value, slope, bend):
    assert made.value(z, y) == pytest.approx(value)
    assert made.slope(z, y) == pytest.approx(slope)
    assert made.bend(z, y) == pytest.approx(bend)


def test_signs_are_those_of_all_the_data():
    """A part of the data may hold one class only."""
    signs, classes = sign_targets("test", np.array([7.0, 7.0]), labels=[7.0, 2.0])
    assert signs.tolist() == [1.0, 1.0]
    assert classes.tolist() == [2.0, 7.0]
