"""Kernels that Python calls, compiled once and kept on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property
from importlib.resources import files
from typing import Any

from numba import njit, typeof

from ... import _compiled

# Sums may be reordered and contracted, but NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}
KERNEL: dict[str, Any] = {"fastmath": FAST, "error_model": "numpy", "nogil": True}
SPARSE: dict[str, Any] = {**KERNEL, "fastmath": False}  # gathers are slower than scalar loads here

# The parts of the package whose sources are compiled into a kernel.
COMPILED_SOURCES = ("engines/numba", "losses", "control", "sampling.py")


def _digest_of_sources() -> str:
    """A digest of the names and contents of all source files that kernels are compiled from."""
    digest = hashlib.sha256()
    for part in COMPILED_SOURCES:
        place = files("bocce").joinpath(*part.split("/"))
        sources = place.iterdir() if place.is_dir() else [place]
        for source in sorted(sources, key=lambda source: source.name):
            if source.name.endswith(".py"):
                digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


# Taken when the package is imported: a file that is edited later is not what this process compiles.
DIGEST = _digest_of_sources()


def on_disk(body: Callable[..., Any], **options: Any) -> Any:
    """Compiled, and kept on disk where a folder can be written.

    Numba notices a change of the kernel's own file only, and reads its index of kernels by
    importing every loss named there. The file name holds a digest of all sources that are compiled
    in, so other sources mean other files: an edited loss is compiled, and an index that names a
    loss that exists no more is never opened.
    """
    body.__qualname__ = f"{body.__name__}-{DIGEST}"  # Numba names the files after it
    return _compiled.on_disk(body, **options)


def is_ours(kind: type) -> bool:
    """Is this class of a loss or a rule part of the package?"""
    return kind.__module__.startswith("bocce.")


def loss_of(rows: Any, *rest: Any) -> tuple[Any, ...]:
    """What a kernel whose first argument is rows is compiled for."""
    return (rows.loss,)


class Entry:
    """A kernel that is compiled for a loss, perhaps a rule too: ``named(*arguments)`` lists them.

    A kernel with the package's own losses and rules alone is kept on disk. A loss or a rule from
    outside the package may be changed by its author unseen, so it is compiled in each process.
    """

    def __init__(
        self,
        body: Callable[..., Any],
        named: Callable[..., tuple[Any, ...]] = loss_of,
        options: Any = KERNEL,
    ) -> None:
        self._body = body
        self._named = named
        self._options = options

    def __call__(self, *args: Any) -> Any:
        if all(is_ours(type(part)) for part in self._named(*args)):
            return self.kept(*args)
        # A call would take two classes of one name, as a notebook defines them, for one.
        kernel = self.fresh.compile(tuple(map(typeof, args)))
        return kernel(*args)

    @cached_property
    def kept(self) -> Any:
        """Compiled once."""
        return on_disk(self._body, **self._options)

    @cached_property
    def fresh(self) -> Any:
        """Compiled in each process."""
        _compiled.announce_compiling()
        return njit(**self._options)(self._body)
