"""Who steps: the readable reference, and the compiled engine."""

from __future__ import annotations

from typing import Any

from ..problems import BlockProblem, LinearProblem
from ..schedules import Schedule
from .state import DIVERGENCE_FACTOR, Recorder, State, record_steps

NAMES = ("compiled", "reference")


def make(name: str, problem: LinearProblem, method: Any, b: int, seed: int, mode: str) -> Any:
    """The engine for a run. Policies look at each batch in Python, so the reference runs them."""
    if problem.engine is not None:
        return problem.engine(problem, b, seed)
    if isinstance(problem, BlockProblem) and name == "compiled":
        from .blocks import BlockEngine

        return BlockEngine(problem, b, seed, mode)
    if name == "compiled" and isinstance(method, Schedule):
        from .compiled import CompiledEngine

        return CompiledEngine(problem, b, seed, mode)
    from .reference import ReferenceEngine

    return ReferenceEngine(problem, b, seed, mode)


__all__ = ["DIVERGENCE_FACTOR", "NAMES", "Recorder", "State", "make", "record_steps"]
