"""What an anytime run does next: memory that grows, steps cut or batches grown against noise.

Decisions only: ``bocce.course`` runs the stages and measures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..schedules import Schedule
from ..schedules.adaptive import decay, design, sampling_noise

FIRST_SHARE = 1.0 / 30.0  # the first stage is designed for mu = L/30,
LOWER = 4.0  # each further one for a quarter of it,
TIME_CONSTANTS = 2.0  # after so many time constants
MOST_CUTS = 2  # of the step, on the squared loss (to a quarter); on others it has no limit
GROW = 4  # the batch, when noise keeps the run from its tolerance
SHORTEST = 16
PASSES_A_LOOK = 4.0  # steps between checkpoints touch so many times the rows a checkpoint does,
PASSES_TO_TOL = 2.0  # and so many where a tolerance may be met
ANEW = 4  # steps of the whitened finish, in which the gradient should shrink
SHRINKS = 1.0 / 16.0  # by this factor: if not, the Hessian is taken anew
WHITENED = 1.25  # what a Hessian may be in the variables in which it was 1,
SMALLEST = 0.25  # and the share of that down to which momentum is short,
SHORT = 24  # for so many steps
RAMP = 4096  # steps after which the momentum of the full-batch phase has stopped growing


def accelerating_batch(n: int, L: float, mu: float, L_max: float) -> int:
    """The smallest batch with zeta0^2 L_max <= sqrt(mu L): full acceleration, certified.

    >>> accelerating_batch(10_000, L=100.0, mu=1.0, L_max=400.0)
    40
    """
    ratio = L_max / math.sqrt(mu * L)
    return min(n, max(1, math.ceil(n / (1.0 + (n - 1) / ratio))))


@dataclass
class Course:
    """The constants as they are trusted now, and the stage they lead to."""

    n: int
    L: float
    L_max: float
    kappa_tilde: float | None
    floor: float  # mu; 0 where nothing is known
    squared: bool
    look_rows: float  # what a measurement costs, in rows
    fixed: bool  # the caller chose the batch
    wants_tol: bool
    mu: float
    b: int
    brief: bool = False  # one pass in batches, then all rows
    cuts: int = 0
    doublings: int = 0

    @property
    def scale(self) -> float:
        return 2.0**self.doublings

    @property
    def full(self) -> bool:
        return self.b == self.n

    def parameters(self, mu: float | None = None) -> tuple[float, float, float]:
        """(alpha, beta, theta) of a stage, certified on least squares for every mu it may have."""
        tilde = None if self.kappa_tilde is None else self.scale * self.kappa_tilde
        zeta2 = sampling_noise("anytime", self.n, self.b)
        L, L_max = self.scale * self.L, self.scale * self.L_max
        alpha, beta, theta = design(L, mu or self.mu, L_max, tilde, zeta2)
        return alpha * 0.5**self.cuts, beta, theta

    def time_constant(self, mu: float | None = None) -> float:
        """Steps that a direction of curvature mu takes to shrink by e."""
        mu = mu or self.mu
        alpha, beta, theta = self.parameters(mu)
        # the slower root of z^2 - (1 + beta - alpha mu (1+theta)) z + beta - alpha mu theta
        trace, product = 1.0 + beta - alpha * mu * (1.0 + theta), beta - alpha * mu * theta
        spread = trace * trace - 4.0 * product
        gap = alpha * mu  # (1 - z1)(1 - z2)
        if spread <= 0.0:
            return -2.0 / math.log(product) if product > 0.0 else 1.0
        other = 1.0 - 0.5 * (trace - math.sqrt(spread))
        return max(1.0, other / gap)

    def length(self, taken: int, left: int) -> int:
        """Steps of the next stage, after ``taken`` and with ``left`` in the budget."""
        apart = PASSES_TO_TOL if self.wants_tol else PASSES_A_LOOK
        least = max(SHORTEST, math.ceil(apart * self.look_rows / self.b))
        if self.brief:
            return max(1, min(max(SHORTEST, math.ceil(self.n / self.b)), left))
        wanted = max(least, math.ceil(TIME_CONSTANTS * self.time_constant()))
        if self.cuts:
            wanted = max(wanted, taken)  # averages over a share of all steps
        return max(1, min(wanted, left))

    def table(self, start: int, length: int) -> Schedule:
        """Steps start .. start+length-1, numbered from the start of the run."""
        alpha, beta, theta = self.parameters()
        T = start + length
        steps = np.full(T, alpha)
        if self.brief:  # its length is known, and its end is all that is kept
            steps[start:] *= decay(length)
        return Schedule(steps, np.full(T, beta), np.full(T, theta), "auto")

    def ramp(self) -> Schedule:
        """Full-batch steps after a restart: momentum j/(j+3), up to what mu allows."""
        L = self.scale * self.L
        ratio = math.sqrt(self.floor / L)
        j = np.arange(RAMP)
        beta = np.minimum(j / (j + 3.0), (1.0 - ratio) / (1.0 + ratio))
        return Schedule(np.full(RAMP, 1.0 / L), beta, beta, "auto")

    def whitened(self, j: int) -> tuple[float, float]:
        """alpha and beta = theta of full-batch step j where the Hessian is about the identity."""
        ratio = math.sqrt(SMALLEST)
        short = (1.0 - ratio) / (1.0 + ratio) if j < SHORT else 1.0
        return 1.0 / (self.scale * WHITENED), min(j / (j + 3.0), short)

    def proceed(self, noisy: bool, left: int) -> None:
        """After a checkpoint: fight the noise, and remember longer if the budget allows it."""
        if noisy and self.wants_tol:
            cheap_whole = self.look_rows <= self.b  # by a Gram matrix all rows cost few
            grown = self.n if cheap_whole or GROW * self.b > self.n // 8 else GROW * self.b
            self.b = grown
        elif noisy and (not self.squared or self.cuts < MOST_CUTS):
            self.cuts += 1
        lower = max(self.floor, self.mu / LOWER)
        if lower < self.mu and TIME_CONSTANTS * self.time_constant(lower) <= left:
            self.mu = lower
            if self.kappa_tilde is None and not self.fixed:
                wanted = accelerating_batch(self.n, self.L, self.mu, self.L_max)
                self.b = max(self.b, wanted if 2 * wanted <= self.n else self.n)
