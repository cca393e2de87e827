"""Cases that cover every pair of values of several arguments: far fewer than all combinations.

Most defects need one value or two at once to show (Kuhn, Wallace and Gallo 2004). Hypothesis draws
from all combinations beside.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations, product
from typing import Any

import pytest


def pairs_of(case: tuple[Any, ...]) -> set[tuple[Any, ...]]:
    """The pairs (argument, value, argument, value) that a case covers."""
    return {(i, case[i], j, case[j]) for i, j in combinations(range(len(case)), 2)}


def _met(chosen: dict[int, Any], k: int, value: Any) -> list[tuple[Any, ...]]:
    """The pairs of a value of argument k with the values chosen for others."""
    return [(m, v, k, value) if m < k else (k, value, m, v) for m, v in chosen.items()]


def covering(values: list[list[Any]]) -> list[tuple[Any, ...]]:
    """Cases in which every two values of different arguments meet; the same ones each time.

    Each case begins with a pair that is not covered yet, and takes for every other argument the
    value that covers most new pairs.
    """
    left = dict.fromkeys(
        (i, a, j, b)
        for i, j in combinations(range(len(values)), 2)
        for a, b in product(values[i], values[j])
    )
    cases = []
    while left:
        i, a, j, b = next(iter(left))
        chosen = {i: a, j: b}
        for k in range(len(values)):
            if k not in chosen:
                new = [sum(pair in left for pair in _met(chosen, k, v)) for v in values[k]]
                chosen[k] = values[k][new.index(max(new))]
        case = tuple(chosen[k] for k in range(len(values)))
        for pair in pairs_of(case):
            left.pop(pair, None)
        cases.append(case)
    return cases


def pairwise(**values: Collection[Any]) -> Any:
    """Parametrize a test with cases that cover every pair of values of its arguments."""
    return pytest.mark.parametrize(tuple(values), covering([list(v) for v in values.values()]))
