"""Arrays of other libraries: their library, their device, and the way to NumPy and back.

Arrays of other libraries than NumPy (PyTorch, CuPy, JAX, ...) are used through the array API
standard. ``array_api_compat`` fills the gaps; it is imported with the first such array.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass

import numpy as np

from .._extras import install
from .._types import Array, Foreign, Library


def foreign(X: object) -> bool:
    """Is this an array of another library than NumPy and SciPy?

    >>> foreign(np.zeros(3)), foreign([1.0, 2.0])
    (False, False)
    """
    if isinstance(X, (np.ndarray, np.generic)):
        return False
    torch = sys.modules.get("torch")  # its tensors do not say so themselves
    if torch is not None and isinstance(X, getattr(torch, "Tensor", ())):
        return True
    return hasattr(type(X), "__array_namespace__")


def namespace(X: Foreign) -> Library:
    """The functions of the library that the array belongs to."""
    try:
        from array_api_compat import array_namespace
    except ModuleNotFoundError:
        kind = type(X).__module__.split(".")[0]
        raise ModuleNotFoundError(
            f"X is an array of {kind}, which needs array-api-compat; run "
            f"{install('arrays')}, or give a NumPy array.",
            name="array_api_compat",
        ) from None
    return array_namespace(X)


def host(X: Foreign) -> Foreign:
    """An array of another library as NumPy's; anything else as it is."""
    return to_host(X) if foreign(X) else X


def detached(X: Foreign) -> Foreign:
    """A tensor of PyTorch without its history; another array itself."""
    if hasattr(X, "detach"):
        return X.detach()
    return X


def to_host(X: Foreign) -> Array:
    """A NumPy array of the same numbers, which may share the memory."""
    if (own := detached(X)) is not X:
        X = own.cpu()
        return np.asarray((X.float() if "bfloat16" in str(X.dtype) else X).numpy())
    if type(X).__module__.split(".")[0] == "cupy":
        return np.asarray(X.get())
    try:
        return np.asarray(X)
    except (RuntimeError, TypeError):  # it lies on a device
        return np.asarray(np.from_dlpack(X))


@dataclass(frozen=True)
class Backend:
    """A library and a device, and the numbers that are used there.

    ``real`` is the type of the data; ``wide`` that of scores and sums: float64, or float32 where
    the device has no other.
    """

    xp: Library
    device: Library
    real: Library
    wide: Library

    @classmethod
    def of(cls, X: Foreign) -> Backend:
        """The backend of an array; ``real`` is float32 or float64, the nearest to its own type."""
        xp = namespace(X)
        from array_api_compat import device as device_of

        device = device_of(X)
        wide = _widest(xp, device)
        real = X.dtype
        if real not in (xp.float32, xp.float64):
            if xp.isdtype(real, "real floating"):
                real = xp.float32
            else:
                real = wide
        return cls(xp, device, real, wide)

    def put(self, values: Foreign, dtype: Library = None) -> Foreign:
        """Numbers of NumPy on the device, of type ``wide`` unless another is given."""
        dtype = self.wide if dtype is None else dtype
        made = np.array(values, dtype=numpy_type(dtype), order="C")  # may be written to
        return self.xp.asarray(made, device=self.device)

    def indices(self, values: Foreign) -> Foreign:
        """Whole numbers, of the type that the library counts with."""
        info = self.xp.__array_namespace_info__()
        return self.put(values, info.default_dtypes(device=self.device)["indexing"])

    def to(self, dtype: Library, X: Foreign) -> Foreign:
        """The array in another type, itself where it has that."""
        if X.dtype == dtype:
            return X
        return self.xp.astype(X, dtype)

    @property
    def eps(self) -> float:
        """The relative rounding error of a product."""
        return float(np.finfo(numpy_type(self.real)).eps)  # type: ignore[type-var]

    @property
    def name(self) -> str:
        """The name of the library."""
        return str(self.xp.__name__.removeprefix("array_api_compat.").split(".")[0])


def numpy_type(dtype: Library) -> np.dtype[np.generic]:
    """NumPy's name for a type of another library.

    >>> numpy_type("torch.float32")
    dtype('float32')
    """
    if isinstance(dtype, np.dtype):
        return dtype
    return np.dtype(str(dtype).split(".")[-1])


def _widest(xp: Library, device: Library) -> Library:
    """float64 where the device has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX warns, and makes float32
        try:
            return xp.zeros(1, dtype=xp.float64, device=device).dtype
        except (TypeError, ValueError, RuntimeError):
            return xp.float32


def set_row(U: Foreign, slot: int, row: Foreign) -> Foreign:
    """U with another row; in place, where the library's arrays can be written to."""
    if hasattr(U, "at"):
        return U.at[slot].set(row)
    U[slot, ...] = row
    return U
