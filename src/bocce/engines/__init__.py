"""Who steps: the readable reference, and the compiled engine."""

from __future__ import annotations

from typing import Any

from ..problems import BlockProblem, LeastSquares, LinearProblem, Logistic
from ..schedules import Schedule
from .state import DIVERGENCE_FACTOR, Recorder, State, record_steps

NAMES = ("compiled", "reference")


def compiles(name: str, problem: LinearProblem) -> bool:
    """Is the compiled engine asked for, and does it know the loss?"""
    return name == "compiled" and isinstance(problem, LeastSquares | Logistic)


def make(name: str, problem: LinearProblem, method: Any, b: int, seed: int, mode: str) -> Any:
    """The engine for a run. The reference runs policies, which look at each batch in Python, and
    losses that are not compiled.
    """
    if problem.engine is not None:
        return problem.engine(problem, b, seed)
    if isinstance(problem, BlockProblem) and compiles(name, problem):
        from .blocks import BlockEngine

        return BlockEngine(problem, b, seed, mode)
    if compiles(name, problem) and isinstance(method, Schedule):
        from .compiled import CompiledEngine

        return CompiledEngine(problem, b, seed, mode)
    from .reference import ReferenceEngine

    return ReferenceEngine(problem, b, seed, mode)


__all__ = ["DIVERGENCE_FACTOR", "NAMES", "Recorder", "State", "compiles", "make", "record_steps"]
