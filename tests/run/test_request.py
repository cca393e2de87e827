"""The arguments of a run, written once, and the facts about methods."""

import ast
import inspect
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import bocce
from bocce.control import Guarded, Limits, facts_of, open_ended_names, registry
from bocce.run import Request, solve

SOURCE = Path(bocce.__file__).parent


def test_minimize_has_the_arguments_and_defaults_of_a_request():
    _, *signature = inspect.signature(bocce.minimize).parameters.values()
    wanted = {
        field.name: field.default
        for field in fields(Request)
        if field.name not in ("limits", "certain")
    }
    assert {parameter.name: parameter.default for parameter in signature} == wanted


def haar(l2=0.0):
    X, y, _ = bocce.data.regression(60, 4, 10.0, noise_var=0.1)
    return bocce.LeastSquares(X, y, l2=l2)


def test_a_request_runs_as_minimize_does():
    p = haar()
    checked = Request("shb", T=20, batch_size=0.5, seed=3).checked(p)
    assert (checked.batch_size, checked.w0) == (30, None)
    ours, theirs = solve(p, checked), bocce.minimize(p, "shb", T=20, batch_size=30, seed=3)
    assert np.array_equal(ours.w, theirs.w)
    with pytest.raises(ValueError, match="T=21 must be an integer from 1 to 20; give "):
        Request("shb", T=21, limits=Limits(most_steps=20)).checked(p)
    with pytest.raises(ValueError, match=r"plan: tol=2\.0 must be "):
        Request(tol=2).checked(p, "plan")


@pytest.mark.filterwarnings("ignore:multistage")  # few steps are one stage
def test_facts_are_those_of_what_is_built():
    """A method that looks at batches has no table; one that needs no T runs without one."""
    values = {"L": 2.0, "mu": 0.5, "L_max": 3.0, "kappa_tilde": 2.0, "n": 10, "b": 4}
    for name, method in registry().items():
        steps = method.build(8, values)
        built, guarded = facts_of(steps), facts_of(Guarded(name))
        assert (built.looks_at_batch, built.all_rows) == (method.looks_at_batch, method.all_rows)
        assert guarded.guarded
        assert guarded.needs_T
        assert Request(name).open_ended == (name in open_ended_names())
        assert not Request(name, T=5).open_ended
        assert not Request(Guarded(name)).open_ended or method.all_rows


@pytest.mark.filterwarnings("ignore:multistage")
@pytest.mark.parametrize("name", [name for name, m in registry().items() if m.needs_T])
def test_under_the_guard_a_name_needs_no_constants(name):
    """Neither strong convexity nor kappa~ need be known: the guard corrects what is assumed."""
    X, y, _ = bocce.data.regression(60, 4, 10.0, noise_var=0.1)
    p = bocce.Logistic(X, np.sign(y))
    assert p.constants().mu == 0.0
    r = solve(p, Request(Guarded(name), passes=20.0).checked(p))
    assert r.status == "finished"
    assert p.value(r.w) < p.value(np.zeros(4))
    nothing = bocce.LeastSquares(np.zeros((6, 2)), np.ones(6))
    assert solve(nothing, Request(Guarded(name), passes=2.0).checked(nothing)).w.tolist() == [0, 0]


def names_compared(source):
    """Names of methods that a file compares something called a method, name or stage with."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            parts = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
            words = {part.value for part in parts if isinstance(part, ast.Constant)}
            named = {part.id for part in parts if isinstance(part, ast.Name)}
            named |= {part.attr for part in parts if isinstance(part, ast.Attribute)}
            if not named & {"family", "record_every", "every", "metric", "tol"}:  # "auto" is theirs
                found |= {word for word in words if word in registry()}
    return found


def test_no_list_of_method_names_outside_the_registry():
    assert names_compared('if method in ("auto", "plane"): pass') == {"auto", "plane"}
    rooms = [f for f in SOURCE.rglob("*.py") if "paper" not in f.parts]
    lists = {str(f.relative_to(SOURCE)): names_compared(f.read_text()) for f in rooms}
    assert {name: found for name, found in lists.items() if found} == {}
