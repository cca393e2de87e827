"""The file that keeps a fit: written by ``bocce solve --out``, read by ``bocce.load``."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import IO

import numpy as np

from .. import _checks
from ..data import Encoding
from ..losses import REGISTRY, Loss
from ..rows import Array
from .result import Result

FORMAT = 1  # of the description in the file


def save(
    stream: IO[bytes],
    result: Result,
    columns: list[str] | None = None,
    target: str | None = None,
    weights: str | None = None,
    offset: str | None = None,
    encoding: Encoding | None = None,
    imputed: list[float] | None = None,
    excluded: list[str] | None = None,
) -> None:
    """Weights, intercept, history and what predictions need, as NPZ without pickles; the names of
    the features, of the target, and of the columns of weights and offsets; how text and dates
    became numbers, and what stands for missing values."""
    about = {
        "format": FORMAT,
        "loss": None if result.loss is None else [result.loss.name, *result.loss],
        "status": result.status,
        "n_iter": result.n_iter,
        "seed": result.seed,
        "batch_size": result.batch_size,
        "message": result.message,
        "target": target,
        "weights": weights,
        "offset": offset,
        "encoding": None if encoding is None else asdict(encoding),
        "imputed": imputed,
        "excluded": excluded,
    }
    named: dict[str, Array] = {} if columns is None else {"columns": np.array(columns, dtype=str)}
    if target is not None:
        named["target"] = np.array(target)
    if result.classes is not None:
        named["classes"] = np.asarray(result.classes)
        if named["classes"].dtype == object:
            named["classes"] = named["classes"].astype(str)
    named |= {"about": np.array(json.dumps(about)), "w": result.w}
    named |= {"intercept": np.asarray(result.intercept), **result.history}
    np.savez(stream, **named)  # type: ignore[arg-type]


def load(path: str | os.PathLike[str]) -> Result:
    """The fit that ``bocce solve --out`` has written.

    Parameters
    ----------
    path : str or path
        The NPZ file, with or without its suffix.

    Returns
    -------
    Result
        With ``predict``, ``predict_proba``, ``columns`` and ``classes``; ``schedule`` is None and
        ``stages`` is empty.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file holds no fit, or one of another version.

    Examples
    --------
    >>> import tempfile, pathlib, bocce
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> X, y, _ = bocce.data.regression(n=50, d=2, kappa=5.0)
    >>> fit = bocce.minimize(bocce.LeastSquares(X, y), tol=1e-8)
    >>> with open(folder / "fit.npz", "wb") as stream:
    ...     save(stream, fit)
    >>> bool((load(folder / "fit").predict(X) == fit.predict(X)).all())
    True
    """
    file = Path(path)
    file = file if file.suffix == ".npz" else file.with_name(file.name + ".npz")
    if not file.is_file():
        raise FileNotFoundError(
            f"load: there is no file {str(file)!r}; write one with `bocce solve ... --out FIT`."
        )
    try:
        with np.load(file, allow_pickle=False) as kept:
            found = {name: kept[name] for name in kept.files}
        about = json.loads(str(found.pop("about")))
        loss = None if about["loss"] is None else _loss(*about["loss"])
        w = np.asarray(found.pop("w"), dtype=np.float64)
        intercept = found.pop("intercept")
        names = found.pop("columns", None)
        target = found.pop("target", None)
        classes = found.pop("classes", None)
        if about["format"] != FORMAT:
            raise ValueError(f"format {about['format']!r}")
    except (KeyError, OSError, EOFError, TypeError, json.JSONDecodeError, ValueError) as error:
        raise ValueError(
            f"load: {str(file)!r} must be a fit written by `bocce solve --out` of this version "
            f"({type(error).__name__}: {error}); fit again."
        ) from None
    return Result(
        w=w,
        status=about["status"],
        n_iter=about["n_iter"],
        history=found,
        schedule=None,
        seed=about["seed"],
        batch_size=about["batch_size"],
        message=about["message"],
        intercept=intercept if intercept.ndim else float(intercept),
        loss=loss,
        classes=classes,
        columns=None if names is None else [str(name) for name in names],
        target=None if target is None else str(target),
        weights=about.get("weights"),
        offset=about.get("offset"),
        encoding=Encoding(**about["encoding"]) if about.get("encoding") else None,
        imputed=about.get("imputed"),
        excluded=about.get("excluded"),
    )


def _loss(name: str, *fields: float) -> Loss:
    return REGISTRY[_checks.choice("load", "loss", name, REGISTRY)](*fields)
