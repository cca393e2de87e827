"""A problem in parts: the mean of smaller ones, looked at one at a time.

f = sum_p (n_p/n) f_p, so every pass over the data is a weighted mean (or a maximum) of what the
parts answer, and batches need no array as long as the data. Parts are the blocks of a file
(``FileProblem``), or live on other machines (``bocce.ray``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._types import Vector
from ..losses import Loss, loss_of
from ..losses.offset import with_offset, without_offset
from ..rows import Array, Dense, FileRows, InBlocks, Index, OffsetBlocks, Rows, digest
from ._input import check_l2
from .cache import depends_on
from .curvature import Constants
from .kinds import serves
from .look import Look
from .minimum import Noise
from .penalties import penalty_factors
from .problem import GRAM_COLUMNS, Problem

if TYPE_CHECKING:
    from .frame import Frame

Ask = Callable[..., Any]  # a function of a part, such as Problem.value


class Summary(NamedTuple):
    """What one pass over the rows gives: means, and the largest ||x_i||^2."""

    gram: Array  # X^T X / n, or 0 x 0 where it is not wanted
    moment: Array  # X^T y / n
    target2: float  # the mean of y^2
    column2: Array  # the mean square of each column
    largest_row2: float

    @classmethod
    def of(cls, p: Problem, with_gram: bool) -> Summary:
        gram = p.gram if with_gram else np.zeros((0, 0))
        column2 = np.diag(gram) if with_gram else p.rows.squares()
        return cls(gram, p.moment, p.target2, column2, p.largest_row2)


class PartedProblem(Problem):
    """What is asked of a whole problem, asked of its parts; ``over`` is where they are."""

    # What a run on the plane keeps, of rows that live elsewhere.
    scores: Callable[..., Any] | None = None

    weight = None

    def _begin(self, rows: Rows, loss: Loss, l2: float, intercept: bool, **fields: Any) -> None:
        """Give a problem that is being made its fields: an intercept has no penalty."""
        known = {"given": rows, "n": rows.n, "d": rows.d, "loss": loss, "l2": l2}
        known["penalty"] = np.append(np.ones(rows.d), 0.0) if intercept else None
        self._set(**{**known, "intercept": bool(intercept), **fields})

    def _settings(self) -> str:
        """What a fingerprint says besides the data and the loss."""
        extras = "" if self.penalty is None else f" penalty {digest(self.penalty)}"
        return f"l2={self.l2!r}{extras}{' intercept' * self.intercept}"

    def columns_seen(self) -> tuple[Array, Array, Array] | None:
        """Centre, mean square about it, and share of entries other than zero of each column; None
        where columns stay as they are."""
        return None

    def in_frame(self, frame: Frame) -> PartedProblem:
        """The same objective as a function of the frame's variables."""
        raise NotImplementedError

    def over(self, ask: Ask, *args: Any) -> Iterator[tuple[int, Any]]:
        """(rows, answer) of each part: what ``ask(part, *args)`` gives."""
        raise NotImplementedError

    def mean(self, ask: Ask, *args: Any) -> Any:
        """The mean over rows of the parts' own means."""
        return sum(rows * answer for rows, answer in self.over(ask, *args)) / self.n

    def units_in(self, b: int) -> int:
        return max(1, round(b * self.units / self.n))

    def whole_batch(self, b: int) -> int:
        return round(self.units_in(b) * self.n / self.units)

    @property
    def gram_fits(self) -> bool:
        """One pass of 2 n d^2 flops costs less than the Lanczos passes that it replaces."""
        return self.d <= GRAM_COLUMNS

    @depends_on("rows", "targets")
    def _summary(self) -> Summary:
        """All that one pass gives."""
        means: list[Any] = [0.0] * 4
        largest = 0.0
        for rows, part in self.over(Summary.of, self.gram_fits):
            means = [mean + rows / self.n * theirs for mean, theirs in zip(means, part[:4])]
            largest = max(largest, part.largest_row2)
        return Summary(means[0], means[1], means[2], means[3], largest)

    @property
    def gram(self) -> Array:
        """X^T X / n."""
        self._needs_gram()
        return self._summary.gram

    def _needs_gram(self) -> None:
        if not self.gram_fits:
            raise ValueError(
                f"{self.loss.problem_name}: d={self.d} must be at most {GRAM_COLUMNS} for a d x d "
                "matrix of data in parts; use minimize, which needs none."
            )

    def minimiser(self) -> Array:
        """w*, of least norm when there are several; for d up to 1024."""
        self._needs_gram()
        return self._minimiser.copy()

    @property
    def moment(self) -> Array:
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

    def gram_times(self, v: Array) -> Array:
        return np.asarray(self.mean(Problem.gram_times, v))

    def largest_projection2(self, directions: Array) -> float:
        return max(
            float(answer) for _, answer in self.over(Problem.largest_projection2, directions)
        )

    def row_gradient_mean2(self, w: Vector) -> float:
        return float(self.mean(Problem.row_gradient_mean2, self.point(w)))

    def hessian(self, w: Array) -> Array:
        return np.asarray(self.mean(Problem.hessian, w))

    def estimated(self) -> Constants:
        return self.constants()

    def look(self, w: Array, rows: Index | None = None) -> Look:
        value, gradient = 0.0, np.zeros(self.shape)
        for count, part in self.over(Problem.look, w):
            value += count / self.n * part.value
            gradient += count / self.n * part.gradient
        return Look(value, gradient)

    def noise_at(self, w: Array) -> Noise:
        chi2 = sigma2 = 0.0
        for rows, part in self.over(Problem.noise_at, w):
            chi2 += rows / self.n * part.chi2
            sigma2 += rows / self.n * part.sigma2
        return Noise(chi2, sigma2)


def _offset_column(where: str, X: Any, offset: Any) -> int:
    """The number of the feature that is an offset."""
    names = X.columns or []
    if not isinstance(offset, str) or offset not in names or len(names) < 2:
        raise TypeError(
            f"{where}: offset must be the name of a column where X is a file, one of several "
            f"features ({', '.join(map(repr, names[:12])) or 'they have no names'}); for numbers "
            "give X and y as arrays."
        )
    return int(names.index(offset))


@serves(lambda X: isinstance(X, InBlocks))
class FileProblem(PartedProblem):
    """A problem whose rows lie in a block file; a batch is made of whole blocks.

    m of M blocks, uniformly without replacement, estimate the gradient by Horvitz and Thompson:

        g = M/(m n) sum over the blocks drawn of their rows' gradients + l2 w,

    which is unbiased whatever the sizes of the blocks, and the batch mean when they are equal.
    """

    given: FileRows
    labels: Vector

    offset_column: str | None = None  # the name of the column that is an offset

    def __init__(
        self,
        X: InBlocks,
        y: Vector | None = None,
        loss: Loss | str = "squared",
        l2: float = 0.0,
        *,
        sample_weight: Vector | None = None,
        penalty: Vector | None = None,
        standardize: bool = False,
        intercept: bool = False,
        offset: Vector | str | None = None,
        labels: Vector | None = None,
    ) -> None:
        kind = loss_of("Problem", loss)
        left_out = {"y": y, "sample_weight": sample_weight}
        for name, value in left_out.items():
            if value is not None:
                raise TypeError(
                    f"{kind.problem_name}: {name} must be left out, because a block file holds its "
                    "targets and nothing else; for more give X and y as arrays."
                )
        if offset is not None:
            X = OffsetBlocks(X, _offset_column(kind.problem_name, X, offset))
            kind = with_offset(kind, np.zeros(0), np.zeros(0))[0]
        labels = X.labels if labels is None else labels
        classes = kind.targets(kind.problem_name, np.zeros(0), labels or ())[1]
        if classes is not None and X.classes is not None:  # the text that the labels stand for
            classes = np.asarray(X.classes)[classes.astype(np.intp)]
        rows, l2 = FileRows(X), check_l2(kind.problem_name, l2)
        factors = penalty_factors(
            kind.problem_name, rows, penalty, standardize, intercept=intercept
        )
        facts = {"labels": labels, "classes": classes, "penalty": factors}
        facts["offset_column"] = offset
        self._begin(rows, kind, l2, intercept, **facts)

    def encoded(self, y: Array) -> tuple[Array, Array | None]:
        """Stored targets as the loss wants them; no labels stand for more than were counted."""
        encoded, classes = self.loss.targets(self.loss.problem_name, y.real, self.labels or ())
        if self.offset_column is not None:
            encoded = with_offset(without_offset(self.loss), encoded, y.imag)[1]
        return encoded, classes

    @depends_on("rows")
    def y(self) -> Array:  # type: ignore[override]
        """All targets, as the loss wants them: n numbers in memory."""
        return self.encoded(self.given.targets())[0]

    def fingerprint(self) -> str:
        name, rows = self.loss.problem_name, self.given.fingerprint()
        return f"{name} {self.loss!r} {rows} {self._settings()}"

    def parts(self, blocks: Iterable[int] | None = None) -> Iterator[Problem]:
        """The problem of each block (all, or those named), valid until the next is taken."""
        for X, y in self.given.read(blocks):
            yield self._part(X, y)

    def _part(self, X: Array, y: Array) -> Problem:
        return Problem.of(
            Dense(X), self.encoded(y)[0], self.loss, self.l2, penalty=self.penalty,
            classes=self.classes, intercept=self.intercept, has_column=False,
        )  # fmt: skip

    def over(self, ask: Ask, *args: Any) -> Iterator[tuple[int, Any]]:
        for part in self.parts():
            yield part.n, ask(part, *args)

    def value(self, w: Vector, rows: Index | None = None) -> float:
        """f(w), or the mean over ``rows`` plus the l2 term."""
        w = self.point(w)
        if rows is None:
            return float(self.mean(Problem.value, w))
        return float(sum(p.value(w, i) * i.size for p, i in self._named(rows)) / len(rows))

    def gradient(self, w: Vector, rows: Index | None = None) -> Array:
        """The gradient of f, or of the mean over ``rows`` plus the l2 term."""
        w = self.point(w)
        if rows is None:
            return np.asarray(self.mean(Problem.gradient, w))
        total = sum(p.gradient(w, i) * i.size for p, i in self._named(rows))
        return np.asarray(total / len(rows))

    def _named(self, rows: Index) -> Iterator[tuple[Problem, Index]]:
        for X, y, local in self.given.named(rows):
            yield self._part(X, y), local

    # -- batches of whole blocks -----------------------------------------------------------------

    @property
    def units(self) -> int:
        """What a batch is drawn from: the blocks."""
        return int(self.given.X.n_blocks)

    def batch_gradient(self, w: Array, units: Index) -> Array:
        """The estimate from the blocks named."""
        pull = self.penalty_gradient(w)
        total = sum(part.n * (part.gradient(w) - pull) for part in self.parts(units))
        return np.asarray(total * (self.units / (units.size * self.n)) + pull)

    def variance_factor(self, w: Vector | None = None) -> float:
        """How much more a batch of blocks varies than as many rows drawn one by one, at w.

        E||g - grad f||^2 is zeta0^2(n, b) V for rows, V = mean_i ||grad f_i - grad f||^2, and this
        factor times that for blocks, whatever the batch: (n-1)/(M-1) mean_B ||h_B - grad f||^2/V,
        h_B the Horvitz-Thompson estimate from block B alone. 1 on average over shuffles, r where
        the r rows of a block are alike. One pass; w is the zero vector unless given.
        """
        w = np.zeros(self.shape) if w is None else self.point(w)
        M, between, rows2 = self.units, 0.0, 0.0
        total, pull = np.zeros(self.shape), self.penalty_gradient(w)
        for part in self.parts():
            g = part.n * (part.gradient(w) - pull)
            total += g
            between += float(np.vdot(g, g))
            rows2 += part.n * part.row_gradient_mean2(w)
        mean = total / self.n
        within = rows2 / self.n - float(np.vdot(mean + pull, mean + pull))
        spread = between * M / self.n**2 - float(np.vdot(mean, mean))
        if M == 1 or within <= 0.0:
            return 1.0  # no batch but the whole, or rows that are all alike: no noise
        return max(0.0, (self.n - 1) / (M - 1) * spread / within)
