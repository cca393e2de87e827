"""Steps that need not be chosen: the best ones on a plane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .. import _checks

MOST_STEPS = 1 << 62
# The name of a metric, or what makes a policy of a problem.
MetricChoice: TypeAlias = str | Callable[[Any], Any]


@dataclass(frozen=True)
class Plane:
    """The method ``plane``: the engine finds the best step and momentum itself.

    Parameters
    ----------
    memory : int, default 5
        The number of earlier displacements that are kept.
    T : int, default MOST_STEPS
        The most steps.
    name : str, default "plane"
        The name of the method.
    inner : bool, default False
        Whether a step may make further passes to find its direction; T then counts passes.
    metric : str or callable, default "auto"
        The metric in which a direction is steepest: "auto", a name of ``bocce.plane.METRICS``, or
        what makes a policy of a problem.
    """

    memory: int = 5
    T: int = MOST_STEPS
    name: str = "plane"
    inner: bool = field(default=False, repr=False)
    metric: MetricChoice = field(default="auto", repr=False)


def plane(T: int | None = None, memory: int = 5, metric: MetricChoice = "auto") -> Plane:
    """Heavy ball on all rows with the best step and momentum, computed at each step.

    w_{k+1} = w_k + D c, c = argmin f(w_k + D c), D = (-P^-1 grad f(w_k), the last ``memory``
    displacements). With memory 1 this is heavy ball whose alpha_k and beta_k are the best at each
    step. P is a metric that the run chooses.

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
        P: "auto", a name of ``bocce.plane.METRICS``, or what makes a policy of a problem.

    Returns
    -------
    Plane
        The method, for ``minimize``.

    Examples
    --------
    >>> plane(memory=1).memory
    1
    """
    memory = _checks.integer("plane", "memory", memory, least=1, most=10, remedy="5 is usual")
    if T is not None:
        T = _checks.integer("plane", "T", T, remedy="None is no limit")
    return Plane(memory, MOST_STEPS if T is None else T, inner=T is None, metric=metric)
