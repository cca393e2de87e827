"""What decides a step: a rule that looks at the batch, and the policy around it; or the plane.

A rule is a named tuple of numbers with one function, ``decide``. It is written in plain arithmetic
(``math`` and NumPy on numbers), for the same lines are what Python runs and what the compiled
engine compiles, together with the functions of its module that it calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from .. import _checks
from ..problems import Line

Three = tuple[float, float, float]
Memory = tuple[float, ...]
Look = Callable[[str], Line]
NO_LIMIT = 1 << 62
# The name of a metric, or what makes a policy of a problem.
MetricChoice: TypeAlias = str | Callable[[Any], Any]


class Rule(Protocol):
    """A named tuple of numbers."""

    def decide(self, k: int, memory: Memory, line: Line) -> tuple[Three, Memory]:
        """(alpha_k, beta_k, theta_k), and what to remember: as many floats as before.

        ``line`` is the batch objective along its negative gradient g at w_k: ``line.value`` is
        f_B(w), ``line.slope2`` is ||g||^2, ``line.decrease(s)`` is f_B(w) - f_B(w - s g).
        """


@runtime_checkable
class Decider(Protocol):
    """What decides T steps one by one: a ``Policy``, or an object of a user's own."""

    @property
    def T(self) -> int: ...

    @property
    def name(self) -> str: ...

    def begin(self) -> Memory:
        """What is remembered before the first step."""

    def decide(self, k: int, memory: Memory, look: Look) -> tuple[Three, Memory]:
        """(alpha_k, beta_k, theta_k), and what to remember."""


class Policy:
    """A rule for T steps that looks at a batch before each of them.

    Parameters
    ----------
    T, name : int, str
        The number of steps; the name of the policy.
    search : {"same", "independent"}
        The batch that the rule looks at: the batch of the step, or a batch of its own.
    """

    T: int
    name: str
    search: str

    @property
    def rule(self) -> Rule:
        raise NotImplementedError

    @property
    def longest_step(self) -> float:
        """The largest alpha/(1 - beta) that the rule may decide, infinite where it is not known.

        It says how far noise alone can lift f.
        """
        return math.inf

    def begin(self) -> Memory:
        """The memory of the rule before the first step.

        Returns
        -------
        tuple of float
        """
        return ()

    def decide(self, k: int, memory: Memory, look: Look) -> tuple[Three, Memory]:
        """The three numbers of the rule for step k, and the new memory.

        Parameters
        ----------
        k, memory, look : int, tuple of float, callable
            The number of the step, from 0; the memory after the step before; what gives the batch
            objective along its negative gradient, a ``Line``.

        Returns
        -------
        tuple
        """
        three, memory = self.rule.decide(k, memory, look(self.search))
        return three, memory


@dataclass(frozen=True)
class PlaneSteps:
    """The method ``plane``: the engine finds the best step and momentum itself.

    Where ``inner``, a step may make further passes to find its direction, and T counts passes.
    """

    memory: int = 5
    T: int = NO_LIMIT
    name: str = "plane"
    inner: bool = False
    metric: MetricChoice = "auto"

    def __repr__(self) -> str:
        """Checkpoints hold and compare this text, whatever the class is called."""
        return f"Plane(memory={self.memory}, T={self.T}, name={self.name!r})"


def plane(T: int | None = None, memory: int = 5, metric: MetricChoice = "auto") -> PlaneSteps:
    """Heavy ball on all rows with the best step and momentum, computed at each step.

    w_{k+1} = w_k + D c, c = argmin f(w_k + D c), D = (-P^-1 grad f(w_k), the last ``memory``
    displacements); with memory 1, alpha_k and beta_k are the best at each step.

    Guarantee: f never rises, for any convex loss. On least squares with memory 1 it is conjugate
    gradients: at most d steps, and f - f* falls as ((sqrt(kappa) - 1)/(sqrt(kappa) + 1))^(2k).
    Source: not in the paper; subspace optimisation (Nemirovski 1982; Narkiss and Zibulevsky 2005).

    Parameters
    ----------
    T : int, optional
        The most steps; None is no limit. Then with several outputs (softmax) P^-1 grad f is nearly
        the Newton direction, and a step makes several passes.
    memory : int, default 5
        The number of earlier displacements, 1 to 10.
    metric : str or callable, default "auto"
        The metric P: "auto", a name of ``bocce.plane.METRICS``, or what makes a policy of a
        problem.

    Returns
    -------
    PlaneSteps

    Examples
    --------
    >>> plane(memory=1).memory
    1
    """
    memory = _checks.integer("plane", "memory", memory, least=1, most=10, remedy="5 is usual")
    if T is not None:
        T = _checks.integer("plane", "T", T, remedy="None is no limit")
    return PlaneSteps(memory, NO_LIMIT if T is None else T, inner=T is None, metric=metric)
