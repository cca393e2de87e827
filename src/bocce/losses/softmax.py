"""The softmax loss: any number of classes, a score for each."""

from typing import Any, NamedTuple

import numpy as np

from .loss import loss
from .targets import class_targets

FEW_CLASSES = 32  # For 2,000 x 3 scores the largest of each row take 5 instead of 70 microseconds.


@loss("softmax")
class Softmax(NamedTuple):
    """log(sum_k exp(z_k)) - z_y: multinomial logistic regression, y = 0 .. K-1.

    A row has K scores, so z is a matrix and w has a column for each class. With p = softmax(z) the
    slope is p less 1 at y, and the second derivative diag(p) - p p^T, at most 1/2.

    >>> z = np.array([[0.0, 0.0, np.log(2.0)]])
    >>> Softmax().value(z, np.array([2])).round(6), Softmax().slope(z, np.array([2]))
    (array([0.693147]), array([[ 0.25,  0.25, -0.5 ]]))
    """

    description = "Multinomial logistic (softmax) regression"
    multi_output = True
    shift_invariant = True
    any_library = True
    curvature = 0.5
    # by the norm of a row's change of scores
    model = "likelihood"
    self_concordance = 2.0**0.5
    targets = staticmethod(class_targets)

    def value(loss, z: Any, y: Any) -> Any:
        return loss.value_slope_bend(z, y)[0]

    def slope(loss, z: Any, y: Any) -> Any:
        return loss.value_slope_bend(z, y)[1]

    def value_slope_bend(loss, z: Any, y: Any) -> tuple[Any, Any, None]:
        """Value and slope at once.

        Scores are relative to the largest of their row, so that none overflows. The slope at y is a
        sum over the other classes, so that small slopes keep their digits.
        """
        xp = library_of(z)
        p = z - _largest(z)
        own = _at_target(p, y)
        p = _with_target(xp.exp(p), y, xp.zeros_like(own))
        others = _sum(p)
        total = others + xp.exp(own)
        p = _with_target(p, y, -others)
        p /= total[:, None]
        value = xp.where(own == 0.0, xp.log1p(others), xp.log(total) - own)
        return value, p, None

    def bend(loss, z: Any, y: Any) -> Any:
        """p (1 - p): the diagonal of the second derivative."""
        p = _softmax(z)
        return p * (1.0 - p)

    def bend_times(loss, z: Any, y: Any, u: Any) -> Any:
        """(diag(p) - p p^T) u for each row; u may hold several directions, one behind the other."""
        p = _softmax(z)
        bent = p * u
        bent -= p * _sum(bent)[..., None]
        return bent

    def bender(loss, z: Any, y: Any, dtype: Any) -> Any:
        """u -> (diag(p) - p p^T) u, in ``dtype``: for many u at the same scores.

        u counts from that of the likeliest class: nothing is lost where its p is nearly 1.
        """
        p = _softmax((z - z.max(axis=1, keepdims=True)).astype(dtype))
        here = np.arange(len(p))
        top = p.argmax(axis=1)

        def times(u: Any) -> Any:
            u = u - u[here, top][:, None]
            u *= p
            u -= p * _sum(u)[:, None]
            return u

        return times

    def bend_products(loss, z: Any, y: Any, c: Any, U: Any, V: Any) -> Any:
        """sum_i c_i u_i^T (diag(p) - p p^T) v_i, for all pairs of directions of U and V."""
        p = _softmax(z)
        bent = p * V
        along = _sum(bent)
        across = along if U is V else _sum(p * U)
        if c is not None:
            bent = bent * c[:, None]
            along = along * c
        left, right = (library_of(z).reshape(a, (a.shape[0], -1)) for a in (U, bent))
        return left @ right.T - across @ along.T

    def best_constant(loss, mean: Any) -> Any:
        """The logs of the classes' shares, with mean 0."""
        logs = np.log(np.where(mean > 0.0, mean, 1.0))
        return logs - logs.mean()


def library_of(z: Any) -> Any:
    """The functions of the library that z belongs to, by the names of the array API standard."""
    if isinstance(z, np.ndarray):
        return np
    from array_api_compat import array_namespace

    return array_namespace(z)


def _softmax(z: Any) -> Any:
    xp = library_of(z)
    p = xp.exp(z - _largest(z))
    p /= _sum(p)[..., None]
    return p


def _largest(z: Any) -> Any:
    """Of each row; for few classes much quicker one class after the other than by ``np.max``."""
    if not isinstance(z, np.ndarray) or z.shape[-1] > FEW_CLASSES:
        return library_of(z).max(z, axis=-1, keepdims=True)
    most = z[..., :1].copy()
    for k in range(1, z.shape[-1]):
        np.maximum(most, z[..., k : k + 1], out=most)
    return most


def _sum(values: Any) -> Any:
    """Over the classes; for few of them much quicker by a product than by ``np.sum``."""
    return values @ library_of(values).ones_like(values[(0,) * (values.ndim - 1) + (...,)])


def _at_target(p: Any, y: Any) -> Any:
    """Each row's entry at y."""
    if isinstance(p, np.ndarray):
        return p[np.arange(len(p)), y]
    xp, (n, K) = library_of(p), p.shape
    return xp.take(xp.reshape(p, (-1,)), K * xp.arange(n, dtype=y.dtype, device=p.device) + y)


def _with_target(p: Any, y: Any, values: Any) -> Any:
    """p with these entries at y: in place where arrays are NumPy's, for others cannot be."""
    if isinstance(p, np.ndarray):
        p[np.arange(len(p)), y] = values
        return p
    xp = library_of(p)
    mine = y[:, None] == xp.arange(p.shape[1], dtype=y.dtype, device=p.device)[None, :]
    return xp.where(mine, values[:, None], p)
