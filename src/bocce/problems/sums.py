"""Sums over the rows of a problem, and who has them already."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from ..rows import Array, Moments

if TYPE_CHECKING:
    from .problem import Problem


def of(p: Problem) -> Moments:
    """In one pass; or what a run on the same rows and targets has left, or what one with other
    targets has, whose Gram matrix is the same."""
    kept = {} if p.handed_on is None else p.handed_on
    if "sums" not in kept:
        with np.errstate(all="ignore"):  # told by who needs it to be finite
            if p.like is None:
                kept["sums"] = p.rows.moments(p.y, p.weight)
            else:
                kept["sums"] = p.like.with_targets(p.moment, p.target2, p.n)
    found: Moments = kept["sums"]
    return found


def with_targets(p: Problem, y: Array) -> Problem:
    """A copy of p with other targets, and what it can use of the sums of p."""
    other = copy(p)
    other.y, other.like = y, vars(p).get("sums", p.like)
    if p.handed_on is not None:
        other.handed_on = {name: kept for name, kept in p.handed_on.items() if name != "sums"}
    return other
