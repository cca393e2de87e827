"""The table of coefficients: standard errors and intervals, for estimators and the command line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from .. import separation
from .._rowsums import NOISE
from ..inference import MOST_VARIABLES, Inference, infer
from ..problems import Problem
from ..rows import Array
from .result import Result

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

LEVEL = 0.95
# Standard errors of fewer multiplications are always computed: they take about 0.2 s, less than a
# command needs to start.
CHEAP_ERRORS = 1e9
# An optimisation error below this share of the standard error changes no interval visibly.
SMALL = 0.1
SAME = 1e-9  # Factors of two columns that differ by less are equal.
MOST_NAMED = 8  # columns of a sentence, or sentences of a kind


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


def variable_names(p: Problem, columns: Sequence[str] | None = None) -> list[str]:
    """A name for each variable of a problem; x0, x1, ... where the columns have no names."""
    groups = p.classes if len(p.shape) > 1 else ()
    return row_names(columns or [f"x{j}" for j in range(p.d)], p.intercept, groups)


# -- what the data do not determine ----------------------------------------------------------------


def escape_words(names: Sequence[str], direction: Array) -> str:
    """The sentence that f has no minimiser, and which coefficients run away.

    >>> escape_words(["age", "group", "intercept"], np.array([0.0, -1.0, 0.0]))[:68]
    'The objective falls for ever as group goes to minus infinity, so no '
    """
    least = NOISE * np.abs(direction).max(axis=-1, keepdims=direction.ndim > 1)
    if direction.ndim > 1:  # only differences of classes count
        direction = direction - direction.max(axis=1, keepdims=True)
    flat = np.where(np.abs(direction) <= least, 0.0, direction).T.reshape(-1)
    ways = []
    for sign, where in ((1.0, "infinity"), (-1.0, "minus infinity")):
        some = [name for name, move in zip(names, flat) if sign * move > 0.0]
        if some:
            ways.append(f"{_listed(some)} {'goes' if len(some) == 1 else 'go'} to {where}")
    return (
        f"The objective falls for ever as {' and '.join(ways)}, so no finite minimiser exists: "
        "such coefficients have no standard errors, and the others are those of the rows that "
        "stay. Set l2 > 0, for example 1e-4, with a penalty on these columns, or leave them out."
    )


def dependence_words(names: Sequence[str], vector: Array, intercept: bool) -> str:
    """The sentence that some columns depend on one another: X v = 0, with v the ``vector``.

    >>> dependence_words(["a", "b"], np.array([-2.0, 1.0]), False)
    'b is a copy of a, times 2.'
    """
    used = [int(j) for j in np.flatnonzero(vector)]
    *others, last = [j for j in used if not (intercept and j == vector.size - 1)]
    if not others and len(used) == 1:
        return f"{names[last]} is zero in every row."
    if not others:
        return f"{names[last]} is constant, as the intercept is."
    if len(used) == 2:
        times = -vector[others[0]] / vector[last]
        factor = "" if abs(times - 1.0) < SAME else f", times {times:.6g}"
        return f"{names[last]} is a copy of {names[others[0]]}{factor}."
    listed = [names[j] for j in used if j != last]
    return f"{names[last]} is a combination of {_listed(listed)}."


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        shown.append(f"{len(names) - MOST_NAMED} more")
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _undetermined(
    names: Sequence[str], columns: Sequence[str], intercept: bool, fits: Sequence[Inference]
) -> list[str]:
    """Why the data do not determine some coefficients, a sentence each, without repetition."""
    said = []
    start = 0
    for found in fits:
        own = names[start : start + found.spread.size]
        start += found.spread.size
        said += [dependence_words(columns, v, intercept) for v in found.dependent.T]
        if found.escape is not None:
            said.append(escape_words(own, found.escape))
    said = list(dict.fromkeys(said))
    if len(said) > MOST_NAMED:
        left = len(said) - MOST_NAMED
        said = [*said[:MOST_NAMED], f"{left} more columns depend on others."]
    return said or ["No row in which the loss is curved holds these coefficients."]


# -- the table -------------------------------------------------------------------------------------


def coefficient_table(
    names: list[str],
    columns: Sequence[str],
    fits: Sequence[tuple[Array, Inference]],
    level: float,
    penalised: bool,
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
    shown = {"coef": coef, "std_error": errors, "lower": centre - half, "upper": centre + half}
    notes = []
    if penalised:
        notes.append(
            "Standard errors are of the penalised coefficients, intervals are for those without "
            "the penalty."
        )
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            shown["p_value"] = 2.0 * ndtr(-np.abs(coef / errors))
    if np.isnan(spread).any():
        notes.append("NaN: the data alone do not determine this coefficient.")
        intercept = fits[0][1].spread.shape[0] > len(columns)
        notes += _undetermined(names, [*columns, "intercept"], intercept, [f for _, f in fits])
    return CoefficientTable(names, shown, notes)


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
    names = variable_names(p, columns)
    columns = columns or [f"x{j}" for j in range(p.d)]
    why = _too_dear(p, result, kind)
    used = kind or ("sandwich" if p.loss.model == "none" else "model")
    if not why:
        try:
            found = infer(p, w, used, count)
        except ValueError as error:
            why = str(error)
        else:
            why = _too_early(result, found)
    if why:
        return CoefficientTable(names, {"coef": w.T.reshape(-1)}, [f"No standard errors: {why}"])
    table = coefficient_table(names, columns, [(w, found)], LEVEL, bool(np.any(p.ridge)))
    if used == "sandwich":
        table.notes.append("Standard errors are by residuals alone (sandwich).")
    far = _farthest(found)
    if SMALL < far < math.inf:
        table.notes.append(
            f"A coefficient may be {far:.2g} standard errors from the minimiser; lower tol."
        )
    return table


def _farthest(found: Inference) -> float:
    """The largest distance of a coefficient from the minimiser, in standard errors."""
    known = found.determined
    with np.errstate(divide="ignore", invalid="ignore"):
        far = found.error[known] / found.standard_errors[known]
    return float(np.where(np.isnan(far), 0.0, far).max(initial=0.0))


def _too_early(result: Result, found: Inference) -> str:
    """That a run ended before the minimum, in words, or "". Where there is no minimum, it is enough
    that the run is near the limit of the coefficients that are determined."""
    if result.status == "converged" or (found.escape is not None and _farthest(found) < math.inf):
        return ""
    return "the run ended before the minimum; run it to a tolerance, without a number of steps."


def _too_dear(p: Problem, result: Result, kind: str | None) -> str:
    """Why standard errors are not computed unless asked for, in words, or ""."""
    if result.status != "converged" and not separation.may_escape(p):
        return "the run ended before the minimum; run it to a tolerance, without a number of steps."
    if kind is not None:
        return ""
    scores = len(p.classes) if p.loss.multi_output else 1
    passes = float(result.history["gradient_evaluations"][-1]) / p.n
    run = 4.0 * p.rows.cost * scores * passes
    errors = 2.0 * p.rows.gram_cost * scores**2
    if result.w.size > MOST_VARIABLES or errors > max(run, CHEAP_ERRORS):
        return 'they would take longer than the fit; kind="model" asks for them.'
    return ""
