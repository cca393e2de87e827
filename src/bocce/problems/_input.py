"""What is asked of rows, targets, weights and penalties before any work is done."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .. import _checks
from .._types import Design, Foreign, Index, Vector
from ..losses import Loss
from ..rows import Array, Rows, foreign, host
from ..rows.base import all_finite

# A standard deviation below this share of the mean is rounding: the column is constant.
CONSTANT_DEVIATION = 1e-12


def check_design(where: str, X: Design) -> Design:
    if foreign(X):
        return _check_elsewhere(where, X)
    if sp.issparse(X):
        X = sp.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()  # summing works in place, and the arrays are the caller's
            X.sum_duplicates()
    else:
        refuse_masks(where, "X", X)
        X = _as_matrix(where, X)
    _check_numeric(where, "X", X, "convert it with X.astype(float) first")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    _check_matrix(where, X.shape)
    return X


def _as_matrix(where: str, X: Design) -> Array:
    try:
        return np.asarray(X)
    except ValueError:
        raise ValueError(
            f"{where}: X is a {type(X).__name__} whose entries differ in length, must be rows of "
            "equal length; give X and y apart, as in X, y = bocce.data.open(path)."
        ) from None


def _check_numeric(where: str, name: str, array: Array, remedy: str) -> None:
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{where}: {name} has dtype {array.dtype}, must be numeric; {remedy}.")


def _check_shape(where: str, name: str, array: Array, shape: tuple[int, ...], why: str) -> None:
    if array.shape != shape:
        raise ValueError(f"{where}: {name} has shape {array.shape}, must be {shape}{why}.")


def _check_elsewhere(where: str, X: Foreign) -> Foreign:
    """An array of another library: dense, of real numbers."""
    layout = str(getattr(X, "layout", ""))
    kind = str(X.dtype).split(".")[-1]
    if "sparse" in layout:
        raise TypeError(
            f"{where}: X has layout {layout}, must be dense or a SciPy sparse matrix; convert it "
            "with X.to_dense() or scipy.sparse.csr_array."
        )
    if not kind.startswith(("float", "bfloat", "int", "uint", "bool")):
        raise TypeError(
            f"{where}: X has dtype {X.dtype}, must be numeric; convert it to floats first."
        )
    _check_matrix(where, tuple(X.shape))
    return X


def _check_matrix(where: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"{where}: X has shape {shape}, must have two dimensions (rows, columns); "
            "reshape a single feature with X.reshape(-1, 1)."
        )
    if min(shape) < 1:
        raise ValueError(
            f"{where}: X has shape {shape}, must have at least one row and one column; "
            "check how the data were read."
        )


def check_finite(where: str, rows: Rows) -> None:
    """Every number of the rows."""
    if (row := rows.not_finite()) is not None:
        raise _not_finite(where, "X", row)


def check_finite_targets(where: str, y: Array) -> None:
    if y.dtype.kind == "f" and not all_finite(y):
        raise _not_finite(where, "y", int(np.argmin(np.isfinite(y))))


def _not_finite(where: str, name: str, row: int) -> ValueError:
    return ValueError(
        f"{where}: {name} has NaN or infinity (first at row {row}), must be finite; remove or "
        "impute such rows."
    )


def check_l2(where: str, l2: float) -> float:
    return _checks.real(where, "l2", l2, least=0.0, remedy="0 is no regularisation")


def encode(loss: Loss, y: Array) -> tuple[Array, Array | None]:
    """Finite targets as the loss wants them, and the classes."""
    check_finite_targets(loss.problem_name, y)
    encoded, classes = loss.targets(loss.problem_name, y)
    encoded.flags.writeable = False
    return encoded, classes


def check_vector(where: str, y: Vector | None, n: int) -> Array:
    """Targets as an array, one a row; an entry that is masked has no value."""
    refuse_masks(where, "y", y)
    targets = np.asarray(host(y))
    _check_shape(where, "y", targets, (n,), f" as X has {n} rows; give one target a row")
    return targets


def check_point(where: str, name: str, w: Vector, shape: tuple[int, ...], why: str) -> Array:
    """A point as float64, one number a variable."""
    vector = np.asarray(host(w))
    _check_numeric(where, name, vector, "give a float vector")
    _check_shape(where, name, vector, shape, f"; {why}")
    return vector.astype(np.float64, copy=False)


def check_rows(where: str, rows: Index, n: int) -> Index:
    """The numbers of rows: at least one, each from 0 to n - 1."""
    numbers = np.asarray(host(rows))
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not numbers.size:
        found = f"shape {numbers.shape} and dtype {numbers.dtype}"
        rule = "the numbers of one row or more, in one dimension"
        remedy = "of a mask take np.flatnonzero(mask); None is all rows"
        raise _checks.refused(TypeError, where, "rows", None, rule, remedy, found)
    least = int(numbers.min())
    most = int(numbers.max())
    if least < 0 or most >= n:
        found = f"the number {least if least < 0 else most}"
        raise _checks.refused(ValueError, where, "rows", None, f"from 0 to {n - 1}", "", found)
    return numbers


def refuse_masks(where: str, name: str, values: Vector | None) -> None:
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        raise ValueError(
            f"{where}: {name} is a masked array with masked entries, must have a value "
            "everywhere; remove such rows, or fill them with .filled(...)."
        )


def _vector(where: str, name: str, values: Vector, size: int, each: str) -> Array:
    """``values`` as float64, one for each ``each`` of X."""
    vector = _checks.floats(where, name, host(values), f"give one number a {each}")
    why = f" as X has {size} {each}s; give one number a {each}"
    _check_shape(where, name, vector, (size,), why)
    return vector


def check_weights(where: str, weights: Vector | None, n: int) -> Array | None:
    """Weights of the rows, divided by their mean; None stays None."""
    if weights is None:
        return None
    given = _vector(where, "sample_weight", weights, n, "row")
    wrong = ~(np.isfinite(given) & (given > 0.0))
    if wrong.any():
        raise ValueError(
            f"{where}: sample_weight has the value {given[wrong][0]}, must be finite and > 0; "
            "leave out rows of weight 0."
        )
    given = given / given.max()  # so that the sum of huge ones is finite
    return np.asarray(given / given.mean())


def check_offset(
    where: str, offset: Vector | None, shape: tuple[int, ...], loss: Loss | None = None
) -> Array | None:
    """Known parts of the scores, of the shape of y, for a loss that they matter to; None stays
    None."""
    if offset is None:
        return None
    if loss is not None:
        refuse_offset(loss)
    refuse_masks(where, "offset", offset)
    numbers = np.asarray(host(offset))
    _check_numeric(where, "offset", numbers, "for counts give the log of the exposure")
    _check_shape(where, "offset", numbers, shape, "; give one number for each score")
    if not all_finite(numbers):
        raise _not_finite(where, "offset", int(np.argwhere(~np.isfinite(numbers))[0, 0]))
    return numbers.astype(np.float64)


def refuse_offset(loss: Loss) -> None:
    """Refuse an offset where it would be added to the scores of all classes."""
    if loss.multi_output:
        raise ValueError(
            f"Problem: offset must be left out with the {loss.name} loss, because a number that is "
            "added to the scores of all classes cancels; use it with two classes."
        )


def less_offset(loss: Loss, y: Array, offset: Array | None) -> Array:
    """Encoded targets, of the squared loss without the offset, which it needs nowhere else.

    >>> from bocce.losses import Poisson, Squared
    >>> y, offset = np.array([3.0]), np.array([1.0])
    >>> less_offset(Squared(), y, offset), less_offset(Poisson(), y, offset)
    (array([2.]), array([3.]))
    """
    if offset is None or not loss.quadratic:
        return y
    y = y - offset
    y.flags.writeable = False
    return y


def check_penalty(where: str, penalty: Vector | None, d: int) -> Array | None:
    """Factors of l2 for each column; None (all ones) stays None."""
    if penalty is None:
        return None
    factors = _vector(where, "penalty", penalty, d, "column")
    if not (np.isfinite(factors).all() and factors.min() >= 0.0):
        raise ValueError(
            f"{where}: penalty has negative or infinite entries, must be finite and >= 0; "
            "0 leaves a column alone."
        )
    return factors


def penalty_factors(
    where: str,
    rows: Rows,
    penalty: Vector | None = None,
    standardize: bool = False,
    weight: Array | None = None,
    intercept: bool = False,
) -> Array | None:
    """The factors r_j of the penalty l2/2 sum_j r_j w_j^2, one a variable; None where all are 1.

    An intercept has the factor 0. With ``standardize`` the factor of a column is multiplied by the
    column's variance: l2 is then the penalty on coefficients of columns divided by their standard
    deviation.
    """
    intercept = _checks.flag(where, "intercept", intercept)
    factors = check_penalty(where, penalty, rows.d)
    if _checks.flag(where, "standardize", standardize):
        factors = _variances(where, rows, weight) * (1.0 if factors is None else factors)
    if intercept:
        factors = np.append(np.ones(rows.d) if factors is None else factors, 0.0)
    return factors


def _variances(where: str, rows: Rows, weight: Array | None) -> Array:
    """The variance of each column; 1 for a constant column, which has no scale."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, variance = rows.column_moments(weight)
    if not np.isfinite(variance).all():
        raise ValueError(
            f"{where}: standardize=True needs variances, and the squares of column "
            f"{int(np.argmin(np.isfinite(variance)))} overflow; divide it by a constant."
        )
    variance[variance <= np.square(CONSTANT_DEVIATION * mean)] = 1.0
    return variance
