"""What the table of a method does on a problem, computed before the run.

Least squares with few columns: exact moments (``bocce.exact``). Least squares with many columns:
certificates (``bocce.theory``). Another loss: exact stability of the quadratic that f is near its
minimiser, f_i(w*) + g_i . (w - w*) + c_i (x_i . (w - w*))^2 / 2, a least-squares problem with rows
sqrt(c_i) x_i. There an l2 falls on the intercept, too, which moves a critical batch size by about
l2 over the intercept's curvature.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .. import exact, theory
from ..problems import LeastSquares, Problem
from ..rows import Array
from ..schedules import Schedule

EXACT_COLUMNS = 40  # With more columns exact moments take minutes.
EXACT_FLOPS = 8e9  # n d^4 for a critical batch size, T d^4/4 for a curve: seconds.
LEAST_BEND = 1e-6  # Rows that are flatter than this share of the most curved one count as so flat.


@dataclass(frozen=True)
class Expectation:
    """What is known of a method's table before it is run.

    ``by``: "exact" (expectations, computed), "certified" (upper bounds), "local" (exact for the
    quadratic near the minimiser), or "none". ``gap`` is E f(w_T) - f* over f(w_0) - f*, or a bound
    on it. ``critical`` is the real number b_c of the longest step: batches of at most so many rows
    diverge; infinite where all rows diverge. ``certified_rows``: from so many rows on the longest
    step is certified to be stable. ``steps``: the first k from which on the gap is at most what was
    asked for, None if there is none up to T. What is not known is None.
    """

    by: str
    gap: float | None = None
    critical: float | None = None
    certified_rows: float | None = None
    steps: int | None = None

    def diverges(self, b: int, n: int) -> bool:
        """Is it known that batches of b rows diverge?"""
        if self.critical is not None and b < n:
            return b <= self.critical
        return self.critical == math.inf or (self.by == "exact" and (self.gap or 0.0) > 1.0)


def affordable(n: int, d: int) -> bool:
    """Does an exact critical batch size take seconds, and not minutes?"""
    return d <= EXACT_COLUMNS and n * float(d) ** 4 <= EXACT_FLOPS


def longest(table: Schedule) -> tuple[float, float, float]:
    """(alpha, beta, theta) of the step that reaches furthest."""
    k = int(np.argmax(table.alpha / (1.0 - table.beta)))
    return float(table.alpha[k]), float(table.beta[k]), float(table.theta[k])


def expectation(
    p: Problem, table: Schedule, b: int, near: Array | None, accuracy: float
) -> Expectation:
    """What ``table`` does in batches of b rows, from zero, until the gap is ``accuracy`` of that at
    the start; losses that are not quadratic need a point ``near`` their minimiser."""
    alpha, beta, theta = longest(table)
    model = _model(p, near)
    if model is None:
        return _certified(p, table, b, (alpha, beta, theta))
    too_long = alpha * model.constants().L >= 2.0 * (1.0 + beta) / (1.0 + 2.0 * theta)
    critical = math.inf if too_long else exact.critical_batch_size(model, alpha, beta, theta)
    if not p.loss.quadratic or table.T * float(model.d) ** 4 > 4 * EXACT_FLOPS:
        return Expectation("local" if not p.loss.quadratic else "exact", critical=critical)
    curve = exact.expected(model, table, b)
    gap = curve.gap / curve.gap[0] if curve.gap[0] > 0.0 else np.zeros(table.T + 1)
    above = np.flatnonzero(~(gap <= accuracy))
    first = int(above[-1]) + 1 if above.size else 0
    return Expectation("exact", float(gap[-1]), critical, steps=first if first <= table.T else None)


def _model(p: Problem, near: Array | None) -> Problem | None:
    """The least-squares problem that the table is judged on, if it is small."""
    one_l2 = bool(np.all(p.ridges[: p.d] == p.l2))
    plain = one_l2 and p.weight is None and not p.in_parts and not p.rows.foreign
    small = affordable(p.n, p.width)
    known = p.loss.quadratic or (near is not None and not p.loss.multi_output)
    if not (plain and small and known) or p.loss.curvature is None or p.constants().L <= 0.0:
        return None
    if p.loss.quadratic and not p.intercept:
        return p
    X, y = p.X, p.y
    if p.intercept:
        column = np.ones((p.n, 1))
        X = sp.hstack([X, column], format="csr") if sp.issparse(X) else np.hstack([X, column])
    if not p.loss.quadratic:
        assert near is not None
        z = p.predict(near)
        bend = p.bends(z)
        root = np.sqrt(np.maximum(bend, LEAST_BEND * bend.max(initial=0.0)))
        if not root.all():
            return None
        X = X.multiply(root[:, None]).tocsr() if sp.issparse(X) else X * root[:, None]
        y = root * z - p.slopes(z) / root
    return LeastSquares(X, y, l2=p.l2)


def _certified(
    p: Problem, table: Schedule, b: int, step: tuple[float, float, float]
) -> Expectation:
    """Bounds from certificates, for least squares."""
    if not p.loss.quadratic or p.in_parts or (c := p.constants()).mu <= 0.0:
        return Expectation("none")
    alpha, beta, theta = step
    rows = None
    if theta == 0.0:
        rows = theory.certified_batch_size(p.n, alpha, beta, max(c.L_max, c.L), c.mu, c.L)
    if not c.exact and table.T > theory.finite.MOST_STEPS:
        return Expectation("certified", certified_rows=rows)
    start = p.value(np.zeros(p.shape)) - p.value(p.minimiser())
    bound = theory.certify_run(p, table, b, of="gap")
    gap = bound.total / start if bound.valid and start > 0.0 else None
    return Expectation("certified", gap, certified_rows=rows)


# ---------------------------------------------------------------- in words


def words(found: Expectation, name: str, b: int, n: int, T: int, accuracy: float) -> str:
    """What is expected of the method, the worst first."""
    if found.by == "none":
        return f"What {name} will do with batches of {b:,} rows is not known beforehand."
    said = (_stability(found, name, b, n), _fall(found, b, n, T, accuracy))
    return " ".join(text for text in said if text)


def _stability(found: Expectation, name: str, b: int, n: int) -> str:
    where = " near the minimum" if found.by == "local" else ""
    if found.critical == math.inf:
        return f"{name} diverges{where} at every batch size: its step is too long for all rows."
    if found.critical is None:
        rows = found.certified_rows
        if rows is None or rows <= b:
            return ""
        if rows > n:
            return f"Nothing is certified of {name}'s longest step."
        return f"{name}'s longest step is certified to be stable from {math.ceil(rows):,} rows on."
    least = min(n, math.floor(found.critical) + 1)
    if least == 1:
        return f"{name} is stable{where} at every batch size."
    below = f"{name} diverges{where} below {least:,} rows"
    if b >= least:
        return f"{below}; b = {b:,} is stable."
    return f"{below}, and b = {b:,}: take at least {least:,} rows, or the method auto."


def _fall(found: Expectation, b: int, n: int, T: int, accuracy: float) -> str:
    gap, certified = found.gap, found.by == "certified"
    if gap is None or (gap > 1.0 and certified):
        return ""
    if gap > 1.0:
        size = "beyond what a double holds" if math.isinf(gap) else f"{gap:.2g} times"
        return f"In expectation f - f* grows {size} in {T:,} steps."
    how = "is certified to be at most" if certified else "is expected to be"
    text = f"After {T:,} steps f - f* {how} {gap:.2g} of what it is at the start"
    if found.steps is not None:
        return f"{text}; T = {T} is enough: {accuracy:g} is reached after {found.steps:,} steps."
    if gap <= accuracy:
        return f"{text}; T = {T} is enough."
    less = " the batch" if b < n else " l2"
    return f"{text}, above the {accuracy:g} asked for; raise T or{less}."
