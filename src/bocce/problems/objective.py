"""The objective of a problem: its variables, its value and its gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from .._types import Design, Vector
from ..losses import Loss
from ..losses.residuals import Residuals
from ..rows import Array, Index, Moments, Rows, digest
from . import curvature, minimum
from ._input import check_point, check_rows
from .cache import Immutable, depends_on
from .curvature import Constants
from .limits import LIMITS, ProblemLimits
from .look import Look
from .minimum import Noise, Pilot
from .path_cache import PathCache

if TYPE_CHECKING:
    from .problem import Problem

# A residual below this share of its target and its prediction is rounding.
ROUNDED_RESIDUAL = 1e-12


class Objective(Immutable):
    """1/n sum_i c_i loss(x_i . w + o_i, y_i) + l2/2 sum_j r_j w_j^2, as a function of w.

    The variables are d coefficients, one more for an intercept, a column of them for each class. In
    all methods ``rows`` are the numbers of some rows (None: all rows), and z are their scores
    x_i . w + o_i: one score a row, or with softmax one for each class. The squared loss of the
    score z + o and the target y is that of z and y - o: there the targets are y - o, and nothing
    is added to the scores.
    """

    given: Rows  # the rows that the caller gave
    has_column: bool  # is the intercept's column part of the given rows?
    n: int
    d: int
    y: Array  # the targets, as the loss needs them
    loss: Loss
    l2: float
    intercept: bool
    weight: Array | None = None
    penalty: Array | None = None  # one factor a variable, the intercept among them
    classes: Any = None
    offset: Array | None = None  # the caller's o, one number a row
    engine: Any = None  # the engine for steps on rows in other processes
    scores: Any = None  # the scores of a run on the plane, for rows in other processes
    handed_on: PathCache | None = None  # results that runs on the same rows leave to the next one
    shared_gram: Moments | None = None  # the sums of a problem with the same rows, other targets
    limits: ProblemLimits = LIMITS
    adapts = False  # are parameters of the loss left to the residuals of the fit?
    avoid_gram = False  # would a Gram matrix cost more than the one pass that is made?
    kinds: ClassVar[list[tuple[Callable[[object], bool], type[Problem]]]] = []

    def __init_subclass__(cls, serves: Callable[[object], bool] | None = None) -> None:
        """``serves``: the class is for the problems whose ``X`` passes this test."""
        if serves is not None:
            Objective.kinds.append((serves, cls))  # type: ignore[arg-type]

    def __new__(cls, X: Design = None, *args: object, **kwargs: object) -> Any:
        return object.__new__(next((kind for serves, kind in cls.kinds if serves(X)), cls))

    @classmethod
    def of(
        cls, rows: Rows, y: Array, loss: Loss, l2: float, *, has_column: bool = True, **more: Any
    ) -> Problem:
        """A problem of rows and encoded targets that are known to be right.

        ``has_column``: is the intercept's column, if there is one, part of the rows? ``more`` are
        other fields.
        """
        self: Problem = cls.__new__(cls, rows)
        has_column = has_column and more.get("intercept", False)
        self._fill(rows, loss, l2, has_column=has_column, y=y, **more)
        return self

    def _fill(self, rows: Rows, loss: Loss, l2: float, **more: Any) -> None:
        """Give a problem that is being made its fields."""
        fields: dict[str, Any] = {"given": rows, "loss": loss, "l2": l2, "intercept": False}
        fields |= {"has_column": False, **more}
        self._set(n=rows.n, d=rows.d - fields["has_column"], **fields)

    # -- the variables ---------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """The number of variables: d, and one more for an intercept."""
        return self.d + self.intercept

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of w: a vector, or a column for each class where a row has a score for each."""
        if self.loss.multi_output:
            return (self.width, len(self.classes))
        return (self.width,)

    @property
    def ridge(self) -> Any:
        """l2, or where there is a penalty, l2 r_j."""
        if self.penalty is None:
            return self.l2
        return self.l2 * self.penalty

    @property
    def ridges(self) -> Array:
        """l2 r_j for every variable."""
        return np.full(self.width, self.ridge, dtype=np.float64)

    def penalty_gradient(self, w: Array) -> Array:
        """The gradient of the penalty: l2 r_j w_j, for the variables of column j."""
        return np.asarray((self.ridge * w.T).T)

    def ridge_value(self, w: Array) -> float:
        """l2/2 sum_j r_j w_j^2."""
        return 0.5 * float(np.vdot(self.penalty_gradient(w), w))

    def point(self, w: Vector, name: str = "w") -> Array:
        """``w`` as a float64 array, one number a variable, checked."""
        if self.intercept:
            more = " and the intercept is one more variable"
        else:
            more = ""
        if self.loss.multi_output:
            more += f"; y has {len(self.classes)} classes"
        else:
            more += ""
        return check_point(
            self.loss.problem_name, name, w, self.shape, f"X has {self.d} columns{more}"
        )

    def split_intercept(self, u: Array) -> tuple[Array, Any]:
        """The variables as (w, intercept): a number, or one for each class."""
        if not self.intercept:
            return u, 0.0
        return u[:-1], (u[-1].copy() if self.loss.multi_output else float(u[-1]))

    def join_intercept(self, w: Array, intercept: Any) -> Array:
        """The variables, from w and the intercept."""
        if self.intercept:
            return np.concatenate([w, np.asarray(intercept)[None]])
        return w

    # -- the rows --------------------------------------------------------------------------------

    @depends_on("rows")
    def rows(self) -> Rows:
        """One number a variable: the given rows, with a 1 appended for an intercept."""
        if self.intercept > self.has_column:
            return self.given.with_column()
        return self.given

    @property
    def X(self) -> Design:
        """The caller's array."""
        return self.given.X

    @property
    def sparse(self) -> bool:
        return self.given.sparse

    @property
    def in_parts(self) -> bool:
        """Are the rows read from elsewhere, a part at a time?"""
        return self.given.in_parts

    def fingerprint(self) -> str:
        """The identity of the problem for a checkpoint: a hash of the data, the loss and l2."""
        extras = (np.zeros(0) if a is None else a for a in (self.weight, self.penalty))
        shifts = () if self.offset is None else (self.offset,)
        data = digest(self.y, *extras, *shifts)
        name = self.loss.problem_name
        rows = self.given.fingerprint()
        return f"{name} {self.loss!r} {rows} {data} l2={self.l2!r}"

    def __repr__(self) -> str:
        kind = "CSR " if self.sparse else self.given.library
        name = self.loss.problem_name
        if name == "Problem":
            shown = f"{self.loss.name}, "
        else:
            shown = ""
        end = ", intercept" * self.intercept + ", offset" * self.has_offset
        return f"{name}({shown}{kind}{self.n} x {self.d} {self.given.dtype}, l2={self.l2:g}{end})"

    def weighted(self, values: Array, rows: Index | slice | None = None) -> Array:
        """c_i times the value of row i."""
        if self.weight is None:
            return values
        if rows is None:
            weight = self.weight
        else:
            weight = self.weight[rows]
        return values * weight.reshape(-1, *(1,) * (values.ndim - 1))

    @property
    def has_offset(self) -> bool:
        """Did the caller give numbers to add to the scores?"""
        return self.offset is not None

    def added(self, rows: Index | slice | None = None) -> Array | None:
        """What is added to the scores of rows; None where nothing is."""
        if self.offset is None or self.loss.quadratic:
            return None
        return self.offset if rows is None else self.offset[rows]

    def shifted(self, products: Array, rows: Index | slice | None = None) -> Array:
        """The scores of rows, from their products x_i . w."""
        added = self.added(rows)
        return products if added is None else products + added

    def predict(self, w: Array, rows: Index | None = None) -> Array:
        """The scores x_i . w + o_i."""
        return self.shifted(self.rows.times(w, rows), rows)

    def combine(self, coefficients: Array, rows: Index | None = None) -> Array:
        """The sum of coefficient times x_i over rows."""
        return self.rows.combine(coefficients, rows)

    @property
    def largest_row2(self) -> float:
        """max_i c_i ||x_i||^2."""
        return float(self.weighted(self.rows.norms2).max())

    @property
    def mean_row2(self) -> float:
        return float(self.weighted(self.rows.norms2).mean())

    @property
    def target2(self) -> float:
        """The mean of c_i y_i^2."""
        return float(self.weighted(self.y) @ self.y) / self.n

    @depends_on("weights", "targets")
    def mean_target(self) -> Any:
        """The mean of c_i y_i; of several classes, the share of each."""
        if self.loss.multi_output:
            return np.bincount(self.y, self.weight, minlength=len(self.classes)) / self.n
        return float(self.weighted(self.y).mean())

    def best_constant(self) -> Any:
        """The best constant prediction, as far as the loss knows it; 0 elsewhere."""
        if self.has_offset and not self.loss.quadratic:
            return 0.0  # it depends on the offset of each row
        return self.loss.best_constant(self.mean_target)

    @depends_on("rows", "weights", "targets")
    def moment(self) -> Array:
        """sum_i c_i y_i x_i / n."""
        return self.combine(self.weighted(self.y)) / self.n

    @depends_on("rows", "weights")
    def gram(self) -> Array:
        """sum_i c_i x_i x_i^T / n."""
        with np.errstate(over="ignore", invalid="ignore"):  # The caller reports an overflow.
            return self.rows.gram(self.weight)

    @depends_on("rows", "weights", "targets")
    def sums(self) -> Moments:
        """The sums of a squared loss, in one pass, or with a Gram matrix that is known."""
        with np.errstate(all="ignore"):  # The caller, who needs finite sums, reports an overflow.
            if self.shared_gram is None:
                sums = self.rows.rough_moments(self.y, self.weight)
            else:
                sums = self.shared_gram.with_targets(self.moment, self.target2, self.n)
            if sums.corrected or not sums.sound:
                return sums
            return self._corrected(sums)

    def _corrected(self, sums: Moments) -> Moments:
        """Sums of float32, exact at about the minimum: one more look at the rows, a block that
        stays in the cache at a time."""
        w = sums.solve(self.ridges)
        step = max(1, self.limits.corrected // self.width)
        gradient = np.zeros(self.width)
        value = 0.0
        for start in range(0, self.n, step):
            part = slice(start, min(start + step, self.n))
            rows = self.rows.part(part)
            residuals = rows.times(w) - self.y[part]
            slopes = self.weighted(residuals, part)
            value += 0.5 * float(slopes @ residuals)
            gradient += rows.combine(slopes)
        roundings = 2 * step + self.width + self.n // step
        return sums.through(w, gradient / self.n, value / self.n, roundings)

    @property
    def gram_fits(self) -> bool:
        """Is the matrix of all pairs of columns cheap enough to form?"""
        flops = 2.0 * self.rows.cost * self.width
        return self.width <= self.limits.gram_columns and flops <= self.limits.gram_flops

    @property
    def has_gram(self) -> bool:
        """Does a Gram matrix give the full gradient without touching the rows?"""
        return self.loss.quadratic and self.gram_fits and not self.avoid_gram

    def gram_times(self, v: Array) -> Array:
        """sum_i c_i x_i x_i^T v / n."""
        return self.combine(self.weighted(self.rows.times(v))) / self.n

    def largest_projection2(self, directions: Array) -> float:
        """max_i c_i ||x_i^T D||^2 for the columns of D."""
        return float(self.weighted(self.rows.projections2(directions)).max())

    def over(self, ask: Callable[..., Any], *args: Any) -> Iterator[tuple[int, Any]]:
        """(rows, answer) of each part: the result of ``ask(part, *args)``; for data in parts."""
        raise NotImplementedError

    # -- losses ----------------------------------------------------------------------------------

    def losses(self, z: Array, rows: Index | None = None) -> Array:
        """c_i loss(z_i, y_i)."""
        return self.weighted(self.loss.value(z, self._targets(rows)), rows)

    def slopes(self, z: Array, rows: Index | None = None) -> Array:
        """c_i times the derivative of the loss at z_i."""
        return self.weighted(self.loss.slope(z, self._targets(rows)), rows)

    def bends(self, z: Array, rows: Index | None = None) -> Array:
        """c_i times the second derivative of the loss at z_i."""
        return self.weighted(self.loss.bend(z, self._targets(rows)), rows)

    def _targets(self, rows: Index | None) -> Array:
        if rows is None:
            return self.y
        return self.y[rows]

    def hessian(self, w: Array) -> Array:
        """The Hessian of f at w, without the l2 term; for one score a row."""
        if self.loss.quadratic:
            return self.gram
        return self.rows.gram(self.bends(self.predict(w)))

    def look(self, w: Array, rows: Index | None = None) -> Look:
        """The objective and its gradient, over all rows or the mean over some, plus the l2 term."""
        z = self.predict(w, rows)
        slopes = self.slopes(z, rows)
        value = float(self.losses(z, rows).mean()) + self.ridge_value(w)
        return Look(value, self.combine(slopes, rows) / slopes.shape[0] + self.penalty_gradient(w))

    def value(self, w: Vector, rows: Index | None = None) -> float:
        """f(w), or the mean over ``rows`` plus the l2 term.

        Parameters
        ----------
        w, rows : array-like
            The point (one number a variable), and the numbers of the rows (None: all).

        Returns
        -------
        float
        """
        w = self.point(w)
        if rows is not None:
            rows = check_rows(self.loss.problem_name, rows, self.n)
        return float(self.losses(self.predict(w, rows), rows).mean()) + self.ridge_value(w)

    def gradient(self, w: Vector, rows: Index | None = None) -> Array:
        """The gradient of f, or of the mean over ``rows`` plus the l2 term.

        Parameters
        ----------
        w, rows : array-like
            As for ``value``.

        Returns
        -------
        ndarray
        """
        w = self.point(w)
        if rows is not None:
            rows = check_rows(self.loss.problem_name, rows, self.n)
        slopes = self.slopes(self.predict(w, rows), rows)
        return np.asarray(self.combine(slopes, rows) / slopes.shape[0] + self.penalty_gradient(w))

    def row_gradient_mean2(self, w: Vector) -> float:
        """mean_i ||grad f_i(w)||^2, f_i with its l2 term."""
        w = self.point(w)
        products = self.rows.times(w)
        penalty_gradient = self.penalty_gradient(w)
        slopes = self.slopes(self.shifted(products))
        if self.penalty is None:
            across = self.l2 * products
        else:
            across = self.rows.times(penalty_gradient)
        squares = _row_sums(slopes**2) * self.rows.norms2 + 2 * _row_sums(slopes * across)
        return float(max(0.0, squares.mean() + np.vdot(penalty_gradient, penalty_gradient)))

    @depends_on("rows", "weights", "penalty", "loss")
    def _constants(self) -> Constants:
        return curvature.constants(self)

    def pilot(self, start: Array | None = None) -> Pilot:
        """The noise over f(w_0) - f*, and the local spectrum, from a sample of rows."""
        return minimum.pilot(self, start)

    def estimated(self) -> Constants:
        """The constants, from a sample of rows where all would take long: for guarded runs."""
        return self.known("_constants") or self._estimated

    @depends_on("rows", "weights", "penalty", "loss")
    def _estimated(self) -> Constants:
        return curvature.estimated(self)

    def noise_at(self, w: Array) -> Noise:
        """The gradient noise at w."""
        return minimum.noise_at(self, w)

    # -- batches ---------------------------------------------------------------------------------

    @property
    def units(self) -> int:
        """The number of units that a batch is drawn from: rows, or the parts of a file."""
        return self.n

    def units_in(self, b: int) -> int:
        """The number of units of a batch of b rows."""
        return b

    def whole_batch(self, b: int) -> int:
        """The batch size nearest to b that can be drawn."""
        return b

    def batch_gradient(self, w: Array, units: Index) -> Array:
        """The unbiased estimate of the gradient from the units drawn."""
        return self.gradient(w, units)

    # -- other problems --------------------------------------------------------------------------

    def with_encoded(self, y: Array, offset: Array | None = None) -> Self:
        """The same problem with other encoded targets and their offset; the Gram matrix in its sums
        is shared."""
        gram = self.known("sums") or self.shared_gram
        cache = self.handed_on and self.handed_on.copy()
        return self.with_fields(y=y, offset=offset, shared_gram=gram, handed_on=cache)

    def suited(self, w: Array) -> Self:
        """The same problem with the loss that suits the residuals of w."""
        y = self.y
        z = self.predict(w)
        r = np.where(np.abs(y - z) > ROUNDED_RESIDUAL * (np.abs(y) + np.abs(z)), y - z, 0.0)
        loss = self.loss.suited_to(Residuals(r, self.weight))
        if loss == self.loss:
            return self
        return self.with_fields(loss=loss, handed_on=None)

    def sample(self, flops: float) -> Problem:
        """The problem on rows spread over the data, so many that a Gram matrix costs ``flops``.

        The sample has at least 20 d rows; where these are most rows, the problem itself is
        returned.
        """
        rows = int(max(20 * self.width, flops * self.n / max(2.0 * self.rows.gram_cost, 1.0)))
        if 2 * rows >= self.n:
            return self  # type: ignore[return-value]
        return self.on(np.sort(np.random.default_rng(0).choice(self.n, rows, replace=False)))

    def on(self, chosen: Index) -> Problem:
        """The problem on the chosen rows; the weights stay as they are."""
        if self.weight is None:
            weight = None
        else:
            weight = self.weight[chosen]
        if self.offset is None:
            offset = None
        else:
            offset = self.offset[chosen]
        changed: dict[str, Any] = {"y": self.y[chosen], "weight": weight, "offset": offset}
        changed["has_column"] = self.has_column
        return self.with_rows(self.given.take(chosen), **changed)

    def with_rows(self, rows: Rows, **changed: Any) -> Problem:
        """The same objective on other rows; ``changed`` are the fields that differ. The rows have
        the intercept's column unless ``has_column=False`` is given."""
        names = ("y", "offset", "loss", "l2", "weight", "penalty", "classes", "intercept", "limits")
        kept = {name: getattr(self, name) for name in names if name not in changed}
        usual = self.kinds[0][1]
        return usual.of(rows, **kept, **changed)


def _row_sums(values: Array) -> Array:
    """The sums over the scores of a row."""
    return np.asarray(values.reshape(values.shape[0], -1).sum(axis=1))
