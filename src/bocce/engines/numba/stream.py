"""The compiled twin of ``bocce.sampling``: the same rows, drawn without leaving the kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, uint64

from ... import sampling
from ...rows import Array

GOLDEN = np.uint64(sampling.GOLDEN)
MIX_1 = np.uint64(sampling.MIX_1)
MIX_2 = np.uint64(sampling.MIX_2)
RESHUFFLE = np.uint64(sampling.PURPOSE["reshuffle"])
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


class BatchStream(NamedTuple):
    """Where batches come from, with the scratch memory that drawing one needs."""

    seed: np.uint64
    n: int
    b: int
    reshuffle: bool
    rows: Array  # (max(1, min(b, n-b)),) the rows drawn
    seen: Array  # (n,) bytes, all zero between draws
    order: Array  # (n,) the permutation of the current epoch, when reshuffling
    epoch: Array  # (1,) which epoch that is
    purpose: np.uint64  # of the draws, when not reshuffling


def make_stream(seed: int, n: int, b: int, mode: str) -> BatchStream:
    """Batches of ``sampling.batch``; with ``mode="search"`` those of ``sampling.search_batch``."""
    reshuffle = mode == "reshuffle" and 2 * b <= n
    return BatchStream(
        np.uint64(seed),
        n,
        b,
        reshuffle,
        np.zeros(max(1, min(b, n - b)), dtype=np.int64),
        np.zeros(n, dtype=np.uint8),
        np.zeros(n if reshuffle else 1, dtype=np.int64),
        np.full(1, -1, dtype=np.int64),
        np.uint64(sampling.PURPOSE["search" if mode == "search" else "independent"]),
    )


@njit
def _mix(z):
    z = (z ^ (z >> uint64(30))) * MIX_1
    z = (z ^ (z >> uint64(27))) * MIX_2
    return z ^ (z >> uint64(31))


@njit
def _key(seed, purpose, step):
    key = _mix(seed + GOLDEN)
    key = _mix(key ^ (purpose * GOLDEN))
    return _mix(key + (uint64(step) + uint64(1)) * GOLDEN)


@njit
def _distinct(stream, key, m):
    """The first m distinct rows of the stream into ``rows``; ``seen`` marks them."""
    rows = stream.rows
    seen = stream.seen
    bound = uint64(stream.n)
    unfair = (uint64(1) << HALF) % bound
    counter = key
    found = 0
    while found < m:
        counter += GOLDEN
        word = _mix(counter)
        for half in (word & LOW, word >> HALF):
            product = half * bound
            if (product & LOW) >= unfair and found < m:  # both nearly always true
                row = product >> HALF
                rows[found] = row
                found += 1 - seen[row]  # no branch on what cannot be predicted
                seen[row] = 1


@njit
def _shuffle(stream, epoch):
    order = stream.order
    counter = _key(stream.seed, RESHUFFLE, epoch)
    word = uint64(0)
    second = False
    for i in range(stream.n):
        order[i] = i
    for i in range(stream.n - 1, 0, -1):
        bound = uint64(i + 1)
        unfair = (uint64(1) << HALF) % bound
        while True:
            if second:
                half = word >> HALF
            else:
                counter += GOLDEN
                word = _mix(counter)
                half = word & LOW
            second = not second
            product = half * bound
            if (product & LOW) >= unfair:
                break
        j = product >> HALF
        order[i], order[j] = order[j], order[i]


@njit
def draw(stream, k):
    """Batch k. Returns (source, start, count): the rows are source[start : start + count].

    For b > n/2 they are the rows *left out*, and ``seen`` marks them until ``forget``.
    """
    if stream.reshuffle:
        per_epoch = stream.n // stream.b
        epoch = k // per_epoch
        if stream.epoch[0] != epoch:
            _shuffle(stream, epoch)
            stream.epoch[0] = epoch
        return stream.order, (k - epoch * per_epoch) * stream.b, stream.b
    m = min(stream.b, stream.n - stream.b)
    _distinct(stream, _key(stream.seed, stream.purpose, k), m)
    return stream.rows, 0, m


@njit
def forget(stream, count):
    """Unmark the rows of the last draw."""
    if not stream.reshuffle:
        for i in range(count):
            stream.seen[stream.rows[i]] = 0


@njit
def take(stream, k, batch):
    """The rows of batch k into ``batch``."""
    source, start, count = draw(stream, k)
    if 2 * stream.b > stream.n:
        size = 0
        for i in range(stream.n):
            if stream.seen[i] == 0:
                batch[size] = i
                size += 1
    else:
        for i in range(count):
            batch[i] = source[start + i]
    forget(stream, count)
