"""How a FILE becomes a problem."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ._options import ModelOptions, Reading, known_sets


class Column(NamedTuple):
    """A column that is no feature."""

    name: str
    values: Any


class FileData(NamedTuple):
    """What a FILE holds. ``y`` is None where X is read in parts, which hold it as well."""

    X: Any
    y: Any
    columns: list[str] | None = None
    target: str | None = None
    weights: Column | None = None
    offset: Column | None = None

    def rows(self) -> tuple[Any, ...]:
        """X, y, the weights and the offset, None where there are none."""
        return self.X, self.y, *(c and c.values for c in (self.weights, self.offset))

    @property
    def in_parts(self) -> bool:
        return self.y is None

    @property
    def labels(self) -> list[Any] | None:
        """The labels of a target that holds text or truth values; None if it holds numbers."""
        if self.in_parts:
            named: list[str] | None = self.X.classes
            return named
        if self.y.dtype.kind in "fiu":
            return None
        return sorted(set(self.y.tolist()))


def read(file: str, reading: Reading) -> FileData:
    """The data of a file, or of a known LIBSVM data set."""
    from .. import data

    if not Path(file).exists() and file in known_sets():
        if not (given := reading.given()):
            return FileData(*data.load(file))
        raise ValueError(
            f"{' and '.join(given)} must be left out for the data set {file}, whose columns have "
            "no names."
        )
    if not Path(file).exists() and (near := difflib.get_close_matches(file, known_sets(), n=1)):
        raise FileNotFoundError(f"there is no file {file!r}; did you mean the data set {near[0]}?")
    found = data.open(file, **columns_of(reading))
    X, y = found
    rows = FileData(X, y, found.columns, found.target)
    for option, name in (("weights", reading.weights), ("offset", reading.offset)):
        if name:
            rows = _without(rows, option, name, file)
    if rows.weights is not None and not (rows.weights.values > 0.0).all():
        name, values = rows.weights
        raise ValueError(
            f"--weights: the column {name!r} has the value {values.min():g}, must be > 0 in every "
            "row; leave such rows out."
        )
    return rows


def _without(data: FileData, option: str, name: str, file: str) -> FileData:
    """The data with one column less, which becomes the weights or the offset."""
    import numpy as np

    names = data.columns or []
    if option == "offset" and data.in_parts and name in names and len(names) > 1:
        others = [other for other in names if other != name]  # the problem takes it out of X
        return data._replace(columns=others, offset=Column(name, None))
    if data.in_parts or len(names) != data.X.shape[1]:
        if data.in_parts:
            why = "is read in parts"
        else:
            why = "has columns without names"
        raise ValueError(
            f"--{option} needs a table in memory with a name for each column, and {file} {why}; "
            f"leave --{option} out, or use Python: bocce.Problem(X, y, ...)."
        )
    found = next((here for here in (name, f"x{name}") if here in names), None)
    if found is None or len(names) == 1:
        shown = ", ".join(map(repr, names[:12])) + ", ..." * (len(names) > 12)
        raise ValueError(
            f"--{option} {name!r} must be a column of {file} other than the target "
            f"{data.target!r} and the only feature: {shown}."
        )
    place = names.index(found)
    others = [*names[:place], *names[place + 1 :]]
    values = np.asarray(data.X[:, place], dtype=np.float64)
    taken: dict[str, Any] = {option: Column(found, values)}
    return data._replace(X=np.delete(data.X, place, axis=1), columns=others, **taken)


def columns_of(reading: Reading) -> dict[str, Any]:
    """The columns, as options of ``data.open``."""
    chosen = _listed(reading.columns)
    if chosen:
        chosen += [_name_or_number(name) for name in (reading.weights, reading.offset) if name]
    named = {"target": _name_or_number(reading.target), "columns": chosen}
    return {**named, "exclude": _listed(reading.exclude)}


def _listed(text: str | None) -> list[Any] | None:
    if text:
        return [_name_or_number(word) for word in text.split(",")]
    return None


def _name_or_number(text: str | None) -> str | int | None:
    if text is None:
        return None
    if text.strip().lstrip("-").isdigit():
        return int(text)
    return text.strip()


class Chosen(NamedTuple):
    """A loss, and why it was chosen if nobody named one."""

    name: str
    why: str = ""

    def __str__(self) -> str:
        if self.why:
            return f"{self.name} ({self.why}; --loss chooses another)"
        return self.name


def choose_loss(data: FileData, loss: str | None) -> Chosen:
    """The loss that was named, or the one for numbers, for two labels, or for more."""
    from ..losses import REGISTRY

    labels = data.labels
    target = data.target or "the target"
    if labels is None:
        return Chosen(loss or "squared")
    if len(labels) < 2:
        raise ValueError(
            f"{target} has one label only ({labels[0]!r}), must have two or more; check the rows, "
            "or name another column with --target."
        )
    if len(labels) == 2:
        fitting = "logistic"
    else:
        fitting = "softmax"
    if loss is None:
        return Chosen(fitting, f"{target} has {len(labels)} labels")
    if not (REGISTRY[loss].margin or REGISTRY[loss].multi_output):
        raise ValueError(
            f"--loss {loss} is for numbers, and {target} holds labels ({labels[0]!r}, "
            f"{labels[1]!r}{', ...' * (len(labels) > 2)}); leave --loss out, or give --loss "
            f"{fitting}."
        )
    return Chosen(loss)


class FileModel(NamedTuple):
    """What is minimised: in the units of FILE, and as the run sees it."""

    problem: Any
    targets: Any
    scaled: Any = None  # the problem in standardised columns; None where columns stay as they are

    @property
    def run(self) -> Any:
        """The problem whose constants, steps and batches the run has."""
        if self.scaled is None:
            return self.problem
        return self.scaled.problem

    def out(self, result: Any) -> Any:
        """The result of a run with coefficients for the columns of FILE."""
        if self.scaled is None:
            return result
        w, intercept = self.scaled.out(result.w, result.intercept)
        return replace(result, w=w, intercept=intercept)

    def fitted(self, result: Any) -> Any:
        """The problem in the units of FILE, with the loss that suits the residuals of the fit."""
        p = self.problem
        if p.adapts and result.status != "diverged":
            return p.suited(p.join_intercept(result.w, result.intercept))
        return p


def problem_of(data: FileData, model: ModelOptions) -> Any:
    """What is minimised, in the units of FILE."""
    from .. import Problem

    X, y, weights, offset = data.rows()
    if data.in_parts and data.offset is not None:
        offset = data.offset.name
    how = {"intercept": model.intercept, "standardize": model.standardize}
    return Problem(X, y, model.loss, model.l2, sample_weight=weights, offset=offset, **how)


def model_of(data: FileData, model: ModelOptions) -> FileModel:
    """What is minimised, in standardised columns too unless they are not wanted."""
    from ..problems import standardized

    problem = problem_of(data, model)
    if not model.standardize:
        return FileModel(problem, data.y)
    return FileModel(problem, data.y, standardized(problem))
