"""What both estimators share: parameters, checks of the input, and the fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import cache, cached_property
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_is_fitted,
)

from .. import sampling
from .._threads import one_thread
from ..control import registry
from ..losses.offset import loss_for
from ..problems import Frame, Problem
from ..problems._input import check_offset, penalty_factors
from ..rows import Array, foreign, host, rows_of
from ..rows.backend import numpy_type
from ..run import Request, scaling
from ..run.controllers import summed
from . import _arrays, _columns, _words
from ._display import HistoryDisplay
from ._errors import FIRST_TOL, Seen, WithErrors, fit_until_certain
from ._export import Exportable
from ._report import CallbackSupportMixin, Reporter
from ._run import FitOutcome, OutputRun, asked, constant, dense_pays, judged


@cache
def _seed_of(random_state: int) -> int:
    """A generator takes as long to be seeded as small data to be fitted."""
    return int(check_random_state(random_state).randint(2**31 - 1))


class HeavyBall(WithErrors, Exportable, CallbackSupportMixin, BaseEstimator):
    """A linear model, fitted output by output, or where the loss is on all classes at once, in one
    run: see HeavyBallRegressor and HeavyBallClassifier.

    A kind of estimator gives ``_loss()``, what a row costs; ``_validated``: rows, targets and
    weights, checked (``finite``: must X be looked at for NaN now?); ``_prepared``: rows, what each
    run is fitted to, and weights; ``_encoded``: the latter two of all rows, those of weight zero as
    well; ``_runs``, the names of the runs; and ``_shaped``: ``coef_`` and ``intercept_``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "l2": [Interval(Real, 0, None, closed="left")],
        "method": [StrOptions(set(registry()))],
        "batch_size": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            None,
        ],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"})],
        "fit_intercept": ["boolean"],
        "standardize": ["boolean"],
        "penalty": ["array-like", None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = _arrays.SUPPORTED
        return tags

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """The names of the parameters, found once: to find them takes 5 % of a small fit."""
        return super()._get_param_names()

    def _set_parameters(self, given: dict[str, Any]) -> None:
        """Keep the arguments of ``__init__``, which hands over its ``locals()``."""
        for name, value in given.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    # -- input -----------------------------------------------------------------------------------

    def _weights(self, sample_weight: Any, X: Any) -> Array | None:
        if sample_weight is None:
            return None
        _arrays.refuse_masks(type(self).__name__, "sample_weight", sample_weight)
        weights = _arrays.brought(sample_weight)
        weights = _check_sample_weight(weights, _arrays.counted(X), dtype=np.float64)
        if weights.min() < 0.0 or weights.max() == 0.0:
            raise ValueError(
                f"{type(self).__name__}: sample_weight from {weights.min():g} to "
                f"{weights.max():g} must be >= 0 and not all zero; a weight of zero leaves its "
                "row out."
            )
        return weights

    @staticmethod
    def _weighted_rows(
        X: Any, y: Array, weights: Array | None, offset: Any = None
    ) -> tuple[Any, ...]:
        """Without the rows of weight zero: they are no part of the objective."""
        if weights is None or weights.min() > 0.0:
            return X, y, weights, offset
        kept = np.flatnonzero(weights)
        offset = None if offset is None else offset[kept]
        return _arrays.rows_at(X, kept), y[kept], weights[kept], offset

    def _shows_finite(self, X: Any) -> bool:
        """Does the fit itself find NaN and infinity, without a look at X before?"""
        return False

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, offset: Any = None, **how: bool
    ) -> tuple[Any, ...]:
        """Rows, targets, weights and offsets, without rows of weight zero."""
        X, y, weights = self._validated(X, y, sample_weight, **how)
        offset = check_offset(type(self).__name__, offset, y.shape)
        return self._weighted_rows(X, y, weights, offset)

    def _like(self, other: Any, y: Any) -> bool:
        """Do these targets make the same outputs as those of another model?"""
        return True

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return _seed_of(int(self.random_state))
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _begins_warm(self) -> bool:
        """From ``coef_`` and ``intercept_``?"""
        return bool(self.warm_start and hasattr(self, "coef_"))

    def _started(self, outputs: int, d: int, warm: bool) -> tuple[Array, Array]:
        """Coefficients and intercepts of zero, or those of the last fit."""
        if not warm:
            return np.zeros((outputs, d)), np.zeros(outputs)
        coef = np.array(host(self.coef_), dtype=np.float64, ndmin=2)
        if coef.shape != (outputs, d):
            raise ValueError(
                f"{type(self).__name__}: coef_ of the last fit has shape {coef.shape}, must be "
                f"{(outputs, d)} to go on from it; set warm_start=False, or fit a clone."
            )
        return coef, np.array(host(self.intercept_), dtype=np.float64, ndmin=1)

    # -- the fit ---------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, offset=None):
        """Fit to rows X and targets y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Dense, or sparse of any format (CSR is used as it is); float32 stays float32. Under
            scikit-learn's ``array_api_dispatch`` an array of another library, such as a PyTorch
            tensor, is used on its device, and ``coef_`` and predictions are of its kind.
        y : array-like of shape (n_samples,)
            Numbers or labels; for a regression with several outputs (n_samples, n_outputs).
        sample_weight : array-like of shape (n_samples,), default=None
            A weight k is the same as the row k times; 0 leaves the row out.
        offset : array-like of the shape of y, default=None
            Numbers added to x . coef + intercept, such as the log of the exposure of counts. Three
            classes or more have none: a number added to all their scores changes nothing.

        Returns
        -------
        self
        """
        finite = sample_weight is not None or not self._shows_finite(X)
        checked = self._checked(X, y, sample_weight, offset, reset=True, finite=finite)
        prepared = self._prepared(*checked)
        report = Reporter(self, X, y, sample_weight, self._runs)
        self._fit(*prepared, report, finite)
        report.close()
        return self

    @property
    def _l2(self) -> float:
        return float(self.l2)

    def _problem(self, X: Any, y: Array, weights: Array | None) -> Problem:
        """The objective, of rows and encoded targets that were checked."""
        n, own = X.shape[0], (self.penalty, self.standardize)
        weight = None if weights is None else weights * (n / weights.sum())
        rows = rows_of(sp.csr_array(X) if sp.issparse(X) else X)
        return Problem.of(
            rows,
            y,
            loss_for(self._loss(), y),
            self._l2,
            weight=weight,
            penalty=penalty_factors(type(self).__name__, rows, *own, weight, self.fit_intercept),
            classes=getattr(self, "classes_", None),
            intercept=self.fit_intercept,
            has_column=False,
        )

    def _outputs(self, runs: int) -> int:
        """Rows of coef_, for so many runs: one each, or one a class where one run is for all."""
        return len(self.classes_) if self._loss().multi_output else runs

    def _place(self, j: int) -> Any:
        """Of the run j in coef_."""
        return slice(None) if self._loss().multi_output else j

    @one_thread()
    def _fit(
        self,
        X: Any,
        targets: Iterable[Array],
        weights: Array | None,
        report: Reporter,
        finite: bool = True,
    ) -> None:
        """One run for each of ``targets``, all on the same rows and weights. ``finite``: is X known
        to be? If not, that is seen from the first pass."""
        labels, dtype, given = report.labels, numpy_type(X.dtype), X
        if self.batch_size is not None:
            sampling.batch_rows(type(self).__name__, self.batch_size, X.shape[0])
        if sp.issparse(X) and dense_pays(X):
            X = X.toarray()
        warm = self._begins_warm()
        columns = None if warm or self.penalty is not None else _columns.used(X)
        if columns is not None:
            X = _columns.taken(X, columns)
        coef, intercept = self._started(self._outputs(len(labels)), X.shape[1], warm)
        certain = self.tol == "auto"
        tol = FIRST_TOL if certain else self.tol
        request = asked(self.method, self.batch_size, self.max_iter, tol, self._seed())
        count = float(X.shape[0]) if weights is None else float(weights.sum())
        p = inner = frame = None
        runs: list[OutputRun] = []
        outcomes: list[FitOutcome] = []
        for j, y in enumerate(targets):
            place = self._place(j)
            if p is None:
                p = self._problem(X, y, weights)
                frame = Frame.of(p)
                inner = frame.problem(p)
            else:
                p, inner = p.with_encoded(y), inner.with_encoded(y)
            by_sums = summed(inner, self.method, self.batch_size)
            if j == 0 and not (finite or by_sums):
                assert_all_finite(X, input_name="X", estimator_name=type(self).__name__)

            def tell(k, w, value, ratio, share, place=place):
                def attributes():
                    self._put(coef, intercept, place, w)
                    return self._fitted(coef, intercept, given, columns)

                return report.step(k, value, ratio, share, attributes)

            report.begin(j)
            if self.fit_intercept and not warm:
                intercept[place] = constant(p)
            start = p.join_intercept(coef[place].T, intercept[place])
            watch = tell if report.listened_to else None
            runs.append(OutputRun(p, inner, frame, start, request, watch, not warm, by_sums))
            outcomes.append(fit_until_certain(runs[j], count) if certain else runs[j].descend())
            self._put(coef, intercept, place, outcomes[j].w)
            report.end()
        for name, value in self._fitted(coef, intercept, given, columns).items():
            setattr(self, name, value)
        if dtype == np.float32:  # what was cast is what is judged
            rough, shift = coef.astype(dtype), intercept.astype(dtype)
            for j, run in enumerate(runs):
                place = self._place(j)
                w = p.join_intercept(rough[place].T, shift[place])
                outcomes[j] = judged(outcomes[j], run.inner, frame, w)
        self._seen = Seen([run.p for run in runs], count, columns)
        self._stream, self._inferred = None, {}
        self._keep(frame, outcomes, request, labels)
        if self._l2 > 0.0 and not self.standardize and scaling.apart(frame.spread2):
            self._warn_of_scaling()

    def _put(self, coef: Array, intercept: Array, place: Any, w: Array) -> None:
        """The variables of a run into its place in the coefficients."""
        coef[place] = w[: coef.shape[1]].T
        intercept[place] = w[-1] if self.fit_intercept else 0.0

    def _keep(
        self, frame: Frame, outcomes: list[FitOutcome], request: Request, labels: list[str]
    ) -> None:
        """What a fit leaves behind besides the coefficients."""
        self.history_ = outcomes[0].history
        if len(outcomes) > 1:
            tables = [o.history for o in outcomes]
            self.history_ = {n: np.concatenate([t[n] for t in tables]) for n in tables[0]}
        sizes = [o.history["passes"].size for o in outcomes]
        self.history_["output"] = np.repeat(np.arange(len(outcomes)), sizes)
        self.n_iter_ = max(1, *(round(o.passes) for o in outcomes))
        self.optimality_ = max(o.ratio for o in outcomes)
        vars(self).pop("plan_", None)
        self._course = frame, outcomes, request, labels
        trouble = _words.trouble(self, outcomes, request, labels)
        if trouble:
            warnings.warn(trouble, ConvergenceWarning, stacklevel=6)

    def _warn_of_scaling(self) -> None:
        """Where the penalty keeps columns out of the model because their values are small."""
        assert self._seen is not None
        found: set[int] = set()
        for j, p in enumerate(self._seen.problems):
            found |= set(scaling.held_back(p, self._point(j, p), self._seen.count))
        if found:
            said = scaling.advice(p, sorted(found), self._column_names())
            warnings.warn(f"{type(self).__name__}: {said}", stacklevel=6)

    @cached_property
    def plan_(self) -> str:
        """What was done and why, in words."""
        return _words.plan(self, self._seen.problems[0], *self._course)

    def _fitted(self, coef: Array, intercept: Array, X: Any, columns: Any = None) -> dict[str, Any]:
        """coef_ and intercept_ as this kind of estimator has them, in X's type and library.
        ``columns``: those that coef is of, if it is not all."""
        dtype = numpy_type(X.dtype)
        with np.errstate(over="ignore"):
            coef, intercept = coef.astype(dtype), intercept.astype(dtype)
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                f"{type(self).__name__}: a coefficient is too large for {dtype}; give X "
                "as float64, or multiply columns of tiny values."
            )
        shaped = self._shaped(_columns.spread(coef, columns, X.shape[1]), intercept)
        return {name: _arrays.like(X, value) for name, value in shaped.items()}

    # -- use -------------------------------------------------------------------------------------

    def _scores(self, X: Any, method: str, offset: Any = None) -> Any:
        """x . coef + intercept + offset, a column for each output; asked for by ``method``."""
        check_is_fitted(self)
        X = _arrays.checked(self, X, reset=False)
        if _arrays.elsewhere(X) or foreign(self.coef_):
            scores = _arrays.linear(self, X, method)
        else:
            scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        if offset is None:
            return scores
        one = scores.ndim == 2 and scores.shape[1] == 1  # two classes have one score
        offset = check_offset(method, offset, tuple(scores.shape[: 1 if one else None]))
        return scores + _arrays.like(scores, offset[:, None] if one else offset)

    def plot_history(self, *, ax: Any = None, **keywords: Any) -> HistoryDisplay:
        """Plot ``history_``: the gradient's norm, or the objective, against passes.

        Parameters are those of :meth:`HistoryDisplay.plot`.
        """
        return HistoryDisplay.from_estimator(self, ax=ax, **keywords)
