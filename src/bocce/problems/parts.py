"""A problem in parts: the mean of smaller problems, of which one is in use at a time.

f = sum_p (n_p/n) f_p, so every pass over the data is a weighted mean (or a maximum) of the answers
of the parts, and batches need no array as long as the data. Parts are those of files
(``FileProblem``), or the rows of Ray actors (``bocce.ray``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Vector
from ..losses import Loss, loss_of
from ..rows import Array, Dense, FileRows, Index, Moments, OffsetParts, Parts, digest
from ._input import check_l2, less_offset, penalty_factors, refuse_offset
from .cache import depends_on
from .curvature import Constants
from .look import Look
from .minimum import Noise
from .problem import Problem

if TYPE_CHECKING:
    from .frame import Frame

Ask = Callable[..., Any]  # a function of a part, such as Problem.value


def _summed(part: Problem) -> tuple[Moments, float]:
    """The sums of the rows, and max ||x_i||^2."""
    with np.errstate(over="ignore", invalid="ignore"):  # The caller reports an overflow.
        return part.rows.moments(part.y, part.weight), part.largest_row2


def _lengths(part: Problem) -> tuple[float, float]:
    """mean ||x_i||^2 and max ||x_i||^2."""
    return part.mean_row2, part.largest_row2


def _target_sums(part: Problem) -> tuple[Array, float]:
    return part.moment, part.target2


def _noise(part: Problem, w: Array) -> tuple[float, float]:
    noise = part.noise_at(w)
    return noise.chi2, noise.sigma2


class PartedProblem(Problem):
    """A problem that asks its parts; ``over`` says where the parts are."""

    def columns_seen(self) -> tuple[Array, Array, Array] | None:
        """Centre, mean square about it, and share of entries other than zero of each column; None
        where columns stay as they are."""
        return None

    def in_frame(self, frame: Frame) -> PartedProblem:
        """The same objective as a function of the frame's variables."""
        raise NotImplementedError

    def over(self, ask: Ask, *args: Any) -> Iterator[tuple[int, Any]]:
        """(rows, answer) of each part: the result of ``ask(part, *args)``."""
        raise NotImplementedError

    def mean(self, ask: Ask, *args: Any) -> Any:
        """The mean over rows of the parts' own means."""
        return sum(rows * answer for rows, answer in self.over(ask, *args)) / self.n

    def means(self, ask: Ask, *args: Any) -> list[Any]:
        """The same for each of several answers."""
        means: list[Any] = []
        for rows, answers in self.over(ask, *args):
            shares = [rows / self.n * answer for answer in answers]
            if means:
                means = [a + b for a, b in zip(means, shares)]
            else:
                means = shares
        return means

    @depends_on()
    def _identity(self) -> str:
        return self.given.fingerprint()

    def fingerprint(self) -> str:
        if self.penalty is None:
            extras = ""
        else:
            extras = f" penalty {digest(self.penalty)}"
        settings = f"l2={self.l2!r}{extras}{' intercept' * self.intercept}"
        return f"{self.loss.problem_name} {self.loss!r} {self._identity} {settings}"

    def units_in(self, b: int) -> int:
        return max(1, round(b * self.units / self.n))

    def whole_batch(self, b: int) -> int:
        return round(self.units_in(b) * self.n / self.units)

    @property
    def gram_fits(self) -> bool:
        """One pass of 2 n d^2 flops costs less than the Lanczos passes that it replaces."""
        return self.d <= self.limits.gram_columns

    @depends_on("rows", "targets")
    def _summary(self) -> tuple[Moments, float]:
        """The sums of all parts, and max ||x_i||^2, in one pass."""
        total: Moments | None = None
        largest = 0.0
        for _, (sums, length) in self.over(_summed):
            total = sums if total is None else total + sums
            largest = max(largest, length)
        assert total is not None
        return total, largest

    @depends_on("rows")
    def _row_lengths(self) -> tuple[float, float]:
        """mean ||x_i||^2 and max ||x_i||^2, in one pass."""
        if self.gram_fits:
            sums, largest = self._summary
            return float(sums.gram.diagonal().sum()), largest
        found = list(self.over(_lengths))
        mean = sum(rows * mean for rows, (mean, _) in found) / self.n
        return float(mean), max(largest for _, (_, largest) in found)

    @depends_on("rows", "targets")
    def _target_sums(self) -> tuple[Array, float]:
        """sum_i y_i x_i / n and sum_i y_i^2 / n."""
        if self.gram_fits:
            sums, _ = self._summary
            return sums.moment, sums.target2
        moment, target2 = self.means(_target_sums)
        return moment, target2

    def _needs_gram(self) -> None:
        if not self.gram_fits:
            raise ValueError(
                f"{self.loss.problem_name}: d={self.d} must be at most "
                f"{self.limits.gram_columns} for a d x d matrix of data in parts; use minimize, "
                "which needs none."
            )

    @property
    def gram(self) -> Array:
        self._needs_gram()
        return self._summary[0].gram

    def minimiser(self) -> Array:
        self._needs_gram()
        return self._minimiser.copy()

    moment = property(lambda self: self._target_sums[0])
    target2 = property(lambda self: self._target_sums[1])
    mean_row2 = property(lambda self: self._row_lengths[0])
    largest_row2 = property(lambda self: self._row_lengths[1])

    def gram_times(self, v: Array) -> Array:
        return np.asarray(self.mean(Problem.gram_times, v))

    def largest_projection2(self, directions: Array) -> float:
        return max(float(size) for _, size in self.over(Problem.largest_projection2, directions))

    def row_gradient_mean2(self, w: Vector) -> float:
        return float(self.mean(Problem.row_gradient_mean2, self.point(w)))

    def hessian(self, w: Array) -> Array:
        return np.asarray(self.mean(Problem.hessian, w))

    def estimated(self) -> Constants:
        return self.constants()

    def look(self, w: Array, rows: Index | None = None) -> Look:
        if rows is not None:
            return super().look(w, rows)
        return Look(*self.means(Problem.look, w))

    def value(self, w: Vector, rows: Index | None = None) -> float:
        if rows is not None:
            return super().value(w, rows)
        return float(self.mean(Problem.value, self.point(w)))

    def gradient(self, w: Vector, rows: Index | None = None) -> Array:
        if rows is not None:
            return super().gradient(w, rows)
        return np.asarray(self.mean(Problem.gradient, self.point(w)))

    def noise_at(self, w: Array) -> Noise:
        return Noise(*self.means(_noise, w))


def _offset_column(where: str, X: Parts, offset: Any) -> int:
    """The number of the feature that is an offset."""
    names = X.columns or []
    if not isinstance(offset, str) or offset not in names or len(names) < 2:
        raise TypeError(
            f"{where}: offset must be the name of a column where X is a file, one of several "
            f"features ({', '.join(map(repr, names[:12])) or 'they have no names'}); for numbers "
            "give X and y as arrays."
        )
    return int(names.index(offset))


class FileProblem(PartedProblem, serves=lambda X: isinstance(X, Parts)):
    """A problem whose rows lie in files, read in parts; a batch is made of whole parts.

    m of M parts, uniformly without replacement, estimate the gradient by Horvitz and Thompson:

        g = M/(m n) sum over the parts drawn of their rows' gradients + l2 w,

    which is unbiased whatever the sizes of the parts, and the batch mean when they are equal.
    """

    given: FileRows
    labels: Vector

    offset_column: str | None = None  # the name of the column that is an offset

    def __init__(
        self,
        X: Parts,
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
        for name, value in {"y": y, "sample_weight": sample_weight}.items():
            if value is not None:
                raise TypeError(
                    f"{kind.problem_name}: {name} must be left out, because data in parts hold "
                    "their targets and nothing else; for more give X and y as arrays."
                )
        if offset is not None:
            X = OffsetParts(X, _offset_column(kind.problem_name, X, offset))
            refuse_offset(kind)
        labels = X.labels if labels is None else labels
        classes = kind.targets(kind.problem_name, np.zeros(0), labels or ())[1]
        if classes is not None and X.classes is not None:  # the text that the labels stand for
            classes = np.asarray(X.classes)[classes.astype(np.intp)]
        rows = FileRows(X)
        l2 = check_l2(kind.problem_name, l2)
        factors = penalty_factors(
            kind.problem_name, rows, penalty, standardize, intercept=intercept
        )
        facts = {"labels": labels, "classes": classes, "offset_column": offset}
        self._fill(rows, kind, l2, intercept=bool(intercept), penalty=factors, **facts)

    @property
    def has_offset(self) -> bool:
        return self.offset_column is not None

    def unstacked(self, stored: Array) -> tuple[Array, Array | None]:
        """What the parts hold as targets: the targets, and their offset."""
        if not self.has_offset:
            return stored, None
        return stored[:, 0], stored[:, 1]

    def encoded(self, stored: Array) -> tuple[Array, Array | None]:
        """Targets as the loss needs them, and their offset. No labels stand for more than were
        counted."""
        y, offset = self.unstacked(stored)
        encoded, _ = self.loss.targets(self.loss.problem_name, y, self.labels or ())
        return less_offset(self.loss, encoded, offset), offset

    @property
    def target_type(self) -> np.dtype[Any]:
        """The type of targets as the loss needs them."""
        targets, _ = self.loss.targets(self.loss.problem_name, np.zeros(0), self.labels or ())
        return targets.dtype

    @depends_on("rows")
    def _encoded(self) -> tuple[Array, Array | None]:
        """All targets, as the loss needs them, and their offset: n numbers each, in memory."""
        return self.encoded(self.given.targets())

    @depends_on("rows")
    def y(self) -> Array:  # type: ignore[override]
        return self._encoded[0]

    @depends_on("rows")
    def offset(self) -> Array | None:  # type: ignore[override]
        return self._encoded[1] if self.has_offset else None

    def _targets(self, rows: Index | None) -> Array:
        if rows is None:
            return self.y
        return self.encoded(self.given.targets(rows))[0]

    def added(self, rows: Index | slice | None = None) -> Array | None:
        if isinstance(rows, np.ndarray) and self.has_offset and not self.loss.quadratic:
            return self.encoded(self.given.targets(rows))[1]
        return super().added(rows)

    def parts(self, named: Iterable[int] | None = None) -> Iterator[Problem]:
        """The problem of each part (all, or those named), valid until the next is taken."""
        facts: dict[str, Any] = {"classes": self.classes, "penalty": self.penalty}
        facts["intercept"] = self.intercept
        for X, stored in self.given.read(named):
            y, offset = self.encoded(stored)
            facts["offset"] = offset
            yield Problem.of(Dense(X), y, self.loss, self.l2, has_column=False, **facts)

    def over(self, ask: Ask, *args: Any) -> Iterator[tuple[int, Any]]:
        for part in self.parts():
            yield part.n, ask(part, *args)

    # -- batches of whole parts ------------------------------------------------------------------

    @property
    def units(self) -> int:
        """What a batch is drawn from: the parts."""
        return int(self.given.X.n_parts)

    def batch_gradient(self, w: Array, units: Index) -> Array:
        """The estimate from the parts named."""
        penalty_gradient = self.penalty_gradient(w)
        total = sum(part.n * (part.gradient(w) - penalty_gradient) for part in self.parts(units))
        return np.asarray(total * (self.units / (units.size * self.n)) + penalty_gradient)

    def variance_factor(self, w: Vector | None = None) -> float:
        """How much more a batch of parts varies than as many rows drawn one by one, at w.

        E||g - grad f||^2 is zeta0^2(n, b) V for rows, V = mean_i ||grad f_i - grad f||^2, and this
        factor times that for parts, whatever the batch: (n-1)/(M-1) mean_P ||h_P - grad f||^2/V,
        h_P the Horvitz-Thompson estimate from part P alone. 1 on average over shuffles, r where
        the r rows of a part are alike. One pass; w is the zero vector unless given.
        """
        if w is None:
            w = np.zeros(self.shape)
        else:
            w = self.point(w)
        M = self.units
        between = 0.0
        rows2 = 0.0
        total = np.zeros(self.shape)
        penalty_gradient = self.penalty_gradient(w)
        for part in self.parts():
            g = part.n * (part.gradient(w) - penalty_gradient)
            total += g
            between += float(np.vdot(g, g))
            rows2 += part.n * part.row_gradient_mean2(w)
        mean = total / self.n
        within = rows2 / self.n - float(np.vdot(mean + penalty_gradient, mean + penalty_gradient))
        spread = between * M / self.n**2 - float(np.vdot(mean, mean))
        if M == 1 or within <= 0.0:
            return 1.0  # no batch but the whole, or rows that are all alike: no noise
        return max(0.0, (self.n - 1) / (M - 1) * spread / within)
