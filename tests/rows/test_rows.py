"""Every storage answers as the same numbers in a plain array would."""

import numpy as np
import pytest
import scipy.sparse as sp

from bocce.rows import Csr, Dense, FileRows, Scaled, dense, rows_of
from helpers import design
from tables_on_disk import parts_on_disk

N, D = 30, 4
CENTRE, SCALE = np.array([1.0, -2.0, 0.0, 3.0]), np.array([0.5, 1.0, 4.0, 0.25])


def on_disk(folder):
    X = design("dense")
    return FileRows(parts_on_disk(folder / "rows.arrow", X, np.arange(N, dtype=float), 7))


STORED = {
    "dense": lambda folder: Dense(design("dense")),
    "float32": lambda folder: Dense(design("float32")),
    "fortran": lambda folder: Dense(design("fortran")),
    "csr": lambda folder: Csr(design("csr")),
    "csr32": lambda folder: Csr(design("csr32")),
    "scaled": lambda folder: Scaled(design("dense"), CENTRE, SCALE, 0.0),
    "scaled, unit": lambda folder: Scaled(design("float32"), CENTRE, SCALE, 2.0),
    "file": on_disk,
}


@pytest.fixture(params=STORED)
def rows(request, tmp_path, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK_BYTES", 256)  # several blocks
    monkeypatch.setattr(dense, "MADE_BYTES", 256)
    return STORED[request.param](tmp_path)


def written_out(rows):
    """The rows as one array."""
    blocks = [b.toarray() if sp.issparse(b) else np.array(b) for b in rows.blocks()]
    return np.concatenate(blocks).astype(np.float64)


def test_shapes_and_blocks(rows):
    X = written_out(rows)
    assert X.shape == (rows.n, rows.d)
    some = np.array([3, 3, 29, 0, 11])
    blocks = [b.toarray() if sp.issparse(b) else np.array(b) for b in rows.blocks(some)]
    np.testing.assert_allclose(np.concatenate(blocks), X[some])
    np.testing.assert_allclose(written_out(rows.take(some)), X[some])
    assert rows.take(some).n == 5


@pytest.mark.parametrize("outputs", [(), (3,)], ids=["vector", "matrix"])
def test_products(rows, outputs):
    X, rng = written_out(rows), np.random.default_rng(0)
    w, some = rng.standard_normal((rows.d, *outputs)), np.array([3, 4, 11, 29])
    c = rng.standard_normal((rows.n, *outputs))
    np.testing.assert_allclose(rows.times(w), X @ w, atol=1e-12)
    np.testing.assert_allclose(rows.times(w, some), X[some] @ w, atol=1e-12)
    np.testing.assert_allclose(rows.combine(c), X.T @ c, atol=1e-11)
    np.testing.assert_allclose(rows.combine(c[some], some), X[some].T @ c[some], atol=1e-12)


def test_second_moments(rows):
    X, weights = written_out(rows), np.linspace(0.5, 2.0, N)
    np.testing.assert_allclose(rows.norms2, (X**2).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(rows.gram(), X.T @ X / N, atol=1e-12)
    np.testing.assert_allclose(rows.gram(weights), (X.T * weights) @ X / N, atol=1e-12)
    np.testing.assert_allclose(rows.squares(), (X**2).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(rows.squares(weights), weights @ X**2 / N, rtol=1e-12)
    directions = np.random.default_rng(1).standard_normal((rows.d, 3))
    expected = ((X @ directions) ** 2).sum(axis=1)
    np.testing.assert_allclose(rows.projections2(directions), expected, atol=1e-11)


def test_a_column_of_ones(rows):
    if not isinstance(rows, Scaled):  # those have their own
        wider, expected = rows.with_column(), np.c_[written_out(rows), np.ones(N)]
        assert (wider.n, wider.d, wider.dtype) == (N, D + 1, rows.dtype)
        np.testing.assert_allclose(written_out(wider), expected)
        chosen, w = np.array([2, 5, N - 1]), np.arange(1.0, D + 2)
        np.testing.assert_allclose(written_out(wider.take(chosen)), expected[chosen])
        np.testing.assert_allclose(wider.times(w, chosen), expected[chosen] @ w)
        np.testing.assert_allclose(wider.combine(w[:3], chosen), w[:3] @ expected[chosen])


def test_large_rows_are_not_copied_for_a_column(monkeypatch):
    monkeypatch.setattr(dense, "COPIED_BYTES", 0)
    X = design("dense")
    wider = Dense(X).with_column()
    assert isinstance(wider, Scaled)
    assert np.shares_memory(wider.X, X)
    np.testing.assert_allclose(written_out(wider), np.c_[X, np.ones(N)])


def test_scaled_columns_of_sparse_rows():
    X = design("csr")
    made = Csr(X).scaled(SCALE, 2.0)
    np.testing.assert_allclose(made.X.toarray(), np.c_[X.toarray() * SCALE, np.full(N, 2.0)])
    assert np.shares_memory(Csr(X).scaled(np.ones(D), 0.0).X.data, X.data)


def test_a_fingerprint_sees_every_number(rows):
    mark = rows.fingerprint()
    assert mark == rows.fingerprint()
    if not isinstance(rows, FileRows):
        changed = [array.copy() for array in rows.arrays()]
        changed[0].reshape(-1)[-1] += 1.0
        parts = {Dense: lambda a: Dense(a[0]), Scaled: lambda a: Scaled(*a[:3], float(a[3][0]))}
        parts[Csr] = lambda a: Csr(sp.csr_array(tuple(a), shape=(N, D)))
        assert parts[type(rows)](changed).fingerprint() != mark
        assert parts[type(rows)]([array.copy() for array in rows.arrays()]).fingerprint() == mark


def test_rows_of_what_there_is():
    X = Dense(design("dense"))
    assert rows_of(X) is X
    assert isinstance(rows_of(design("csr")), Csr)
    assert isinstance(rows_of(design("float32")), Dense)
