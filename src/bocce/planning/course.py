"""What a table of steps does, in one sentence: two measures that any table has.

Acceleration. Where the gradient is one and the same at all steps, step k moves w by D_k times it,
D_k = beta_k D_{k-1} + alpha_k. One gradient moves the point y where gradients are taken by
alpha_k (1 + theta_{k+1}). A step accelerates if D_k is at least twice the longest of these. Plain
steps have D_k = alpha_k and never do; heavy ball with constant momentum has D_k -> alpha/(1 - beta)
and does from beta = 1/2 on; so does Nesterov from beta = 0.71 on.

Averaging. By the definition of y_k, w_k = (1 - a_k) w_{k-1} + a_k y_k with a_k = 1/(1 + theta_k):
w_k is an average of the points where gradients were taken. The average before the last step reaches
back over the last M steps: these are the fewest that hold 0.9 of its weight.
"""

from __future__ import annotations

import numpy as np

from ..messages import COURSE, first_said
from ..rows import Array
from ..schedules import Schedule

FASTER = 2.0  # A step accelerates if it moves w so many times as far as the longest plain step.
WEIGHT = 0.9  # The steps that an average is said to be over hold this share of its weight.
LEAST_AVERAGED = 10  # An average over fewer steps is not called one.


class Course:
    """What a table does: the facts of `messages.COURSE`.

    >>> Course(Schedule(0.1, 0.8, T=50)).sentence()
    'The table accelerates to the end (momentum up to 0.8).'
    """

    def __init__(self, table: Schedule) -> None:
        self.T = table.T
        held = _average(table.theta)
        self.averaged = int(np.searchsorted(np.cumsum(held[::-1]), WEIGHT)) + 1
        self.averages = self.averaged >= LEAST_AVERAGED
        next_theta = np.append(table.theta[1:], table.theta[-1])
        plain = table.alpha * (1.0 + next_theta)
        faster = _moves(table) >= FASTER * plain.max()
        if self.averages:
            # What was fast before it is averaged stays fast inside the average: it is not counted.
            faster = faster[: max(0, self.T - self.averaged)]
        self.accelerated = int(np.flatnonzero(faster)[-1]) + 1 if faster.any() else 0
        self.fast = int(faster.sum())
        self.momentum = float(table.beta[: self.accelerated].max(initial=0.0))
        self.plain = not (table.beta.any() or table.theta.any())
        self.shrinks = bool(plain[-1] <= 0.5 * plain.max())

    @property
    def in_pieces(self) -> bool:
        """Are fewer than half of the steps fast, up to the last that is?"""
        return self.fast < 0.5 * self.accelerated

    @property
    def all_averaged(self) -> bool:
        """Does the average reach back to the first step?"""
        return self.averages and self.averaged >= self.T

    @property
    def said_momentum(self) -> str:
        """The largest momentum, never rounded to 1."""
        if self.momentum < 0.999:
            return f"{self.momentum:.3g}"
        return f"1 - {1.0 - self.momentum:.1g}"

    def sentence(self) -> str:
        """One sentence."""
        return next(first_said(COURSE, self))


def _moves(table: Schedule) -> Array:
    """How far each step moves w, over a gradient that is the same at all steps."""
    moves = np.empty(table.T)
    move = 0.0
    for k, (alpha, beta) in enumerate(zip(table.alpha.tolist(), table.beta.tolist())):
        move = beta * move + alpha
        moves[k] = move
    return moves


def _average(theta: Array) -> Array:
    """The weight of each y_k in w_{T-1}; they sum to 1."""
    share = 1.0 / (1.0 + theta)
    share[0] = 1.0  # y_0 = w_0
    survives = np.append(np.cumprod((1.0 - share[1:])[::-1])[::-1], 1.0)
    return np.asarray(share * survives)
