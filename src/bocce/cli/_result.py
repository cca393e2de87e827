"""What ``bocce solve`` knows of a result: for programs, for files, and on a terminal."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from ._data import FileData
from ._messages import in_options
from ._terminal import as_json, check_folder, fill, number, say, show_table, width

SHOWN = 40  # coefficients; more are shown only where --errors asks for them
CLASSES = 10  # of a confusion table; of more classes the worst confusions are shown
SUFFIXES = (".npz", ".json")
HEADS = {"coef": "coefficient", "std_error": "std. error", "lower": "95 % from", "upper": "to"}


class Fit(NamedTuple):
    """A run, what it was given, and what it is worth."""

    file: str
    method: str
    tol: float
    problem: Any
    result: Any
    data: FileData
    held_out: FileData | None = None
    errors: str | None = None  # the kind of standard errors that was asked for
    standardize: bool = False

    @property
    def observations(self) -> float | None:
        """How many rows the weights stand for; None where there are no weights."""
        weights = self.data.weights
        return None if weights is None else float(weights.values.sum())

    def scores(self) -> dict[str, Any]:
        """What predictions are worth on the fitted and on the held-out rows."""
        from ..run.score import Score

        if self.result.status == "diverged":
            return {}
        found = {"fitted": Score(self.result)}
        if self.data.in_parts:
            p, file = self.problem, self.problem.given.X
            for X, y in file.stream(range(file.n_blocks)):
                true = p.loss.targets(p.loss.problem_name, y.real, p.labels or ())[0]
                offset = None if p.offset_column is None else y.imag
                found["fitted"].add_encoded(X, true, None, offset)
        else:
            found["fitted"].add(*self.data.rows())
        if self.held_out is not None:
            found["held_out"] = Score(self.result)
            found["held_out"].add(*self.held_out.rows())
        return found

    def coefficients(self) -> Any:
        """The table of coefficients, where they are few or were asked for; else None."""
        from ..run.coefficients import coefficients

        if self.result.status == "diverged":
            return None
        if self.errors is None and math.prod(self.problem.shape) > SHOWN:
            return None
        return coefficients(
            self.problem, self.result, self.data.columns, self.errors, self.observations
        )

    def advice(self) -> str:
        """What to do where the penalty keeps columns of small values out of the model, or ""."""
        from ..run.scaling import advice, held_back

        p, result = self.problem, self.result
        if self.standardize or p.in_parts or result.status == "diverged":
            return ""
        found = held_back(p, p.join_intercept(result.w, result.intercept), self.observations)
        names = self.data.columns or [f"x{j}" for j in range(p.d)]
        said = advice(p, found, names) if found else ""
        return in_options(said).replace("standardize=True", "--standardize")


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
    stem = out.name.removesuffix(out.suffix) if out.suffix in SUFFIXES else out.name
    files = [out.with_name(stem + suffix) for suffix in SUFFIXES]
    there = [str(path) for path in files if path.exists()]
    if there and not force:
        raise FileExistsError(
            f"--out: {' and '.join(there)} would be overwritten; choose another name, or add "
            "--force."
        )
    return files


def summary(fit: Fit, scores: dict[str, Any], table: Any) -> dict[str, Any]:
    """The figures of a run, for programs."""
    import numpy as np

    problem, result, history = fit.problem, fit.result, fit.result.history
    figures = {
        "file": fit.file,
        "loss": problem.loss.name,
        "l2": problem.l2,
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
        "scores": {where: _score_figures(score) for where, score in scores.items()},
    }
    if fit.data.encoding is not None:
        figures["encoding"] = asdict(fit.data.encoding)
    if table is not None:
        named = {"name": table.names, **{k: v.tolist() for k, v in table.columns.items()}}
        figures["coefficients"] = [dict(zip(named, row)) for row in zip(*named.values())]
        figures["notes"] = list(map(in_options, table.notes))
    return figures


def _score_figures(score: Any) -> dict[str, Any]:
    found = {"rows": score.n, score.kind: score.value}
    if score.classes is not None and len(score.classes) <= CLASSES:
        found["classes"] = score.classes.tolist()
        found["confusion"] = score.confusion.toarray().tolist()
    elif score.classes is not None:
        found["worst"] = [pair._asdict() for pair in score.worst(CLASSES)]
    return found


def write(files: list[Path], fit: Fit, figures: dict[str, Any]) -> None:
    """What ``bocce predict`` and ``bocce.load`` need, as NPZ; the summary as JSON."""
    from .._atomic import atomic_write
    from ..run.fit_file import save

    if not files:
        return
    npz, page = files
    data = fit.data
    known: dict[str, Any] = {"columns": data.columns, "target": data.target} if data.columns else {}
    for option, column in (("weights", data.weights), ("offset", data.offset)):
        known |= {option: column.name} if column is not None else {}
    known |= {"excluded": data.excluded} if data.excluded else {}
    with atomic_write(npz) as stream:
        save(stream, replace(fit.result, **known, encoding=data.encoding, imputed=data.imputed))
    with atomic_write(page) as stream:
        stream.write(as_json({**figures, **known}).encode() + b"\n")


# ---------------------------------------------------------------- on a terminal


def show(fit: Fit, loss: str, scores: dict[str, Any], table: Any, said: bool) -> None:
    """The fit in words and tables; ``said``: the message is told on stderr."""
    problem, result = fit.problem, fit.result
    rows = f"{problem.n:,} rows, {problem.d:,} columns"
    for option, column in (("weights", fit.data.weights), ("offset", fit.data.offset)):
        rows += f", {option} {column.name}" if column is not None else ""
    ran = [
        f"{s.steps:,} step{'s' * (s.steps != 1)} of {s.method} on {s.batch:,} rows"
        for s in result.stages
    ]
    lines = [("file", fit.file), ("data", rows)]
    lines += [("encoded", str(fit.data.encoding))] if fit.data.encoding is not None else []
    lines += [("loss", loss), ("l2", number(problem.l2))]
    lines += [("method", ": ".join([fit.method, ", then ".join(ran)]) if ran else fit.method)]
    lines += [("status", result.status if said else f"{result.status}: {_message(result)}")]
    lines += [("objective", number(float(result.history["value"][-1])))]
    lines += [_score(where, score) for where, score in scores.items()]
    show_table(("", ""), lines)
    shown = scores.get("held_out") or scores.get("fitted")
    if shown is not None and shown.classes is not None:
        _show_confusion(shown, "held-out" if "held_out" in scores else "fitted")
    if table is not None:
        _show_coefficients(fit, table)


def _message(result: Any) -> str:
    name, _, text = in_options(result.message).partition(": ")
    return text or name


def _score(where: str, score: Any) -> tuple[str, str]:
    text = f"{score.value:.4g}"
    if score.classes is not None:
        text += f" (the most frequent class: {score.baseline:.4g})"
    if where == "held_out":
        return f"held-out {score.kind}", f"{text} on {score.n:,} other rows"
    return score.kind, text


def _show_confusion(score: Any, where: str) -> None:
    """A table of all classes, or the pairs that are confused most often."""
    names = list(map(str, score.classes))
    few = len(names) <= CLASSES
    say("")
    counts = [list(map(_count, row)) for row in score.confusion.toarray()] if few else []
    cells = [("", *names), *((name, *row) for name, row in zip(names, counts))]
    if few and sum(2 + max(map(len, column)) for column in zip(*cells)) <= width() + 2:
        say(f"{where} rows: true class down, predicted class across")
        show_table(cells[0], cells[1:], right=range(1, len(names) + 1))
        return
    worst = score.worst(CLASSES)
    if not worst:
        say(f"no {where} row is predicted as another class")
        return
    say(f"the most frequent confusions of {where} rows")
    cells = [(str(pair.true), str(pair.predicted), _count(pair.rows)) for pair in worst]
    show_table(("true", "predicted", "rows"), cells, right=(2,))


def _count(rows: float) -> str:
    return number(int(rows) if rows == int(rows) else rows)


def _show_coefficients(fit: Fit, table: Any) -> None:
    towards = fit.result.classes if fit.result.w.ndim == 1 else None
    say("")
    if towards is not None:
        say(fill(f"positive coefficients are towards {towards[1]}, negative ones {towards[0]}"))
    columns = {HEADS[name]: values for name, values in table.columns.items() if name in HEADS}
    rows = list(zip(*([f"{v:.5g}" for v in values] for values in columns.values())))
    groups = fit.result.classes if fit.result.w.ndim == 2 else [""]
    size, places = len(rows) // len(groups), range(1, len(columns) + 1)
    for i, group in enumerate(groups):  # a table for each class of a softmax
        part = slice(i * size, (i + 1) * size)
        names = [name.removeprefix(f"{group}: ") for name in table.names[part]]
        cells = [(name, *row) for name, row in zip(names, rows[part])]
        show_table((str(group), *columns), cells, whole=places, right=places)
    for note in table.notes:
        say(fill(in_options(note)))


def show_where(fit: Fit, table: Any, advice: str, files: list[Path]) -> None:
    """Advice, where the coefficients are that are too many to show, and what was written."""
    if advice:
        say("\n" + fill(advice))
    if table is None and fit.result.status != "diverged":
        shape = " x ".join(f"{size:,}" for size in fit.result.w.shape)
        where = f"they are in {files[0]}" if files else "--out FIT keeps them"
        say("\n" + fill(f"{shape} coefficients: {where}, and --errors model prints them"))
    if files:
        say(f"\nwrote {' and '.join(map(str, files))}")
