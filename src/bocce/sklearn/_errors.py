"""Standard errors, intervals and a tolerance that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _checks
from ..inference import Inference, infer
from ..problems import Problem
from ..rows import Array, digest, rows_of
from ..run.coefficients import CoefficientTable, coefficient_table, row_names

COPIED = 1 << 18  # numbers: rows of at most so many are copied, which takes 0.3 ms
SAMPLED_NUMBERS = 1 << 15  # numbers of larger rows that tell whether X was changed


class Seen(NamedTuple):
    """What a fit was made of: kept for standard errors, and left out of pickles."""

    problems: list[Problem]
    count: float  # of observations, as the weights count them
    columns: Any  # of X that the problems have, or None where it is all
    sample: str = ""  # a digest of some rows and targets, where the rows are not copied

    def kept(self) -> Seen:
        """The same for later: a caller may change X and y after the fit. Small rows are copied, of
        large ones a sample is remembered."""
        given = self.problems[0].given
        if given.in_parts or given.cost > COPIED:
            return self._replace(sample=_digest(self.problems))
        if given.sparse or given.foreign:
            rows = given.take(np.arange(given.n))
        else:
            rows = rows_of(np.array(given.X))  # which takes half the time
        return self._replace(
            problems=[
                p.with_fields(given=rows, y=p.y.copy(), offset=copy(p.offset))
                for p in self.problems
            ]
        )

    def changed(self) -> bool:
        """Are X or y other numbers than at the fit?"""
        return self.sample != "" and self.sample != _digest(self.problems)


def _digest(problems: list[Problem]) -> str:
    """Of rows that are spread over the data, and of the targets that belong to them."""
    given = problems[0].given
    step = max(1, round(given.cost / SAMPLED_NUMBERS))
    some = np.arange(0, given.n, step)
    rows = given.take(some)
    arrays = tuple(rows.blocks()) if given.foreign else rows.arrays()
    shifts = (p.offset[some] for p in problems if p.offset is not None)
    return digest(*arrays, *(p.y[some] for p in problems), *shifts)


class NumberedNames(Sequence[str]):
    """x0, x1, ...: made when they are read, because wide data have many.

    >>> names = NumberedNames(range(3))
    >>> names[2], list(names)
    ('x2', ['x0', 'x1', 'x2'])
    """

    def __init__(self, columns: Sequence[int]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return NumberedNames(self.columns[place])
        return f"x{self.columns[place]}"


class WithErrors:
    """Mixin: what a fitted estimator knows about the certainty of its coefficients."""

    _seen: Seen | None = None

    def __getstate__(self) -> Any:
        if "_course" in vars(self):
            self.plan_  # noqa: B018  (written while the data are here)
        state = super().__getstate__()
        left_out = ("_seen", "_inferred", "_course")
        return {name: value for name, value in state.items() if name not in left_out}

    def _infer(self, kind: str) -> list[Inference]:
        check_is_fitted(self)
        if self._seen is None:
            raise ValueError(
                f"{type(self).__name__}: standard errors need the data of the fit, which pickles "
                "and partial_fit do not keep; call fit again."
            )
        known: dict[str, list[Inference]] = vars(self).setdefault("_inferred", {})
        if kind not in known:
            if self._seen.changed():
                raise ValueError(
                    f"{type(self).__name__}: X or y was changed after the fit, and must be as it "
                    "was for standard errors; ask for them before you change X, or call fit again."
                )
            known[kind] = [
                infer(p, self._point(j, p), kind, self._seen.count)
                for j, p in enumerate(self._seen.problems)
            ]
        return known[kind]

    def _point(self, j: int, p: Problem) -> Array:
        """The variables of run j, from coef_ and intercept_."""
        coef = np.array(self.coef_, dtype=np.float64, ndmin=2)
        if self._seen is not None and self._seen.columns is not None:
            coef = coef[:, self._seen.columns]
        intercept = np.array(self.intercept_, dtype=np.float64, ndmin=1)
        place = self._place(j)
        return p.join_intercept(coef[place].T, intercept[place])

    @property
    def covariance_(self) -> Array:
        """Of the coefficients and then the intercept, under the loss's model; computed when first
        asked for. With several runs (outputs, or classes against the rest) a matrix for each; of a
        softmax one matrix for all, whose variables are flattened feature by feature."""
        found = [one.covariance for one in self._infer("model")]
        if len(found) == 1:
            return found[0]
        return np.stack(found)

    @property
    def standard_errors_(self) -> Array:
        """Of the coefficients and then the intercept, under the loss's model: of the shape of
        ``coef_`` with a column more."""
        found = np.stack([one.standard_errors.T for one in self._infer("model")])
        found = found.reshape(-1, found.shape[-1])
        if np.ndim(self.coef_) == 1:
            return found[0]
        return found

    def summary(self, kind: str = "model", level: float = 0.95) -> CoefficientTable:
        """Coefficients with standard errors and confidence intervals.

        Parameters
        ----------
        kind : {"model", "sandwich"}, default="model"
            Whether the variance of the gradient comes from the loss's probability model or from
            the data alone (robust to a wrong model).
        level : float, default=0.95
            Of the intervals.

        Returns
        -------
        CoefficientTable
            Columns ``coef``, ``std_error``, ``lower`` and ``upper``, and without a penalty
            ``p_value``, a row for each coefficient. ``to_pandas()`` makes a DataFrame of it.

        Raises
        ------
        ValueError
            After unpickling or ``partial_fit``, with too many variables, or where the loss has no
            model.

        Notes
        -----
        Intervals are for the coefficients without a penalty: they are centred at one Newton step of
        the likelihood from the fit, where the penalty's pull is undone, and so may lie beside a
        strongly penalised coefficient. There are no p-values for a penalised fit: the penalty moves
        the estimate towards zero, which is the hypothesis that they would test.
        """
        level = _checks.real(
            "summary", "level", level, above=0.0, below=1.0, remedy="0.95 is usual"
        )
        found = self._infer(kind)
        assert self._seen is not None
        points = [self._point(j, p) for j, p in enumerate(self._seen.problems)]
        groups = [str(c) for c in getattr(self, "classes_", range(len(found)))]
        count = sum(point[:1].size for point in points)
        columns = self._column_names()
        names = row_names(columns, bool(self.fit_intercept), groups[-count:])
        penalised = any(np.any(p.ridge) for p in self._seen.problems)
        return coefficient_table(names, columns, list(zip(points, found)), level, penalised)

    def _column_names(self) -> Sequence[str]:
        assert self._seen is not None
        names = [str(name) for name in vars(self).get("feature_names_in_", ())]
        columns = self._seen.columns
        if not names:
            return NumberedNames(range(self.n_features_in_) if columns is None else columns)
        if columns is None:
            return names
        return [names[j] for j in columns]
