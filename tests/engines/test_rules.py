"""Compiled rules step as their readable twins do: the reference engine, asking ``Line``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import bocce
from bocce import engines, sampling
from bocce.control.policy import Policy
from bocce.engines import Recorder, State
from bocce.engines.numba import RuleEngine
from bocce.engines.reference import ReferenceEngine
from bocce.policies import momsps, ngn_m, sgd_sls_exponential, shb_sls_exponential
from bocce.problems import Frame, Problem
from helpers import accepted, design, limited

N, T = 30, 40
WEIGHTS = np.linspace(0.5, 2.0, N)
LOSSES = [name for name, loss in bocce.losses.REGISTRY.items() if not loss.multi_output]
POLICIES = {
    "sgd": sgd_sls_exponential(T),
    "sgd, a batch of its own": sgd_sls_exponential(T, search="independent"),
    "shb": shb_sls_exponential(T, mu=0.1),
    "shb, a batch of its own": shb_sls_exponential(T, mu=0.1, search="independent"),
    "other numbers": shb_sls_exponential(T, mu=0.05, tau=3.0, c=0.1, shrink=0.4, start=7.0),
    "momsps": momsps(T),
    "momsps, other numbers": momsps(T, beta=0.5, c=2.0, most=0.3, lower=-0.1),
    "ngn-m": ngn_m(T),
    "ngn-m, other numbers": ngn_m(T, beta=0.5, c=0.3, lower=-0.1),
}


def made(loss, X, **extras):
    return Problem(X, accepted(bocce.losses.loss_of("test", loss), X.shape[0]), loss, 0.1, **extras)


def framed():
    outer = limited(made("logistic", 5.0 + 30.0 * design("dense"), intercept=True), copied=0)
    return Frame.of(outer).problem(outer)


def empty_rows():
    X = design("csr").tolil()
    X[3] = 0.0
    return sp.csr_array(X)


ROWS = {
    "dense": lambda loss: made(loss, design("dense")),
    "float32": lambda loss: made(loss, design("float32")),
    "columns first": lambda loss: made(loss, np.asfortranarray(design("dense"))),
    "csr": lambda loss: made(loss, design("csr")),
    "csr with an empty row": lambda loss: made(loss, empty_rows()),
    "weighted": lambda loss: made(loss, design("dense"), sample_weight=WEIGHTS, intercept=True),
    "weighted csr": lambda loss: made(loss, design("csr"), sample_weight=WEIGHTS, intercept=True),
}


def nothing():
    return Recorder(np.zeros(0, dtype=np.int64))


def compare(p, policy, b, mode="independent", steps=T):
    """Each step from the twin's state, to 1e-12; and the whole run from its own start, more
    loosely, for long steps let rounding grow."""
    compiled, readable = RuleEngine(p, b, 5, mode), ReferenceEngine(p, b, 5, mode)
    theirs, alone = State.at_rest(np.zeros(p.width)), State.at_rest(np.zeros(p.width))
    for k in range(steps):
        ours = theirs.copy()
        assert compiled.advance(ours, policy, k + 1, nothing()).verdict == ""
        assert readable.advance(theirs, policy, k + 1, nothing()).verdict == ""
        close(ours.memory["policy"], theirs.memory["policy"], f"memory after step {k}")
        close(ours.w, theirs.w, f"w after step {k}")
        close(ours.v, theirs.v, f"v after step {k}")
        assert (ours.k, ours.row) == (k + 1, k + 1)
    assert compiled.advance(alone, policy, steps, nothing()).verdict == ""
    close(alone.w, theirs.w, "the whole run", 1e-9)


def close(found, wanted, where, room=1e-12):
    room *= max(1.0, np.abs(wanted).max(initial=0.0))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=room, err_msg=where)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_policy_with_every_loss(loss, policy):
    compare(ROWS["dense"](loss), policy, 8)


def often(loss):
    """Each pair of rows and loss takes seconds to compile: two losses meet all rows every time."""
    return loss if loss in ("squared", "logistic") else pytest.param(loss, marks=pytest.mark.slow)


@pytest.mark.parametrize("rows", [rows for rows in ROWS if rows != "float32"])
@pytest.mark.parametrize("loss", [often(loss) for loss in LOSSES])
def test_every_kind_of_rows_with_every_loss(rows, loss):
    compare(ROWS[rows](loss), POLICIES["shb"], 8)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_single_precision_rows(loss):
    compare(ROWS["float32"](loss), POLICIES["shb"], 8)


@pytest.mark.parametrize("mode", sampling.MODES)
@pytest.mark.parametrize("search", ["same", "independent"])
@pytest.mark.parametrize("b", [1, 7, 15, 16, N - 1, N])
def test_every_batch_size(b, search, mode):
    compare(ROWS["dense"]("logistic"), sgd_sls_exponential(T, search=search), b, mode)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_batches_of_several_blocks(kind):
    compare(made("logistic", design(kind, 200)), POLICIES["shb"], 150, steps=4)


def test_rows_in_other_units():
    compare(framed(), POLICIES["shb"], 9)
    compare(framed(), POLICIES["shb, a batch of its own"], 25)


class Lookahead(NamedTuple):
    """A rule from outside, with a gradient taken ahead and a function of its own."""

    beta: float

    def decide(rule, k, memory, line):
        step = halved(line, memory[0])
        return (step, rule.beta, rule.beta), (2.0 * step,)


def halved(line, s):
    while line.decrease(s) < 0.0:
        s = s / 2.0
    return s


@dataclass(frozen=True)
class Doubling(Policy):
    """A step that is doubled, then halved until the batch's objective does not rise."""

    T: int = T
    name: str = "doubling"
    search: str = "same"

    @property
    def rule(self):
        return Lookahead(0.3)

    def begin(self):
        return (1.0,)


@pytest.mark.parametrize("search", ["same", "independent"])
def test_a_rule_from_outside_with_lookahead(search):
    compare(ROWS["dense"]("huber"), Doubling(search=search), 8)


def test_a_loss_from_outside():
    class Cosh(NamedTuple):
        curvature = 1.0

        def value(loss, z, y):
            return np.log(np.cosh(z - y))

        def slope(loss, z, y):
            return np.tanh(z - y)

        def bend(loss, z, y):
            return 1.0 - np.tanh(z - y) ** 2

    try:
        cosh = bocce.losses.loss("cosh for a rule")(Cosh)()
        compare(made(cosh, design("dense")), POLICIES["shb"], 8)
    finally:
        del bocce.losses.REGISTRY["cosh for a rule"]


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_a_loss_that_is_defined_again_is_compiled_again(kind):
    """In a notebook the second class has the first one's name: its slope must be its own."""

    def scaled(size):
        class Again(NamedTuple):
            curvature = size

            def value(loss, z, y):
                return size * 0.5 * (z - y) ** 2

            def slope(loss, z, y):
                return size * (z - y)

            def bend(loss, z, y):
                return size + 0.0 * z

        return bocce.losses.loss("defined again")(Again)()

    try:
        for size in (1.0, 0.25):
            p = made(scaled(size), design(kind))
            compare(p, POLICIES["shb"], 8)
            found = [
                bocce.minimize(p, "sgd", T=5, batch_size=8, engine=engine).w
                for engine in ("compiled", "reference")
            ]
            np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-12)
    finally:
        del bocce.losses.REGISTRY["defined again"]


@pytest.mark.parametrize("rows", ["dense", "csr"])
def test_cut_runs_records_and_averages(rows):
    p, policy = ROWS[rows]("logistic"), POLICIES["shb, a batch of its own"]
    when = np.array([0, 3, 17, T], dtype=np.int64)
    whole, parts = State.at_rest(np.zeros(p.width)), State.at_rest(np.zeros(p.width))
    whole.tally, parts.tally = np.zeros(p.width), np.zeros(p.width)
    once, twice, theirs = Recorder(when), Recorder(when), Recorder(when)
    RuleEngine(p, 8, 5, "independent").advance(whole, policy, T, once)
    for stop in (1, 3, 20, T):
        RuleEngine(p, 8, 5, "independent").advance(parts, policy, stop, twice)
    for ours, other in [(whole.w, parts.w), (whole.tally, parts.tally), (once.value, twice.value)]:
        assert np.array_equal(ours, other)
    twin = State.at_rest(np.zeros(p.width))
    twin.tally = np.zeros(p.width)
    ReferenceEngine(p, 8, 5, "independent").advance(twin, policy, T, theirs)
    close(whole.tally, twin.tally, "tally")
    close(once.value, theirs.value, "records")
    close(once.grad2, theirs.grad2, "records")
    assert once.count == theirs.count == 3  # T itself is kept by the driver


class Wild(NamedTuple):
    step: float

    def decide(rule, k, memory, line):
        return (rule.step, 0.0, 0.0), memory


@dataclass(frozen=True)
class Blown(Policy):
    T: int = 10_000
    name: str = "blown"
    search: str = "same"

    @property
    def rule(self):
        return Wild(1e3)


@pytest.mark.parametrize("when", [[], [0, 20, 40, 80]])
def test_divergence_leaves_the_last_finite_iterate(when):
    p = ROWS["dense"]("squared")
    states = []
    for engine in (RuleEngine, ReferenceEngine):
        state = State.at_rest(np.zeros(p.width))
        recorder = Recorder(np.array(when, dtype=np.int64), limit2=1e30)
        assert engine(p, 8, 5, "independent").advance(state, Blown(), 10_000, recorder).verdict == (
            "diverged"
        )
        assert np.isfinite(state.w).all()
        states.append((state.k, recorder.count))
    assert states[0] == states[1]


def test_a_met_goal_ends_the_run():
    p = ROWS["dense"]("squared")
    state = State.at_rest(np.zeros(p.width))
    recorder = Recorder(np.arange(0, T, 5), goal2=1e6)
    engine = RuleEngine(p, 8, 5, "independent")
    assert engine.advance(state, POLICIES["sgd"], T, recorder).verdict == "converged"
    assert state.k == 0


def test_who_steps():
    p, policy = ROWS["dense"]("logistic"), POLICIES["sgd"]

    def kind(engine, p=p, steps=policy):
        return type(engines.make(engine, p, steps, 8, 0, "independent"))

    assert kind("compiled") is RuleEngine
    assert kind("reference") is ReferenceEngine
    several = Problem(design("dense"), np.arange(N) % 3, "softmax", 0.1)
    assert kind("compiled", several) is ReferenceEngine

    class InPython:
        T, name, begin, decide = T, "", policy.begin, policy.decide

    assert kind("compiled", p, InPython()) is ReferenceEngine


def test_a_run_goes_on_from_a_checkpoint_bit_for_bit(tmp_path):
    p, settings = ROWS["csr"]("logistic"), {"batch_size": 8, "seed": 1}
    whole = bocce.minimize(p, POLICIES["shb"], **settings)
    settings["checkpoint"] = tmp_path / "run.npz"
    cut = bocce.minimize(p, POLICIES["shb"], callback=lambda at: at.k == 17, **settings)
    rest = bocce.minimize(p, POLICIES["shb"], **settings)
    assert cut.n_iter == 17
    assert np.array_equal(rest.w, whole.w)
    assert np.array_equal(rest.history["grad_norm"], whole.history["grad_norm"])
