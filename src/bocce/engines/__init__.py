"""Engines, which take the steps: a readable reference, a compiled one, and one for files."""

from __future__ import annotations

from typing import Any

from .. import _checks
from ..control.policy import Policy
from ..problems import Problem
from ..schedules import Schedule
from .base import ANY, Engine, Gap, Goal, Recorder, State, StepReport, TableEngine, norm2
from .base import DIVERGENCE_FACTOR as DIVERGENCE_FACTOR
from .base import MakeEngine as MakeEngine
from .base import record_steps as record_steps
from .base import unit_of as unit_of


def _has_kernels(problem: Problem) -> bool:
    """Are there Numba kernels for the problem's rows? (Not for several classes: their batches are
    matrix products.)"""
    if problem.loss.multi_output or problem.in_parts or problem.engine is not None:
        return False
    from .numba.pack import PACKERS

    return problem.rows.storage in PACKERS


def _compiled(problem: Problem, b: int, seed: int, mode: str) -> Engine:
    """The engine with Numba kernels, if there are any."""
    if problem.in_parts and not problem.loss.multi_output:
        from .blocks import BlockEngine

        return BlockEngine(problem, b, seed, mode)
    if not _has_kernels(problem):
        return _reference(problem, b, seed, mode)
    from .numba import CompiledEngine

    return CompiledEngine(problem, b, seed, mode)


def _reference(problem: Problem, b: int, seed: int, mode: str) -> Engine:
    from .reference import ReferenceEngine

    return ReferenceEngine(problem, b, seed, mode)


REGISTRY: dict[str, MakeEngine] = {"compiled": _compiled, "reference": _reference}


def check_engine(where: str, engine: Any) -> Any:
    """A name of ``REGISTRY``, or a function of (problem, b, seed, sampling) that returns one."""
    if isinstance(engine, str) or not callable(engine):
        return _checks.choice(where, "engine", engine, REGISTRY)
    return engine


def make(engine: Any, problem: Problem, steps: Any, b: int, seed: int, mode: str) -> Engine:
    """The engine for a stage: the requested one, unless the problem brings its own. Policies, which
    look at each batch, have their own engines."""
    if not isinstance(steps, Schedule):
        if engine == "compiled" and isinstance(steps, Policy) and _has_kernels(problem):
            from .numba import RuleEngine

            return RuleEngine(problem, b, seed, mode)
        return _reference(problem, b, seed, mode)
    if not callable(engine):
        engine = problem.engine or REGISTRY[engine]
    made: Engine = engine(problem, b, seed, mode)
    return made


# Names that are imported "as" themselves are for other rooms only.
__all__ = [
    "ANY",
    "REGISTRY",
    "Engine",
    "Gap",
    "Goal",
    "Recorder",
    "State",
    "StepReport",
    "TableEngine",
    "norm2",
]
