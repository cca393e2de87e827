"""Types that all rooms share."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]  # numbers of any type, or labels
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
Index: TypeAlias = IntArray  # the numbers of rows
Vector: TypeAlias = npt.ArrayLike  # what a caller gives, one number (or label) a row or a column
# Rows as a caller gives them: an array of any library, a sparse matrix, or a file of blocks.
Design: TypeAlias = Any
# An array of another library than NumPy: no static type covers those of PyTorch, JAX and CuPy.
Foreign: TypeAlias = Any
# The module of such a library, and its devices and types of numbers.
Library: TypeAlias = Any
# A table, schema, column or type of pyarrow, which has no static types.
Arrow: TypeAlias = Any
# Names and values, as JSON has them.
Json: TypeAlias = dict[str, Any]
