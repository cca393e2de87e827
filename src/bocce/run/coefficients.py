"""The table of coefficients: standard errors and intervals, for estimators and the command line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from ..inference import MOST_VARIABLES, Inference, infer
from ..problems import Problem
from ..rows import Array
from .result import Result

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

LEVEL = 0.95
# Standard errors of fewer multiplications are always computed: they take about 0.2 s, less than a
# command needs to start.
CHEAP = 1e9
# An optimisation error below this share of the standard error changes no interval visibly.
SMALL = 0.1


@dataclass(frozen=True, repr=False)
class CoefficientTable:
    """Rows of a summary: a name and numbers each. ``to_pandas()`` makes a DataFrame of it."""

    names: list[str]
    columns: dict[str, Array]
    notes: list[str]

    def __getitem__(self, column: str) -> Array:
        """A column by its name, as in a DataFrame."""
        return self.columns[column]

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas DataFrame, indexed by the names."""
        import pandas as pd

        return pd.DataFrame(self.columns, index=self.names)

    def cells(self) -> list[list[str]]:
        rows = zip(self.names, *self.columns.values())
        return [[name, *(f"{value:.6g}" for value in values)] for name, *values in rows]

    def __repr__(self) -> str:
        cells = [["", *self.columns], *self.cells()]
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths)).rstrip() for row in cells]
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in ["", *self.columns])
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self.cells())
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><tr>{head}</tr>{body}</table>{notes}"


def row_names(columns: Sequence[str], intercept: bool, groups: Sequence[object]) -> list[str]:
    """A name for each variable: of each group (an output or a class), where there are several.

    >>> row_names(["age"], True, ["no", "yes"])
    ['no: age', 'no: intercept', 'yes: age', 'yes: intercept']
    """
    names = [*columns, *["intercept"] * intercept]
    if len(groups) < 2:
        return names
    return [f"{group}: {name}" for group in groups for name in names]


def coefficient_table(
    names: list[str], fits: Sequence[tuple[Array, Inference]], level: float, penalised: bool
) -> CoefficientTable:
    """Coefficients with standard errors and intervals, of fits and what ``infer`` found.

    Intervals are for the coefficients without a penalty (``Inference.centre``). There are no
    p-values for a penalised fit: the penalty moves the estimate towards the hypothesis.
    """
    coef, errors, centre, spread = (
        np.concatenate([part.T.reshape(-1) for part in parts])
        for parts in zip(*((w, one.standard_errors, one.centre, one.spread) for w, one in fits))
    )
    half = ndtri(0.5 + 0.5 * level) * spread
    columns = {"coef": coef, "std_error": errors, "lower": centre - half, "upper": centre + half}
    notes = []
    if penalised:
        notes.append(
            "Standard errors are of the penalised coefficients, intervals are for those without "
            "the penalty."
        )
    else:
        columns["p_value"] = 2.0 * ndtr(-np.abs(coef / errors))
    if np.isnan(spread).any():
        notes.append("NaN: the data alone do not determine this coefficient.")
    return CoefficientTable(names, columns, notes)


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
