"""SHB where an optimizer of torch stood: schedulers drive lr, weight decay, unknown keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import quadratic
import torch
from test_torch_reference import loss_at, parameter
from torch.optim import lr_scheduler

from bocce.schedules import Schedule
from bocce.torch import SHB

LR = 0.4
Rates = list[float]


def run(optimizer: SHB, w: torch.nn.Parameter, scheduler: Any, seen: Any) -> tuple[Rates, Any]:
    """The lr that each step was taken with, and the iterates."""
    rates, path = [], []
    for k in range(optimizer.param_groups[0]["schedule"].T):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.zero_grad()
        loss = loss_at(w, k)
        loss.backward()
        optimizer.step()
        scheduler.step(*seen(float(loss.detach())))
        with optimizer.eval_params():
            path.append(w.detach().numpy().copy())
    return rates, np.array(path)


SCHEDULERS: dict[str, Callable[[SHB], Any]] = {
    "plateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=0.5, patience=3),
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=quadratic.T, eta_min=0.01),
    "warm-up from 0": lambda o: lr_scheduler.LambdaLR(o, lambda k: min(1.0, k / 10)),
    "one cycle": lambda o: lr_scheduler.OneCycleLR(
        o, max_lr=LR, total_steps=quadratic.T + 1, cycle_momentum=False
    ),
}


@pytest.mark.parametrize("method", ["2p-shb", "nesterov-exp", "auto"])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_scheduler_makes_another_table(name: str, method: str) -> None:
    """The run with lr_k is the reference's with (lr_k alpha_k, beta_k, theta_k)."""
    schedule = quadratic.all_schedules()[method]
    w = parameter()
    optimizer = SHB([w], schedule, lr=LR)
    scheduler = SCHEDULERS[name](optimizer)
    rates, path = run(optimizer, w, scheduler, lambda loss: (loss,) if name == "plateau" else ())
    assert len(set(rates)) >= 3
    assert max(rates) <= LR
    tiny = np.maximum(rates, 1e-300)  # a table has no step of 0
    driven = Schedule(tiny * schedule.alpha, schedule.beta, schedule.theta)
    assert np.abs(path - quadratic.reference(driven)[1:]).max() <= 1e-12


def test_one_cycle_leaves_the_momentum_to_the_schedule() -> None:
    optimizer = SHB([parameter()], quadratic.all_schedules()["shb"])
    with pytest.raises(ValueError, match=r"must support momentum .*`cycle_momentum`"):
        lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)


def test_optimizer_and_scheduler_resume_bit_for_bit() -> None:
    schedule = quadratic.all_schedules()["nesterov-exp"]

    def made(w: torch.nn.Parameter) -> tuple[SHB, Any]:
        optimizer = SHB([w], schedule, lr=LR, weight_decay=0.01)
        return optimizer, SCHEDULERS["cosine"](optimizer)

    def steps(w: torch.nn.Parameter, optimizer: SHB, scheduler: Any, ks: range) -> None:
        for k in ks:
            optimizer.zero_grad()
            loss_at(w, k).backward()
            optimizer.step()
            scheduler.step()

    whole, first = parameter(), parameter()
    steps(whole, *made(whole), range(60))
    optimizer, scheduler = made(first)
    steps(first, optimizer, scheduler, range(25))
    second = torch.nn.Parameter(first.detach().clone())
    resumed, its_scheduler = made(second)
    resumed.load_state_dict(optimizer.state_dict())
    its_scheduler.load_state_dict(scheduler.state_dict())
    steps(second, resumed, its_scheduler, range(25, 60))
    assert torch.equal(second, whole)


@pytest.mark.parametrize("bad", [float("nan"), -0.1, float("inf")])
def test_an_lr_that_no_step_can_take_is_refused(bad: float) -> None:
    w = parameter()
    optimizer = SHB([w], quadratic.all_schedules()["shb"])
    loss_at(w, 0).backward()
    optimizer.param_groups[0]["lr"] = bad
    with pytest.raises(ValueError, match=r"SHB\.step: lr=.* must be a finite number >= 0; check"):
        optimizer.step()
    assert torch.equal(w.detach(), torch.tensor(quadratic.start()))


# -- weight decay --------------------------------------------------------------------------------


def bare_loss(w: torch.Tensor, k: int) -> torch.Tensor:
    """The batch's loss without the penalty."""
    X, y = (torch.tensor(part) for part in quadratic.batch(k))
    return 0.5 * ((X @ w - y) ** 2).mean()


@pytest.mark.parametrize("foreach", [True, False])
@pytest.mark.parametrize("name", sorted(quadratic.all_schedules()))
def test_weight_decay_is_the_penalty(name: str, foreach: bool) -> None:
    """Coupled: as if l2 |w|^2/2 stood in the loss, at the point where the gradient is taken."""
    schedule = quadratic.all_schedules()[name]
    w = parameter()
    optimizer = SHB([w], schedule, weight_decay=quadratic.problem().l2, foreach=foreach)
    path = []
    for k in range(schedule.T):
        optimizer.zero_grad()
        bare_loss(w, k).backward()
        gradient = w.grad.clone()
        optimizer.step()
        assert torch.equal(w.grad, gradient)  # .grad is the caller's
        with optimizer.eval_params():
            path.append(w.detach().numpy().copy())
    assert np.abs(np.array(path) - quadratic.reference(schedule)[1:]).max() <= 1e-12


@pytest.mark.parametrize("maximize", [False, True])
def test_one_step_of_weight_decay_is_that_of_torch_sgd(maximize: bool) -> None:
    start = torch.tensor([1.0, -2.0], dtype=torch.float64)
    slope = torch.tensor([0.3, 0.1], dtype=torch.float64)
    ends = []
    for make in (
        lambda ws: SHB(ws, Schedule([0.5], [0.0], [0.0]), weight_decay=0.2, maximize=maximize),
        lambda ws: torch.optim.SGD(ws, lr=0.5, weight_decay=0.2, maximize=maximize),
    ):
        w = torch.nn.Parameter(start.clone())
        w.grad = slope.clone()
        make([w]).step()
        ends.append(w.detach())
    assert torch.allclose(*ends, rtol=1e-15, atol=0)
    sign = 1.0 if maximize else -1.0
    assert torch.allclose(ends[0], start + 0.5 * (sign * slope - 0.2 * start), rtol=1e-15, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64])
def test_weight_decay_is_the_same_together_and_each(dtype: torch.dtype) -> None:
    schedule = quadratic.all_schedules()["nesterov"]
    ends = []
    for foreach in (True, False):
        generator = torch.Generator().manual_seed(0)
        w = torch.nn.Parameter(torch.randn(50, generator=generator).to(dtype))
        optimizer = SHB([w], schedule, weight_decay=0.3, foreach=foreach)
        for _ in range(20):
            optimizer.zero_grad()
            (w.abs() ** 2).sum().backward()
            optimizer.step()
        ends.append(w.detach())
    assert torch.equal(*ends)


# -- groups --------------------------------------------------------------------------------------


def test_unknown_keys_of_a_group_are_refused() -> None:
    schedule = quadratic.all_schedules()["shb"]
    with pytest.raises(ValueError, match=r"SHB: a group has the key 'momentum', must be one of"):
        SHB([{"params": [parameter()], "momentum": 0.9}], schedule)
    with pytest.raises(ValueError, match=r"'weight_decy', .*did you mean 'weight_decay'\?"):
        SHB([parameter()], schedule).add_param_group({"params": [parameter()], "weight_decy": 0.1})
    with pytest.raises(ValueError, match=r"a group has the key 'guard', .*leave it out"):
        SHB([{"params": [parameter()], "guard": True}], schedule)


def test_what_torch_itself_writes_into_a_group_is_known() -> None:
    """A new optimizer may be made of the groups of another that a scheduler has driven."""
    schedule = quadratic.all_schedules()["shb"]
    first = SHB([parameter()], schedule, lr=LR)
    SCHEDULERS["one cycle"](first)
    second = SHB(first.param_groups, schedule)
    assert {"initial_lr", "max_lr", "min_lr"} <= set(second.param_groups[0])
    assert second.param_groups[0]["lr"] == first.param_groups[0]["lr"]
