"""Files that commands write: checked before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def check_folder(option: str, path: Path | None) -> None:
    if path is not None and not path.parent.is_dir():
        raise ValueError(f"{option}: there is no folder {str(path.parent)!r}; make it first.")


def check_plot(path: Path | None) -> None:
    """Raise, before any work, if a picture is asked for that cannot be written."""
    from .._pictures import require_matplotlib

    check_folder("--plot", path)
    if path is not None:
        if path.is_dir():
            raise ValueError(f"--plot: {str(path)!r} is a directory; name a file in it.")
        require_matplotlib()


def save_figure(figure: Any, path: Path) -> None:
    from .._atomic import atomic_write

    with atomic_write(path) as stream:
        figure.savefig(stream, format=path.suffix[1:] or "png", dpi=150)
