"""The table of coefficients: standard errors and intervals, for estimators and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from ._types import Array

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


class Errors(Protocol):
    """What is known of the coefficients of a fit: ``bocce.inference.Inference``."""

    @property
    def standard_errors(self) -> Array: ...

    @property
    def centre(self) -> Array: ...

    @property
    def spread(self) -> Array: ...


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
    names: list[str], fits: Sequence[tuple[Array, Errors]], level: float, penalised: bool
) -> CoefficientTable:
    """Coefficients with standard errors and intervals, of fits and what `bocce.inference` found.

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
