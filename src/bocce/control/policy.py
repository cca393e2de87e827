"""What decides a step when its batch has been seen: a rule, and the policy around it.

A rule is a named tuple of numbers with one function, ``decide``. It is written in plain arithmetic
(``math`` and NumPy on numbers), for the same lines are what Python runs and what the compiled
engine compiles, together with the functions of its module that it calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from ..problems import Line

Three = tuple[float, float, float]
Memory = tuple[float, ...]
Look = Callable[[str], Line]


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
    T : int
        Number of steps.
    name : str
        The name of the policy.
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
            The memory.
        """
        return ()

    def decide(self, k: int, memory: Memory, look: Look) -> tuple[Three, Memory]:
        """The three numbers of the rule for step k.

        Parameters
        ----------
        k : int
            The number of the step, from 0.
        memory : tuple of float
            The memory after the step before.
        look : callable
            Gives the batch objective along its negative gradient, a ``Line``.

        Returns
        -------
        tuple
            (alpha_k, beta_k, theta_k) and the new memory.
        """
        three, memory = self.rule.decide(k, memory, look(self.search))
        return three, memory
