"""The coefficients of a run, with standard errors where these cost no more than the run."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._coefficients import CoefficientTable, coefficient_table, row_names
from ..inference import MOST_VARIABLES, infer
from ..problems import Problem
from .result import Result

LEVEL = 0.95
# Standard errors of fewer multiplications are always computed: they take about 0.2 s, less than a
# command needs to start.
CHEAP = 1e9
# An optimisation error below this share of the standard error changes no interval visibly.
SMALL = 0.1


def coefficients(
    p: Problem,
    result: Result,
    columns: Sequence[str] | None = None,
    kind: str | None = None,
    count: float | None = None,
) -> CoefficientTable:
    """Coefficients with standard errors and 95 % intervals, or with the reason why there are none.

    ``kind``: standard errors of the loss's model, or of the residuals alone ("sandwich"). By
    default the former where the loss has a model, and only where they cost no more than the run.
    ``count``: how many observations the weights stand for, the number of rows unless given.

    >>> import numpy as np, bocce
    >>> p = bocce.LeastSquares(np.ones((4, 1)), [1.0, 2.0, 3.0, 6.0])
    >>> coefficients(p, bocce.minimize(p, tol=1e-9), ["mean"])["std_error"].round(6).tolist()
    [1.080123]
    """
    w = p.join_intercept(result.w, result.intercept)
    groups = p.classes if w.ndim == 2 else ()
    names = row_names(columns or [f"x{j}" for j in range(p.d)], p.intercept, groups)
    why = _why_not(p, result, kind)
    used = kind or ("sandwich" if p.loss.model == "none" else "model")
    if not why:
        try:
            found = infer(p, w, used, count)
        except ValueError as error:
            why = str(error)
    if why:
        return CoefficientTable(names, {"coef": w.T.reshape(-1)}, [f"No standard errors: {why}"])
    table = coefficient_table(names, [(w, found)], LEVEL, bool(np.any(p.ridge)))
    if used == "sandwich":
        table.notes.append("Standard errors are by residuals alone (sandwich).")
    with np.errstate(divide="ignore", invalid="ignore"):
        far = float(np.nan_to_num(found.error / found.standard_errors, nan=0.0).max(initial=0.0))
    if SMALL < far < math.inf:
        table.notes.append(
            f"A coefficient may be {far:.2g} standard errors from the minimiser; lower tol."
        )
    return table


def _why_not(p: Problem, result: Result, kind: str | None) -> str:
    """Why there are no standard errors, in words."""
    if result.status != "converged":
        return "the run ended before the minimum; run it to a tolerance, without a number of steps."
    if kind is not None:
        return ""
    scores = len(p.classes) if p.loss.multi_output else 1
    passes = float(result.history["gradient_evaluations"][-1]) / p.n
    run = 4.0 * p.rows.cost * scores * passes
    if result.w.size > MOST_VARIABLES or 2.0 * p.rows.gram_cost * scores**2 > max(run, CHEAP):
        return 'they would take longer than the fit; kind="model" asks for them.'
    return ""
