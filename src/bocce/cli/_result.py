"""What ``bocce solve`` prints and writes of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ._messages import in_options
from ._options import Data, check_folder
from ._terminal import as_json, number, say, show_table

SHOWN_WEIGHTS = 12  # more are not printed
SUFFIXES = (".npz", ".json")


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


def summary(file: str, method: str, problem: Any, result: Any, tol: float) -> dict[str, Any]:
    """The figures of a run, for programs."""
    history = result.history
    return {
        "file": file,
        "loss": problem.loss.name,
        "l2": problem.l2,
        "n": problem.n,
        "d": problem.d,
        "method": method,
        "batch_size": result.batch_size,
        "stages": [stage._asdict() for stage in result.stages],
        "seed": result.seed,
        "tol": tol,
        "status": result.status,
        "iterations": result.n_iter,
        "gradient_evaluations": int(history["gradient_evaluations"][-1]),
        "value": float(history["value"][-1]),
        "grad_norm": float(history["grad_norm"][-1]),
        "intercept": _numbers(result.intercept) if problem.intercept else None,
        "message": in_options(result.message),
    }


def _numbers(value: Any) -> Any:
    """A number, or one a class."""
    return value.tolist() if hasattr(value, "tolist") else float(value)


def show(figures: dict[str, Any], problem: Any, result: Any, data: Data, said: bool) -> None:
    """The same for people; ``said``: the message is told on stderr."""
    shown = {name: value for name, value in figures.items() if name != "message" or not said}
    show_table(("", ""), [(name, _cell(name, value)) for name, value in shown.items()])
    names = data.columns or [f"x{j}" for j in range(problem.d)]
    if problem.d <= SHOWN_WEIGHTS and result.w.ndim == 1:
        weights = [(str(name), number(float(w))) for name, w in zip(names, result.w)]
        say("")
        show_table(("weight of", ""), weights)


def _cell(name: str, value: Any) -> str:
    if name == "intercept":
        return "none" if value is None else f"{_listed(value)} (--no-intercept fits none)"
    if name == "stages":
        steps = (f"{s['method']}: {s['steps']} of {s['batch']} rows" for s in value)
        return "; ".join(steps) or "none"
    return value if isinstance(value, str) else number(value)


def _listed(value: Any) -> str:
    return ", ".join(map(number, value)) if isinstance(value, list) else number(value)


def write(files: list[Path], result: Any, figures: dict[str, Any], data: Data) -> None:
    """What ``bocce predict`` and ``bocce.load`` need, as NPZ; the summary as JSON."""
    from .._atomic import atomic_write
    from ..run.fit_file import save

    npz, page = files
    with atomic_write(npz) as stream:
        save(stream, result, data.columns, data.target)
    known = {"columns": data.columns, "target": data.target} if data.columns else {}
    with atomic_write(page) as stream:
        stream.write(as_json({**figures, **known}).encode() + b"\n")
