"""What every engine must obey; an engine that is registered is tested, without a line more.

An engine in a file of its own (see docs/extend/engine.md) inherits these tests by
``python -m pytest -p its_module tests/contract/test_engine.py -k its-name``.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import bocce
from bocce import engines, sampling
from bocce.control import registry
from bocce.engines import Recorder, State, norm2
from bocce.losses import Huber, Logistic, SquaredHinge
from bocce.problems import Frame, Problem
from bocce.schedules import REGISTRY as SCHEDULES
from bocce.schedules import Schedule
from helpers import accepted, constants, design, limited, schedule
from pairwise import pairwise
from tables_on_disk import parts_on_disk

N, SEED = 30, 5
BATCHES = (1, 7, 20, N - 1, N)
each = pytest.mark.parametrize("name", engines.REGISTRY)


def made(loss, X, **extras):
    return Problem(X, accepted(bocce.losses.loss_of("test", loss), X.shape[0]), loss, 0.1, **extras)


def wide():
    rng = np.random.default_rng(0)
    return sp.random_array((N, 300), density=0.01, format="csr", rng=rng)


def framed():
    outer = limited(made("squared", 5.0 + 30.0 * design("dense"), intercept=True), copied=0)
    return Frame.of(outer).problem(outer)


def on_disk(loss, folder):
    p = made(loss, design("dense"))
    return Problem(parts_on_disk(folder / "rows.arrow", p.X, p.y, 4), None, loss, 0.1)


WEIGHTS = np.linspace(0.5, 2.0, N)
CASES = {
    "squared": lambda folder: made("squared", design("dense")),
    "logistic": lambda folder: made(Logistic(), design("float32")),
    "sparse Huber": lambda folder: made(Huber(0.5), design("csr")),
    "wide logistic": lambda folder: made(Logistic(), wide()),
    "scaled": lambda folder: framed(),
    "weighted hinge": lambda folder: made(
        SquaredHinge(), design("dense"), sample_weight=WEIGHTS, intercept=True
    ),
    "squared file": lambda folder: on_disk("squared", folder),
    "logistic file": lambda folder: on_disk("logistic", folder),
}


@pytest.fixture(params=CASES)
def p(request, tmp_path):
    return CASES[request.param](tmp_path)


@pytest.fixture
def plain():
    return made("squared", design("dense"))


def table_for(p, T, b, method="mass"):
    return schedule(method, T, constants(p, b))


def by_hand(p, table, b, *, mode="independent", k=0, row=0, steps=None, start=None):
    """The one update, written out: w and v after each step, the start first."""
    w = np.zeros(p.width) if start is None else start
    v, found = np.zeros(p.width), []
    for _ in range(table.T - row if steps is None else steps):
        found.append((w, v))
        units = sampling.batch(SEED, k, p.units, p.units_in(b), mode)
        g = p.batch_gradient(w + table.theta[row] * v, units)
        v = table.beta[row] * v - table.alpha[row] * g
        w, k, row = w + v, k + 1, row + 1
    return [*found, (w, v)]


def engine_of(name, p, b, mode="independent"):
    return engines.REGISTRY[name](p, b, SEED, mode)


def nothing():
    return Recorder(np.zeros(0, dtype=np.int64))


def at_rest(p):
    return State.at_rest(np.zeros(p.width))


def close(found, wanted, where=""):
    room = 1e-10 * max(1.0, np.abs(wanted).max())
    np.testing.assert_allclose(found, wanted, rtol=0, atol=room, err_msg=where)


# -- steps ---------------------------------------------------------------------------------------


@each
@pairwise(case=CASES, b=BATCHES, mode=sampling.MODES)
def test_steps_are_the_one_update(name, case, b, mode, tmp_path):
    p = CASES[case](tmp_path)
    b = p.whole_batch(b)
    table = table_for(p, 8, b)
    engine, state = engine_of(name, p, b, mode), at_rest(p)
    for k, (w, v) in enumerate(by_hand(p, table, b, mode=mode)[1:]):
        assert engine.advance(state, table, k + 1, nothing()).verdict == ""
        close(state.w, w, f"step {k}")
        close(state.v, v, f"step {k}")


@each
@pytest.mark.parametrize("method", SCHEDULES)
def test_steps_by_every_schedule(name, method, plain):
    for b in (7, 27):
        table = table_for(plain, 12, b, method)
        engine, state = engine_of(name, plain, b), at_rest(plain)
        assert engine.advance(state, table, 12, nothing()).verdict == ""
        close(state.w, by_hand(plain, table, b)[-1][0])


@each
def test_two_clocks(name, p):
    """Batches go by ``k``, which may be far ahead, the table by ``row``."""
    b, start = p.whole_batch(8), np.linspace(0.0, 0.1, p.width)
    table = table_for(p, 10, b, "2p-shb")
    state = State(start, np.zeros(p.width), k=7000, row=3)
    assert engine_of(name, p, b).advance(state, table, 7005, nothing()).verdict == ""
    assert (state.k, state.row) == (7005, 8)
    close(state.w, by_hand(p, table, b, k=7000, row=3, steps=5, start=start)[-1][0])


@each
def test_iterates_are_summed_where_that_is_asked(name, p):
    b = p.whole_batch(8)
    table = table_for(p, 9, b)
    state, before = at_rest(p), np.ones(p.width)
    state.tally = before
    engine = engine_of(name, p, b)
    for stop in (4, 9):
        engine.advance(state, table, stop, nothing())
    close(state.tally - 1.0, np.sum([w for w, _ in by_hand(p, table, b)[1:]], axis=0))
    assert (before == 1.0).all()


@each
def test_the_arrays_of_a_state_are_replaced_never_written_to(name, p):
    b, w = p.whole_batch(8), np.full(p.width, 0.1)
    state = State.at_rest(w)
    kept = state.copy()
    engine = engine_of(name, p, b)
    engine.advance(state, table_for(p, 6, b), 3, nothing())
    half = state.w.copy(), state.w
    engine.advance(state, table_for(p, 6, b), 6, nothing())
    assert np.array_equal(kept.w, w)
    assert not kept.v.any()
    assert np.array_equal(*half)
    assert (kept.k, kept.row) == (0, 0)


# -- cuts ------------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("b", [3, 27])
def test_a_run_cut_at_the_grain_or_at_a_record_is_the_run_that_was_not_cut(name, p, b):
    b = p.whole_batch(b)
    grain = engine_of(name, p, b).grain
    T = 2 * grain + 9
    table = table_for(p, T, b, "auto")
    when = np.array([0, grain + 5, T - 2], dtype=np.int64)
    whole, parts = at_rest(p), at_rest(p)
    recorded, in_parts = Recorder(when), Recorder(when)
    engine_of(name, p, b).advance(whole, table, T, recorded)
    for stop in (grain, grain + 5, 2 * grain, T - 2, T):
        assert engine_of(name, p, b).advance(parts, table, stop, in_parts).verdict == ""
    assert np.array_equal(whole.w, parts.w)
    assert np.array_equal(recorded.value, in_parts.value)
    assert np.array_equal(recorded.grad2, in_parts.grad2)


# -- records and verdicts ----------------------------------------------------------------------


@each
def test_records_are_looks_at_the_iterates(name, p):
    b, T, unit = p.whole_batch(8), 9, 4.0
    table = table_for(p, T, b)
    when = np.array([0, 2, 3, 8, 20])  # the last one is beyond this stretch
    recorder, state = Recorder(when, unit=unit), at_rest(p)
    assert engine_of(name, p, b).advance(state, table, T, recorder).verdict == ""
    assert recorder.count == 4
    points = by_hand(p, table, b)
    for i, k in enumerate(when[:4]):
        look = p.look(points[k][0])
        assert recorder.value[i] == pytest.approx(look.value, rel=1e-9)
        grad2 = (look.gradient / unit) @ (look.gradient / unit)
        assert recorder.grad2[i] == pytest.approx(grad2, rel=1e-7)


@each
@pytest.mark.parametrize("b", [8, 27])
def test_a_record_is_the_same_to_the_bit_whoever_asks(name, p, b):
    """A run with a callback looks from outside, one without has the engine record."""
    b = p.whole_batch(b)
    when = np.array([0], dtype=np.int64)
    inside, outside = Recorder(when, unit=4.0), Recorder(when, unit=4.0)
    state = State.at_rest(np.linspace(-0.2, 0.3, p.width))
    engine, w = engine_of(name, p, b), state.w
    engine.advance(state, table_for(p, 2, b), 1, inside)
    if hasattr(engine, "record"):
        engine.record(w, outside)
    else:
        outside.keep(engine.look(w))
    assert (inside.value[0], inside.grad2[0]) == (outside.value[0], outside.grad2[0])


@each
def test_a_look_is_the_objective_and_its_gradient(name, p):
    engine, points = engine_of(name, p, p.whole_batch(8)), np.eye(3, p.width) - 0.3
    found = [engine.look(w) for w in points]
    for w, look in zip(points, found):
        wanted = p.look(w)
        assert look.value == pytest.approx(wanted.value, rel=1e-10)
        close(look.gradient, wanted.gradient)


@each
def test_it_stops_where_a_record_meets_the_goal(name, p):
    b = p.whole_batch(20)
    table = table_for(p, 9, b)
    wanted = by_hand(p, table, b)[6][0]
    g = p.gradient(wanted)
    recorder, state = Recorder(np.array([6, 7]), goal2=float(g @ g) * (1 + 1e-6)), at_rest(p)
    assert engine_of(name, p, b).advance(state, table, 9, recorder).verdict == "converged"
    assert (state.k, recorder.count) == (6, 1)
    close(state.w, wanted)


@each
def test_it_stops_where_a_record_exceeds_the_limit(name, p):
    b = p.whole_batch(20)
    recorder, state = Recorder(np.array([0, 4, 7]), limit2=0.0), at_rest(p)
    recorder.cursor[0] = 1
    verdict = engine_of(name, p, b).advance(state, table_for(p, 9, b), 9, recorder).verdict
    assert (verdict, state.k, recorder.count) == ("diverged", 4, 1)


@each
def test_divergence_leaves_the_last_finite_iterate(name, p):
    if p.loss.name != "squared":
        return  # other slopes grow too slowly, or not at all
    T, b = 400, p.whole_batch(20)
    wild = Schedule(np.full(T, 1e4), np.full(T, 0.5), np.zeros(T))
    state = at_rest(p)
    assert engine_of(name, p, b).advance(state, wild, T, nothing()).verdict == "diverged"
    assert 0 < state.k == state.row < T
    assert np.isfinite(state.w).all()
    with np.errstate(all="ignore"):
        w, v = by_hand(p, wild, b, steps=state.k)[-1]
        g = p.batch_gradient(w, sampling.batch(SEED, state.k, p.units, p.units_in(b)))
    assert not np.isfinite(norm2(g, 1.0))
    np.testing.assert_allclose(state.w, w, rtol=1e-6)
    np.testing.assert_allclose(state.v, v, rtol=1e-6)


# -- runs: with every method, and as somebody's own --------------------------------------------


class Watched:
    """An engine of somebody's own around the one that is tested; counts its steps."""

    def __init__(self, name):
        self.name, self.steps = name, 0

    def __call__(self, problem, b, seed, mode):
        watch = self

        class Own(engines.TableEngine):
            def __init__(self):
                self.problem = problem
                self.inner = engines.REGISTRY[watch.name](problem, b, seed, mode)
                self.grain, self.record = self.inner.grain, self.inner.record

            def look(self, w):
                return self.inner.look(w)

            def advance(self, state, steps, stop, recorder, goal=engines.ANY):
                before = state.k
                report = self.inner.advance(state, steps, stop, recorder, goal)
                watch.steps += state.k - before
                return report

        return Own()


def noisy():
    X, y, _ = bocce.data.regression(n=400, d=6, kappa=50.0, noise_var=0.5)
    return bocce.LeastSquares(X, y, l2=1e-3)


@each
@pytest.mark.parametrize("method", registry())
def test_every_method_runs(name, method):
    p, own = noisy(), Watched(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 40 steps are one stage, and multistage says so
        r = bocce.minimize(p, method, T=40, batch_size=300, engine=own)
        s = bocce.minimize(p, method, T=40, batch_size=300, engine="reference")
    assert (r.status, r.n_iter) == (s.status, s.n_iter)
    np.testing.assert_allclose(r.w, s.w, atol=1e-9)
    np.testing.assert_allclose(r.history["grad_norm"], s.history["grad_norm"], rtol=1e-6, atol=1e-9)
    assert own.steps == (40 if method in SCHEDULES else 0)  # others bring their own loop


@each
def test_auto_without_a_number_of_steps(name):
    p, own = noisy(), Watched(name)
    r = bocce.minimize(p, tol=1e-8, batch_size=20, engine=own)
    assert r.status == "converged"
    assert own.steps > 0
    assert sum(stage.steps for stage in r.stages) == r.n_iter >= own.steps
    assert np.linalg.norm(p.gradient(r.w)) <= 1.01e-8 * np.linalg.norm(p.gradient(np.zeros(6)))


@each
@pytest.mark.parametrize("asked", [{"T": 200}, {"tol": 1e-9}], ids=["T", "without T"])
def test_checkpoints_go_on_bit_for_bit(name, asked, tmp_path):
    p, path = noisy(), tmp_path / "run.npz"
    asked = {**asked, "batch_size": 40, "engine": engines.REGISTRY[name]}
    whole = bocce.minimize(p, **asked)
    stops = {whole.history["k"][i] for i in (1, len(whole.history["k"]) // 2)}
    for stop in sorted(stops):
        cut = bocce.minimize(
            p, **asked, checkpoint=path, callback=lambda at, stop=stop: at.k == stop
        )
        assert cut.n_iter == stop < whole.n_iter
    rest = bocce.minimize(p, **asked, checkpoint=path)
    assert np.array_equal(rest.w, whole.w)
    assert rest.n_iter == whole.n_iter
    for column, numbers in whole.history.items():
        assert np.array_equal(rest.history[column], numbers), column


@each
def test_divergence_is_a_result_and_the_guard_helps(name):
    p, make = noisy(), engines.REGISTRY[name]
    wild = bocce.schedules.nesterov(300, L=0.1 * p.constants().L, mu=0.5)
    assert bocce.minimize(p, wild, batch_size=300, engine=make).status == "diverged"
    r = bocce.minimize(p, bocce.policies.guard(wild), batch_size=300, engine=make)
    assert r.status == "finished"
    assert p.value(r.w) < p.value(np.zeros(6))
