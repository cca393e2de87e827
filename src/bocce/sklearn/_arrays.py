"""Arrays of other libraries (PyTorch, ...) under scikit-learn's ``array_api_dispatch``.

X stays where it is; targets and weights come to the host, n numbers once; what was fitted and what
is predicted are arrays of X's library on X's device. Without ``array_api_dispatch`` such an array
is what ``np.asarray`` makes of it, as everywhere in scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from sklearn import get_config

from ..problems._input import refuse_masks
from ..rows import Array, foreign, host
from ..rows.backend import Backend

try:
    from sklearn.utils._array_api import check_same_namespace

    SUPPORTED = True
except ImportError:  # before 1.9, whose metrics take y and predictions of different libraries
    SUPPORTED = False

    def check_same_namespace(X: Any, estimator: Any, *, attribute: str, method: str) -> None:
        """Stands in: what was fitted is brought to where X is."""


def elsewhere(X: Any) -> bool:
    """Is X an array of another library, to be used where it is?"""
    return foreign(X) and bool(get_config()["array_api_dispatch"])


def float_types(X: Any) -> list[Any]:
    """What X may be; the first is what anything else becomes."""
    if not elsewhere(X):
        return [np.float64, np.float32]
    backend = Backend.of(X)
    return [backend.wide, backend.xp.float32]


def checked(estimator: Any, X: Any, *y: Any, **how: Any) -> Any:
    """``validate_data``, with y (if there is one) on the host; what is masked has no value."""
    for name, values in zip(("X", "y"), (X, *y)):
        refuse_masks(type(estimator).__name__, name, values)
    how |= {"dtype": float_types(X), "accept_sparse": "csr"}
    return validate_data(estimator, X, *map(brought, y), **how)


def plain_floats(X: Any) -> bool:
    """Is X NumPy's own matrix of floats, so that validation changes nothing of it?"""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float64, np.float32)


def order_of(X: Any) -> str:
    """The order of X in memory, in which its numbers are used without a copy; "C" where neither
    rows nor columns lie in one piece."""
    if isinstance(X, np.ndarray) and X.flags.f_contiguous:
        return "F"
    return "C"


def brought(values: Any) -> Any:
    """Targets or weights on the host."""
    if elsewhere(values):
        return host(values)
    return values


def counted(X: Any) -> Any:
    """X, or what has as many rows, for checks that only count them."""
    if elsewhere(X):
        return np.broadcast_to(0.0, (X.shape[0], 1))
    return X


def rows_at(X: Any, rows: Array) -> Any:
    """Those rows of X."""
    if not elsewhere(X):
        return X[rows]
    backend = Backend.of(X)
    return backend.xp.take(X, backend.indices(rows), axis=0)


def like(X: Any, values: Any) -> Any:
    """NumPy's values as an array of X's library, on X's device."""
    if not elsewhere(X):
        return values
    backend = Backend.of(X)
    return backend.xp.asarray(np.array(values), device=backend.device)


def linear(estimator: Any, X: Any, method: str) -> Any:
    """x . coef + intercept, a column for each output, for X of another library."""
    check_same_namespace(X, estimator, attribute="coef_", method=method)
    coef, intercept = (like(X, host(v)) for v in (estimator.coef_, estimator.intercept_))
    return X @ (coef if coef.ndim == 1 else coef.T) + intercept


def exponential(values: Any) -> Any:
    if elsewhere(values):
        return Backend.of(values).xp.exp(values)
    return np.exp(values)


def labels_at(classes: Array, places: Any) -> Any:
    """The labels at those places: of the places' library, unless it has no such things."""
    if not elsewhere(places):
        return classes[places]
    if classes.dtype.kind not in "fiub":
        return classes[host(places)]
    return Backend.of(places).xp.take(like(places, classes), places)


def highest(scores: Any) -> Any:
    """The place of the class with the highest score in each row."""
    if not elsewhere(scores):
        if scores.ndim == 1:
            return (scores > 0).astype(int)
        return scores.argmax(axis=1)
    backend = Backend.of(scores)
    if scores.ndim > 1:
        return backend.xp.argmax(scores, axis=1)
    return backend.xp.astype(scores > 0, backend.indices(np.zeros(1)).dtype)


def log_probabilities(scores: Any) -> Any:
    """Of the classes, from scores of another library: of the second of two, or of each class."""
    xp = Backend.of(scores).xp
    if scores.ndim == 1:
        scores = xp.stack([-scores, scores], axis=1)
        return -xp.log1p(xp.exp(-xp.abs(scores))) - (xp.abs(scores) - scores) / 2.0
    scores = scores - xp.max(scores, axis=1, keepdims=True)
    return scores - xp.log(xp.sum(xp.exp(scores), axis=1, keepdims=True))


def refuse_stream(estimator: Any, X: Any) -> None:
    """Batches of a stream are taken on the host."""
    if elsewhere(X):
        library = type(X).__module__.split(".")[0]
        raise TypeError(
            f"{type(estimator).__name__}: X is an array of {library}, must be a NumPy array for "
            "partial_fit, which goes through the host; give X.cpu().numpy() or the like, or use "
            "fit."
        )
