"""Targets as losses want them: numbers, two classes as -1 and 1, or classes by their place."""

from __future__ import annotations

import numpy as np

from .._checks import refused
from .._types import Array, Vector


def real_targets(where: str, y: Array, labels: Vector | None = None) -> tuple[Array, None]:
    """Numbers, as float64."""
    if y.dtype.kind not in "fiub":
        remedy = "for labels take a classifier, or the loss logistic (two) or softmax (more)"
        found = f"dtype {y.dtype}"
        raise refused(TypeError, where, "y", str(y.dtype), "numbers", remedy, found)
    return np.array(y, dtype=np.float64), None


def sign_targets(where: str, y: Array, labels: Vector | None = None) -> tuple[Array, Array]:
    """Two classes: the second of the sorted labels is 1, the first -1.

    >>> sign_targets("Logistic", np.array(["b", "a", "b"]))[0].tolist()
    [1.0, -1.0, 1.0]
    """
    classes = _classes(where, y, labels)
    if classes.size != 2:
        shown = ", ".join(repr(c) for c in classes[:5].tolist())
        found = f"{classes.size} different labels ({shown}{', ...' * (classes.size > 5)})"
        if classes.size == 1:
            found = f"one label only ({shown})"
        if classes.size == 0:
            found = "more than two different labels"  # too many to be counted, said their source
        raise ValueError(f"{where}: y has {found}, must have exactly two; {_remedy(classes.size)}.")
    return np.where(y == classes[1], 1.0, -1.0), classes


def _classes(where: str, y: Array, labels: Vector | None) -> Array:
    """The sorted labels."""
    try:
        return np.unique(y) if labels is None else np.sort(np.asarray(labels))
    except TypeError as error:
        rule = "labels that can be sorted, and none missing"
        remedy = "leave out rows without a label, or make all labels text with y.astype(str)"
        found = f"labels of several kinds, or None ({error})"
        raise refused(TypeError, where, "y", None, rule, remedy, found) from None


def _remedy(classes: int) -> str:
    if classes == 1:
        return "add rows of another class"
    return "make one class against the rest first, or use the loss softmax"


def count_targets(where: str, y: Array, labels: Vector | None = None) -> tuple[Array, None]:
    """Numbers that are not negative: counts, or rates."""
    y, _ = real_targets(where, y)
    if y.size and float(y.min()) < 0.0:
        raise ValueError(
            f"{where}: y has {float(y.min()):g}, must be >= 0 for the poisson loss; give counts, "
            "or rates with the exposures as sample_weight."
        )
    return y, None


def positive_targets(where: str, y: Array, labels: Vector | None = None) -> tuple[Array, None]:
    """Numbers above zero: amounts."""
    y, _ = real_targets(where, y)
    if y.size and not float(y.min()) > 0.0:
        raise ValueError(
            f"{where}: y has {float(y.min()):g}, must be > 0 for the gamma loss; leave out rows "
            'without an amount, or use the loss "poisson".'
        )
    return y, None


def class_targets(where: str, y: Array, labels: Vector | None = None) -> tuple[Array, Array]:
    """Two classes or more, as their places among the sorted labels.

    >>> class_targets("Problem", np.array(["c", "a", "b", "a"]))[0].tolist()
    [2, 0, 1, 0]
    """
    classes = _classes(where, y, labels)
    if classes.size < 2:
        if classes.size:
            shown = f"one label only ({classes.tolist()[0]!r})"
        else:
            shown = "no label"
        raise ValueError(
            f"{where}: y has {shown}, must have two or more; check how the data were split."
        )
    return np.searchsorted(classes, y), classes
