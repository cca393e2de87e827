"""A problem in parts: the mean of smaller ones, looked at one at a time.

f = sum_p (n_p/n) f_p, so every pass over the data is a weighted mean (or a maximum) of what the
parts answer, and no array as long as the data is ever made. Parts are the blocks of a file
(``BlockProblem``), or live on other machines (``bocce.ray``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import cached_property
from typing import Any

import numpy as np

from .. import _checks
from ..blockfile import BlockFile
from .least_squares import LeastSquares, Noise
from .linear import GRAM_COLUMNS, LinearProblem, Summary
from .logistic import Logistic


class PartedProblem(LinearProblem):
    """What is asked of a whole problem, asked of its parts; ``over`` is where they are."""

    in_parts = True
    sparse = False
    identity: str  # a hash of all the rows

    def over(self, name: str, *args: Any) -> Iterator[tuple[int, Any]]:
        """(rows, answer) of each part to the method ``name``."""
        raise NotImplementedError

    def mean(self, name: str, *args: Any) -> Any:
        """The mean over rows of the parts' own means."""
        return sum(rows * answer for rows, answer in self.over(name, *args)) / self.n

    def units_in(self, b: int) -> int:
        return max(1, round(b * self.units / self.n))

    def whole_batch(self, b: int) -> int:
        return round(self.units_in(b) * self.n / self.units)

    @property
    def gram_fits(self) -> bool:
        """One pass of 2 n d^2 flops costs less than the Lanczos passes that it replaces."""
        return self.d <= GRAM_COLUMNS

    def summary(self, with_gram: bool) -> Summary:
        means: list[Any] = [0.0] * 4
        largest = 0.0
        for rows, part in self.over("summary", with_gram):
            means = [mean + rows / self.n * theirs for mean, theirs in zip(means, part.means)]
            largest = max(largest, part.largest_row2)
        return Summary(*means, largest)

    @cached_property
    def _summary(self) -> Summary:
        """All that one pass gives."""
        return self.summary(self.gram_fits)

    @property
    def gram(self) -> np.ndarray:  # type: ignore[override]
        """X^T X / n."""
        self._needs_gram()
        return self._summary.gram

    def _needs_gram(self) -> None:
        if not self.gram_fits:
            raise ValueError(
                f"{type(self).__name__}: d={self.d} must be at most {GRAM_COLUMNS} for a d x d "
                "matrix of data in parts; use minimize, which needs none."
            )

    def minimiser(self) -> np.ndarray:
        """w*, of least norm when there are several; for d up to 1024."""
        self._needs_gram()
        return self._minimiser.copy()

    @property
    def moment(self) -> np.ndarray:
        """X^T y / n."""
        return self._summary.moment

    @property
    def target2(self) -> float:
        return self._summary.target2

    @property
    def largest_row2(self) -> float:
        return self._summary.largest_row2

    @property
    def mean_row2(self) -> float:
        return float(self._summary.column2.sum())

    @property
    def column_scales(self) -> np.ndarray:
        """The root mean square of each column."""
        return np.sqrt(self._summary.column2)

    def gram_times(self, v: np.ndarray) -> np.ndarray:
        return np.asarray(self.mean("gram_times", v))

    def largest_projection2(self, directions: np.ndarray) -> float:
        return max(answer for _, answer in self.over("largest_projection2", directions))

    def row_gradient_mean2(self, w: Any) -> float:
        return float(self.mean("row_gradient_mean2", self.point(w)))

    def hessian(self, w: np.ndarray) -> np.ndarray:
        return np.asarray(self.mean("hessian", w))

    def noise_at(self, w: np.ndarray) -> Noise:
        chi2 = sigma2 = 0.0
        for rows, part in self.over("noise_at", w):
            chi2 += rows / self.n * part.chi2
            sigma2 += rows / self.n * part.sigma2
        return Noise(chi2, sigma2)


class BlockProblem(PartedProblem):
    """A problem whose rows lie in a block file; a batch is made of whole blocks.

    m of M blocks, uniformly without replacement, estimate the gradient by Horvitz and Thompson:

        g = M/(m n) sum over the blocks drawn of their rows' gradients + l2 w,

    which is unbiased whatever the sizes of the blocks, and the batch mean when they are equal.
    """

    kind: type[LinearProblem]

    def __init__(self, X: BlockFile, y: Any = None, l2: float = 0.0) -> None:
        where = self.kind.__name__
        if y is not None:
            raise TypeError(f"{where}: y must be left out, for a block file holds its targets.")
        self.l2 = _checks.real(where, "l2", l2, least=0.0, remedy="0 is no regularisation")
        self.X, self.n, self.d, self.identity = X, X.n, X.d, X.identity

    def parts(self, blocks: Any = None) -> Iterator[LinearProblem]:
        """The problem of each block (all, or those named), valid until the next is taken."""
        named = range(self.X.n_blocks) if blocks is None else blocks
        with closing(self.X.stream(named)) as stream:  # type: ignore[type-var]
            for X, y in stream:
                yield self.kind.of_checked(X, self.encoded(y), self.l2)

    def encoded(self, y: np.ndarray) -> np.ndarray:
        """Stored targets as the loss wants them."""
        return y

    def over(self, name: str, *args: Any) -> Iterator[tuple[int, Any]]:
        for part in self.parts():
            yield part.n, getattr(part, name)(*args)

    def blocks(self, dtype: Any = None, rows: np.ndarray | None = None) -> Iterator[Any]:
        if rows is not None:
            for part, local in self._named(rows):
                yield from part.blocks(dtype, local)
            return
        for part in self.parts():
            yield np.array(part.X, dtype=dtype)

    def _named(self, rows: np.ndarray) -> Iterator[tuple[LinearProblem, np.ndarray]]:
        """The parts that hold the rows, in the order asked for, and their numbers there."""
        starts = np.array([self.X.start(i) for i in range(self.X.n_blocks)])
        home = np.searchsorted(starts, rows, side="right") - 1
        ends = np.flatnonzero(np.diff(home, append=-1)) + 1
        first = 0
        for end, part in zip(ends, self.parts(home[ends - 1])):
            yield part, np.asarray(rows[first:end] - starts[home[first]])
            first = end

    def value(self, w: Any, rows: np.ndarray | None = None) -> float:
        """f(w), or the mean over ``rows`` plus the l2 term."""
        w = self.point(w)
        if rows is None:
            return float(self.mean("value", w))
        return float(sum(part.value(w, i) * i.size for part, i in self._named(rows)) / len(rows))

    def gradient(self, w: Any, rows: np.ndarray | None = None) -> np.ndarray:
        """The gradient of f, or of the mean over ``rows`` plus the l2 term."""
        w = self.point(w)
        if rows is None:
            return np.asarray(self.mean("gradient", w))
        total = sum(part.gradient(w, i) * i.size for part, i in self._named(rows))
        return np.asarray(total / len(rows))

    # -- batches of whole blocks -----------------------------------------------------------------

    @property
    def units(self) -> int:
        """What a batch is drawn from: the blocks."""
        return self.X.n_blocks

    def batch_gradient(self, w: np.ndarray, units: np.ndarray) -> np.ndarray:
        """The estimate from the blocks named."""
        total = sum(part.n * (part.gradient(w) - self.l2 * w) for part in self.parts(units))
        return np.asarray(total * (self.units / (units.size * self.n)) + self.l2 * w)

    def variance_factor(self, w: Any = None) -> float:
        """How much more a batch of blocks varies than as many rows drawn one by one, at w.

        E||g - grad f||^2 is zeta0^2(n, b) V for rows, V = mean_i ||grad f_i - grad f||^2, and this
        factor times that for blocks, whatever the batch: (n-1)/(M-1) mean_B ||h_B - grad f||^2/V,
        h_B the Horvitz-Thompson estimate from block B alone. 1 on average over shuffles, r where
        the r rows of a block are alike. One pass; w is the zero vector unless given.
        """
        w = np.zeros(self.d) if w is None else self.point(w)
        M, between, rows2 = self.units, 0.0, 0.0
        total = np.zeros(self.d)
        for part in self.parts():
            g = part.n * (part.gradient(w) - self.l2 * w)
            total += g
            between += float(g @ g)
            rows2 += part.n * part.row_gradient_mean2(w)
        mean = total / self.n
        within = rows2 / self.n - float((mean + self.l2 * w) @ (mean + self.l2 * w))
        spread = between * M / self.n**2 - float(mean @ mean)
        if M == 1 or within <= 0.0:
            return 1.0  # no batch but the whole, or rows that are all alike: no noise
        return max(0.0, (self.n - 1) / (M - 1) * spread / within)


class BlockLeastSquares(BlockProblem, LeastSquares):
    kind = LeastSquares


class BlockLogistic(BlockProblem, Logistic):
    kind = Logistic

    def __init__(self, X: BlockFile, y: Any = None, l2: float = 0.0, classes: Any = None) -> None:
        super().__init__(X, y, l2)
        self.classes = two_labels(str(X.path), X.labels) if classes is None else classes

    def encoded(self, y: np.ndarray) -> np.ndarray:
        return np.where(y == self.classes[1], 1.0, -1.0)


def two_labels(where: str, labels: Any) -> np.ndarray:
    """The labels, sorted, if they are two; None stands for more than could be counted."""
    if labels is None or len(labels) != 2:
        found = "more than two" if labels is None else str(len(labels))
        raise ValueError(
            f"Logistic: y in {where!r} has {found} different labels, must have exactly two; make "
            "one class against the rest first."
        )
    return np.sort(labels)


OF_BLOCKS: dict[type[LinearProblem], type[BlockProblem]] = {
    LeastSquares: BlockLeastSquares,
    Logistic: BlockLogistic,
}
