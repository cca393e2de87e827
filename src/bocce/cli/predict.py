"""``bocce predict``: apply a fit to new data."""

from __future__ import annotations

import csv
import sys
from codecs import getwriter
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ._options import Missing, Unknown
from ._terminal import check_folder, progress, say


def predict(
    fit: Annotated[Path, typer.Argument(metavar="FIT", help="A fit of `bocce solve --out FIT`.")],
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="New rows; the target may be missing.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Write a CSV file here; standard output if not given.")
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities, a column for each class.")
    ] = False,
    extra: Annotated[
        Literal["refuse", "ignore"],
        typer.Option(help="What to do with columns that the fit does not know."),
    ] = "refuse",
    missing: Missing = "refuse",
    unknown: Unknown = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
) -> None:
    """Apply a fit to new data.

    Writes a line for each row of FILE, in order. Columns are matched by name. The target and the
    weights may be missing; the offset is added, text and dates are encoded and missing values are
    filled in, as in the fit.
    Files larger than memory are read in parts.

    \b
    Examples:
      bocce solve train.csv --target sport --out fit
      bocce predict fit new.csv
      bocce predict fit new.parquet --proba --out predictions.csv
    """
    import numpy as np

    from .. import load
    from .._atomic import atomic_write

    model = load(fit)
    if proba:  # raises before any work where there are none
        model.predict_proba(np.zeros((0, model.w.shape[0])))
    check_folder("--out", out)
    if out is not None and out.exists() and not force:
        raise FileExistsError(
            f"--out: {str(out)!r} would be overwritten; choose another name, or add --force."
        )
    with progress(f"reading {file}"):
        parts = _parts(model, file, extra, missing, unknown)
        first = next(parts)
    count = 0
    with nullcontext() if out is None else atomic_write(out) as stream:
        write = csv.writer(
            sys.stdout if stream is None else getwriter("utf-8")(stream), lineterminator="\n"
        )
        write.writerow(map(str, model.classes) if proba else [model.target or "prediction"])
        for X, offset in chain([first], parts):
            found = model.predict_proba(X, offset) if proba else model.predict(X, offset)
            write.writerows(found.tolist() if proba else ([value] for value in found.tolist()))
            count += len(found)
    if out is not None:
        say(f"wrote {count:,} predictions to {out}")


def _parts(model: Any, file: str, extra: str, missing: str, unknown: str | None) -> Iterator[Any]:
    """The features of the file and the offset, as many rows at a time as fit into memory."""
    from ..blockfile import BlockFile
    from ..data.impute import fill
    from ..data.read.files import features

    if model.imputed is not None and missing == "refuse":
        missing = "keep"
    X = features(file, model, extra=extra, missing=missing, unknown=unknown)
    blocks = X.stream(range(X.n_blocks)) if isinstance(X, BlockFile) else [(X, None)]
    for block, _ in blocks:
        offset = None
        if model.offset is not None:
            block, offset = block[:, :-1], block[:, -1]
        block = _as_wide(block, model.w.shape[0], file)
        yield block if model.imputed is None else fill(block, model.imputed), offset


def _as_wide(X: Any, d: int, file: str) -> Any:
    """LIBSVM rows end at their last entry: columns of zeros may be missing."""
    from scipy.sparse import issparse

    if X.shape[1] < d and issparse(X):
        X = X.copy()
        X.resize((X.shape[0], d))
    if X.shape[1] != d:
        raise ValueError(
            f"{file}: has {X.shape[1]} feature columns, must have {d} as in the fit; give the same "
            "columns."
        )
    return X
