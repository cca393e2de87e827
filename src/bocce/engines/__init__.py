"""Who steps: the readable reference, the compiled engine, the plane, and files."""

from __future__ import annotations

from typing import Any

from .. import _checks
from ..control.plane import Plane
from ..problems import Problem
from ..schedules import Schedule
from .base import (
    DIVERGENCE_FACTOR,
    Engine,
    MakeEngine,
    Recorder,
    State,
    norm2,
    record_steps,
    unit_of,
)

NAMES = ("compiled", "reference")


def check_engine(where: str, engine: Any) -> Any:
    """A name, or somebody's own engine: called with (problem, b, seed, sampling)."""
    if isinstance(engine, str) or not callable(engine):
        return _checks.choice(where, "engine", engine, NAMES)
    return engine


def make(engine: Any, problem: Problem, steps: Any, b: int, seed: int, mode: str) -> Engine:
    """The engine for a stage. Policies, which look at each batch in Python, and rows that have no
    kernel run on the reference, and so do losses on several classes, whose batches are products of
    matrices.
    """
    if isinstance(steps, Plane):
        from .whole import PlaneEngine

        return PlaneEngine(problem, steps.memory)
    if callable(engine):
        own: Engine = engine(problem, b, seed, mode)
        return own
    if problem.engine is not None:
        brought: Engine = problem.engine(problem, b, seed, mode)
        return brought
    if engine == "compiled" and isinstance(steps, Schedule) and not problem.loss.outputs:
        if problem.in_parts:
            from .blocks import BlockEngine

            return BlockEngine(problem, b, seed, mode)
        from .numba.pack import PACKERS

        if type(problem.rows) in PACKERS:
            from .numba import CompiledEngine

            return CompiledEngine(problem, b, seed, mode)
    from .reference import ReferenceEngine

    return ReferenceEngine(problem, b, seed, mode)


__all__ = [
    "DIVERGENCE_FACTOR",
    "NAMES",
    "Engine",
    "MakeEngine",
    "Recorder",
    "State",
    "check_engine",
    "make",
    "norm2",
    "record_steps",
    "unit_of",
]
