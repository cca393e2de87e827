"""Small problems and engines that several tests use."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import scipy.sparse as sp

import bocce
from bocce import engines
from bocce.engines import Recorder, State, record_steps
from bocce.engines.numba import CompiledEngine
from bocce.rows import ArrayRows, Dense, RowLimits
from bocce.schedules import REGISTRY

KINDS = ("dense", "fortran", "strided", "float32", "csr", "csr32")


def design(kind: str, n: int = 30, d: int = 4, seed: int = 0):
    """Rows with an empty one and a duplicated one, stored as ``kind``."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.linspace(0.5, 2.0, d)
    if kind.startswith("csr"):
        X *= rng.random((n, d)) < 0.5
    if n > 4:
        X[3] = 0.0
        X[4] = X[0]
    if kind == "fortran":
        return np.asfortranarray(X)
    if kind == "strided":
        return np.repeat(X, 2, axis=1)[:, ::2]
    if kind == "float32":
        return X.astype(np.float32)
    if kind == "csr":
        return sp.csr_array(X)
    if kind == "csr32":
        return sp.csr_array(X.astype(np.float32))
    return X


def problem(loss: str, X, l2: float = 0.0, seed: int = 1):
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(X.shape[0])
    if bocce.losses.REGISTRY[loss].margin:
        labels = np.where(y > 0, "b", "a")
        labels[:2] = "a", "b"
        y = labels
    return bocce.Problem(X, y, loss, l2=l2)


def without_gram(p):
    """The problem as if its Gram matrix were too large: sums over all rows are not formed."""
    return p.with_fields(limits=dataclasses.replace(p.limits, gram_columns=0))


def limited(p, **sizes):
    """The problem with other limits for its rows, as if these were many."""
    limits = RowLimits(**sizes)
    if isinstance(p.given, ArrayRows):
        return p.with_fields(given=ArrayRows(p.given.store, limits=limits))
    return p.with_fields(given=Dense(p.X, limits))


def where_it_lies(p):
    """The problem as large data have it: no copy of the rows, no Gram matrix."""
    return without_gram(limited(p, copied=0))


def constants(p, b: int, kappa: float = 20.0) -> dict:
    """Everything a factory may ask for, with a step that is long but not absurd."""
    c = p.constants()
    L = max(c.L, 1e-3)
    return {
        "L": L,
        "mu": L / kappa,
        "L_max": max(c.L_max, L),
        "kappa_tilde": c.kappa_tilde or 5.0,
        "n": p.n,
        "b": b,
    }


def schedule(name: str, T: int, values: dict):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # multistage says when there is one stage only
        return REGISTRY[name].build(T, values)


def recorder(T: int, every: int = 1) -> Recorder:
    return Recorder(record_steps(T, every, 1))


def at_rest(p) -> State:
    return State.at_rest(np.zeros(p.width))


def assert_same_steps(
    p, table, b, mode="independent", seed=5, tol=1e-10, averaging=False, engine=CompiledEngine
):
    """An engine and the reference, one step at a time: iterates, sums of them, measurements."""
    slow, fast = engines.REGISTRY["reference"](p, b, seed, mode), engine(p, b, seed, mode)
    s, f = at_rest(p), at_rest(p)
    if averaging:
        s.tally, f.tally = np.zeros(p.width), np.zeros(p.width)
    rs, rf = recorder(table.T), recorder(table.T)
    for k in range(table.T):
        assert slow.advance(s, table, k + 1, rs).verdict == ""
        assert fast.advance(f, table, k + 1, rf).verdict == ""
        assert (f.k, f.row) == (s.k, s.row) == (k + 1, k + 1)
        scale = max(1.0, np.abs(s.w).max())
        np.testing.assert_allclose(f.w, s.w, rtol=0, atol=tol * scale, err_msg=f"step {k}")
        np.testing.assert_allclose(f.v, s.v, rtol=0, atol=tol * scale, err_msg=f"step {k}")
    if averaging:
        np.testing.assert_allclose(f.tally, s.tally, atol=tol * np.abs(s.tally).max())
    value, grad2 = rs.value.max(), rs.grad2.max()
    np.testing.assert_allclose(rf.value[:-1], rs.value[:-1], rtol=1e-10, atol=1e-14 * value)
    np.testing.assert_allclose(rf.grad2[:-1], rs.grad2[:-1], rtol=1e-8, atol=1e-20 * grad2)
    ours, theirs = fast.look(f.w), slow.look(s.w)
    np.testing.assert_allclose(ours.value, theirs.value, atol=1e-10 * value)
    room = 1e-10 * np.sqrt(grad2)
    np.testing.assert_allclose(ours.gradient, theirs.gradient, rtol=1e-8, atol=room)


def misjudged(p, factor):
    """The same problem, with every curvature of a row under-estimated by ``factor``."""
    c = p.constants()
    L = c.L / factor
    wrong = dataclasses.replace(
        c,
        L=L,
        mu=min(c.mu, L),
        L_max=max(L, c.L_max / factor),
        kappa_tilde=max(1.0, c.kappa_tilde / factor),
        R2=max(L, c.R2 / factor),
        R2_tilde=max(1.0, c.R2_tilde / factor),
        spectrum=(tuple(lam / factor for lam in c.spectrum[0]), c.spectrum[1]),
    )
    q = bocce.Problem(p.X, p.y, p.loss, p.l2)
    q.cache[type(q)._constants.aspects] = {"_constants": wrong}
    return q


def accepted(loss, n: int = 30, seed: int = 1):
    """Targets that the loss takes: numbers, counts, labels of two classes, or amounts."""
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal(n) * 2.0
    labels = np.where(rng.random(n) < 0.6, 3.0, -2.0)
    labels[:2] = -2.0, 3.0
    for y in (numbers, rng.poisson(2.0, n).astype(float), labels, rng.gamma(2.0, 1.0, n)):
        try:
            loss.targets("test", y)
        except (TypeError, ValueError):
            continue
        return y
    raise AssertionError(f"{loss} takes no numbers, counts, labels or amounts")


def cut(X, y, *places):
    """X and y in chunks that end at the places."""
    return zip(np.split(X, places), np.split(y, places))


def written(tmp_path, text, name="table.svm"):
    """A file of that text, or of those bytes."""
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path
