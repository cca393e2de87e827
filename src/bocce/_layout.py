"""How rows are cut into blocks, and the contract of what holds blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ._types import Array

Block = tuple[Array, Array]


@dataclass(frozen=True)
class Layout:
    """How n rows of d columns are cut into blocks.

    Attributes
    ----------
    n, d, blocks : int
        Rows, columns and blocks.
    dtype : str
        "float32" or "float64".

    Examples
    --------
    >>> layout = Layout(n=10, d=3, dtype="float32", blocks=4)
    >>> [layout.rows(i) for i in range(4)], layout.starts.tolist()
    ([3, 3, 2, 2], [0, 3, 6, 8, 10])
    """

    n: int
    d: int
    dtype: str
    blocks: int

    def rows(self, i: int) -> int:
        """How many rows a block has.

        Parameters
        ----------
        i : int
            The block.

        Returns
        -------
        int
        """
        return self.n // self.blocks + (i < self.n % self.blocks)

    @property
    def starts(self) -> Array:
        """The first row of each block, and n."""
        i = np.arange(self.blocks + 1)
        return i * (self.n // self.blocks) + np.minimum(i, self.n % self.blocks)


class Store(Protocol):
    """Where blocks lie and how one is had; a `BlockFile` reads ahead from it.

    ``fill`` is called by several threads at once, each with a buffer of its own, and answers with
    read-only X (row-major) and y (float64) that are checked, and valid until that buffer is filled
    again. A store can be pickled: what comes out on another machine opens the files anew.
    """

    path: str  # for messages
    d: int
    dtype: np.dtype[np.generic]
    starts: Array  # the first row of each block, and n
    labels: list[float] | None  # the different targets, sorted; None if there are too many
    columns: list[str] | None
    target: str | None
    classes: list[str] | None  # what labels 0, 1, ... were called, where y is text
    encoding: Any  # how text and dates became numbers, a `bocce.data.Encoding` or None
    identity: str  # a hash of all rows
    depth: int  # buffers that fit into memory

    def buffer(self) -> Any:
        """Memory for one block.

        Returns
        -------
        object
        """

    def fill(self, i: int, buffer: Any) -> Block:
        """Read a block.

        Parameters
        ----------
        i, buffer : int, object
            The block, and the memory that ``buffer`` gave.

        Returns
        -------
        tuple of (ndarray, ndarray)
            X and y.
        """
