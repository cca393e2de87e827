"""Which engine takes the steps of a stage."""

from __future__ import annotations

from .. import engines
from ..control import Plane, Stage
from ..engines import Engine
from ..plane import PlaneEngine
from ..problems import Problem
from .request import Request


def engine_of(problem: Problem, stage: Stage, settings: Request) -> Engine:
    """The plane's engine for steps on all rows, else the one that was asked for."""
    steps, s = stage.steps, settings
    if isinstance(steps, Plane):
        return PlaneEngine(problem, steps.memory, steps.inner, steps.metric)
    return engines.make(s.engine, problem, steps, stage.batch, s.seed, s.sampling)
