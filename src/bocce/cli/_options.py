"""What several commands ask for, in the same words, and how a FILE becomes a problem."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer


def _data_sets(incomplete: str) -> list[str]:
    """Names that the word may become; of an empty one the shell lists files."""
    from ..data import libsvm

    names = (*libsvm.KNOWN, *libsvm.ALIASES)
    return [name for name in names if incomplete and name.startswith(incomplete)]


def _batch_size(text: str) -> int | float:
    """Rows if it is a whole number, otherwise a share of n."""
    try:
        return int(text)
    except ValueError:
        return float(text)


File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="LIBSVM text (also .bz2, .gz, .xz), .csv (target last), .npz (X, y) or a block file; "
        "or the name of a LIBSVM data set, such as mushrooms.",
        autocompletion=_data_sets,
    ),
]
OptionalFile = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE]",
        help="Data to take n and the constants from, as for solve.",
        autocompletion=_data_sets,
    ),
]
Loss = Annotated[Literal["squared", "logistic"], typer.Option(help="What is minimised.")]
L2 = Annotated[float, typer.Option(help="Regularisation: l2/2 ||w||^2 is added.")]
BatchSize = Annotated[
    Any,
    typer.Option(
        parser=_batch_size,
        metavar="ROWS|SHARE",
        help="100 is rows, 0.9 a share of n; chosen if not given.",
    ),
]
Plot = Annotated[
    Path | None, typer.Option(help="Write a picture to this file: .png, .svg or .pdf.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def rows_of(file: str) -> Any:
    """X and y of a file (of a block file, itself alone), or of a known LIBSVM data set."""
    from ..blockfile import BlockFile, is_block_file
    from ..data import libsvm, load, read_table

    if not Path(file).exists() and file in (*libsvm.KNOWN, *libsvm.ALIASES):
        return load(file)
    return (BlockFile(file),) if is_block_file(file) else read_table(file)


def problem_of(data: Any, loss: str, l2: float) -> Any:
    from .. import LeastSquares, Logistic

    return (LeastSquares if loss == "squared" else Logistic)(*data, l2=l2)


def check_folder(option: str, path: Path | None) -> None:
    if path is not None and not path.parent.is_dir():
        raise ValueError(f"{option}: there is no folder {str(path.parent)!r}; make it first.")


def check_plot(path: Path | None) -> None:
    """Raise, before any work, if a picture is asked for that cannot be written."""
    from ..paper import figures

    check_folder("--plot", path)
    if path is not None:
        figures.require_matplotlib()


def save_figure(figure: Any, path: Path) -> None:
    from .._atomic import atomic_write

    with atomic_write(path) as stream:
        figure.savefig(stream, format=path.suffix[1:] or "png", dpi=150)
