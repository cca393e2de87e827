"""The model without coefficients: one constant prediction for all rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..problems import Problem

BISECTIONS = 60  # halvings or doublings of a constant prediction


def constant(p: Problem) -> Any:
    """The intercept of the best model without coefficients, roughly where it has no closed form;
    with a loss on all classes, one for each."""
    known = p.best_constant()
    if p.loss.multi_output or known != 0.0:
        return known
    return _searched_constant(p)


def _searched_constant(p: Problem) -> float:
    """Where the mean slope of the loss is at most 1 % of the mean slope at 0, by bisection: the
    slope of a convex loss rises with the prediction."""

    def slope(prediction: float) -> float:
        return float(p.slopes(p.shifted(np.full(p.n, prediction))).mean())

    with np.errstate(over="ignore", invalid="ignore"):
        first = slope(0.0)
        size = np.abs(p.y)
        if not abs(first) > 0.0:
            return 0.0
        before = 0.0
        beyond = -math.copysign(float(np.median(size) or size.mean() or 1.0), first)
        for _ in range(BISECTIONS):
            if not slope(beyond) * first > 0.0:
                break
            before = beyond
            beyond = 2.0 * beyond
        for _ in range(BISECTIONS):
            middle = 0.5 * (before + beyond)
            found = slope(middle)
            if abs(found) <= 0.01 * abs(first):
                return middle
            before, beyond = (middle, beyond) if found * first > 0.0 else (before, middle)
        return before


def value_at_constant(p: Problem, inner: Problem) -> float:
    """f of the best model without coefficients (of w = 0 where p has no intercept)."""
    if p.in_parts:
        return inner.value(np.zeros(inner.shape))
    predictions = np.zeros((p.n, *p.shape[1:])) + (constant(p) if p.intercept else 0.0)
    return float(p.losses(p.shifted(predictions)).mean())
