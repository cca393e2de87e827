"""Sums over rows: what they are, and by how much rounding can make them wrong."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce.rows import Copied, Csr, Dense, FactoredMoments, Moments, Scaled
from bocce.rows.csr import GramPrices
from bocce.rows.moments import gram_of, of_blocks, rows_in_cache

N, D = 300, 5


def numbers(seed, n=N, d=D):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 2.0 ** rng.integers(-20, 20, d) + rng.integers(-9, 9, d)
    X[rng.random((n, d)) < 0.4] = 0.0
    return X, rng.standard_normal(n), rng.random(n) + 0.1


def centred(X):
    rng = np.random.default_rng(1)
    scale = 2.0 ** rng.integers(-20, 20, X.shape[1])
    return Scaled(X, rng.standard_normal(X.shape[1]), scale, 0.5)


KINDS = {
    "dense": Dense,
    "columns first": lambda X: Dense(np.asfortranarray(X)),
    "every other row": lambda X: Dense(np.repeat(X, 2, axis=0)[::2]),
    "float32": lambda X: Dense(X.astype(np.float32)),
    "scaled": centred,
    "scaled beyond squares": lambda X: Scaled(X, np.zeros(D), np.full(D, 2.0**40), 0.0),
    "copied": lambda X: Copied(centred(X)),
    "copied as float32": lambda X: Copied(centred(X.astype(np.float32)), np.float32),
    "sparse": lambda X: Csr(sp.csr_array(X)),
    "one more column": lambda X: Csr(sp.csr_array(X)).with_column(),
}


def exactly(X, y, c):
    """H, b and c of the rows as they are, in fractions."""
    rows = [[Fraction(float(v)) for v in row] for row in X]
    ys, cs = ([Fraction(float(v)) for v in values] for values in (y, c))
    n, d = X.shape
    H = [[sum(w * r[j] * r[k] for w, r in zip(cs, rows)) / n for k in range(d)] for j in range(d)]
    b = [sum(w * t * r[j] for w, t, r in zip(cs, ys, rows)) / n for j in range(d)]
    return H, b, sum(w * t * t for w, t in zip(cs, ys)) / n


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_those_of_the_rows(kind, weighted):
    X, y, c = numbers(2)
    rows = KINDS[kind](X)
    sums = rows.moments(y, c if weighted else None)
    X = np.vstack([b.toarray() if sp.issparse(b) else b for b in rows.blocks()])
    c = c if weighted else np.ones(N)
    lengths = np.sqrt(np.mean(c[:, None] * X**2, axis=0))
    error = np.abs(sums.gram - (X.T * c) @ X / N)
    assert (error <= 1e-13 * np.outer(lengths, lengths)).all()
    assert (np.abs(sums.moment - X.T @ (c * y) / N) <= 1e-13 * lengths).all()
    assert sums.target2 == pytest.approx(np.mean(c * y * y), rel=1e-13)
    assert np.array_equal(sums.gram, sums.gram.T)
    gram = rows.gram(c if weighted else None)
    assert (np.abs(gram - sums.gram) <= 1e-13 * np.outer(lengths, lengths)).all()


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    offset=st.sampled_from([0.0, 1e3, 1e8]),
    spread=st.integers(0, 25),
    collinear=st.booleans(),
    weighted=st.booleans(),
    kind=st.sampled_from(["dense", "float32", "sparse"]),
)
def test_the_gradient_is_never_more_wrong_than_the_bound(
    seed, offset, spread, collinear, weighted, kind
):
    rng = np.random.default_rng(seed)
    n, d = 60, 4
    X = (rng.standard_normal((n, d)) + offset) * 2.0 ** rng.integers(-spread, spread + 1, d)
    if collinear:
        X[:, 2] = X[:, 0] * (1.0 + 1e-14 * rng.standard_normal(n))
    y, c = rng.standard_normal(n) + offset, rng.random(n) + 0.01
    rows = KINDS[kind](X)
    sums = rows.moments(y, c if weighted else None)
    X = rows.X.toarray() if kind == "sparse" else rows.X
    H, b, _ = exactly(X, y, c if weighted else np.ones(n))
    try:
        w = np.linalg.solve(sums.gram, sums.moment)  # where all cancels
    except np.linalg.LinAlgError:
        w = rng.standard_normal(d)
    point = [Fraction(float(v)) for v in w]
    found, bound = sums.gradient(w), sums.error(w)
    for j in range(d):
        true = sum(h * v for h, v in zip(H[j], point)) - b[j]
        assert abs(Fraction(float(found[j])) - true) <= Fraction(float(bound[j]))


def test_the_bound_is_not_much_more_than_what_happens():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((40_000, 8)) + 5.0, rng.standard_normal(8)
    sums = Dense(X).moments(X @ w)
    assert np.linalg.norm(sums.error(w)) < 1e-10 * np.linalg.norm(sums.moment)


@pytest.mark.parametrize("d", [1, 3, 64, 150])
def test_squares_in_any_number_of_blocks_are_x_x(d):
    X = np.random.default_rng(d).integers(-9, 9, (2 * rows_in_cache(d) + 7, d)).astype(float)
    squares = gram_of(np.array_split(X, 5), None, 1, d)
    assert np.array_equal(squares, X.T @ X)  # integers: nothing is rounded


def test_what_is_not_finite_shows_in_the_sums():
    for bad in (np.nan, np.inf, -np.inf):
        for place in ((0, 0), (N - 1, D - 1), (N // 2, 2)):
            X, y, _ = numbers(3)
            X[place] = bad
            with np.errstate(all="ignore"):
                assert not Dense(X).moments(y).sound
                assert not Scaled(X, np.zeros(D), np.ones(D), 1.0).moments(y).sound
    X, y, _ = numbers(3)
    assert Dense(X).moments(y).sound
    y[5] = np.nan
    assert not Dense(X).moments(y).sound


def test_other_targets_share_the_gram_matrix():
    X, y, _ = numbers(4)
    first = of_blocks([X], y, None, N, D)
    other = first.with_targets(X.T @ y**2 / N, float(np.mean(y**4)), N)
    assert other.gram is first.gram
    assert other.longest >= N


# -- several sets of rows, about any centre --------------------------------------------------------


@st.composite
def two_sets(draw):
    """Two sets of rows with targets and weights, perhaps far apart, of unlike columns."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    apart = draw(st.sampled_from([0.0, 1e3, 1e9]))
    spread = draw(st.integers(0, 20))
    size = 2.0 ** rng.integers(-spread, spread + 1, 4)
    sets = []
    for n in draw(st.tuples(st.integers(1, 20), st.integers(1, 20))):
        Z = (rng.standard_normal((n, 4)) + apart * rng.standard_normal(4)) * size
        sets.append((Z[:, :3], Z[:, 3], rng.integers(1, 5, n).astype(float)))
    return sets


def within_its_bound(sums, sets, w):
    """Is the gradient at w that of the rows about the centre of the sums, but for the bound?"""
    X = np.concatenate([rows for rows, _, _ in sets])
    y = np.concatenate([targets for _, targets, _ in sets])
    c = np.concatenate([weights for _, _, weights in sets])
    middle = [Fraction(float(v)) for v in sums.centre]
    point = [Fraction(float(v)) for v in w]
    true = [Fraction(0)] * len(point)
    for row, target, weight in zip(X, y, c):
        x = [Fraction(float(v)) - m for v, m in zip(row, middle)] + [Fraction(1)]
        z = sum(a * b for a, b in zip(x, point))
        slope = Fraction(float(weight)) * (z - Fraction(float(target)) + middle[-1])
        true = [g + slope * v for g, v in zip(true, x)]
    total = Fraction(float(c.sum()))
    found, bound = sums.gradient(w), sums.error(w)
    return all(
        abs(Fraction(float(f)) - g / total) <= Fraction(float(most))
        for f, g, most in zip(found, true, bound)
    )


@settings(max_examples=60, deadline=None)
@given(sets=two_sets(), w=st.lists(st.floats(-9, 9), min_size=4, max_size=4).map(np.array))
def test_sums_of_two_sets_add_up_to_those_of_all_rows(sets, w):
    """Within their own bound: the sums of both sets, and those about a far centre and back."""
    first, second = (Moments.of(*one) for one in sets)
    both = first + second
    assert both.weight == pytest.approx(sum(c.sum() for _, _, c in sets))
    assert within_its_bound(both, sets, w)
    for sums, of in ((first, sets[:1]), (both, sets)):
        there = sums.about(sums.centre + 1e6 * np.append(sums.roots[:-1], 1.0))
        assert within_its_bound(there, of, w)
        assert within_its_bound(there.about(sums.centre), of, w)


@settings(max_examples=40, deadline=None)
@given(sets=two_sets())
def test_a_joint_mean_loses_no_digits(sets):
    """The sums of both sets, about their joint mean, are as exact as those of all rows at once."""
    first, second = (Moments.of(*one) for one in sets)
    together = [np.concatenate(parts) for parts in zip(*sets)]
    both, all_rows = first + second, Moments.of(*together).about((first + second).centre)
    close = {"rtol": 1e-12, "atol": 0.0}
    size = both.roots + 1e-300
    assert (np.abs(both.gram[-1, :-1]) <= 1e-12 * size[:-1]).all()  # the centre is the mean
    np.testing.assert_allclose(both.roots[:-1], all_rows.roots[:-1], **close)
    gap = np.abs(both.gram - all_rows.gram) / np.outer(size, size)
    assert gap[:-1, :-1].max() <= 1e-12
    triangles = [FactoredMoments.of(*one) for one in sets]
    by_factor = (triangles[0] + triangles[1]).about(both.centre)
    np.testing.assert_allclose(by_factor.roots[:-1], all_rows.roots[:-1], rtol=1e-9)


@pytest.mark.parametrize("kind", [Moments, FactoredMoments])
@pytest.mark.parametrize("outputs", [(), (2,)])
def test_the_minimum_and_the_eigenvalues_are_those_of_the_rows(kind, outputs):
    rng = np.random.default_rng(0)
    X, y, c = (
        rng.standard_normal((40, 3)) + 5.0,
        rng.standard_normal((40, *outputs)),
        rng.random(40),
    )
    sums = kind.of(X[:25], y[:25], c[:25]) + kind.of(X[25:], y[25:], c[25:])
    ridge = np.array([0.1, 0.0, 2.0, 0.0])
    A = np.column_stack([X - sums.centre[:3], np.ones(40)])
    H = (A.T * c) @ A / c.sum()
    b = (A.T * c) @ (y - sums.centre[3:].reshape(outputs)) / c.sum()
    np.testing.assert_allclose(sums.gram, H, atol=1e-12)
    np.testing.assert_allclose(sums.moment, b, atol=1e-12)
    w = np.linalg.solve(H + np.diag(ridge), b)
    np.testing.assert_allclose(sums.solve(ridge), w, rtol=1e-8, atol=1e-9)
    for at in (w, w + 1.0):
        values = np.square(y - sums.centre[3:].reshape(outputs) - A @ at)
        values = 0.5 * np.average(values, axis=0, weights=c)
        np.testing.assert_allclose(sums.value(at), values, rtol=1e-9)
    mean = np.average(X, axis=0, weights=c)
    variances = np.average((X - mean) ** 2, axis=0, weights=c)
    np.testing.assert_allclose(sums.about(sums.centre + 0.5).variances, variances, rtol=1e-12)
    values, vectors = sums.eigen()
    np.testing.assert_allclose(values, np.linalg.eigvalsh(H), rtol=1e-9)
    np.testing.assert_allclose((vectors * values) @ vectors.T, H, atol=1e-12)
    np.testing.assert_allclose(sums.without_unit().gram, H[:-1, :-1], atol=1e-12)


def test_where_rounding_made_it_indefinite_the_ridge_grows():
    gram = np.array([[1.0, 1.0 + 1e-9], [1.0 + 1e-9, 1.0]])
    w = Moments(gram, np.array([1.0, 1.0]), 1.0, 2).solve(np.zeros(2))
    np.testing.assert_allclose(w, [0.5, 0.5], rtol=1e-6)


# -- sparse rows -----------------------------------------------------------------------------------


def marks(n=700, d=12, **prices):
    """A few marks +-1 in each row."""
    X = sp.random_array((n, d), density=0.4, rng=np.random.default_rng(5), format="csr")
    X.data[:] = np.sign(X.data - 0.5)
    return Csr(X, GramPrices(**prices))


WAYS = {"sparse": 0.0, "laid out": 1e9}  # what a pair costs


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_sparse_gram_matrices_are_the_same_either_way(way, weighted):
    X, _, c = numbers(6)
    prices = GramPrices(sparse_pair=WAYS[way], block=200)  # several blocks
    found = Csr(sp.csr_array(X), prices).gram(c if weighted else None)
    c = c if weighted else np.ones(N)
    np.testing.assert_allclose(found, (X.T * c) @ X / N, rtol=1e-12, atol=1e-18)


def test_marks_are_counted_exactly_in_float32_whatever_the_scales():
    rows = marks(sparse_pair=1e9, block=1000)
    scale = 2.0 ** np.arange(-6, 6)
    for made in (rows, rows.scaled(scale, 0.25), rows.scaled(np.ones(12), 0.0)):
        assert getattr(made, "made_of", made)._sizes is not None
        X = made.X.toarray()
        assert np.array_equal(made.gram(), X.T @ X / rows.n)
        np.testing.assert_allclose(made.squares(), (X**2).mean(axis=0), rtol=1e-15)


@pytest.mark.parametrize("value", [0.0, np.inf, np.nan, 2.0])
def test_other_entries_are_no_marks(value):
    rows = marks()
    rows.X.data[-1] = value
    assert Csr(rows.X)._sizes is None


def test_a_column_behind_sparse_rows_is_what_hstack_makes():
    X = sp.csr_array(numbers(7)[0])
    X = sp.vstack([X, sp.csr_array((2, D))], format="csr")  # empty rows at the end
    made = Csr(sp.csr_array(X)).scaled(np.ones(D), 0.5).X
    wanted = sp.hstack([X, sp.csr_array(np.full((N + 2, 1), 0.5))], format="csr")
    assert made.has_canonical_format
    assert np.array_equal(made.toarray(), wanted.toarray())
    assert made.indices.dtype == wanted.indices.dtype


def test_columns_of_sums_with_several_targets_are_multiplied():
    rng = np.random.default_rng(0)
    X, Y, factors = rng.standard_normal((9, 3)), rng.standard_normal((9, 2)), [0.5, 2.0, 4.0]
    scaled = of_blocks([X], Y, None, 9, 3).scaled(np.array(factors))
    direct = of_blocks([X * factors], Y, None, 9, 3)
    np.testing.assert_allclose(scaled.gram, direct.gram, rtol=1e-14)
    np.testing.assert_allclose(scaled.moment, direct.moment, rtol=1e-14)
