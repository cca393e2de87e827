"""Objectives, gradients, minimisers and noise against dense formulas and certificates."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize_scalar

from bocce import LeastSquares, Logistic
from bocce.problems import ProblemLimits
from bocce.rows import Dense, RowLimits

FEW = settings(max_examples=40, deadline=None)
BOTH = pytest.mark.parametrize("kind", [LeastSquares, Logistic])


def values(seed, n=23, d=5):
    """Small multiples of 1/4: exact in every dtype."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, size=(n, d)) / 4
    X[rng.random((n, d)) < 0.3] = 0
    return X


def targets(kind, seed, n):
    rng = np.random.default_rng(seed)
    if kind is LeastSquares:
        return rng.standard_normal(n)
    return np.where(np.arange(n) % 2 == 0, 1.0, -1.0)[rng.permutation(n)]


def dense_value(kind, X, y, l2, w):
    z = X @ w
    loss = 0.5 * (z - y) ** 2 if kind is LeastSquares else np.log1p(np.exp(-y * z))
    return loss.mean() + 0.5 * l2 * w @ w


def dense_gradient(kind, X, y, l2, w):
    z = X @ w
    slope = z - y if kind is LeastSquares else -y / (1 + np.exp(y * z))
    return X.T @ slope / len(y) + l2 * w


def memmap(X, folder):
    file = np.memmap(folder / "X.bin", dtype=X.dtype, mode="w+", shape=X.shape)
    file[:] = X
    file.flush()
    return np.memmap(folder / "X.bin", dtype=X.dtype, mode="r", shape=X.shape)


def strided(X):
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    wide[::2, ::3] = X
    return wide[::2, ::3]


def duplicated(X):
    """CSR whose entries are each stored as two halves, out of order."""
    C = sp.coo_array(X)
    row, col = (np.concatenate([i, i]) for i in C.coords)
    order = np.argsort(row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=X.shape[0]))])
    return sp.csr_array((np.tile(C.data / 2, 2)[order], col[order], indptr), shape=X.shape)


STORED = {
    "dense": lambda X, folder: X,
    "lists": lambda X, folder: X.tolist(),
    "F order": lambda X, folder: np.asfortranarray(X),
    "strided": lambda X, folder: strided(X),
    "reversed": lambda X, folder: X[::-1, ::-1].copy()[::-1, ::-1],
    "float32": lambda X, folder: X.astype(np.float32),
    "float16": lambda X, folder: X.astype(np.float16),
    "big-endian": lambda X, folder: X.astype(">f8"),
    "memmap": memmap,
    "memmap float32": lambda X, folder: memmap(X.astype(np.float32), folder),
    "CSR": lambda X, folder: sp.csr_matrix(X),
    "CSR array": lambda X, folder: sp.csr_array(X),
    "CSR float32": lambda X, folder: sp.csr_array(X.astype(np.float32)),
    "CSR duplicated": lambda X, folder: duplicated(X),
    "CSC": lambda X, folder: sp.csc_matrix(X),
    "COO": lambda X, folder: sp.coo_array(X),
}


@BOTH
@pytest.mark.parametrize("stored", STORED)
def test_value_and_gradient_are_the_dense_formulas(kind, stored, tmp_path):
    X, l2 = values(1), 0.3
    y = targets(kind, 2, 23)
    p = kind(STORED[stored](X, tmp_path), y, l2=l2)
    if not p.sparse:
        p = p.with_fields(given=Dense(p.X, RowLimits(block=256)))  # several blocks
    assert (p.n, p.d, p.l2) == (23, 5, 0.3)
    rows = np.array([0, 3, 4, 7, 8, 9, 15, 22])
    for w in np.random.default_rng(3).standard_normal((3, 5)):
        assert p.value(w) == pytest.approx(dense_value(kind, X, y, l2, w), rel=1e-12)
        assert p.gradient(w) == pytest.approx(dense_gradient(kind, X, y, l2, w), rel=1e-12)
        part = X[rows], y[rows], l2, w
        assert p.value(w, rows) == pytest.approx(dense_value(kind, *part), rel=1e-12)
        assert p.gradient(w, rows) == pytest.approx(dense_gradient(kind, *part), rel=1e-12)
        assert p.gradient(w, rows=[6]) == pytest.approx(
            dense_gradient(kind, X[[6]], y[[6]], l2, w), rel=1e-12
        )


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, bool])
@pytest.mark.parametrize("sparse", [False, True])
def test_integers_are_numbers(dtype, sparse):
    X = (np.arange(12).reshape(4, 3) % 5).astype(dtype)
    p = LeastSquares(sp.csr_array(X) if sparse else X, np.arange(4))
    w = np.array([1.0, -2.0, 0.5])
    expected = dense_gradient(LeastSquares, X.astype(float), np.arange(4.0), 0, w)
    assert p.gradient(w) == pytest.approx(expected)


@BOTH
def test_gradient_by_finite_differences(kind):
    X, y = values(4), targets(kind, 5, 23)
    p = kind(X, y, l2=0.2)
    w = np.random.default_rng(6).standard_normal(5)
    assert p.gradient(w) == pytest.approx(approx_fprime(w, p.value, 1e-7), abs=1e-5)


def test_logistic_does_not_overflow():
    p = Logistic(np.array([[1e4], [-1e4]]), [1, 0])
    assert p.value([10.0]) == 0.0
    assert p.value([-10.0]) == pytest.approx(1e5)
    assert p.gradient([-10.0]) == pytest.approx([-1e4])


@pytest.mark.parametrize(
    "labels", [[0, 1], [-1, 1], [1, 2], ["no", "yes"], [False, True], [2.5, 7.0]]
)
def test_any_two_labels(labels):
    X = values(7, n=6)
    y = np.array(labels)[[0, 1, 1, 0, 1, 0]]
    p = Logistic(X, y)
    assert p.classes.tolist() == labels
    assert p.y.tolist() == [-1, 1, 1, -1, 1, -1]
    w = np.ones(5)
    assert p.value(w) == Logistic(X, p.y).value(w)


@pytest.mark.parametrize("order", ["C", "F", "strided", "memmap"])
@BOTH
def test_float64_is_not_copied(kind, order, tmp_path):
    X = values(8, n=400, d=6)
    X = {"C": X, "F": np.asfortranarray(X), "strided": strided(X), "memmap": memmap(X, tmp_path)}[
        order
    ]
    p = kind(X, targets(kind, 9, 400))
    assert np.shares_memory(p.X, X)
    assert all(np.shares_memory(block, X) for block in p.rows.blocks())
    assert X.flags.writeable == (order != "memmap"), "the caller's array keeps its flags"
    with pytest.raises(ValueError, match="read-only"):
        p.X[0, 0] = 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_csr_is_not_copied_and_float32_stays(dtype):
    X = sp.csr_array(values(8).astype(dtype))
    p = LeastSquares(X, np.ones(23))
    assert p.X.dtype == dtype
    assert np.shares_memory(p.X.data, X.data)
    assert LeastSquares(X.toarray(), np.ones(23)).X.dtype == dtype


def test_the_callers_sparse_matrix_is_left_as_it_was():
    X = duplicated(values(8))
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    LeastSquares(X, np.ones(23)).constants()
    for mine, old in zip((X.data, X.indices, X.indptr), before):
        assert np.array_equal(mine, old)


@BOTH
def test_targets_are_the_callers_no_longer(kind):
    y = targets(kind, 1, 23)
    p = kind(values(1), y)
    before = p.value(np.ones(5))
    y[:] = 100.0
    assert p.value(np.ones(5)) == before


# -- minimisers: the certificate is a zero gradient -----------------------------------------


def limited(p, columns):
    """The problem where a Gram matrix is formed for at most so many columns."""
    return p.with_fields(limits=ProblemLimits(gram_columns=columns))


def certificate(p):
    """||grad f(w*)|| over the root mean square of the rows' gradients at 0."""
    return np.linalg.norm(p.gradient(p.minimiser())) / np.sqrt(
        p.row_gradient_mean2(np.zeros(p.d)) + 1e-300
    )


@st.composite
def designs(draw, least=1):
    """Any shape, with zero rows, duplicated rows, zero columns, ranks below d."""
    n, d = draw(st.integers(least, 12)), draw(st.integers(1, 12))
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** draw(st.integers(-3, 3))
    if draw(st.booleans()):
        X[rng.random(n) < 0.3] = 0
    if draw(st.booleans()):
        X = X[rng.integers(0, n, size=n)]
    if draw(st.booleans()):
        X[:, rng.random(d) < 0.3] = 0
    X = sp.csr_array(X) if draw(st.booleans()) else X
    return X, rng.standard_normal(n)


@pytest.mark.parametrize("columns", [1024, 0], ids=["eigenvalues", "LSQR"])
@FEW
@given(designs(), st.sampled_from([0.0, 1e-3, 1.0]))
def test_least_squares_minimiser(columns, design, l2):
    X, y = design
    p = limited(LeastSquares(X, y, l2=l2), columns)
    assert certificate(p) < 1e-9
    w = p.minimiser()
    dense = X.toarray() if sp.issparse(X) else X
    n, d = dense.shape
    augmented = np.vstack([dense, np.sqrt(n * l2) * np.eye(d)])
    least_norm = np.linalg.lstsq(augmented, np.concatenate([y, np.zeros(d)]), rcond=1e-10)[0]
    assert w == pytest.approx(least_norm, rel=1e-6, abs=1e-7 * (1 + np.abs(least_norm).max()))


@pytest.mark.parametrize("columns", [1024, 0], ids=["solve", "CG"])
@FEW
@given(designs(least=2), st.sampled_from([1e-2, 1.0]))
def test_logistic_minimiser(columns, design, l2):
    X, y = design
    y[:2] = -1, 1  # both labels occur
    assert certificate(limited(Logistic(X, y > 0, l2=l2), columns)) < 1e-9


@pytest.mark.parametrize("columns", [1024, 0], ids=["solve", "CG"])
@pytest.mark.parametrize("scale", [1e-10, 1.0, 1e6])
def test_logistic_minimiser_without_l2_scales_with_the_data(columns, scale):
    X, y = values(11, n=60), targets(Logistic, 12, 60)
    expected = limited(Logistic(X, y), columns).minimiser()
    p = limited(Logistic(scale * X, y), columns)
    assert certificate(p) < 1e-9
    assert p.minimiser() * scale == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("columns", [1024, 0], ids=["solve", "CG"])
@pytest.mark.parametrize("case", ["separable", "more columns than rows", "half separable"])
def test_separable_data_without_l2_have_no_minimiser(case, columns):
    rng = np.random.default_rng(13)
    X = rng.standard_normal((20, 2) if case != "more columns than rows" else (5, 8))
    y = X[:, 0] > 0
    if case == "half separable":  # a tie in one direction, none in the other
        X = np.vstack([np.abs(X[:, :1]) * [1, 0], [[0, 1], [0, 1]]])
        y = np.arange(22) != 21
    with pytest.raises(ValueError, match=r"^Logistic: l2=0.0 leaves no finite minimiser.*l2=1e-4"):
        limited(Logistic(X, y), columns).minimiser()
    assert certificate(limited(Logistic(X, y, l2=1e-4), columns)) < 1e-9


def test_ill_conditioned_lsqr():
    rng = np.random.default_rng(14)
    U, _ = np.linalg.qr(rng.standard_normal((80, 12)))
    p = limited(LeastSquares(U * np.geomspace(1, 1e4, 12), rng.standard_normal(80)), 0)
    assert certificate(p) < 1e-9


@BOTH
def test_minimisers_are_copies(kind):
    p = kind(values(1), targets(kind, 1, 23), l2=0.1)
    p.minimiser()[:] = np.nan
    assert np.isfinite(p.minimiser()).all()


# -- noise at the minimiser --------------------------------------------------------------------


def brute_noise(p, X):
    """Row by row: f_i depends on w along x_i only, plus l2 across it."""
    star = p.minimiser()
    chi2, sigma2 = [], []
    for i in range(p.n):
        chi2.append(np.sum(p.gradient(star, [i]) ** 2))

        def along(t, i=i):
            return p.value(t * X[i], [i])

        norm2 = X[i] @ X[i]
        reach = 60 / norm2 if norm2 > 0 else 1.0
        lowest = minimize_scalar(along, bounds=(-reach, reach), method="bounded",
                                 options={"xatol": 1e-10 * reach}).fun  # fmt: skip
        sigma2.append(p.value(star, [i]) - lowest)
    return np.mean(chi2), np.mean(sigma2)


@BOTH
@pytest.mark.parametrize("l2", [0.0, 1e-2, 3.0])
def test_noise_by_brute_force(kind, l2):
    X, y = values(15, n=40), targets(kind, 16, 40)
    X[3] = 0  # an empty row cannot be fitted
    X[5] = X[6]
    p = kind(X, y, l2=l2)
    chi2, sigma2 = brute_noise(p, X)
    assert p.noise().chi2 == pytest.approx(chi2, rel=1e-9)
    assert p.noise().sigma2 == pytest.approx(sigma2, rel=1e-6)
    assert p.noise().chi2 <= 2 * p.constants().L_max * p.noise().sigma2


def test_interpolation_has_no_noise():
    X = values(17)
    noise = LeastSquares(X, X @ np.arange(5.0)).noise()
    assert noise.chi2 < 1e-24
    assert noise.sigma2 < 1e-24


# -- the smallest problems -----------------------------------------------------------------------


def test_one_row_and_one_column():
    p = LeastSquares([[2.0]], [6.0], l2=2.0)
    assert p.minimiser() == pytest.approx([2.0])  # (4 + 2) w = 12
    assert p.value([2.0]) == pytest.approx(2 + 4)
    assert p.constants().L == p.constants().mu == pytest.approx(6.0)
    assert p.noise().chi2 == pytest.approx(0, abs=1e-20)


@pytest.mark.parametrize("X", [np.zeros((3, 2)), sp.csr_array((3, 2))], ids=["dense", "CSR"])
def test_nothing_but_zeros(X):
    p = LeastSquares(X, [1.0, 2.0, 3.0])
    assert p.value(np.ones(2)) == pytest.approx(14 / 6)
    assert p.minimiser().tolist() == [0, 0]
    assert (p.noise().chi2, p.noise().sigma2) == (0, 0)
    assert p.constants().L == p.constants().mu == 0
