"""The plane on arrays of other libraries takes the steps that it takes on NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import bocce
from array_problems import DEVICES, LOSSES, SINGLE, design, on, pair, somewhere, targets
from bocce.plane import PlaneRun, scores_for
from bocce.plane.metrics import HessianPolicy
from bocce.plane.scores import MemoryScores
from bocce.plane.scores.array import EPS, ArrayScores
from bocce.problems import Frame
from bocce.rows import host

STEPS = 6


@pytest.fixture(params=["one block", "many blocks"])
def numbers(request, monkeypatch):
    """The numbers of X in a block."""
    # scores are compared with scores, not with sums over rows that make them unnecessary
    monkeypatch.setattr(HessianPolicy, "before_first_step", False)
    return 70 if request.param == "many blocks" else None


def planes(loss, make, **more):
    """Two planes in the frame's variables, at the same point."""
    made = []
    for p in pair(loss, make, **more):
        inner = Frame.of(p).problem(p)
        made.append(PlaneRun(inner, somewhere(inner), memory=3))
    return made


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_step_is_that_on_numpy(loss, device, numbers):
    ours, theirs = planes(loss, on(device), numbers=numbers)
    assert isinstance(ours.scores, MemoryScores)
    assert isinstance(theirs.scores, ArrayScores)
    first = ours.norm
    for _ in range(STEPS):
        if ours.norm < 1e-9 * first:
            break  # what is left is rounding
        assert ours.step() == theirs.step()
        assert theirs.value == pytest.approx(ours.value, rel=1e-11)
        np.testing.assert_allclose(theirs.w, ours.w, atol=1e-9)
        np.testing.assert_allclose(theirs.gradient, ours.gradient, atol=1e-9)
        assert (theirs.products, theirs.evaluations) == (ours.products, ours.evaluations)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_each_answer_is_that_of_numpy(loss, weighted, numbers):
    p, q = pair(loss, on("CPU_DEVICE"), weighted=weighted, numbers=numbers)
    ours, theirs = (scores_for(r, 2, p.shape[1:], None, 1 << 32) for r in (p, q))
    w, d = somewhere(p), somewhere(p)[::-1].copy()

    def same(a, b):
        np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-12)

    def alike(a, b):
        same(a.value, b.value)
        same(a.plane_gradient, b.plane_gradient)
        # in blocks of another length, the bound on rounding is another: between the sums
        assert b.scale == pytest.approx(a.scale, rel=0.5)

    alike(ours.start(w), theirs.start(w))
    same(ours.gradient(), theirs.gradient())
    for slot in (0, 1):
        same(ours.add_direction(slot, d * (slot + 1)), theirs.add_direction(slot, d * (slot + 1)))
        ours.scale_direction(slot, 2.0)
        theirs.scale_direction(slot, 2.0)
    c = np.array([0.3, -0.1])
    alike(ours.try_step(c), theirs.try_step(c))
    same(ours.max_change, theirs.max_change)
    same(ours.gradient(), theirs.gradient())
    same(ours.curvature(2), theirs.curvature(2))
    same(ours.curvature(2, 1), theirs.curvature(2, 1))
    same(ours.row_curvature(), theirs.row_curvature())
    same(ours.hessian_diagonal(), theirs.hessian_diagonal())
    ours.accept(1, 0.5)
    theirs.accept(1, 0.5)
    same(ours.z, np.concatenate([host(z) for z in theirs.z]))
    same(ours.U[1], np.concatenate([host(U)[1] for U in theirs.U]))
    alike(ours.look(), theirs.look())


@pytest.mark.parametrize("loss", LOSSES)
def test_a_run_goes_on_bit_for_bit(loss, numbers):
    _, plane = planes(loss, on("device1"), numbers=numbers)
    for _ in range(3):
        plane.step()
    again = PlaneRun.from_state(plane.problem, plane.state_dict())
    assert (again.value, again.norm) == (plane.value, plane.norm)
    for _ in range(3):
        assert plane.step() == again.step()
        assert plane.value == again.value
        np.testing.assert_array_equal(again.w, plane.w)


@pytest.mark.parametrize("device", ["CPU_DEVICE", *SINGLE])
@pytest.mark.parametrize("loss", LOSSES)
def test_float32_reaches_what_float32_can(loss, device):
    """The exact gradient there is a millionth of the first, and the run knows where to end."""
    make = on(device, np.float32)
    exact, p = pair(loss, make)
    run = bocce.minimize(p, tol=1e-5, passes=200)
    assert run.status == "converged"
    g0 = np.linalg.norm(exact.gradient(np.zeros(exact.shape)))
    u = exact.join_intercept(run.w, run.intercept)
    assert np.linalg.norm(exact.gradient(u)) <= 1e-4 * g0
    beyond = bocce.minimize(p, tol=1e-15, passes=2000)
    assert beyond.n_iter < 200, "no progress can be measured, and the run says so"
    assert np.isfinite(beyond.w).all()


def test_rounding_counts_in_the_numbers_of_the_data():
    for dtype, eps in ((np.float64, EPS), (np.float32, np.finfo(np.float32).eps)):
        _, plane = planes("logistic", on("CPU_DEVICE", dtype))
        assert plane.scores.eps == eps
        assert plane.slack == pytest.approx(8.0 * eps * plane.value, rel=3.0)
    assert planes("logistic", on("CPU_DEVICE"))[0].scores.eps == EPS


@pytest.mark.parametrize("loss", LOSSES)
def test_f_never_rises(loss):
    _, plane = planes(loss, on("no_x64", np.float32))
    for _ in range(15):
        before = plane.value
        plane.step()
        assert plane.value <= before + plane.slack


def test_rows_brought_in_blocks_are_read_once_a_product(monkeypatch):
    """A step is one product with X and one with X^T; a look from scratch reads once for both."""
    X = design()
    rows = bocce.data.stream_to_device(X, on("device1")(X[:1]), block_rows=50)
    read = []
    part = rows.store.part
    monkeypatch.setattr(rows.store, "part", lambda rows: (read.append(rows), part(rows))[1])
    p = bocce.Problem(rows, targets("logistic", X), "logistic", 0.1)
    plane = PlaneRun(p, np.zeros(p.d), memory=2, metric="identity")
    assert len(read) == 3, "three blocks, once"
    plane.step()
    assert len(read) == 9
    assert max(s.stop - s.start for s in read) == 50
