"""The line search follows the reference engine's, on closures of both kinds."""

from __future__ import annotations

import io
import math
from collections.abc import Callable

import numpy as np
import pytest
import quadratic
import torch
from test_torch_reference import loss_at, parameter

from bocce import policies
from bocce.torch import SLS

T, B = 60, 6
POLICIES = [policies.sgd_sls_exponential(T), policies.shb_sls_exponential(T, mu=0.2)]


def closure_of(
    optimizer: SLS, w: torch.nn.Parameter, k: int, set_to_none: bool = True
) -> Callable[[], torch.Tensor]:
    def closure() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=set_to_none)
        loss = loss_at(w, k, B)
        loss.backward()
        return loss

    return closure


@pytest.mark.parametrize("spare", [True, False])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_the_search_follows_the_reference(policy: policies.LineSearchPolicy, spare: bool) -> None:
    path = quadratic.reference(policy, B)
    w = parameter()
    optimizer = SLS([w], policy)
    accepted = []
    for k in range(T):
        loss_only = (lambda k=k: loss_at(w, k, B)) if spare else None
        loss = optimizer.step(closure_of(optimizer, w, k, set_to_none=False), loss_only)
        expected = float(loss_at(torch.tensor(path[k]), k, B))
        assert float(loss.detach()) == pytest.approx(expected, rel=1e-11)
        assert np.abs(w.detach().numpy() - path[k + 1]).max() <= 1e-12
        accepted.append(optimizer.s)
    assert len(set(accepted)) >= 2  # the search did search, and not only at the start
    assert accepted == sorted(accepted, reverse=True)


def test_on_a_quadratic_the_test_accepts_exactly_one_over_the_curvature() -> None:
    w = torch.nn.Parameter(torch.tensor([3.0], dtype=torch.float64))
    for curvature in (0.9, 1.1, 7.0, 250.0):
        optimizer = SLS([w], policies.sgd_sls_exponential(2))

        def closure(h: float = curvature, optimizer: SLS = optimizer) -> torch.Tensor:
            optimizer.zero_grad()
            loss = 0.5 * h * w.square().sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        backtracks = max(0, math.ceil(math.log(1 / curvature) / math.log(0.7)))
        assert optimizer.s == pytest.approx(0.7**backtracks)


def test_in_single_precision_the_floor_of_the_loss_does_not_end_the_search() -> None:
    """At the minimum of 1 + w^2/2 every decrease drowns in rounding; s must not collapse."""
    w = torch.nn.Parameter(torch.full((3,), 1e-4))
    optimizer = SLS([w], policies.sgd_sls_exponential(20))

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = 1.0 + 0.5 * w.square().sum()
        loss.backward()
        return loss

    for _ in range(20):
        optimizer.step(closure)
    assert optimizer.s == 1.0
    assert w.abs().max() < 1e-5


def test_a_saved_search_goes_on_bit_for_bit() -> None:
    w, twin = parameter(), parameter()
    optimizer = SLS([w], POLICIES[1])
    for k in range(20):
        optimizer.step(closure_of(optimizer, w, k))
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    resumed = SLS([twin], policies.sgd_sls_exponential(2))
    resumed.load_state_dict(torch.load(file, weights_only=True))
    twin.data.copy_(w)
    for k in range(20, T):
        optimizer.step(closure_of(optimizer, w, k))
        resumed.step(closure_of(resumed, twin, k))
    assert torch.equal(w, twin)
    with pytest.raises(RuntimeError, match=r"SLS\.step: the policy ended at T=60"):
        resumed.step(closure_of(resumed, twin, 0))


def test_bad_arguments_are_refused() -> None:
    w = [torch.nn.Parameter(torch.ones(1))]
    with pytest.raises(TypeError, match=r"SLS: policy=10 must be a line search; make one with"):
        SLS(w, 10)
    with pytest.raises(ValueError, match=r"search='independent' must be 'same'"):
        SLS(w, policies.sgd_sls_exponential(10, search="independent"))
    with pytest.raises(ValueError, match="a second parameter group was given"):
        SLS([{"params": w}, {"params": [torch.nn.Parameter(torch.ones(1))]}], POLICIES[0])
    optimizer = SLS(w, POLICIES[0])
    with pytest.raises(ValueError, match="must be a finite loss as a tensor"):
        optimizer.step(lambda: torch.tensor(float("nan")))
    other = torch.optim.SGD(w, lr=0.1).state_dict()
    with pytest.raises(ValueError, match="has no policy, so another optimizer"):
        optimizer.load_state_dict(other)
    embedding = torch.nn.Embedding(5, 2, sparse=True)
    sparse = SLS(embedding.parameters(), POLICIES[0])

    def closure() -> torch.Tensor:
        loss = embedding(torch.tensor([1])).square().sum()
        loss.backward()
        return loss

    with pytest.raises(RuntimeError, match=r"SLS\.step: a gradient of shape \(5, 2\) has layout"):
        sparse.step(closure)
