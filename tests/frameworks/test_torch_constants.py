"""Estimated curvature and noise against closed forms and dense Hessians."""

from __future__ import annotations

import math

import numpy as np
import pytest
import quadratic
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce import schedules
from bocce.torch import SHB, estimate_constants


def half_square(z: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return 0.5 * (z.squeeze(-1) - y).square().mean()


def linear_model() -> tuple[torch.nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    p = quadratic.problem()
    model = torch.nn.Linear(p.d, 1, bias=False).double()
    model.weight.data.copy_(torch.tensor(quadratic.start()))
    return model, (torch.tensor(p.X), torch.tensor(p.y))


def test_least_squares_has_the_problems_own_constants() -> None:
    model, batch = linear_model()
    p = quadratic.problem()
    eigenvalues = np.linalg.eigvalsh(p.gram)
    found = estimate_constants(model, half_square, batch, smallest=True, rows=p.n)
    assert pytest.approx(eigenvalues[-1], rel=1e-12) == found.L
    assert found.mu == pytest.approx(eigenvalues[0], rel=1e-10)
    assert found.L_max == pytest.approx(p.rows.norms2.max(), rel=1e-12)


def test_after_one_step_the_estimate_is_the_rayleigh_quotient_plus_its_residual() -> None:
    model, batch = linear_model()
    q = torch.randn(quadratic.D, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    q = q.numpy() / np.linalg.norm(q.numpy())
    image = quadratic.problem().gram @ q
    residual = np.linalg.norm(image - (q @ image) * q)
    found = estimate_constants(model, half_square, batch, steps=1, seed=7)
    assert pytest.approx(q @ image + residual, rel=1e-12) == found.L
    assert residual > 0.1


@pytest.mark.parametrize("s", [1, 4, 7, 30])
def test_the_noise_is_the_sample_variance_of_small_batches(s: int) -> None:
    model, (X, y) = linear_model()
    found = estimate_constants(model, half_square, (X, y), small_batch=s)
    assert (found.mu, found.L_max) == (None, None)
    count = len(X) // s
    w = quadratic.start()
    rows = X.numpy() * (X.numpy() @ w - y.numpy())[:, None]
    means = rows[: count * s].reshape(count, s, -1).mean(axis=1)
    variance = s * ((means - means.mean(0)) ** 2).sum() / (count - 1)
    gradient2 = (means.mean(0) ** 2).sum() - variance / (count * s)
    assert found.variance == pytest.approx(variance, rel=1e-10)
    assert found.gradient2 == pytest.approx(gradient2, rel=1e-9)
    assert found.noise_scale == pytest.approx(variance / gradient2, rel=1e-9)


def tanh_network() -> torch.nn.Module:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(3, 6), torch.nn.BatchNorm1d(6), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(6, 1)).double()


def dense_hessian(model: torch.nn.Module, X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    names = [name for name, _ in model.named_parameters()]
    shapes = [p.shape for p in model.parameters()]

    def loss(flat: torch.Tensor) -> torch.Tensor:
        parts = torch.split(flat, [math.prod(shape) for shape in shapes])
        values = {n: part.view(shape) for n, part, shape in zip(names, parts, shapes)}
        return half_square(torch.func.functional_call(model, values, (X,)), y)

    flat = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    return torch.autograd.functional.hessian(loss, flat)


@settings(max_examples=10, deadline=None)
@given(steps=st.integers(1, 45), seed=st.integers(0, 100))
def test_a_networks_extremes(steps: int, seed: int) -> None:
    """L is above its own Ritz value and, with enough steps, the largest eigenvalue itself."""
    model = tanh_network().eval()
    generator = torch.Generator().manual_seed(2)
    X = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    y = torch.randn(20, generator=generator, dtype=torch.float64)
    eigenvalues = torch.linalg.eigvalsh(dense_hessian(model, X, y))
    found = estimate_constants(model, half_square, (X, y), steps=steps, seed=seed, smallest=True)
    assert found.mu >= float(eigenvalues[0]) - 1e-9
    if steps >= 30:
        assert pytest.approx(float(eigenvalues[-1]), rel=1e-6) == found.L
        assert found.mu == pytest.approx(float(eigenvalues[0]), abs=1e-6)
    if steps >= 8:
        assert float(eigenvalues[-1]) * (1 - 1e-9) <= found.L


def test_the_model_is_left_as_it_was() -> None:
    model = tanh_network().train()
    model[0].weight.requires_grad_(False)
    X = torch.randn(16, 3, dtype=torch.float64)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found = estimate_constants(model, half_square, (X, torch.ones(16).double()), rows=0)
    assert found.L > 0
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
    assert model.training


def test_a_linear_loss_has_no_curvature() -> None:
    model, (X, y) = linear_model()
    found = estimate_constants(model, lambda z, y: z.mean(), (X, y))
    assert found.L == 0.0


def test_the_estimates_make_a_schedule_that_converges() -> None:
    """What the docs show: constants -> schedules.auto -> SHB."""
    model, (X, y) = linear_model()
    found = estimate_constants(model, half_square, (X, y), smallest=True, rows=20)
    schedule = schedules.auto(
        T=200, L=found.L, mu=found.mu, L_max=found.L_max, n=len(X), b=len(X), family="shb"
    )
    optimizer = SHB(model.parameters(), schedule)
    for _ in range(200):
        optimizer.zero_grad()
        half_square(model(X), y).backward()
        optimizer.step()
    expected = np.linalg.lstsq(X.numpy(), y.numpy(), rcond=None)[0]
    assert np.abs(model.weight.detach().numpy()[0] - expected).max() < 1e-6


def test_bad_arguments_are_refused() -> None:
    model, (X, y) = linear_model()
    with pytest.raises(ValueError, match=r"small_batch=31 must be an integer from 1 to 30; two"):
        estimate_constants(model, half_square, (X, y), small_batch=31)
    with pytest.raises(ValueError, match=r"rows of batch=1 .*noise needs two rows"):
        estimate_constants(model, half_square, (X[:1], y[:1]))
    with pytest.raises(ValueError, match="has no parameter with requires_grad=True"):
        estimate_constants(torch.nn.Identity(), half_square, (X, y))
    with pytest.raises(TypeError, match="a parameter is complex, must be real"):
        estimate_constants(torch.nn.Linear(5, 1, dtype=torch.complex128), half_square, (X, y))
