"""What ``bocce solve`` knows of a result: for programs, for files, and on a terminal."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

from ._data import FileData
from ._messages import in_options
from ._terminal import as_json, check_folder, fill, number, say, show_table

SHOWN_COEFFICIENTS = 40  # coefficients; more are shown only where --errors asks for them
SUFFIXES = (".npz", ".json")
STANDARDIZED = "standardised for the run; coefficients are in the units of the file"
HEADS = {"coef": "coefficient", "std_error": "std. error", "lower": "95 % from", "upper": "to"}


class Fit(NamedTuple):
    """A run, what it was given, and what it is worth."""

    file: str
    loss: str  # in words
    method: str
    tol: float | str
    problem: Any  # in the units of the file
    result: Any  # the same
    data: FileData
    errors: str | None = None  # the requested kind of standard errors
    standardize: bool = False

    @property
    def observations(self) -> float | None:
        """How many rows the weights stand for; None where there are no weights."""
        weights = self.data.weights
        if weights is None:
            return None
        return float(weights.values.sum())

    def score(self) -> Any:
        """What predictions are worth on the fitted rows; None where the run diverged."""
        from ..run.score import Score

        if self.result.status == "diverged":
            return None
        found = Score(self.result)
        if not self.data.in_parts:
            found.add(*self.data.rows())
            return found
        p = self.problem
        for X, stored in p.given.read():
            y, offset = p.unstacked(stored)
            true = p.loss.targets(p.loss.problem_name, y, p.labels or ())[0]
            found.add_encoded(X, true, None, offset)
        return found

    def coefficients(self) -> Any:
        """The table of coefficients, where they are few or requested; else None."""
        from ..run.coefficients import coefficients

        if self.result.status == "diverged":
            return None
        if self.errors is None and math.prod(self.problem.shape) > SHOWN_COEFFICIENTS:
            return None
        return coefficients(
            self.problem, self.result, self.data.columns, self.errors, self.observations
        )

    def advice(self) -> str:
        """What to do where the penalty keeps columns of small values out of the model, or ""."""
        from ..run.scaling import advice, held_back

        p = self.problem
        result = self.result
        if self.standardize or p.in_parts or result.status == "diverged":
            return ""
        found = held_back(p, p.join_intercept(result.w, result.intercept), self.observations)
        names = self.data.columns or [f"x{j}" for j in range(p.d)]
        return in_options(advice(p, found, names)) if found else ""


def out_files(out: Path | None, force: bool) -> list[Path]:
    """OUT.npz and OUT.json; raises, before any work, where they cannot or may not be written."""
    if out is None:
        if force:
            raise ValueError("--force is about the files of --out; give both, or neither.")
        return []
    check_folder("--out", out)
    if out.is_dir():
        raise ValueError(f"--out: {str(out)!r} is a directory; name the files in it: {out / 'fit'}")
    if out.exists() and not out.is_file():
        raise ValueError(
            f"--out: {str(out)!r} is a device, and OUT.npz and OUT.json are files; to write "
            "nothing, leave --out out."
        )
    if out.suffix in SUFFIXES:
        stem = out.name.removesuffix(out.suffix)
    else:
        stem = out.name
    files = [out.with_name(stem + suffix) for suffix in SUFFIXES]
    there = [str(path) for path in files if path.exists()]
    if there and not force:
        raise FileExistsError(
            f"--out: {' and '.join(there)} would be overwritten; choose another name, or add "
            "--force."
        )
    return files


def summary(fit: Fit, score: Any, table: Any) -> dict[str, Any]:
    """The figures of a run, for programs."""
    import numpy as np

    problem = fit.problem
    result = fit.result
    history = fit.result.history
    figures = {
        "file": fit.file,
        "loss": problem.loss.name,
        "l2": problem.l2,
        "standardize": fit.standardize,
        "n": problem.n,
        "d": problem.d,
        "method": fit.method,
        "batch_size": result.batch_size,
        "stages": [stage._asdict() for stage in result.stages],
        "seed": result.seed,
        "tol": fit.tol,
        "status": result.status,
        "iterations": result.n_iter,
        "gradient_evaluations": int(history["gradient_evaluations"][-1]),
        "value": float(history["value"][-1]),
        "grad_norm": float(history["grad_norm"][-1]),
        "intercept": np.asarray(result.intercept).tolist() if problem.intercept else None,
        "message": in_options(result.message),
        "scores": {},
    }
    if score is not None:
        figures["scores"] = {"fitted": {"rows": score.n, score.kind: score.value}}
    if table is not None:
        named = {"name": table.names, **{k: v.tolist() for k, v in table.columns.items()}}
        figures["coefficients"] = [dict(zip(named, row)) for row in zip(*named.values())]
        figures["notes"] = list(map(in_options, table.notes))
    return figures


def known(data: FileData) -> dict[str, Any]:
    """The names of the columns, by their parts in the fit."""
    found: dict[str, Any] = {}
    if data.columns:
        found = {"columns": data.columns, "target": data.target}
    for option, column in (("weights", data.weights), ("offset", data.offset)):
        if column is not None:
            found[option] = column.name
    return found


def write(files: list[Path], fit: Fit, figures: dict[str, Any]) -> None:
    """Weights, intercept and history as NPZ without pickles; the summary as JSON. Both, or none."""
    import numpy as np

    from .._atomic import atomic_writes

    if not files:
        return
    result = fit.result
    arrays = {"w": result.w, "intercept": np.asarray(result.intercept), **result.history}
    names = known(fit.data)
    if "columns" in names:
        arrays |= {"columns": np.array(names["columns"]), "target": np.array(names["target"])}
    if result.classes is not None:
        arrays["classes"] = np.array(list(result.classes))
    with atomic_writes(files) as (npz, page):
        np.savez(npz, **arrays)
        page.write(as_json({**figures, **names}).encode() + b"\n")


# ---------------------------------------------------------------- on a terminal


def show(fit: Fit, score: Any, table: Any, said: bool) -> None:
    """The fit in words and tables; ``said``: stderr shows the message."""
    problem = fit.problem
    result = fit.result
    rows = f"{problem.n:,} rows, {problem.d:,} columns"
    for option, column in (("weights", fit.data.weights), ("offset", fit.data.offset)):
        if column is not None:
            rows += f", {option} {column.name}"
    ran = [
        f"{s.steps:,} step{'s' * (s.steps != 1)} of {s.method} on {s.batch:,} rows"
        for s in result.stages
    ]
    lines = [("file", fit.file), ("data", rows)]
    if fit.standardize:
        lines += [("columns", STANDARDIZED)]
    lines += [("loss", fit.loss), ("l2", number(problem.l2))]
    lines += [("method", ": ".join([fit.method, ", then ".join(ran)]) if ran else fit.method)]
    lines += [("status", result.status if said else f"{result.status}: {_message(result)}")]
    lines += [("objective", number(float(result.history["value"][-1])))]
    if score is not None:
        lines += [(score.kind, _score(score))]
    show_table(("", ""), lines)
    if table is not None:
        _show_coefficients(fit, table)


def _message(result: Any) -> str:
    name, _, text = in_options(result.message).partition(": ")
    return text or name


def _score(score: Any) -> str:
    text = f"{score.value:.4g}"
    if score.classes is None:
        return text
    return f"{text} (the most frequent class: {score.baseline:.4g})"


def _show_coefficients(fit: Fit, table: Any) -> None:
    if fit.result.w.ndim == 1:
        towards = fit.result.classes
    else:
        towards = None
    say("")
    if towards is not None:
        say(fill(f"positive coefficients are towards {towards[1]}, negative ones {towards[0]}"))
    columns = {HEADS[name]: values for name, values in table.columns.items() if name in HEADS}
    rows = list(zip(*([f"{v:.5g}" for v in values] for values in columns.values())))
    if fit.result.w.ndim == 2:
        groups = fit.result.classes
    else:
        groups = [""]
    size = len(rows) // len(groups)
    places = range(1, len(columns) + 1)
    for i, group in enumerate(groups):  # a table for each class of a softmax
        part = slice(i * size, (i + 1) * size)
        names = [name.removeprefix(f"{group}: ") for name in table.names[part]]
        cells = [(name, *row) for name, row in zip(names, rows[part])]
        show_table((str(group), *columns), cells, unbroken=places, right=places)
    for note in table.notes:
        say(fill(in_options(note)))


def show_where(fit: Fit, table: Any, advice: str, files: list[Path]) -> None:
    """Advice, where the coefficients are that are too many to show, and what was written."""
    if advice:
        say("\n" + fill(advice))
    if table is None and fit.result.status != "diverged":
        shape = " x ".join(f"{size:,}" for size in fit.result.w.shape)
        if files:
            where = f"they are in {files[0]}"
        else:
            where = "--out FIT writes them"
        say("\n" + fill(f"{shape} coefficients: {where}, and --errors model prints them"))
    if files:
        say(f"\nwrote {' and '.join(map(str, files))}")
