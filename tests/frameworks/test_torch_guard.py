"""The guard brings a run with a step far too large back, counts it and says so."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import quadratic
import torch
from test_torch_reference import loss_at, parameter

from bocce import schedules
from bocce.torch import SHB, guard


def too_fast(factor: float, T: int = 400) -> schedules.Schedule:
    c = quadratic.problem().constants()
    return schedules.shb(T, L=c.L / factor, mu=min(c.mu, c.L / factor))


def run(optimizer: SHB, w: torch.nn.Parameter, steps: range) -> None:
    for k in steps:
        optimizer.zero_grad()
        loss = loss_at(w, k)
        loss.backward()
        optimizer.step(loss=loss)


@pytest.mark.parametrize("factor", [8.0, 64.0, 1024.0])
def test_a_step_far_too_large_is_halved_until_the_run_converges(factor: float) -> None:
    p = quadratic.problem()
    best = p.value(p.minimiser())
    alone, guarded = parameter(), parameter()
    run(SHB([alone], too_fast(factor)), alone, range(400))
    alone_gap = float(loss_at(alone, 0).detach()) - best
    assert not alone_gap < 1e6  # without the guard this diverges
    optimizer = SHB([guarded], too_fast(factor), guard=True)
    with pytest.warns(RuntimeWarning, match="the loss blew up .*the step is halved"):
        run(optimizer, guarded, range(400))
    start = p.value(quadratic.start()) - best
    assert p.value(guarded.detach().numpy()) - best < 0.01 * start
    assert optimizer.restores >= 2
    assert optimizer.param_groups[0]["lr"] == 1.0
    assert optimizer.param_groups[0]["k"] == 400


def test_a_run_that_needs_no_guard_is_left_alone() -> None:
    schedule = quadratic.all_schedules()["auto"]
    plain, guarded = parameter(), parameter()
    optimizer = SHB([guarded], schedule, guard=True)
    run(SHB([plain], schedule), plain, range(schedule.T))
    run(optimizer, guarded, range(schedule.T))
    assert torch.equal(plain, guarded)
    assert optimizer.restores == 0


def test_nan_restores_the_best_parameters_exactly_and_at_rest() -> None:
    schedule = quadratic.all_schedules()["nesterov"]
    w = parameter()
    optimizer = SHB([w], schedule, guard=True)
    before = []
    for k in range(10):
        optimizer.zero_grad()
        loss = loss_at(w, k)
        loss.backward()
        before.append(w.detach().clone())
        optimizer.step(loss=loss)
    with pytest.warns(RuntimeWarning, match="restore 1"):
        optimizer.step(loss=torch.tensor(float("nan")))
    assert any(torch.equal(w, point) for point in before)
    assert not optimizer.state[w]["velocity"].any()
    with optimizer.eval_params():
        assert any(torch.equal(w, point) for point in before)


def test_a_saved_guard_goes_on_and_shares_nothing() -> None:
    w = parameter()
    optimizer = SHB([w], too_fast(64.0), guard=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(optimizer, w, range(40))
        saved = copy.deepcopy(optimizer.state_dict())
        twin = torch.nn.Parameter(w.detach().clone())
        resumed = SHB([twin], too_fast(1.0))
        resumed.load_state_dict(saved)
        run(resumed, twin, range(40, 120))
        remembered = saved["param_groups"][0]["memory"]
        assert remembered == optimizer.param_groups[0]["memory"]
        snapshot = optimizer.state_dict()["param_groups"][0]["memory"]
        run(optimizer, w, range(40, 120))
    assert torch.equal(w, twin)
    assert resumed.restores == optimizer.restores > 0
    assert snapshot == remembered != optimizer.param_groups[0]["memory"]


def verdicts(losses: np.ndarray) -> list[bool]:
    memory, found = guard.fresh(), []
    w = {parameter(): {}}
    for loss in losses:
        found.append(guard.blown_up(memory, float(loss)))
        guard.remember(memory, w)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_is_no_blow_up(seed: int) -> None:
    """Losses of single rows: exponential, with a deviation as large as their mean."""
    noise = np.random.default_rng(seed).exponential(size=2000)
    losses = np.minimum(noise, 3.9)  # one loss beyond 4 times the first would be one, rightly
    losses[0] = 1.0
    assert not any(verdicts(losses))
    assert not any(verdicts(losses * np.geomspace(1.0, 1e-3, 2000)))


def test_a_plateau_that_loses_what_was_gained_is_a_blow_up() -> None:
    """A network thrown to chance level: no loss is beyond 4 times the first."""
    noise = 0.05 * np.random.default_rng(0).standard_normal(130)
    losses = np.concatenate([np.linspace(2.3, 0.5, 80), np.full(50, 2.4)]) + noise
    found = verdicts(losses)
    assert not any(found[:80])
    assert any(found[80:120])


def test_the_guard_needs_a_usable_loss() -> None:
    w = parameter()
    optimizer = SHB([w], too_fast(1.0), guard=True)
    loss_at(w, 0).backward()
    with pytest.raises(ValueError, match=r"guard=True needs the loss .*step\(closure\)"):
        optimizer.step()
    with pytest.raises(ValueError, match=r"first loss=-1\.0 must be finite and >= 0"):
        optimizer.step(loss=-1.0)
    assert torch.equal(w.detach(), torch.tensor(quadratic.start()))
    optimizer.step(lambda: loss_at(w, 0))
    assert SHB([parameter()], too_fast(1.0)).restores == 0
    with pytest.raises(ValueError, match="guard=True must go with maximize=False"):
        SHB([{"params": [parameter()], "maximize": True}], too_fast(1.0), guard=True)
