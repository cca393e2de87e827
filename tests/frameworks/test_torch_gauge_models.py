"""The gauge as users meet it: kinds of models and losses, and what the page says of them."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
import torch

from bocce.torch import Branches, Gauge
from bocce.torch.intervals import Interval
from bocce.torch.sentences import said

cross_entropy = torch.nn.functional.cross_entropy


class Letters(torch.nn.Module):
    """An LSTM that says which letter came first."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(12, 8)
        self.memory = torch.nn.LSTM(8, 16, batch_first=True)
        self.out = torch.nn.Linear(16, 12)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.out(self.memory(self.embed(tokens))[0][:, -1])


def normalised() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(6, 16),
        torch.nn.BatchNorm1d(16),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.2),
        torch.nn.Linear(16, 3),
    )


def numbers(n: int = 64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return (
        torch.randn(n, 6, generator=generator),
        torch.randint(0, 3, (n,), generator=generator),
    )


def letters() -> tuple[torch.Tensor, torch.Tensor]:
    tokens = torch.randint(0, 12, (64, 5), generator=torch.Generator().manual_seed(3))
    return tokens, tokens[:, 0]


@pytest.mark.parametrize("kind", ["lstm", "normalised", "bfloat16", "float16", "sixteen rows"])
def test_every_kind_is_measured_and_left_as_it_was(kind: str) -> None:
    torch.manual_seed(0)
    model: torch.nn.Module = Letters() if kind == "lstm" else normalised()
    batch = letters() if kind == "lstm" else numbers(16 if kind == "sixteen rows" else 64)
    if kind in ("bfloat16", "float16"):
        dtype = getattr(torch, kind)
        model = model.to(dtype)
        batch = (batch[0].to(dtype), batch[1])
    buffers = dict(model.named_buffers())
    before = copy.deepcopy(model.state_dict())
    random = torch.random.get_rng_state()
    gauge = Gauge(model, cross_entropy, every=1)
    gauge.step(batch)
    gauge.step(batch)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
    assert torch.equal(random, torch.random.get_rng_state())
    # the buffers are the same objects: other modules may hold them
    assert all(buffers[name] is b for name, b in model.named_buffers())
    if kind != "sixteen rows":  # BatchNorm of two rows is another function
        assert gauge.last.curvature.value > 0.0
    assert gauge.last.gradient_noise.low > 0.0


def test_a_buffer_that_the_model_replaces_is_put_back() -> None:
    class Counting(torch.nn.Linear):
        def __init__(self) -> None:
            super().__init__(6, 3)
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen = self.seen + len(x)
            return super().forward(x)

    model = Counting()
    Gauge(model, cross_entropy).step(numbers())
    assert float(model.seen) == 0.0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_compiled_model_is_measured_by_the_module_inside() -> None:
    """Compiled code has no second derivatives; nothing is compiled here, as nothing calls it."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    plain = Gauge(model, cross_entropy)
    plain.step(numbers())
    compiled = Gauge(torch.compile(model), cross_entropy)
    compiled.step(numbers())
    assert compiled.last == plain.last


@pytest.mark.parametrize(
    ("loss_fn", "error", "message"),
    [
        (
            lambda z, y: cross_entropy(z, y, reduction="none"),
            TypeError,
            r"loss_fn returned shape \(32,\), must return one number as a tensor",
        ),
        (
            lambda z, y: float(cross_entropy(z, y).detach()),
            TypeError,
            r"must return one number as a tensor, the mean loss over rows",
        ),
        (
            lambda z, y: cross_entropy(z, y, reduction="sum"),
            ValueError,
            r"so it is a sum over rows, must be the mean; use reduction=\"mean\"",
        ),
        (
            lambda z, y: -cross_entropy(z, y, reduction="sum"),
            ValueError,
            r"so it is a sum over rows",
        ),
    ],
)
def test_a_loss_that_is_no_mean_is_refused(loss_fn: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        Gauge(normalised().eval(), loss_fn).step(numbers())


def test_targets_of_other_rows_are_refused() -> None:
    X, y = numbers()
    with pytest.raises(ValueError, match=r"rows of targets=32 must be 64, the rows of inputs"):
        Gauge(normalised(), cross_entropy).step((X, y[:32]))


# -- the page ------------------------------------------------------------------------------------


def page(model: torch.nn.Module, batch: Any, loss_fn: Any = cross_entropy) -> list[str]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    gauge = Gauge(model, loss_fn, optimizer, every=1)
    gauge.step(batch)
    return str(gauge).splitlines()


def test_the_page_says_what_is_not_known() -> None:
    X, y = numbers()
    head, _, useful, *_ = page(normalised(), (X * math.nan, y))
    assert head.startswith("Gauge after 1 call, 1 measurement,")
    assert useful == "1. Useful batch: unknown, as the loss or its gradient is not a finite number."
    down = page(torch.nn.Linear(6, 1), (X, X[:, :1]), lambda z, y: -(z - y).square().mean())
    assert "cannot tell the largest curvature from 0" in down[2]
    assert "cannot tell the largest curvature from 0" in down[4]
    assert "largest curvature unknown" in down[6]
    assert not any("nan" in line or "inf" in line for line in down)


def test_an_interval_without_an_end_is_said_in_words() -> None:
    assert said(Interval(5.0, 2.0, math.inf)) == "5 (at least 2)"
    assert said(Interval(math.inf, 2.0, math.inf)) == "at least 2"
    assert said(Interval(5.0, 2.0, 9.0)) == "5 (2 to 9)"


def test_bands_without_an_end_do_not_flatten_the_picture() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    gauge = Gauge(normalised(), cross_entropy, every=1)
    gauge.step(numbers())
    gauge.step(numbers())
    assert math.isinf(gauge.noise_scale.high)
    table = gauge.history
    largest = max(table["useful_batch"].max(), table["noise_scale"].max(), 64.0)
    assert gauge.plot().get_ylim()[1] == pytest.approx(4.0 * largest)


def test_branches_without_an_interval_say_why() -> None:
    unknown = Interval(0.3, -math.inf, math.inf)
    losses = np.ones((2, 20))
    found = Branches((1, 4), losses, (unknown, unknown), unknown, predicted=None)
    assert "0.30 times as far as with 1 (no interval, as with 1 it may not" in str(found)
    assert "inf" not in str(found)
