"""What the command line prints and how: tables, JSON, errors, progress. No arithmetic."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from typer.core import TyperGroup


class Commands(TyperGroup):
    """Commands whose errors are one line on stderr and exit code 2; tracebacks with --debug."""

    def invoke(self, ctx: Any) -> Any:
        with _warnings_in_words():
            try:
                return super().invoke(ctx)
            except (ValueError, OSError, ImportError, MemoryError) as error:
                if ctx.params.get("debug") or isinstance(error, BrokenPipeError):
                    raise  # a closed pipe, as of `| head`, is ended quietly further up
                complain(f"error: {error}")
                raise typer.Exit(2) from None


@contextmanager
def _warnings_in_words() -> Iterator[None]:
    def show(message: Any, category: Any, *place: Any) -> None:
        complain(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


def complain(text: str) -> None:
    """Plain text on stderr."""
    typer.echo(text, err=True)


def say(text: str) -> None:
    """Plain text on stdout."""
    typer.echo(text)


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


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table within the terminal's width, or 80 columns where there is no terminal.

    Columns without a name at all get no header line.
    """
    table = Table(box=None, pad_edge=False, show_header=any(columns))
    for place, column in enumerate(columns):
        table.add_column(column, no_wrap=place == 0, overflow="fold")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    Console(highlight=False).print(table)


def number(value: float) -> str:
    """Six digits; whole numbers as such."""
    return f"{value}" if isinstance(value, int) else f"{value:.6g}"


@contextmanager
def bar(label: str, total: int | None) -> Iterator[Any]:
    """A progress bar on stderr; where that is no terminal, nothing, and None is yielded."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    columns += [TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(label, total=total)
        yield progress
