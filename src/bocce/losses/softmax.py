"""The softmax loss: any number of classes, a score for each."""

from typing import Any, NamedTuple

import numpy as np

from .loss import loss
from .targets import class_targets


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
    outputs = True
    differences = True  # of scores are all that counts
    curvature = 0.5
    model, self_concordance = "likelihood", 2.0**0.5  # by the norm of a row's change of scores
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
        here = np.arange(z.shape[0])
        p = z - z.max(axis=-1, keepdims=True)
        own = p[here, y]
        np.exp(p, out=p)
        p[here, y] = 0.0
        others = _sum(p)
        total = others + np.exp(own)
        p[here, y] = -others
        p /= total[:, None]
        value = np.where(own == 0.0, np.log1p(others), np.log(total) - own)
        return value, p, None

    def bend(loss, z: Any, y: Any) -> Any:
        """p (1 - p): the diagonal of the second derivative."""
        p = _softmax(z)
        return p * (1.0 - p)

    def bend_times(loss, z: Any, y: Any, u: Any) -> Any:
        """(diag(p) - p p^T) u for each row; u may hold several directions, one behind the other.

        Parameters
        ----------
        z : ndarray
            The scores x_i . w; with several outputs, a column for each class.
        y : ndarray
            The targets, as ``targets`` gives them.
        u : ndarray
            The directions.

        Returns
        -------
        ndarray
            As u.
        """
        p = _softmax(z)
        bent = p * u
        bent -= p * _sum(bent)[..., None]
        return bent

    def bender(loss, z: Any, dtype: Any) -> Any:
        """u -> (diag(p) - p p^T) u, in ``dtype``: for many u at the same scores.

        u counts from that of the likeliest class: nothing is lost where its p is nearly 1.

        Parameters
        ----------
        z : ndarray
            The scores x_i . w; with several outputs, a column for each class.
        dtype : dtype
            The type of the result.

        Returns
        -------
        callable
            The function of u.
        """
        p, here = _softmax(z).astype(dtype), np.arange(z.shape[0])
        top = p.argmax(axis=1)

        def times(u: Any) -> Any:
            u = u - u[here, top][:, None]
            u *= p
            u -= p * _sum(u)[:, None]
            return u

        return times

    def bend_products(loss, z: Any, y: Any, c: Any, U: Any, V: Any) -> Any:
        """sum_i c_i u_i^T (diag(p) - p p^T) v_i, for all pairs of directions of U and V.

        Parameters
        ----------
        z : ndarray
            The scores x_i . w; with several outputs, a column for each class.
        y : ndarray
            The targets, as ``targets`` gives them.
        c : ndarray
            One weight a row.
        U : ndarray
            Directions.
        V : ndarray
            Directions.

        Returns
        -------
        ndarray
            The matrix of all pairs.
        """
        p = _softmax(z)
        bent = p * V
        across, along = _sum(p * U), _sum(bent)
        if c is not None:
            bent *= c[:, None]
            along *= c
        return U.reshape(len(U), -1) @ bent.reshape(len(V), -1).T - across @ along.T

    def best_constant(loss, mean: Any) -> Any:
        """The logs of the classes' shares, with mean 0."""
        logs = np.log(np.where(mean > 0.0, mean, 1.0))
        return logs - logs.mean()


def _softmax(z: Any) -> Any:
    p = np.exp(z - z.max(axis=-1, keepdims=True))
    p /= _sum(p)[..., None]
    return p


def _sum(values: Any) -> Any:
    """Over the classes; for few of them much quicker by a product than by ``np.sum``."""
    return values @ np.ones(values.shape[-1], dtype=values.dtype)
