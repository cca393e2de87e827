"""How a FILE becomes a problem."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, NamedTuple

from ._options import ModelOptions, Reading, known_sets


class Column(NamedTuple):
    """A column that is no feature."""

    name: str
    values: Any


class FileData(NamedTuple):
    """What a FILE holds. ``y`` is None where X is a block file, which holds it as well."""

    X: Any
    y: Any
    columns: list[str] | None = None
    target: str | None = None
    weights: Column | None = None
    offset: Column | None = None
    encoding: Any = None  # how text and dates became numbers
    imputed: list[float] | None = None  # what stands for missing values, by column
    excluded: list[str] | None = None  # columns that were left out by name

    def on(self, rows: Any) -> FileData:
        """Some of the rows, in memory."""
        weights, offset = (
            c and c._replace(values=c.values[rows]) for c in (self.weights, self.offset)
        )
        return self._replace(X=self.X[rows], y=self.y[rows], weights=weights, offset=offset)

    def rows(self) -> tuple[Any, ...]:
        """X, y, the weights and the offset, None where there are none."""
        return self.X, self.y, *(c and c.values for c in (self.weights, self.offset))

    def filled(self, values: list[float]) -> FileData:
        """The same rows with these values, one a column, where one is missing."""
        from ..data.impute import fill

        return self._replace(X=fill(self.X, values), imputed=values)

    @property
    def in_parts(self) -> bool:
        return self.y is None

    @property
    def labels(self) -> list[Any] | None:
        """The labels of a target that holds text or truth values; None if it holds numbers."""
        if self.in_parts:
            named: list[str] | None = self.X.classes
            return named
        return None if self.y.dtype.kind in "fiu" else sorted(set(self.y.tolist()))


def read(file: str, reading: Reading, keep_missing: bool = False) -> FileData:
    """The data of a file, or of a known LIBSVM data set; missing values may stay, as NaN."""
    from .. import data

    chosen, excluded = _listed(reading.columns), _listed(reading.exclude)
    if chosen:
        chosen += [_name_or_number(name) for name in (reading.weights, reading.offset) if name]
    if not Path(file).exists() and file in known_sets():
        if not (given := reading.given()):
            return FileData(*data.load(file))
        raise ValueError(
            f"{' and '.join(given)} must be left out for the data set {file}, whose columns have "
            "no names."
        )
    if not Path(file).exists() and (near := difflib.get_close_matches(file, known_sets(), n=1)):
        raise FileNotFoundError(f"there is no file {file!r}; did you mean the data set {near[0]}?")
    found = data.open(
        file,
        _name_or_number(reading.target),
        chosen,
        exclude=excluded,
        missing="keep" if keep_missing else reading.missing,
        encode=reading.encode,
        unknown=reading.unknown,
    )
    left_out = [name for name in excluded or () if isinstance(name, str)] or None
    X, y = found
    rows = FileData(X, y, found.columns, found.target, encoding=found.encoding, excluded=left_out)
    for option, name in (("weights", reading.weights), ("offset", reading.offset)):
        rows = _without(rows, option, name, file) if name else rows
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
        why = "is read in parts" if data.in_parts else "has columns without names"
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
    if (gaps := np.isnan(values)).any():
        raise ValueError(
            f"--{option}: the column {found!r} lacks a value (row {int(np.argmax(gaps))}), must "
            "have one in every row; leave such rows out with --missing drop."
        )
    taken: dict[str, Any] = {option: Column(found, values)}
    encoding, X = data.encoding and data.encoding.without(found), np.delete(data.X, place, axis=1)
    return data._replace(X=X, columns=others, encoding=encoding, **taken)


def _listed(text: str | None) -> list[Any] | None:
    return [_name_or_number(word) for word in text.split(",")] if text else None


def _name_or_number(text: str | None) -> str | int | None:
    if text is None:
        return None
    return int(text) if text.strip().lstrip("-").isdigit() else text.strip()


class Chosen(NamedTuple):
    """A loss, and why it was chosen if nobody named one."""

    name: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.why}; --loss chooses another)" if self.why else self.name


def choose_loss(data: FileData, loss: str | None) -> Chosen:
    """The loss that was named, or the one for numbers, for two labels, or for more."""
    from ..losses import REGISTRY

    labels, target = data.labels, data.target or "the target"
    if labels is None:
        return Chosen(loss or "squared")
    if len(labels) < 2:
        raise ValueError(
            f"{target} has one label only ({labels[0]!r}), must have two or more; check the rows, "
            "or name another column with --target."
        )
    fitting = "logistic" if len(labels) == 2 else "softmax"
    if loss is None:
        return Chosen(fitting, f"{target} has {len(labels)} labels")
    if not (REGISTRY[loss].margin or REGISTRY[loss].multi_output):
        raise ValueError(
            f"--loss {loss} is for numbers, and {target} holds labels ({labels[0]!r}, "
            f"{labels[1]!r}{', ...' * (len(labels) > 2)}); leave --loss out, or give --loss "
            f"{fitting}."
        )
    return Chosen(loss)


def split(data: FileData, loss: str, share: float, seed: int) -> tuple[FileData, FileData]:
    """The rows to fit, and those to hold out: a share of all, or of each class."""
    import numpy as np

    from ..losses import REGISTRY
    from ..sampling import check_seed, held_out

    if data.in_parts:
        raise ValueError(
            "--test needs data in memory, and FILE is read in parts; write the rows to hold out "
            "into a file of their own, and give that to `bocce predict`."
        )
    classes = REGISTRY[loss].margin or REGISTRY[loss].multi_output
    groups = data.y if classes else np.zeros(len(data.y))
    chosen = held_out(check_seed("solve", seed), share, groups)
    if not chosen.any():
        raise ValueError(
            f"--test {share:g} of {len(chosen)} rows is less than one row; raise it, or leave "
            "--test out."
        )
    return data.on(~chosen), data.on(chosen)


def impute(data: FileData, how: str) -> FileData:
    """The data with the mean or the median of each column for its missing values."""
    from scipy.sparse import issparse

    from ..data.impute import centres

    if data.in_parts or issparse(data.X):
        raise ValueError(
            f"--impute {how} needs a dense table in memory; leave --impute out, or fill in the "
            "values before."
        )
    names = data.columns or [str(j) for j in range(data.X.shape[1])]
    return data.filled(centres(data.X, how, names))


def problem_of(data: FileData, model: ModelOptions) -> Any:
    """What is minimised."""
    from .. import Problem

    X, y, weights, offset = data.rows()
    if data.in_parts and data.offset is not None:
        offset = data.offset.name
    how = {"intercept": model.intercept, "standardize": model.standardize}
    return Problem(X, y, model.loss, model.l2, sample_weight=weights, offset=offset, **how)
