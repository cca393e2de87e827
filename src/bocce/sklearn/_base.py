"""What both estimators share: parameters, checks of the input, and the fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, cached_property, partial
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

from .. import _checks, _pictures, sampling
from .._pictures import Axes
from .._threads import one_thread
from ..control import open_ended_names, registry
from ..losses import Loss
from ..losses.residuals import first_loss
from ..problems import NotFinite, Problem
from ..problems._input import check_offset, penalty_factors
from ..rows import Array, foreign, host, rows_of
from ..rows.backend import numpy_type
from ..run import columns as own_columns
from ..run import scaling
from ..run.adapt import complete
from ..run.descend import Descent
from ..run.prepare import PreparedRun, prepare
from ..run.request import CheckedRequest
from . import _arrays, _words
from ._coefficients import Coefficients
from ._errors import Seen, WithErrors
from ._export import Exportable
from ._report import CallbackSupportMixin, Reporter
from ._run import OVERFLOW, FitOutcome, Watcher, fit_request


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

    _settled: list[Loss] | None = None  # the losses of the outputs, where they are known

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
        positive = np.flatnonzero(weights)
        offset = None if offset is None else offset[positive]
        return _arrays.rows_at(X, positive), y[positive], weights[positive], offset

    def _shows_finite(self, X: Any) -> bool:
        """Does the fit itself find NaN and infinity, without a look at X before?"""
        return False

    def _order(self, X: Any) -> str:
        """The order in memory that a fit needs: the one that X has, but for batches, by rows."""
        if self.batch_size is None and self.method in open_ended_names():
            return _arrays.order_of(X)
        return "C"

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

    def _started(self, outputs: int, d: int) -> tuple[Array, Array]:
        """Coefficients and intercepts of zero, or those of the last fit."""
        if not self._begins_warm():
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

    def _problem(
        self, X: Any, y: Array, weights: Array | None, offset: Array | None = None
    ) -> Problem:
        """The objective, of rows and encoded targets that were checked."""
        n = X.shape[0]
        own = (self.penalty, self.standardize)
        if weights is None:
            weight = None
        else:
            weight = weights * (n / weights.sum())
        rows = rows_of(sp.csr_array(X) if sp.issparse(X) else X)
        return Problem.of(
            rows,
            y,
            self._loss_of(0, y, weight, offset),
            self._l2,
            weight=weight,
            offset=offset,
            penalty=penalty_factors(type(self).__name__, rows, *own, weight, self.fit_intercept),
            classes=getattr(self, "classes_", None),
            intercept=self.fit_intercept,
            has_column=False,
            adapts=self._settled is None and not self._loss().is_complete,
        )

    def _next_problem(self, p: Problem, j: int, y: Array, offset: Array | None = None) -> Problem:
        """The problem of output j, on the same rows and weights as those before."""
        p = p.with_encoded(y, offset)
        if self._loss().is_complete:
            return p
        return p.with_fields(loss=self._loss_of(j, y, p.weight, offset))

    def _loss_of(self, j: int, y: Array, weight: Array | None, offset: Array | None) -> Loss:
        """The loss of output j, where a fit begins."""
        if self._settled is None:
            return first_loss(self._loss(), y, weight, self.fit_intercept, offset)
        return self._settled[j]

    def _outputs(self, runs: int) -> int:
        """Rows of coef_, for so many runs: one each, or one a class where one run is for all."""
        if self._loss().multi_output:
            return len(self.classes_)
        return runs

    def _place(self, j: int) -> Any:
        """Of the run j in coef_."""
        if self._loss().multi_output:
            return slice(None)
        return j

    @one_thread()
    def _fit(
        self,
        X: Any,
        targets: Iterable[Array],
        weights: Array | None,
        offsets: Any,
        report: Reporter,
        finite: bool = True,
    ) -> None:
        """One run for each of ``targets``, all on the same rows and weights; ``offsets`` has one
        for each, or is None. ``finite``: is X known to be? If not, that is seen from the first
        pass."""
        fits: list[Descent] = []
        for j, run in enumerate(self._prepared_runs(X, targets, weights, offsets)):
            if j == 0:
                if not (finite or run.by_sums):
                    assert_all_finite(X, input_name="X", estimator_name=type(self).__name__)
                found = Coefficients(self, X, len(report.labels), run.columns)
            fits.append(self._one_fit(run, j, found, report))
        for name, value in found.fitted().items():
            setattr(self, name, value)
        outcomes = [
            FitOutcome.of(done, found.rounded(j, done.run.p)) for j, done in enumerate(fits)
        ]
        self._keep(fits, outcomes, report)
        self._warn(fits)
        self._seen = self._seen.kept()

    def _one_fit(self, run: PreparedRun, j: int, found: Coefficients, report: Reporter) -> Descent:
        """The fit of output j."""
        report.begin(j)
        if report.listened_to:
            run = replace(run, listener=Watcher(report, run, partial(found.attributes, j)))
        try:
            done = complete(run)
        except NotFinite as error:
            raise ValueError(OVERFLOW) from error
        found.put(j, done.w)
        report.end()
        return done

    def _prepared_runs(
        self, X: Any, targets: Iterable[Array], weights: Array | None, offsets: Any
    ) -> Iterator[PreparedRun]:
        """The run of each output; those after the first share what it knows of the rows."""
        warm = None
        if self._begins_warm():
            warm = Coefficients(self, X, len(self._runs))
        count = float(X.shape[0]) if weights is None else float(weights.sum())
        run = None
        for j, y in enumerate(targets):
            offset = None if offsets is None else offsets[j]
            if run is None:
                p = self._problem(X, y, weights, offset)
                request = self._request(p.n, None if warm is None else warm.point(j, p))
                run = prepare(p, request, of_model=True, count=count)
            else:
                p = self._next_problem(run.p, j, y, offset)
                run = run.of_output(p, None if warm is None else warm.point(j, p))
            yield run

    def _request(self, n: int, w0: Array | None) -> CheckedRequest:
        """What the parameters want of a run on n rows, from w0."""
        batch = self.batch_size
        if batch is not None:
            batch = sampling.batch_rows(type(self).__name__, batch, n)
        return fit_request(self.method, batch, self.max_iter, self.tol, self._seed(), w0)

    def _note_losses(self, losses: list[Loss]) -> None:
        """Set the parameters of the losses that the fit has found."""

    def _keep(self, fits: list[Descent], outcomes: list[FitOutcome], report: Reporter) -> None:
        """What a fit leaves behind besides the coefficients."""
        first = fits[0].run
        problems = [done.run.p for done in fits]
        self._note_losses([p.loss for p in problems])
        self._seen = Seen(problems, first.count, first.columns)
        self._stream = None
        self._inferred = {}
        tables = [o.history for o in outcomes]
        self.history_ = {name: np.concatenate([t[name] for t in tables]) for name in tables[0]}
        sizes = [table["passes"].size for table in tables]
        self.history_["output"] = np.repeat(np.arange(len(outcomes)), sizes)
        self.n_iter_ = max(1, *(round(o.passes) for o in outcomes))
        self.optimality_ = max(o.ratio for o in outcomes)
        vars(self).pop("plan_", None)
        self._course = first.frame, outcomes, first.request, report.labels

    def _warn(self, fits: list[Descent]) -> None:
        """Say what did not converge, and what the penalty keeps out of the model because columns
        are small."""
        _, outcomes, request, labels = self._course
        doubt = _words.doubt(outcomes)
        trouble = _words.trouble(self, outcomes, request, labels)
        for said in filter(None, (doubt, trouble)):
            warnings.warn(said, ConvergenceWarning, stacklevel=6)
        run = fits[0].run
        if self._l2 == 0.0 or self.standardize or not scaling.apart(run.frame.spread2):
            return
        held_back: set[int] = set()
        for j, done in enumerate(fits):
            at = run.frame.into(self._point(j, done.run.p))
            held_back |= set(scaling.held_back(done.run.inner, at, run.count, run.frame.scale))
        if held_back:
            advice = scaling.advice(run.p, sorted(held_back), self._column_names())
            warnings.warn(f"{type(self).__name__}: {advice}", stacklevel=6)

    @cached_property
    def plan_(self) -> str:
        """What was done and why, in words."""
        return _words.plan(self, self._seen.problems[0], *self._course)

    def _fitted(self, coef: Array, intercept: Array, X: Any, columns: Any = None) -> dict[str, Any]:
        """coef_ and intercept_ as this kind of estimator has them, in X's type and library.
        ``columns``: those that coef is of, if it is not all."""
        dtype = numpy_type(X.dtype)
        with np.errstate(over="ignore"):
            coef = coef.astype(dtype)
            intercept = intercept.astype(dtype)
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                f"{type(self).__name__}: a coefficient is too large for {dtype}; give X "
                "as float64, or multiply columns of tiny values."
            )
        shaped = self._shaped(own_columns.spread(coef, columns, X.shape[1]), intercept)
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

    def plot_history(self, *, ax: Any = None, x: str = "passes", y: str = "gradient_norm") -> Axes:
        """Draw ``history_``, a line for each output.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        x, y : {"passes", "iteration"} and {"gradient_norm", "value"}
            The quantities of the axes.

        Returns
        -------
        matplotlib Axes
            The axes that were drawn on.
        """
        check_is_fitted(self, "history_")
        x = _checks.choice("plot_history", "x", x, ["passes", "iteration"])
        y = _checks.choice("plot_history", "y", y, ["gradient_norm", "value"])
        return _pictures.history(self.history_, type(self).__name__, x, y, ax)
