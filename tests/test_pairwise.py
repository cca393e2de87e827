"""The cases that stand for all combinations."""

from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from pairwise import covering


@given(st.lists(st.integers(1, 5), min_size=2, max_size=5))
def test_every_two_values_meet(sizes):
    values = [list(range(size)) for size in sizes]
    cases = covering(values)
    for i, j in combinations(range(len(sizes)), 2):
        met = {(case[i], case[j]) for case in cases}
        assert met == set(product(values[i], values[j]))
    assert len(set(cases)) == len(cases)
    most = sorted(sizes)[-1] * sorted(sizes)[-2]
    assert most <= len(cases) <= max(2 * most, most + sum(sizes))
