"""Data larger than the memory of a device: blocks of X go there one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _checks
from ..problems._input import check_design, check_finite
from ..rows import ArrayRows, Dense, foreign, host
from ..rows.arrays import Ferried
from ..rows.backend import Backend, numpy_type


def stream_to_device(X: Any, like: Any, block_rows: int | None = None) -> ArrayRows:
    """Rows that stay on the host and are multiplied on a device, a block at a time.

    ``Problem``, ``LeastSquares`` and ``Logistic`` take the result as X. Each product with X moves
    its blocks to the device one after the other. Scores and losses (about a dozen vectors of n
    numbers) stay on the device. A step of ``plane`` moves X twice. Use this function where X is too
    large for the device and the device is much faster than the host.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows on the host: a NumPy array, ``np.memmap``, or a tensor on the CPU; float32 or float64.
    like : array
        An array of the library and on the device where to compute, of any shape, such as
        ``torch.empty(0, device="cuda")``.
    block_rows : int, optional
        The number of rows on the device at once; by default a block has 2^24 numbers.

    Returns
    -------
    ArrayRows
        Rows that ``Problem`` takes as X.

    Raises
    ------
    TypeError
        If X is sparse, or ``like`` is not an array of a library with a device.

    Examples
    --------
    >>> import array_api_strict as xp, numpy as np, bocce
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> rows = bocce.data.stream_to_device(X, like=xp.empty(0), block_rows=2)
    >>> p = bocce.LeastSquares(rows, X @ np.array([1.0, -1.0]))
    >>> bocce.minimize(p, tol=1e-9).w.round(6)
    array([ 1., -1.])
    """
    if not foreign(like):
        raise TypeError(
            f"stream_to_device: like={type(like).__name__} must be an array on the device where to "
            'compute, such as torch.empty(0, device="cuda"); for NumPy give X itself to Problem.'
        )
    if block_rows is not None:
        remedy = "give a number of rows that fit on the device"
        block_rows = _checks.integer("stream_to_device", "block_rows", block_rows, remedy=remedy)
    X = check_design("stream_to_device", host(X))
    if not isinstance(X, np.ndarray):
        raise TypeError(
            f"stream_to_device: X={type(X).__name__} must be dense; give a sparse matrix to "
            "Problem itself."
        )
    check_finite("stream_to_device", Dense(X))
    there = Backend.of(like)
    wide = numpy_type(there.wide)
    if np.float32 in (X.dtype, wide):
        real = there.xp.float32
    else:
        real = there.wide
    return ArrayRows(Ferried(X, Backend(there.xp, there.device, real, there.wide), block_rows))
