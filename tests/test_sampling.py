"""A batch is a pure function of (seed, k), uniform over all subsets, the same in every engine."""

from itertools import combinations, permutations
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bocce import sampling
from bocce.engines.numba.stream import draw, forget, make_stream
from bocce.sampling import batch

MOST_SEED = 2**64 - 1
FEW = settings(max_examples=150, deadline=None)


@st.composite
def sizes(draw, most=300):
    n = draw(st.integers(1, most))
    return n, draw(st.integers(1, n))


seeds = st.integers(0, MOST_SEED)
steps = st.integers(0, 10**12)
modes = st.sampled_from(sampling.MODES)


def drawn(stream, k):
    """The batch that the compiled engine uses at step k."""
    source, start, count = draw(stream, k)
    rows = np.sort(source[start : start + count])
    forget(stream, count)
    assert not stream.seen.any(), "the scratch is clean between draws"
    if 2 * stream.b > stream.n:
        rows = np.setdiff1d(np.arange(stream.n), rows)
    return rows


# -- what a batch is ------------------------------------------------------------------------


@FEW
@given(seeds, steps, sizes(), modes)
def test_sorted_unique_in_range_and_of_size_b(seed, k, size, mode):
    n, b = size
    rows = batch(seed, k, n, b, mode)
    assert rows.dtype == np.int64
    assert rows.shape == (b,)
    assert (np.diff(rows) > 0).all()
    assert 0 <= rows[0] <= rows[-1] < n


@FEW
@given(seeds, steps, sizes(60), modes)
def test_pure(seed, k, size, mode):
    """The same arguments give the same rows, whatever was drawn in between."""
    n, b = size
    first = batch(seed, k, n, b, mode)
    np.random.seed(0)  # noqa: NPY002  the global generator plays no part
    batch(seed, k + 1, n, b, mode)
    batch(seed ^ 1, k, n, b, mode)
    assert np.array_equal(batch(np.uint64(seed), np.int64(k), n, b, mode), first)


def test_pinned():
    """Checkpoints and published runs rest on these rows: a change here breaks them."""
    assert batch(0, 0, 10, 4).tolist() == [1, 2, 7, 8]
    assert batch(MOST_SEED, 10**12, 1000, 3).tolist() == [554, 710, 740]
    assert batch(7, 3, 12, 4, "reshuffle").tolist() == [3, 8, 10, 11]


# -- the compiled twin ----------------------------------------------------------------------


@FEW
@given(seeds, st.lists(steps, min_size=1, max_size=4), sizes(), modes)
def test_compiled_twin_draws_the_same_rows(seed, ks, size, mode):
    n, b = size
    stream = make_stream(seed, n, b, mode)
    for k in ks:  # any order, on one stream
        assert np.array_equal(drawn(stream, k), batch(seed, k, n, b, mode))


@pytest.mark.parametrize(("mode", "n"), [("independent", 3_000_017), ("reshuffle", 300_007)])
def test_compiled_twin_rejects_the_same_words(mode, n):
    """At these n some five words or more of a batch, or of a permutation, are rejected."""
    b = 20_000
    stream = make_stream(1, n, b, mode)
    assert np.array_equal(drawn(stream, 2), batch(1, 2, n, b, mode))


# -- uniform --------------------------------------------------------------------------------


def chi_square(counts):
    counts = np.asarray(counts, dtype=float)
    expected = counts.sum() / counts.size
    return stats.chi2.sf(((counts - expected) ** 2).sum() / expected, counts.size - 1)


@pytest.mark.parametrize(("n", "b"), [(2, 1), (3, 2), (5, 1), (5, 2), (6, 4), (7, 3)])
@pytest.mark.parametrize("seed", [0, 12345])
def test_every_subset_is_equally_likely(n, b, seed):
    counts = dict.fromkeys(combinations(range(n), b), 0)
    assert len(counts) == comb(n, b)
    for k in range(400 * len(counts)):
        counts[tuple(batch(seed, k, n, b).tolist())] += 1
    assert 1e-3 < chi_square(list(counts.values())) < 1 - 1e-3


def test_every_subset_is_equally_likely_over_seeds_too():
    counts = dict.fromkeys(combinations(range(5), 2), 0)
    for seed in range(4000):
        counts[tuple(batch(seed, 0, 5, 2).tolist())] += 1
    assert 1e-3 < chi_square(list(counts.values())) < 1 - 1e-3


@pytest.mark.parametrize("n", [2, 3, 4])
def test_every_permutation_is_equally_likely(n):
    counts = dict.fromkeys(permutations(range(n)), 0)
    for epoch in range(400 * len(counts)):
        counts[tuple(sampling.permutation(3, epoch, n).tolist())] += 1
    assert 1e-3 < chi_square(list(counts.values())) < 1 - 1e-3


@pytest.mark.parametrize(("n", "b"), [(50, 7), (50, 25), (50, 41)])
@pytest.mark.parametrize("mode", sampling.MODES)
def test_inclusion_and_pair_frequencies(n, b, mode):
    """z-scores of all rows and pairs: none extreme, and their mean square near 1.

    Reshuffled batches of an epoch depend on one another: one an epoch is looked at.
    """
    draws = 4000
    apart = n // b if mode == "reshuffle" else 1
    included = np.zeros((draws, n))
    for i in range(draws):
        included[i, batch(11, i * apart, n, b, mode)] = 1
    together = included.T @ included
    p = b / n
    rows = (np.diag(together) - draws * p) / sqrt(draws * p * (1 - p))
    pair = p * (b - 1) / (n - 1)
    pairs = (together[np.triu_indices(n, 1)] - draws * pair) / sqrt(draws * pair * (1 - pair))
    # sum of n squared scores over n/(n-1) is chi-square with n - 1 degrees of freedom
    assert 1e-3 < stats.chi2.sf((rows**2).sum() * (n - 1) / n, n - 1) < 1 - 1e-3
    assert np.abs(pairs).max() < 4.5
    assert np.mean(pairs**2) == pytest.approx(1, abs=0.2)


def test_rejection_keeps_the_largest_n_fair():
    """Without it every third row of n = 3 2^30 would come up twice as often: 1/2, not 1/3."""
    n = 3 << 30
    rows = np.concatenate([batch(0, k, n, 1000) for k in range(20)])
    thirds = np.bincount(rows % 3, minlength=3)
    assert chi_square(thirds) > 1e-3


# -- independent ----------------------------------------------------------------------------


def overlap_score(pairs, n, b):
    """z-score of the mean overlap of two batches: hypergeometric if they are independent."""
    overlaps = [np.intersect1d(x, y, assume_unique=True).size for x, y in pairs]
    law = stats.hypergeom(n, b, b)
    return (np.mean(overlaps) - law.mean()) / (law.std() / sqrt(len(overlaps)))


@pytest.mark.parametrize(
    "other",
    [
        lambda k: batch(5, k + 1, 40, 10),
        lambda k: batch(5, k + 2, 40, 10),
        lambda k: batch(5, 2 * k + 1, 40, 10),
        lambda k: batch(6, k, 40, 10),
        lambda k: batch(5 + 2**32, k, 40, 10),
        lambda k: batch(k + 100, 5, 40, 10),
        lambda k: batch(5, k, 40, 10, "reshuffle"),
        lambda k: sampling.search_batch(5, k, 40, 10),
    ],
    ids=["next step", "step after", "twice", "next seed", "high seed", "swap", "mode", "search"],
)
def test_batches_of_other_steps_and_seeds_are_independent(other):
    pairs = [(batch(5, k, 40, 10), other(k)) for k in range(3000)]
    assert abs(overlap_score(pairs, 40, 10)) < 3.5


def test_the_search_batch_is_uniform_too():
    counts = dict.fromkeys(combinations(range(5), 3), 0)
    for k in range(3000):
        counts[tuple(sampling.search_batch(2, k, 5, 3).tolist())] += 1
    assert 1e-3 < chi_square(list(counts.values())) < 1 - 1e-3


# -- reshuffle ------------------------------------------------------------------------------


@FEW
@given(seeds, st.integers(0, 10**6), sizes(200))
def test_an_epoch_is_disjoint_batches(seed, epoch, size):
    n, b = size
    b = max(1, b // 2)
    per_epoch = max(1, n // b)
    rows = np.concatenate(
        [batch(seed, epoch * per_epoch + i, n, b, "reshuffle") for i in range(per_epoch)]
    )
    assert np.unique(rows).size == rows.size == per_epoch * b


@FEW
@given(seeds, st.integers(0, 10**6), st.integers(20, 200), st.integers(1, 5))
def test_the_next_epoch_is_another_permutation(seed, epoch, n, b):
    now, then = (sampling.permutation(seed, e, n) for e in (epoch, epoch + 1))
    assert np.array_equal(np.sort(now), np.arange(n))
    assert not np.array_equal(now, then)
    first = batch(seed, epoch * (n // b), n, b, "reshuffle")
    assert np.array_equal(first, np.sort(now[:b])), "an epoch starts its own permutation"


@FEW
@given(seeds, steps, sizes())
def test_reshuffling_more_than_half_is_independent(seed, k, size):
    n, b = size
    b = max(b, n // 2 + 1)
    assert np.array_equal(batch(seed, k, n, b, "reshuffle"), batch(seed, k, n, b))


def test_rows_left_over_change_from_epoch_to_epoch():
    """n = 7, b = 3: one row is left out of each epoch, each as often as any other."""
    left = np.zeros(7)
    for epoch in range(3000):
        used = np.concatenate([batch(9, 2 * epoch + i, 7, 3, "reshuffle") for i in (0, 1)])
        left[np.setdiff1d(np.arange(7), used)] += 1
    assert left.sum() == 3000
    assert chi_square(left) > 1e-3


# -- the size in rows -----------------------------------------------------------------------


@FEW
@given(st.integers(1, 10**6), st.floats(0, 1, exclude_min=True))
def test_a_share_becomes_the_nearest_number_of_rows(n, share):
    b = sampling.batch_rows("minimize", share, n)
    assert 1 <= b <= n
    assert b == 1 or abs(b - share * n) <= 0.5
    assert sampling.batch_rows("minimize", 1.0, n) == n
    assert sampling.batch_rows("minimize", n, n) == n


def test_one_and_one_point_oh_differ():
    assert sampling.batch_rows("minimize", 1, 50) == 1
    assert sampling.batch_rows("minimize", 1.0, 50) == 50
