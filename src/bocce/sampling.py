"""Batches: a pure function of (seed, k).

A stream of 64-bit words is a counter put through splitmix64, keyed by (seed, purpose, step). Each
word gives two candidate rows by multiplication and shift, with the rejection that makes every row
exactly equally likely; a row drawn before is passed over. For b > n/2 the rows *left out* are
drawn. The compiled twin of this file is ``engines/stream.py``; tests compare them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from . import _checks
from .schedules._rules import batch_rows as batch_rows

__all__ = ["batch"]

Rows = npt.NDArray[np.int64]
MODES = ("independent", "reshuffle")

GOLDEN = 0x9E3779B97F4A7C15
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB
PURPOSE = {
    "independent": 1, "reshuffle": 2, "search": 3, "shuffle": 4, "split": 5, "part": 6, "test": 7,
}  # fmt: skip
_MASK = (1 << 64) - 1
MOST_ROWS = (1 << 32) - 1


def _mix(z: int) -> int:
    """splitmix64's output function."""
    z &= _MASK
    z = ((z ^ (z >> 30)) * MIX_1) & _MASK
    z = ((z ^ (z >> 27)) * MIX_2) & _MASK
    return z ^ (z >> 31)


def stream_key(seed: int, purpose: str, step: int) -> int:
    """The key of one stream: seed, purpose (a key of ``PURPOSE``) and step, mixed in turn."""
    key = _mix(seed + GOLDEN)
    key = _mix(key ^ (PURPOSE[purpose] * GOLDEN))
    return _mix(key + (step + 1) * GOLDEN)


def _words(key: int, start: int, count: int) -> npt.NDArray[np.uint64]:
    """Words start .. start+count-1 of the stream."""
    counter = np.arange(start + 1, start + count + 1, dtype=np.uint64)
    z = np.uint64(key) + counter * np.uint64(GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
    return z ^ (z >> np.uint64(31))


def _halves(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Two 32-bit numbers a word, the low half first."""
    low = words & np.uint64(0xFFFFFFFF)
    high = words >> np.uint64(32)
    return np.column_stack([low, high]).ravel()


def _distinct(key: int, n: int, m: int) -> Rows:
    """The first m distinct rows of the stream, in order of appearance."""
    bound = np.uint64(n)
    unfair = np.uint64((1 << 32) % n)
    rows: Rows = np.empty(0, dtype=np.int64)
    used = 0
    while rows.size < m:
        count = (m - rows.size) + 16
        products = _halves(_words(key, used, count)) * bound
        fair = (products & np.uint64(0xFFFFFFFF)) >= unfair
        fresh = (products[fair] >> np.uint64(32)).astype(np.int64)
        used += count
        rows = np.concatenate([rows, fresh])
        _, first = np.unique(rows, return_index=True)
        rows = rows[np.sort(first)]
    return rows[:m]


def permutation(seed: int, epoch: int, n: int) -> Rows:
    """The n rows in the order of an epoch (from 0): Fisher-Yates from the last place down."""
    key = stream_key(seed, "reshuffle", epoch)
    order = np.arange(n, dtype=np.int64)
    half = 0
    chunk: npt.NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
    for i in range(n - 1, 0, -1):
        bound = i + 1
        unfair = (1 << 32) % bound
        while True:
            if half % 2048 == 0:
                chunk = _halves(_words(key, half // 2, 1024))
            product = int(chunk[half % 2048]) * bound
            half += 1
            if (product & 0xFFFFFFFF) >= unfair:
                break
        j = product >> 32
        order[i], order[j] = order[j], order[i]
    return order


def batches_per_epoch(n: int, b: int) -> int:
    """Whole disjoint batches in a permutation; the n mod b rows left over change every epoch."""
    return n // b


def batch(seed: int, k: int, n: int, b: int, sampling: str = "independent") -> Rows:
    """The sorted rows of batch k, the same in every engine.

    ``independent``: b of n without replacement, afresh at each step. ``reshuffle``: one
    permutation an epoch, cut into floor(n/b) disjoint batches; for b > n/2 an epoch is one
    batch, so it is the same as ``independent``.

    Parameters
    ----------
    seed, k : int
        Seed of the run; number of the step, from 0.
    n, b : int
        Rows of the data and of a batch, 1 <= b <= n.
    sampling : {"independent", "reshuffle"}, default "independent"
        How batches are drawn, see above.

    Returns
    -------
    ndarray of int64
        The b row numbers, sorted.

    Examples
    --------
    >>> batch(0, 0, 10, 4)
    array([1, 2, 7, 8])
    >>> sorted(int(i) for k in range(5) for i in batch(0, k, 10, 2, "reshuffle")) == list(range(10))
    True
    """
    n = _checks.integer("batch", "n", n, most=MOST_ROWS, remedy="n is the number of rows")
    b = _checks.integer("batch", "b", b, most=n, remedy="b is the batch size, out of n rows")
    k = _checks.integer("batch", "k", k, least=0, remedy="steps count from 0")
    seed = check_seed("batch", seed)
    sampling = _checks.choice("batch", "sampling", sampling, MODES)
    if sampling == "reshuffle" and 2 * b <= n:
        epoch, place = divmod(k, batches_per_epoch(n, b))
        return np.sort(permutation(seed, epoch, n)[place * b : (place + 1) * b])
    return _independent(stream_key(seed, "independent", k), n, b)


def search_batch(seed: int, k: int, n: int, b: int) -> Rows:
    """A second batch at step k, independent of the first: for a line search on its own rows."""
    return _independent(stream_key(seed, "search", k), n, b)


def shuffle_keys(seed: int, start: int, count: int) -> npt.NDArray[np.uint64]:
    """One 64-bit word a row, all different: rows in the order of their keys are shuffled."""
    return _words(stream_key(seed, "shuffle", 0), start, count)


def split_counts(seed: int, k: int, sizes: npt.ArrayLike, b: int) -> Rows:
    """How many of batch k's b rows lie in each part: a multivariate hypergeometric draw.

    Part by part, the count given those before it is hypergeometric, by inversion of one word of a
    stream keyed by (seed, k). With each part's rows from ``part_batch`` the batch is a sample of
    b of all n rows without replacement.

    Examples
    --------
    >>> split_counts(0, 0, [50, 0, 30, 20], 10)
    array([2, 0, 3, 5])
    """
    parts = np.asarray(sizes, dtype=np.int64).tolist()
    uniform = _words(stream_key(seed, "split", k), 0, len(parts)) >> np.uint64(11)
    counts = np.zeros(len(parts), dtype=np.int64)
    rest = sum(parts)
    wanted = b
    for part, size in enumerate(parts):
        rest -= size
        counts[part] = _hypergeometric(float(uniform[part]) * 2.0**-53, size, rest, wanted)
        wanted -= int(counts[part])
    return counts


def _hypergeometric(u: float, good: int, bad: int, drawn: int) -> int:
    """The u-quantile of how many of ``drawn`` are good, from ratios of neighbours at the mode.

    Terms beyond 9 standard deviations and 40 places (together below 1e-18) are left out.
    """
    n = good + bad
    low = max(0, drawn - bad)
    high = min(drawn, good)
    if low == high:
        return low
    mode = (drawn + 1) * (good + 1) // (n + 2)
    variance = drawn * (good / n) * (bad / n) * (n - drawn) / max(1, n - 1)
    reach = int(9 * variance**0.5) + 40
    x = np.arange(max(low, mode - reach), min(high, mode + reach) + 1, dtype=np.float64)
    here = x[:-1]
    ratio = (good - here) * (drawn - here) / ((here + 1) * (bad - drawn + here + 1))
    logs = np.concatenate([[0.0], np.cumsum(np.log(ratio))])
    total = np.cumsum(np.exp(logs - logs.max()))
    place = np.searchsorted(total, u * total[-1], side="right")
    return int(x[min(int(place), x.size - 1)])


def part_seed(seed: int, part: int) -> int:
    """The seed of one part's own stream."""
    return stream_key(seed, "part", part)


def part_batch(seed: int, k: int, part: int, size: int, count: int) -> Rows:
    """The sorted rows, numbered within the part, that batch k takes from ``part``."""
    if count:
        return batch(part_seed(seed, part), k, size, count)
    return np.empty(0, np.int64)


def _independent(key: int, n: int, b: int) -> Rows:
    if 2 * b <= n:
        return np.sort(_distinct(key, n, b))
    chosen = np.ones(n, dtype=bool)
    chosen[_distinct(key, n, n - b)] = False
    return np.flatnonzero(chosen)


def check_seed(where: str, seed: object) -> int:
    """The seed, checked."""
    return _checks.integer(
        where, "seed", seed, least=0, most=_MASK, remedy="a seed is a 64-bit unsigned integer"
    )
