"""What ``bocce solve`` shows of a fit on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ._messages import in_options
from ._result import CLASSES, Fit
from ._terminal import fill, number, say, show_table, width

HEADS = {"coef": "coefficient", "std_error": "std. error", "lower": "95 % from", "upper": "to"}


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
