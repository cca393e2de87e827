"""Steps that need not be chosen: the best ones on a plane."""

from __future__ import annotations

from dataclasses import dataclass, field

from .. import _checks

MOST_STEPS = 1 << 62


@dataclass(frozen=True)
class Plane:
    """What an engine is told where it should find the best step and momentum by itself.

    ``inner``: a step may make more passes than one to find its direction; the number of steps is
    then one of passes.
    """

    memory: int = 5
    T: int = MOST_STEPS
    name: str = "plane"
    inner: bool = field(default=False, repr=False)


def plane(T: int | None = None, memory: int = 5) -> Plane:
    """Heavy ball on all rows with the best step and momentum there are.

    w_{k+1} = w_k + D c,  c = argmin f(w_k + D c),  D = (-P^-1 grad f(w_k), the last ``memory``
    displacements); with memory 1 that is heavy ball whose alpha_k and beta_k are the best at each
    step. P is a metric that the run chooses. T is the most steps; None is no limit, and then with
    several outputs (softmax) P^-1 grad f is nearly Newton's direction, for which a step makes
    several passes.

    Guarantee: f never rises, for any convex loss. On least squares with memory 1 it is conjugate
    gradients: at most d steps, and f - f* falls as ((sqrt(kappa) - 1)/(sqrt(kappa) + 1))^(2k).

    Source: not in the paper; subspace optimisation (Nemirovski 1982; Narkiss and Zibulevsky 2005).

    >>> plane(memory=1).memory
    1
    """
    memory = _checks.integer("plane", "memory", memory, least=1, most=10, remedy="5 is usual")
    if T is not None:
        T = _checks.integer("plane", "T", T, remedy="None is no limit")
    return Plane(memory, MOST_STEPS if T is None else T, inner=T is None)
