"""Two short branches of a training run from one checkpoint."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .. import _checks
from .._types import FloatArray
from .intervals import Interval, quantile

AT_THE_END = 5  # The progress is judged by the last fifth of the steps.


@dataclass(frozen=True)
class Branches:
    """What two branches of a run have shown.

    Attributes
    ----------
    factors : tuple of (float, float)
        The batches of the branches, in multiples of the present one.
    losses : array of shape (2, steps)
        The loss of each batch, before its step.
    progress : tuple of (Interval, Interval)
        The fall of the loss: the mean of both first losses minus the mean of the last fifth.
    ratio : Interval
        The progress of the second branch over that of the first. The interval knows the noise of
        the batches' losses, not that of other seeds.
    predicted : float or None
        S(b_1)/S(b_2) by the useful batch of the last measurement.
    """

    factors: tuple[float, float]
    losses: FloatArray
    progress: tuple[Interval, Interval]
    ratio: Interval
    predicted: float | None

    def __str__(self) -> str:
        low, high = self.factors
        interval = f"95 %: {self.ratio.low:.2f} to {self.ratio.high:.2f}"
        if not math.isfinite(self.ratio.low):
            interval = f"no interval, as with {low:g} it may not have fallen at all"
        text = (
            f"With {high:g} times the rows the loss fell {self.ratio.value:.2f} times as far as "
            f"with {low:g} ({interval}) in {self.losses.shape[1]} steps"
        )
        if self.predicted is None:
            return f"{text}."
        return f"{text}; the gauge predicted {self.predicted:.2f}."


def run_branches(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    train_step: Callable[[float], Any],
    factors: tuple[float, float],
    steps: int,
    predicted: float | None,
) -> Branches:
    """Both branches, each from the present state, which is put back at the end."""
    where = "Gauge.branch"
    steps = _checks.integer(where, "steps", steps, least=2 * AT_THE_END)
    if len(factors) != 2:
        raise _checks.refused(ValueError, where, "factors", factors, "two numbers")
    for factor in factors:
        _checks.real(where, "factors", factor, above=0.0)
    saved = _Checkpoint(model, optimizer)
    losses = np.empty((2, steps))
    try:
        for losses_of_branch, factor in zip(losses, factors):
            saved.restore()
            for k in range(steps):
                losses_of_branch[k] = float(train_step(factor))
    finally:
        saved.restore()
    first, second = progress = _progress(losses)
    ratio = _ratio(second, first)
    return Branches(tuple(factors), losses, progress, ratio, predicted)


class _Checkpoint:
    """Model, gradients, optimizer and random state as they are now."""

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.model = model
        self.optimizer = optimizer
        self.weights = copy.deepcopy(model.state_dict())
        self.states = copy.deepcopy(optimizer.state_dict())
        self.gradients = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
        self.random = torch.random.get_rng_state()
        self.on_devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []

    def restore(self) -> None:
        self.model.load_state_dict(self.weights)
        self.optimizer.load_state_dict(copy.deepcopy(self.states))
        for p, gradient in zip(self.model.parameters(), self.gradients):
            p.grad = None if gradient is None else gradient.clone()
        torch.random.set_rng_state(self.random)
        if self.on_devices:
            torch.cuda.set_rng_state_all(self.on_devices)


def _progress(losses: FloatArray) -> tuple[Interval, Interval]:
    last = losses.shape[1] // AT_THE_END
    ends = losses[:, -last:]
    start = float(losses[:, 0].mean())
    halves = quantile(last - 1) * ends.std(axis=1, ddof=1) / math.sqrt(last)
    falls = [start - float(mean) for mean in ends.mean(axis=1)]
    one, two = (Interval(f, f - float(h), f + float(h)) for f, h in zip(falls, halves))
    return one, two


def _ratio(above: Interval, below: Interval) -> Interval:
    """The quotient of two independent intervals, by Fieller; no end where ``below`` may be 0."""
    up = above.value - above.low
    down = below.value - below.low
    if below.value <= down:
        return Interval(above.value / below.value if below.value else math.nan, -math.inf, math.inf)
    square = below.value**2 - down**2
    linear = above.value * below.value
    root = math.sqrt(max(linear**2 - square * (above.value**2 - up**2), 0.0))
    return Interval(above.value / below.value, (linear - root) / square, (linear + root) / square)
