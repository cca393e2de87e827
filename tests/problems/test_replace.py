"""A problem does not change; another one shares what does not depend on the difference."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import bocce
from bocce.problems import Problem
from bocce.problems.cache import ASPECTS, Computed
from helpers import design, problem
from tables_on_disk import parts_on_disk

LOSSES = ("squared", "logistic")


@pytest.mark.parametrize("loss", LOSSES)
def test_no_field_can_be_set(loss):
    p = problem(loss, design("dense"))
    for name in ("l2", "y", "weight", "handed_on", "anything"):
        with pytest.raises(
            AttributeError, match=rf"{name} cannot be set.*replace\({name}=\.\.\.\)"
        ):
            setattr(p, name, 1.0)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_replaced_problem_is_the_one_made_anew(loss, kind):
    """Whatever was computed before, with an intercept and weights."""
    X = design(kind)
    p = problem(loss, X)
    labels = p.y if p.classes is None else p.classes[(p.y > 0).astype(int)]
    extras = {"sample_weight": np.linspace(0.5, 2.0, 30), "intercept": True}
    q = Problem(X, labels, loss, 0.1, **extras)
    q.constants(), q.minimiser(), q.gram, q.moment, q.mean_target, q.sums
    turned = labels[::-1]
    for other, new in [
        (q.replace(l2=0.7), Problem(X, labels, loss, 0.7, **extras)),
        (q.replace(y=turned), Problem(X, turned, loss, 0.1, **extras)),
        (q.replace(l2=0.7, y=turned), Problem(X, turned, loss, 0.7, **extras)),
        (pickle.loads(pickle.dumps(q)).replace(l2=0.7), Problem(X, labels, loss, 0.7, **extras)),
    ]:
        assert repr(other) == repr(new)
        assert other.fingerprint() == new.fingerprint()
        assert other.constants() == new.constants()
        np.testing.assert_allclose(other.minimiser(), new.minimiser(), rtol=1e-12)
        np.testing.assert_allclose(other.moment, new.moment, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(other.sums.gram, new.sums.gram, rtol=1e-13)
        np.testing.assert_allclose(other.sums.moment, new.sums.moment, rtol=1e-12, atol=1e-14)
        assert other.mean_target == pytest.approx(new.mean_target)
        w = np.linspace(-1.0, 1.0, q.width)
        assert other.value(w) == new.value(w)


def test_what_does_not_depend_on_the_difference_is_computed_once():
    """Also where the copy asks first."""
    p = problem("squared", design("dense"), l2=0.1)
    strong = p.replace(l2=2.0)
    assert strong.gram is p.gram
    assert p.sums is strong.sums
    assert p.constants() != strong.constants()
    turned = p.with_encoded(p.y[::-1].copy())
    assert turned.gram is p.gram
    assert turned.sums.gram is p.sums.gram
    assert turned.constants() is p.constants()
    assert not np.allclose(turned.moment, p.moment)
    weighted = p.with_fields(weight=np.linspace(0.5, 1.5, 30))
    assert weighted.rows is p.rows
    assert weighted.gram is not p.gram


def test_every_result_names_aspects_that_exist():
    members = {name: part for kind in Problem.__mro__ for name, part in vars(kind).items()}
    found = {n: c for n, c in members.items() if isinstance(c, Computed)}
    assert {"gram", "sums", "_constants", "_minimiser"} <= set(found)
    assert all(computed.aspects <= set(ASPECTS.values()) for computed in found.values())


def test_a_resumed_run_leaves_the_callers_problem_alone(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 6)), rng.standard_normal(400)
    path, whole = tmp_path / "run.npz", bocce.minimize(bocce.LeastSquares(X, y), "plane", T=3)
    stop = {"checkpoint": path, "T": 3}
    bocce.minimize(bocce.LeastSquares(X, y), "plane", callback=lambda at: at.k == 1, **stop)
    p = bocce.LeastSquares(X, y)
    rest = bocce.minimize(p, "plane", **stop)
    assert np.array_equal(rest.w, whole.w)
    assert p.known("sums") is None  # those of the checkpoint belong to the resumed run


def test_files_too(tmp_path):
    X, y = design("dense"), np.random.default_rng(0).standard_normal(30)
    file = parts_on_disk(tmp_path / "rows.arrow", X, y, 4)
    p = bocce.LeastSquares(file, l2=0.1, intercept=True)
    strong = p.replace(l2=1.0)
    assert strong.gram is p.gram
    np.testing.assert_allclose(
        strong.minimiser(), bocce.LeastSquares(X, y, l2=1.0, intercept=True).minimiser(), rtol=1e-9
    )
    assert sp.issparse(problem("squared", design("csr")).replace(l2=1.0).X)
