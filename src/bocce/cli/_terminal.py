"""What the command line prints and how: tables, JSON, errors, progress. No arithmetic."""

from __future__ import annotations

import glob
import json
import logging
import math
import os
import re
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from .._checks import refusal_of
from .._memory import no_memory
from ._messages import in_options

# exit codes
DIVERGED = 1
BAD_INPUT = 2
TOLERANCE = 3
DEFECT = 4
INTERRUPTED = 130
OF_MACHINE = re.compile(r"\[Errno \d+\] (?P<what>[^:]+): (?P<file>'[^']*')")
EXPECTED = (ValueError, OSError, ImportError, MemoryError)  # what wrong input or machines raise
IN_BATCHES = "take batches, which keep a few parts of a file: --steps 500 --batch-size 0.02"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tabs and the ends of lines
# Commands of the package bocce_paper, which is installed apart.
ELSEWHERE = ("theory", "reproduce", "report", "claims")
# show_progress(what is being done, how much of the total is done)
ShowProgress = Callable[..., None]


class Commands(TyperGroup):
    """Commands that end in one line on stderr and an exit code; tracebacks with --debug."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """--debug is an option of every command: it may stand anywhere."""
        with _quiet_help(args):
            return super().parse_args(ctx, sorted(args, key=lambda word: word != "--debug"))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A command of the paper's package, where that is not installed, says what to install."""
        if args[0] in ELSEWHERE and args[0] not in self.commands:
            raise ImportError(
                f"{args[0]} is a command of the package bocce-paper, which is not installed; run "
                "pip install ./paper in a clone of bocce."
            )
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        asked_for_help = "--help" in ctx.args
        with _warnings_in_words(), _quiet_help(ctx.args):
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt as stop:
                complain("interrupted", str(stop))
                raise typer.Exit(INTERRUPTED) from None
            except Exception as error:
                if hasattr(error, "exit_code"):  # typer's own exits and usage errors
                    raise
                if isinstance(error, BrokenPipeError) and asked_for_help:
                    raise
                raise typer.Exit(_explained(error, ctx.params.get("debug", False))) from None


@contextmanager
def _quiet_help(words: list[str]) -> Iterator[None]:
    """Help, which typer prints, goes into the void where its reader, such as ``head``, has left."""
    wants_help = "--help" in words or not words
    try:
        yield
    except BrokenPipeError:
        if not wants_help:
            raise
        _close(1)
        raise typer.Exit from None


def _without_number(error: Exception) -> Exception | str:
    """An error, or what the machine says about a file, without its number."""
    found = OF_MACHINE.match(str(error))
    if not isinstance(error, OSError) or found is None:
        return error
    remedy = ""
    if isinstance(error, PermissionError):
        remedy = "; ask for the permission, or name another file"
    return f"{found['file']}: {found['what'].lower()}{remedy}."


def _explained(error: Exception, debug: bool) -> int:
    """Say what went wrong; returns the exit code."""
    ours = isinstance(error, ImportError) and (error.name or "").startswith("bocce")
    refused = refusal_of(error) is not None  # of any type: an argument is wrong
    expected = refused or (isinstance(error, EXPECTED) and not ours)
    if debug:
        traceback.print_exception(error)
    elif expected:
        said = in_options(_without_number(error)) or type(error).__name__
        if isinstance(error, MemoryError) and "needs" not in said:
            said = no_memory(f"out of memory ({said})", 0, IN_BATCHES)
        complain("error", said)
    else:
        what = f"{type(error).__name__}: {error}"
        complain("error", f"{what}. This is a defect of bocce; --debug shows where it is.")
    if expected:
        return BAD_INPUT
    return DEFECT


@contextmanager
def resumable(checkpoint: Path | None) -> Iterator[None]:
    """Ctrl-C in here says that the work can go on, if there is something to go on from."""
    try:
        yield
    except KeyboardInterrupt:
        there = checkpoint is not None and checkpoint.exists()
        if there:
            hint = f"the same command resumes from {checkpoint}"
        else:
            hint = ""
        raise KeyboardInterrupt(hint) from None


@contextmanager
def _warnings_in_words() -> Iterator[None]:
    def show(message: Any, *_: Any) -> None:
        complain("warning", in_options(str(message)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def complain(kind: str, text: str) -> None:
    """``kind: text`` on stderr, on one line however long; the kind in colour on a terminal."""
    colour = {"warning": "yellow", "note": "cyan"}.get(kind, "red")
    line = Text.assemble((kind, colour), f": {visible(text)}" if text else "")
    _Stderr(stderr=True).print(line, soft_wrap=True)


class _Stderr(Console):
    def on_broken_pipe(self) -> None:
        """Nobody reads any more: go on in silence."""
        _close(2)


def visible(text: str) -> str:
    """Control characters, such as those of a column's or a file's name, as ``\\x1b``: a terminal
    would obey them."""
    return CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def say(text: str) -> None:
    """Plain text on stdout; into the void where its reader, such as ``head``, has left."""
    _echo(visible(text))


def _echo(text: str) -> None:
    try:
        typer.echo(text)
    except BrokenPipeError:
        _close(1)


def _close(stream: int) -> None:
    """Whatever is written to this stream from now on is lost; the exit code stays what it is."""
    void = os.open(os.devnull, os.O_WRONLY)
    os.dup2(void, stream)
    os.close(void)


def show_json(value: Any) -> None:
    """JSON that any reader takes: infinity and NaN, which it has no words for, become null."""
    say(as_json(value))


def as_json(value: Any) -> str:
    return json.dumps(_plain(value), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def show_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    unbroken: Sequence[int] = (0,),
    right: Sequence[int] = (),
) -> None:
    """A table within the terminal's width, or 80 columns where there is no terminal.

    Without names of columns there is no header line. The cells of ``unbroken`` columns stay on one
    line, and so do the words of other cells if there is room. Numbers stand at the ``right`` of
    their column.
    """
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, show_header=any(columns))
    cells = [[visible(cell) for cell in row] for row in (columns, *rows)]
    widths = [
        max(len(part) for cell in column for part in ([cell] if j in unbroken else cell.split(" ")))
        for j, column in enumerate(zip(*cells))
    ]
    fits = sum(widths) + 2 * (len(widths) - 1) <= console.width  # else long words are broken
    for j, name in enumerate(cells[0]):
        least = widths[j] if fits or j in unbroken else None
        side: Any = "right" if j in right else "left"
        table.add_column(
            escape(name), no_wrap=j in unbroken, overflow="fold", min_width=least, justify=side
        )
    for row in cells[1:]:
        table.add_row(*map(escape, row))
    with console.capture() as captured:
        console.print(table)
    _echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def fill(text: str) -> str:
    """A paragraph within the terminal's width."""
    return textwrap.fill(text, width(), break_on_hyphens=False)


def width() -> int:
    """Columns of the terminal."""
    return Console().width


def number(value: float | None) -> str:
    """Six digits; whole numbers as such; nothing where there is no number."""
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value}"
    return f"{value:.6g}"


def watched() -> bool:
    """Does someone look at stderr?"""
    return sys.stderr.isatty()


@contextmanager
def progress(label: str, total: float | None = None, left: bool = False) -> Iterator[ShowProgress]:
    """What is being done, on stderr: with a bar where there is a total, and the time it takes.

    Yields ``show_progress(label, done)``, which does nothing where stderr is no terminal. With
    ``left`` it is ``show_progress(label, done, time left)``; otherwise the time left is computed
    from the bar's speed.
    """
    if not watched():
        yield lambda label, done=0.0, time_left="": None
        return
    columns: list[ProgressColumn] = [SpinnerColumn("line"), TextColumn("{task.description}")]
    if total is None:
        columns += [TimeElapsedColumn()]
    else:
        columns += [BarColumn(20), TaskProgressColumn() if left else MofNCompleteColumn()]
        columns += [TimeElapsedColumn(), TextColumn("left")]
        columns += [TextColumn("about {task.fields[left]}") if left else TimeRemainingColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(label, total=total, left="")

        def show_progress(label: str, done: float = 0.0, time_left: str = "") -> None:
            shown.update(task, description=label, completed=done, left=time_left)

        with _log_shown_by(show_progress):
            yield show_progress


@contextmanager
def _log_shown_by(show_progress: ShowProgress) -> Iterator[None]:
    """What the package logs, such as that it compiles, is shown beside the bar and nowhere else."""

    def shown(record: logging.LogRecord) -> bool:
        show_progress(record.getMessage().removeprefix("bocce: "))
        return False

    log = logging.getLogger("bocce")
    before = log.level
    log.addFilter(shown)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeFilter(shown)
        log.setLevel(before)


# ---------------------------------------------------------------- files that commands write


def check_folder(option: str, path: Path | None) -> None:
    """Raise, before any work, if no file can be written where ``path`` is."""
    if path is None:
        return
    folder = str(path.parent)
    if not path.parent.is_dir():
        raise ValueError(f"{option}: there is no folder {folder!r}; make it first.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ValueError(
            f"{option}: the folder {folder!r} must be one that you may write to; choose another."
        )


def check_file(option: str, path: Path | None) -> None:
    """Raise, before any work, if ``path`` cannot be written as a file."""
    check_folder(option, path)
    if path is not None and path.is_dir():
        raise ValueError(f"{option}: {str(path)!r} is a directory; name a file in it.")


def check_apart(
    option: str, path: Path | None, other: str | Path | None, what: str = "the data"
) -> None:
    """Raise, before any work, if a file to write is one that is read."""
    if path is None or other is None:
        return
    if any(path.resolve() == there.resolve() for there in _files(Path(other))):
        raise ValueError(f"{option}: {str(path)!r} is {what}; choose another name.")


def _files(path: Path) -> Iterator[Path]:
    """The file, the files of a folder, or those that a pattern matches."""
    yield path
    if path.is_dir():
        yield from path.rglob("*")
    elif not path.exists():
        yield from map(Path, glob.glob(str(path)))


def check_plot(path: Path | None) -> None:
    """Raise, before any work, if the requested picture cannot be written."""
    from .._pictures import require_matplotlib

    check_file("--plot", path)
    if path is None:
        return
    require_matplotlib()
    from matplotlib.backend_bases import FigureCanvasBase

    if path.suffix[1:].lower() not in ("", *FigureCanvasBase.get_supported_filetypes()):
        raise ValueError(f"--plot: {str(path)!r} must end in .png, .svg or .pdf.")


def save_figure(figure: Any, path: Path) -> None:
    from .._atomic import atomic_write

    with atomic_write(path) as stream:
        figure.savefig(stream, format=path.suffix[1:] or "png", dpi=150)
