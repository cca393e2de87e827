"""SHB follows the reference engine step by step, on every schedule."""

from __future__ import annotations

import numpy as np
import pytest
import quadratic
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce.schedules import Schedule
from bocce.torch import SHB

NAMES = sorted(quadratic.all_schedules())


def loss_at(w: torch.Tensor, k: int, b: int = quadratic.B) -> torch.Tensor:
    X, y = (torch.tensor(part) for part in quadratic.batch(k, b))
    return 0.5 * ((X @ w - y) ** 2).mean() + 0.5 * quadratic.problem().l2 * (w @ w)


def run(optimizer: SHB, w: torch.nn.Parameter, steps: range) -> list[np.ndarray]:
    """The iterate after each step."""
    path = []
    for k in steps:
        optimizer.zero_grad()
        loss_at(w, k).backward()
        optimizer.step()
        with optimizer.eval_params():
            path.append(w.detach().numpy().copy())
    return path


def parameter() -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.tensor(quadratic.start()))


@pytest.mark.parametrize("foreach", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_every_schedule_follows_the_reference(name: str, foreach: bool) -> None:
    schedule = quadratic.all_schedules()[name]
    w = parameter()
    path = run(SHB([w], schedule, foreach=foreach), w, range(schedule.T))
    expected = quadratic.reference(schedule)[1:]
    assert np.abs(np.array(path) - expected).max() <= 1e-12
    # without a context manager: the last step leaves the iterate in the parameters
    assert np.abs(w.detach().numpy() - expected[-1]).max() <= 1e-12


def test_the_registry_has_lookahead_and_restarts() -> None:
    tables = quadratic.all_schedules().values()
    assert any(s.theta.max() > 0 for s in tables)
    assert any((s.beta[1:] == 0).any() and s.beta.max() > 0 for s in tables)


def test_torch_sgd_is_another_method_when_alpha_varies() -> None:
    """Why bocce keeps v = w - w_prev: the same numbers in torch's form give other iterates."""
    schedule = quadratic.all_schedules()["2p-shb"]
    w = parameter()
    sgd = torch.optim.SGD([w], lr=1.0, momentum=0.5)
    for k in range(schedule.T):
        sgd.zero_grad()
        loss_at(w, k).backward()
        sgd.param_groups[0].update(lr=float(schedule.alpha[k]), momentum=float(schedule.beta[k]))
        sgd.step()
    assert np.abs(w.detach().numpy() - quadratic.reference(schedule)[-1]).max() > 1e-3


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.floats(1e-3, 0.3), st.floats(0, 0.95), st.floats(0, 3)),
        min_size=1,
        max_size=12,
    )
)
def test_any_table_follows_the_reference(rows: list[tuple[float, float, float]]) -> None:
    schedule = Schedule(*np.array(rows).T)
    w = parameter()
    path = np.array(run(SHB([w], schedule), w, range(schedule.T)))
    expected = quadratic.reference(schedule)[1:]
    assert np.abs(path - expected).max() <= 1e-12 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("name", ["2p-shb", "mass"])
def test_foreach_equals_the_plain_loop_bit_for_bit_in_mixed_dtypes(name: str) -> None:
    schedule = quadratic.all_schedules()[name]
    dtypes = [torch.float32, torch.float64, torch.bfloat16, torch.complex64, torch.complex128]
    results = []
    for foreach in (True, False):
        generator = torch.Generator().manual_seed(0)
        ws = [
            torch.nn.Parameter(torch.randn(3, 4, generator=generator).to(dtype))
            for dtype in dtypes * 2
        ]
        optimizer = SHB(ws, schedule, foreach=foreach, fused=False)
        for _ in range(20):
            optimizer.zero_grad()
            sum((w.abs() ** 2).sum().double() for w in ws).backward()
            optimizer.step()
        assert [w.dtype for w in ws] == dtypes * 2
        assert [optimizer.state[w]["velocity"].dtype for w in ws] == dtypes * 2
        results.append([w.detach().clone() for w in ws])
    assert all(torch.equal(a, b) for a, b in zip(*results))
    assert not torch.equal(results[0][0], results[0][5])


def test_complex_parameters_are_two_real_ones() -> None:
    """f(z) = |Az - b|^2/2 in C is the same least squares in R^2."""
    schedule = quadratic.all_schedules()["nesterov"]
    generator = torch.Generator().manual_seed(1)
    A = 0.3 * torch.randn(4, 3, generator=generator, dtype=torch.complex128)
    b = torch.randn(4, generator=generator, dtype=torch.complex128)
    z = torch.nn.Parameter(torch.zeros(3, dtype=torch.complex128))
    pair = torch.nn.Parameter(torch.zeros(3, 2, dtype=torch.float64))
    for optimizer, point in (
        (SHB([z], schedule), lambda: z),
        (SHB([pair], schedule), lambda: torch.view_as_complex(pair)),
    ):
        for _ in range(schedule.T):
            optimizer.zero_grad()
            (0.5 * (A @ point() - b).abs().square().sum()).backward()
            optimizer.step()
    assert torch.allclose(torch.view_as_real(z.detach()), pair.detach(), rtol=0, atol=1e-13)
    assert z.detach().abs().max() > 0.1


def test_maximize_is_the_negative_problem() -> None:
    schedule = quadratic.all_schedules()["auto"]
    down, up = parameter(), parameter()
    minimiser, maximiser = SHB([down], schedule), SHB([up], schedule, maximize=True)
    for k in range(schedule.T):
        minimiser.zero_grad()
        maximiser.zero_grad()
        loss_at(down, k).backward()
        (-loss_at(up, k)).backward()
        minimiser.step()
        maximiser.step()
    assert torch.equal(down, up)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("name", ["shb", "2p-shb", "multi-shb authors", "sgd-exp"])
def test_the_fused_kernel_takes_the_steps_of_the_loop(name: str, maximize: bool) -> None:
    """float32, weight decay, restarts (beta = 0), a rate of 0: step by step, to rounding."""
    schedule = quadratic.all_schedules()[name]
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(shape, generator=generator) for shape in ((7, 5), (5,), (3, 1, 2))]
    walks = []
    for fused in (True, False):
        ws = [torch.nn.Parameter(w.clone()) for w in start]
        options = {"weight_decay": 0.1, "maximize": maximize, "fused": fused}
        walks.append((ws, SHB(ws, schedule, **options)))
    generator = torch.Generator().manual_seed(1)
    for k in range(schedule.T):
        slopes = [torch.randn(w.shape, generator=generator) for w in start]
        for ws, optimizer in walks:
            optimizer.param_groups[0]["lr"] = 0.0 if k == 5 else 1.0
            for w, slope in zip(ws, slopes):
                w.grad = slope.clone()
            optimizer.step()
            assert all(torch.equal(w.grad, slope) for w, slope in zip(ws, slopes))
        for one, other in zip(walks[0][0], walks[1][0]):
            assert torch.allclose(one, other, rtol=1e-5, atol=1e-5)


def test_heavy_ball_in_float32_uses_the_fused_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    kernel = torch._fused_sgd_
    monkeypatch.setattr(torch, "_fused_sgd_", lambda *a, **k: (calls.append(1), kernel(*a, **k)))
    for dtype, fused in ((torch.float32, True), (torch.float32, False), (torch.float64, True)):
        w = torch.nn.Parameter(torch.ones(3, dtype=dtype))
        w.grad = torch.ones(3, dtype=dtype)
        SHB([w], quadratic.all_schedules()["shb"], fused=fused).step()
    assert len(calls) == 1
