"""Sums of row gradients, compiled: dense squared, dense logistic, framed, and CSR rows.

``accumulate`` adds slope_i x_i over a list of rows into ``g`` and returns the sum of the losses
where asked. The kinds of data are named tuples; Numba picks the body by their type, so one
loop (``loop.py``) serves them all. ``problems`` holds the readable twin. ``weight`` holds the
weights of the rows, or nothing where all are 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

# Sums may be reordered and contracted, but NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}
KERNEL: dict[str, Any] = {"fastmath": FAST, "error_model": "numpy", "nogil": True, "cache": True}
AHEAD = 16  # rows between a prefetch and its use
BLOCK = 64  # logistic rows a block


class SquaredRows(NamedTuple):
    """Dense rows; ``own`` rows are padded copies with y as one more column (w holds -1 there).

    ``link``: a number added to every x_i . w, and room for the sum of the slopes.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    link: np.ndarray
    own: bool


class LogisticRows(NamedTuple):
    """Dense rows; ``own`` rows are padded copies already multiplied by their sign (no ``link``)."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    link: np.ndarray
    own: bool


class FramedRows(NamedTuple):
    """Rows (x - centre) * scale and perhaps ``unit`` behind, made of x as they are summed."""

    rows: SquaredRows | LogisticRows
    centre: np.ndarray
    scale: np.ndarray
    unit: float
    at: np.ndarray  # scratch, as long as a row x
    sums: np.ndarray


class SparseRows(NamedTuple):
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    logistic: bool


@intrinsic
def _prefetch(typingctx, X, row):  # pragma: no cover - runs in the compiler
    """Ask for the first cache line of a row; the processor follows with the rest."""

    def codegen(context, builder, signature, args):
        kind = signature.args[0]
        array = context.make_array(kind)(context, builder, args[0])
        start = context.get_constant(types.intp, 0)
        where = cgutils.get_item_pointer(
            context, builder, kind, array, [args[1], start], wraparound=False
        )
        address = builder.bitcast(where, ir.IntType(8).as_pointer())
        i32 = ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [address.type, i32, i32, i32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [address.type], shape)
        builder.call(function, [address, i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(X, types.uint64), codegen


@njit
def _row(source, listed, i):
    return np.uint64(source[i]) if listed else np.uint64(i)


def accumulate(rows, source, start, count, listed, w, g, want_loss):
    """g = sum of slope_i x_i over rows source[start:start+count] (or start.. when not listed)."""
    raise NotImplementedError  # compiled bodies below


@overload(accumulate, jit_options={"fastmath": FAST, "error_model": "numpy"})
def _accumulate(rows, source, start, count, listed, w, g, want_loss):
    bodies = {
        SquaredRows: _squared_rows,
        LogisticRows: _logistic_rows,
        FramedRows: _framed_rows,
        SparseRows: _sparse_rows,
    }
    return bodies[rows.instance_class]


@njit(fastmath=FAST)
def _half_squares(weight, a, b, c, d, ta, tb, tc, td):
    if weight.size == 0:
        return 0.5 * (ta * ta + tb * tb + tc * tc + td * td)
    pair = weight[a] * ta * ta + weight[b] * tb * tb
    return 0.5 * (pair + weight[c] * tc * tc + weight[d] * td * td)


def _squared_rows(rows, source, start, count, listed, w, g, want_loss):
    X, y, weight, link, own = rows
    p = X.shape[1]
    for j in range(p):
        g[j] = 0.0
    loss = 0.0
    slopes = 0.0
    stop = start + count
    whole = start + count - count % 4
    for i in range(start, whole, 4):
        a = _row(source, listed, i)
        b = _row(source, listed, i + 1)
        c = _row(source, listed, i + 2)
        d = _row(source, listed, i + 3)
        if i + AHEAD + 4 <= stop:
            for s in range(i + AHEAD, i + AHEAD + 4):
                _prefetch(X, _row(source, listed, s))
        ta = tb = tc = td = link[0]
        for j in range(p):
            wj = w[j]
            ta += X[a, j] * wj
            tb += X[b, j] * wj
            tc += X[c, j] * wj
            td += X[d, j] * wj
        if not own:
            ta -= y[a]
            tb -= y[b]
            tc -= y[c]
            td -= y[d]
        if want_loss:
            loss += _half_squares(weight, a, b, c, d, ta, tb, tc, td)
        if weight.size > 0:
            ta *= weight[a]
            tb *= weight[b]
            tc *= weight[c]
            td *= weight[d]
        slopes += (ta + tb) + (tc + td)
        for j in range(p):
            g[j] += ta * X[a, j] + tb * X[b, j] + tc * X[c, j] + td * X[d, j]
    for i in range(whole, stop):
        a = _row(source, listed, i)
        ta = link[0]
        for j in range(p):
            ta += X[a, j] * w[j]
        if not own:
            ta -= y[a]
        if want_loss:
            loss += _half_squares(weight, a, a, a, a, ta, 0.0, 0.0, 0.0)
        if weight.size > 0:
            ta *= weight[a]
        slopes += ta
        for j in range(p):
            g[j] += ta * X[a, j]
    link[1] = slopes
    return loss


@njit(fastmath={"contract"}, error_model="numpy")  # reordering would undo the two-part ln 2
def _exp(x):
    """e^x for -708 <= x <= 0, branch-free so that loops over it vectorise (error 4e-16)."""
    k = np.floor(x * 1.4426950408889634 + 0.5)
    r = x - k * 6.93145751953125e-1 - k * 1.42860682030941723212e-6
    s = 1.0 / 6227020800.0
    s = s * r + 1.0 / 479001600.0
    s = s * r + 1.0 / 39916800.0
    s = s * r + 1.0 / 3628800.0
    s = s * r + 1.0 / 362880.0
    s = s * r + 1.0 / 40320.0
    s = s * r + 1.0 / 5040.0
    s = s * r + 1.0 / 720.0
    s = s * r + 1.0 / 120.0
    s = s * r + 1.0 / 24.0
    s = s * r + 1.0 / 6.0
    s = s * r + 0.5
    s = s * r + 1.0
    s = s * r + 1.0
    return s * _power_of_two(k)


@intrinsic
def _power_of_two(typingctx, k):  # pragma: no cover - runs in the compiler
    """2^k for a whole k in the normal range, by writing the exponent's bits."""

    def codegen(context, builder, signature, args):
        i64 = ir.IntType(64)
        whole = builder.fptosi(args[0], i64)
        bits = builder.shl(builder.add(whole, i64(1023)), i64(52))
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.float64), codegen


@njit(fastmath=FAST, error_model="numpy")
def logistic_slope(margin):
    """-1/(1 + e^margin), through e^-|margin|: the slope of log(1 + e^-margin)."""
    e = _exp(max(-abs(margin), -700.0))
    return -(e if margin > 0.0 else 1.0) / (1.0 + e)


@njit
def logistic_loss(margin):
    return max(-margin, 0.0) + np.log1p(np.exp(-abs(margin)))


def _logistic_rows(rows, source, start, count, listed, w, g, want_loss):
    X, y, weight, link, own = rows
    p = X.shape[1]
    for j in range(p):
        g[j] = 0.0
    loss = 0.0
    slopes = 0.0
    stop = start + count
    margin = np.empty(BLOCK)
    slope = np.empty(BLOCK)
    for first in range(start, stop, BLOCK):
        size = min(BLOCK, stop - first)
        for i in range(size):
            a = _row(source, listed, first + i)
            if first + i + AHEAD < stop:
                _prefetch(X, _row(source, listed, first + i + AHEAD))
            t = link[0]
            for j in range(p):
                t += X[a, j] * w[j]
            margin[i] = t if own else t * y[a]
        for i in range(size):
            slope[i] = logistic_slope(margin[i])
        if want_loss:
            for i in range(size):
                one = logistic_loss(margin[i])
                loss += one if weight.size == 0 else one * weight[_row(source, listed, first + i)]
        if not own:
            for i in range(size):
                slope[i] *= y[_row(source, listed, first + i)]
        if weight.size > 0:
            for i in range(size):
                slope[i] *= weight[_row(source, listed, first + i)]
        for i in range(size):
            slopes += slope[i]
        whole = size - size % 4
        for i in range(0, whole, 4):
            a = _row(source, listed, first + i)
            b = _row(source, listed, first + i + 1)
            c = _row(source, listed, first + i + 2)
            d = _row(source, listed, first + i + 3)
            sa, sb, sc, sd = slope[i], slope[i + 1], slope[i + 2], slope[i + 3]
            for j in range(p):
                g[j] += sa * X[a, j] + sb * X[b, j] + sc * X[c, j] + sd * X[d, j]
        for i in range(whole, size):
            a = _row(source, listed, first + i)
            for j in range(p):
                g[j] += slope[i] * X[a, j]
    link[1] = slopes
    return loss


def _framed_rows(rows, source, start, count, listed, w, g, want_loss):
    inner, centre, scale, unit, at, sums = rows
    d = centre.size
    offset = unit * w[d] if w.size > d else 0.0
    for j in range(d):
        at[j] = scale[j] * w[j]
        offset -= centre[j] * at[j]
    inner.link[0] = offset
    loss = accumulate(inner, source, start, count, listed, at, sums, want_loss)
    slopes = inner.link[1]
    for j in range(d):
        g[j] = scale[j] * (sums[j] - centre[j] * slopes)
    if w.size > d:
        g[d] = unit * slopes
    return loss


def _sparse_rows(rows, source, start, count, listed, w, g, want_loss):
    data, indices, indptr, y, weight, logistic = rows
    for j in range(g.size):
        g[j] = 0.0
    loss = 0.0
    for i in range(start, start + count):
        a = _row(source, listed, i)
        t = 0.0
        for q in range(indptr[a], indptr[a + np.uint64(1)]):
            t += data[q] * w[indices[q]]
        one = 1.0 if weight.size == 0 else weight[a]
        if logistic:
            slope = one * y[a] * logistic_slope(y[a] * t)
            if want_loss:
                loss += one * logistic_loss(y[a] * t)
        else:
            slope = one * (t - y[a])
            if want_loss:
                loss += 0.5 * slope * (t - y[a])
        for q in range(indptr[a], indptr[a + np.uint64(1)]):
            g[indices[q]] += slope * data[q]
    return loss
