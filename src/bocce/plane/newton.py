"""The contract of Newton's method: what the steps of ``NewtonEngine`` come from."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from .._types import Array
from ..engines.base import Goal
from ..problems import Problem


class NewtonPoint(NamedTuple):
    """f at w: its value, rounding error and gradient, and the scores and second derivatives.
    ``error`` bounds the rounding errors of the gradient, where it matters."""

    w: Array
    value: float
    slack: float
    gradient: Array
    scores: Array = np.zeros(0)
    bend: Array = np.zeros(0)
    error: Array | None = None


class Newton(ABC):
    """Takes Newton steps on one problem.

    Attributes
    ----------
    problem : Problem
        What is minimised.
    most_steps, taken : int
        The most steps of a run, and those that were taken. The plane takes further ones.
    gap : float
        About how far f was above its minimum before the last step.
    halves : bool
        Does each step halve the gradient, at least, until only rounding is left?
    """

    problem: Problem
    most_steps: int
    halves: bool = True

    def __init__(self) -> None:
        self.taken = 0
        self.gap = math.inf

    @abstractmethod
    def look(self, w: Array) -> NewtonPoint:
        """f at w."""

    @abstractmethod
    def step(self, at: NewtonPoint, goal: Goal) -> NewtonPoint | None:
        """The point after a step towards the goal; None where f does not fall."""

    @abstractmethod
    def gap_at(self, at: NewtonPoint, fell: float, enough: float) -> float | None:
        """About how far f is above its minimum at the present point, where the last step made f
        fall by ``fell``. Whatever shows at less cost that this is at most ``enough``, or more, may
        be returned instead. None where it is not known."""

    @abstractmethod
    def state_dict(self) -> dict[str, Array]:
        """All that the next steps depend on, beside the point."""

    @abstractmethod
    def load_state_dict(self, state: dict[str, Array]) -> None:
        """Go on where a run on the same problem was saved."""
