"""A batch split over parts is a sample without replacement of the whole."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, hypergeom

from bocce import sampling
from bocce.engines.numba.sums import Draws


def union(seed: int, k: int, sizes: list[int], b: int) -> tuple[int, ...]:
    """The rows of batch k, numbered through all parts."""
    counts = sampling.split_counts(seed, k, sizes, b)
    starts = np.cumsum([0, *sizes])
    rows = [
        starts[part] + sampling.part_batch(seed, k, part, size, int(counts[part]))
        for part, size in enumerate(sizes)
    ]
    return tuple(np.concatenate(rows).tolist())


def exact_law(good: int, bad: int, drawn: int) -> dict[int, Fraction]:
    low, high = max(0, drawn - bad), min(drawn, good)
    return {
        x: Fraction(comb(good, x) * comb(bad, drawn - x), comb(good + bad, drawn))
        for x in range(low, high + 1)
    }


@given(good=st.integers(0, 30), bad=st.integers(0, 30), data=st.data())
@settings(deadline=None, max_examples=150)
def test_quantiles_have_the_exact_law(good, bad, data):
    """Each count holds an interval of u as long as its probability (where doubles can tell)."""
    drawn = data.draw(st.integers(0, good + bad))
    edge = Fraction(0)
    for x, probability in exact_law(good, bad, drawn).items():
        inside = min(float(probability) / 4, 1e-9)
        ends = (float(edge) + inside, float(edge + probability) - inside)
        for u in ends if probability > 1e-12 else ():
            assert sampling._hypergeometric(u, good, bad, drawn) == x
        edge += probability


@pytest.mark.parametrize(
    ("good", "bad", "drawn"), [(10**5, 9 * 10**5, 300), (700, 10**6, 4 * 10**5), (10**6, 50, 10**6)]
)
def test_large_quantiles_agree_with_scipy(good, bad, drawn):
    u = (np.arange(50) + 0.5) / 50
    mine = [sampling._hypergeometric(x, good, bad, drawn) for x in u]
    assert mine == hypergeom(good + bad, good, drawn).ppf(u).astype(int).tolist()


def test_parts_of_ten_thousand_million_rows_are_split_in_proportion():
    counts = np.array([sampling.split_counts(1, k, [10**10, 3 * 10**10], 10**6) for k in range(50)])
    assert (counts.sum(axis=1) == 10**6).all()
    deviation = np.sqrt(10**6 * 0.25 * 0.75 / 50)
    assert abs(counts[:, 0].mean() - 250_000) < 5 * deviation


@pytest.mark.parametrize("sizes", [[6], [2, 4], [3, 0, 2, 1]])
def test_every_subset_is_equally_likely(sizes):
    """All 20 batches of 3 of 6 rows over 6,000 steps: chi-square with 19 degrees of freedom."""
    found = dict.fromkeys(combinations(range(6), 3), 0)
    for k in range(6000):
        found[union(3, k, sizes, 3)] += 1
    counts = np.array(list(found.values()))
    assert ((counts - 300) ** 2 / 300).sum() < chi2(19).ppf(1 - 1e-4)


def test_pairs_of_rows_in_different_parts_are_drawn_together_as_they_should():
    """P(i and j) = b(b-1)/(n(n-1)) for every pair, within and across parts."""
    sizes, n, b, steps = [30, 50, 20], 100, 25, 3000
    chosen = np.zeros((steps, n))
    for k in range(steps):
        chosen[k, list(union(0, k, sizes, b))] = 1.0
    together = chosen.T @ chosen / steps
    p = b * (b - 1) / (n * (n - 1))
    deviation = np.sqrt(p * (1 - p) / steps)
    off = together[~np.eye(n, dtype=bool)]
    assert np.abs(off - p).max() < 5.5 * deviation
    assert np.abs(np.diag(together) - b / n).max() < 5.5 * np.sqrt(0.25 * 0.75 / steps)


def test_steps_and_parts_have_streams_of_their_own():
    assert union(0, 1, [50, 50], 40) != union(0, 2, [50, 50], 40) != union(1, 2, [50, 50], 40)
    rows = [sampling.part_batch(0, 0, part, 1000, 30).tolist() for part in range(3)]
    assert rows[0] != rows[1] != rows[2]
    assert sampling.part_batch(0, 0, 0, 5, 0).size == 0


@given(n=st.integers(1, 60), data=st.data())
@settings(deadline=None, max_examples=80)
def test_compiled_draws_are_those_of_numpy(n, data):
    b = data.draw(st.integers(1, n))
    k, mode = data.draw(st.integers(0, 50)), data.draw(st.sampled_from(sampling.MODES))
    draws = Draws(9, n, b, mode)
    expected = sampling.batch(9, k, n, b, mode)
    for _ in range(2):  # nothing is left behind by the first
        assert sorted(draws.units(k, b).tolist()) == expected.tolist()
    if 2 * b > n:
        left = draws.left_out(k, b).tolist()
        assert sorted([*left, *expected.tolist()]) == list(range(n))
    varying = Draws(9, n, n)
    assert sorted(varying.units(k, b).tolist()) == sampling.batch(9, k, n, b).tolist()
