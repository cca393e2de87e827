"""What batch sizes cost, and from which batch size on the paper's heavy ball works."""

from __future__ import annotations

import contextlib

import numpy as np

from .. import exact, theory
from ..problems import Problem
from ..schedules import shb
from ..schedules.accelerated import accelerating_batch
from .forecast import PlanFacts, affordable, least_squares_model
from .records import BatchSizes, Point

# If even the cheapest batch size costs more passes over the data than this, none is recommended.
MOST_RECOMMENDED = 10_000
# The knee is the smallest batch whose steps are at most this many times the steps on all rows.
KNEE = 1.5
# The recommended batch costs at most this many times the fewest gradient evaluations.
NEARLY_CHEAPEST = 1.5
# The useful batch needs n d^2 multiplications and eigenvalues: below so many, seconds.
USEFUL_FLOPS = 1e9


def batch_sizes(p: Problem, facts: PlanFacts) -> BatchSizes:
    """The cost of batch sizes, those that stand out, and the thresholds of heavy ball."""
    if facts.design is None or facts.constants is None:
        return BatchSizes(facts.accuracy)
    grid = sorted({1, p.n, *np.geomspace(1, p.n, 25).round().astype(int).tolist()})
    sweep = tuple(Point(b, facts.steps(b), b * facts.steps(b)) for b in grid)
    fewest = min(point.evaluations for point in sweep)
    cheap = [x.batch_size for x in sweep if x.evaluations <= NEARLY_CHEAPEST * fewest]
    L = facts.design.L
    mu = facts.design.mu
    L_max = max(facts.constants.L_max, L)
    table = shb(1, L, min(mu, L))
    step = (float(table.alpha[0]), float(table.beta[0]))
    analysed = _analysed(p, facts.constants.L)
    return BatchSizes(
        accuracy=facts.accuracy,
        sweep=sweep,
        knee=next(x.batch_size for x in sweep if x.steps <= KNEE * sweep[-1].steps),
        cheapest=next(x.batch_size for x in sweep if x.evaluations == fewest),
        recommended=max(cheap) if fewest <= MOST_RECOMMENDED * p.n else None,
        accelerating=accelerating_batch(p.n, L, mu, L_max),
        paper_batch=theory.batch_threshold(p.n, L_max / mu),
        certified_batch=theory.certified_batch_size(p.n, *step, L_max, mu, L),
        exact_batch=exact.critical_batch_size(p, *step) if analysed else None,
        useful=_useful(p),
    )


def _analysed(p: Problem, L: float) -> bool:
    """Does exact analysis apply, and take seconds at most?"""
    plain = p.loss.quadratic and not p.in_parts and p.penalty is None and p.weight is None
    return plain and affordable(p.n, p.d) and L > 0


def _useful(p: Problem) -> exact.UsefulBatches | None:
    """None where it would take long, the start is the minimiser, or SGD on all rows would take very
    many steps."""
    if not p.loss.quadratic or p.n * float(p.width) ** 2 > USEFUL_FLOPS:
        return None
    model = least_squares_model(p, None)
    if model is None:
        return None
    with contextlib.suppress(ValueError):
        return exact.useful_batches(model)
    return None
