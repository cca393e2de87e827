"""What every kind of rows must obey: it answers as the same numbers in a plain array would.

A kind that is registered in ``bocce.rows.KINDS`` needs one line more, in ``STORED``, which makes
its rows; a test compares the two tables.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from bocce.rows import KINDS, ArrayRows, Csr, Dense, FileRows, RowLimits, Scaled, ScaledCsr, rows_of
from helpers import design
from tables_on_disk import parts_on_disk

N, D = 30, 4
CENTRE, SCALE = np.array([1.0, -2.0, 0.0, 3.0]), np.array([0.5, 1.0, 4.0, 0.25])


def on_disk(folder):
    X = design("dense")
    return FileRows(parts_on_disk(folder / "rows.arrow", X, np.arange(N, dtype=float), 7))


def on_device(folder):
    return ArrayRows.of(pytest.importorskip("array_api_strict").asarray(design("dense")))


SMALL = RowLimits(block=256, made=256)  # several blocks
STORED = {
    "dense": lambda folder: Dense(design("dense"), SMALL),
    "float32": lambda folder: Dense(design("float32"), SMALL),
    "fortran": lambda folder: Dense(design("fortran"), SMALL),
    "csr": lambda folder: Csr(design("csr")),
    "csr32": lambda folder: Csr(design("csr32")),
    "csr, scaled": lambda folder: Csr(design("csr")).scaled(SCALE, 0.0),
    "csr32, unit": lambda folder: Csr(design("csr32")).scaled(SCALE, 2.0),
    "scaled": lambda folder: Scaled(design("dense"), CENTRE, SCALE, 0.0, SMALL),
    "scaled, unit": lambda folder: Scaled(design("float32"), CENTRE, SCALE, 2.0, SMALL),
    "array": on_device,
    "file": on_disk,
}


@pytest.fixture(params=STORED)
def rows(request, tmp_path):
    return STORED[request.param](tmp_path)


def written_out(rows):
    """The rows as one array."""
    blocks = [b.toarray() if sp.issparse(b) else np.array(b) for b in rows.blocks()]
    return np.concatenate(blocks).astype(np.float64)


def test_every_kind_is_stored_here(tmp_path):
    assert {make(tmp_path).storage for make in STORED.values()} == set(KINDS)
    for name, kind in KINDS.items():
        assert kind.storage == name


def test_it_says_where_numbers_lie(rows):
    assert rows.in_memory == (not (rows.in_parts or rows.foreign))
    assert rows.not_finite() is None
    assert rows.cost <= N * rows.d
    assert rows.shared_entries <= N * N * rows.d


def test_other_variables(rows):
    """Rows in a frame are (x - centre) * scale and a unit behind; in parts, without the unit."""
    if rows.computed:
        return  # they are in a frame already
    X = written_out(rows)
    centre = np.zeros(D) if rows.sparse else CENTRE
    close = {"rtol": 1e-6, "atol": 1e-6}
    alone = rows.standardized(centre, SCALE)
    np.testing.assert_allclose(written_out(alone), (X - centre) * SCALE, **close)
    if not rows.in_parts:
        made = rows.framed(centre, SCALE, 2.0)
        assert (made.n, made.d) == (N, D + 1)
        expected = np.c_[(X - centre) * SCALE, np.full(N, 2.0)]
        np.testing.assert_allclose(written_out(made), expected, **close)


def test_products_of_all_pairs_of_rows(rows):
    ridge = np.linspace(0.5, 2.0, rows.d)
    X = written_out(rows)
    if X.shape[1] > D:
        ridge[D] = np.inf  # the intercept's column, which is left out
        np.testing.assert_allclose(rows.row_products(ridge), X / ridge @ X.T, atol=1e-5)
    else:
        np.testing.assert_allclose(rows.row_products(ridge), X / ridge @ X.T, atol=1e-6)
        alike = np.full(D, 3.0)
        np.testing.assert_allclose(rows.row_products(alike), X @ X.T / 3.0, atol=1e-6)


def test_dense_rows_in_memory_have_a_copy_in_float32(rows):
    if rows.in_memory and not rows.sparse:
        narrow = rows.narrowed()
        assert narrow.dtype == np.float32
        np.testing.assert_allclose(written_out(narrow), written_out(rows), rtol=1e-6, atol=1e-6)


def test_the_first_row_that_is_not_finite_is_found(rows):
    if rows.in_parts or rows.computed:
        return  # files are checked as they are read, and rows before they are scaled
    X = written_out(rows)
    X[11, 2] = np.nan
    X[20, 0] = np.inf
    made = {"csr": lambda: sp.csr_array(X), "dense": lambda: X}
    made["array"] = lambda: pytest.importorskip("array_api_strict").asarray(X)
    assert rows_of(made[rows.storage]()).not_finite() == 11


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
    if not isinstance(rows, (Scaled, ScaledCsr)):  # those have their own
        wider, expected = rows.with_column(), np.c_[written_out(rows), np.ones(N)]
        assert (wider.n, wider.d, wider.dtype) == (N, D + 1, rows.dtype)
        np.testing.assert_allclose(written_out(wider), expected)
        chosen, w = np.array([2, 5, N - 1]), np.arange(1.0, D + 2)
        np.testing.assert_allclose(written_out(wider.take(chosen)), expected[chosen])
        np.testing.assert_allclose(wider.times(w, chosen), expected[chosen] @ w)
        np.testing.assert_allclose(wider.combine(w[:3], chosen), w[:3] @ expected[chosen])


def test_large_rows_are_not_copied_for_a_column():
    X = design("dense")
    wider = Dense(X, RowLimits(copied=0)).with_column()
    assert isinstance(wider, Scaled)
    assert np.shares_memory(wider.X, X)
    np.testing.assert_allclose(written_out(wider), np.c_[X, np.ones(N)])


def test_scaled_columns_of_sparse_rows():
    X = design("csr")
    made = Csr(X).scaled(SCALE, 2.0)
    np.testing.assert_allclose(made.X.toarray(), np.c_[X.toarray() * SCALE, np.full(N, 2.0)])
    assert np.shares_memory(Csr(X).scaled(np.ones(D), 0.0).X.data, X.data)


def test_sparse_rows_in_other_units_are_not_copied(monkeypatch):
    """Nothing that a fit on all rows asks for makes an array as large as X."""
    X = Csr(design("csr"))
    rows = X.scaled(SCALE, 2.0)
    rng = np.random.default_rng(0)
    weights = rng.random(N)
    weights /= weights.mean()
    rows.combine(rows.times(rng.standard_normal(D + 1)))
    rows.gram(weights)
    rows.moments(weights, weights)
    found = [rows.squares(weights), rows.norms2, rows.shares, *rows.column_moments(weights)]
    found += [rows.projections2(np.eye(D + 1)), rows.pairs, rows.cost, rows.gram_cost]
    assert "X" not in vars(rows)
    laid = Csr(rows.X)
    twins = [laid.squares(weights), laid.norms2, laid.shares, *laid.column_moments(weights)]
    twins += [laid.projections2(np.eye(D + 1)), laid.pairs, laid.cost, laid.gram_cost]
    for ours, theirs in zip(found, twins):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
    extreme = X.scaled(np.array([1.0, 2.0**-200, 1.0, 1.0]), 0.0)
    assert not isinstance(extreme, ScaledCsr)


def test_a_fingerprint_sees_every_number(rows):
    mark = rows.fingerprint()
    assert mark == rows.fingerprint()
    if not isinstance(rows, (FileRows, ArrayRows)):
        changed = [array.copy() for array in rows.arrays()]
        changed[0].reshape(-1)[-1] += 1.0
        parts = {Dense: lambda a: Dense(a[0]), Scaled: lambda a: Scaled(*a[:3], float(a[3][0]))}
        parts[Csr] = lambda a: Csr(sp.csr_array(tuple(a[:3]), shape=(N, D)))
        parts[ScaledCsr] = lambda a: ScaledCsr(parts[Csr](a), a[3], float(a[4][0]))
        assert parts[type(rows)](changed).fingerprint() != mark
        assert parts[type(rows)]([array.copy() for array in rows.arrays()]).fingerprint() == mark


def test_rows_of_what_there_is():
    X = Dense(design("dense"))
    assert rows_of(X) is X
    assert isinstance(rows_of(design("csr")), Csr)
    assert isinstance(rows_of(design("float32")), Dense)
