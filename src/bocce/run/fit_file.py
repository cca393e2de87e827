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
from ..losses import REGISTRY
from ..rows import Array
from .result import Result

FORMAT = 1  # of the description in the file
# Fields of a result that the description holds as they are.
PLAIN = ("status", "n_iter", "seed", "batch_size", "message")
FROM_FILE = ("target", "weights", "offset", "imputed", "excluded")


def save(stream: IO[bytes], result: Result) -> None:
    """Weights, intercept, history and what predictions need, as NPZ without pickles."""
    loss, encoding = result.loss, result.encoding
    about = {
        "format": FORMAT,
        "loss": None if loss is None else [loss.name, *loss],
        **{name: getattr(result, name) for name in (*PLAIN, *FROM_FILE)},
        "encoding": None if encoding is None else asdict(encoding),
    }
    kept: dict[str, Array] = {
        "about": np.array(json.dumps(about)),
        "w": result.w,
        "intercept": np.asarray(result.intercept),
        **result.history,
    }
    if result.columns is not None:
        kept["columns"] = np.array(result.columns, dtype=str)
    if result.target is not None:
        kept["target"] = np.array(result.target)
    if result.classes is not None:
        labels = np.asarray(result.classes)
        kept["classes"] = labels.astype(str) if labels.dtype == object else labels
    np.savez(stream, **kept)  # type: ignore[arg-type]


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
        with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored.files}
        about = json.loads(str(found.pop("about")))
        if about["format"] != FORMAT:
            raise ValueError(f"format {about['format']!r}")
        loss = about["loss"]
        if loss is not None:
            loss = REGISTRY[_checks.choice("load", "loss", loss[0], REGISTRY)](*loss[1:])
        columns = found.pop("columns", None)
        found.pop("target", None)
        known = {name: about[name] for name in PLAIN}
        known |= {name: about.get(name) for name in FROM_FILE}
        intercept = found.pop("intercept")
        return Result(
            w=np.asarray(found.pop("w"), dtype=np.float64),
            intercept=intercept if intercept.ndim else float(intercept),
            loss=loss,
            classes=found.pop("classes", None),
            columns=None if columns is None else columns.tolist(),
            encoding=Encoding(**about["encoding"]) if about.get("encoding") else None,
            schedule=None,
            history=found,
            **known,
        )
    except Exception as error:  # whatever a damaged file makes of it
        raise ValueError(
            f"load: {str(file)!r} must be a fit written by `bocce solve --out` of this version "
            f"({type(error).__name__}: {error}); fit again."
        ) from None
