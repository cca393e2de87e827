"""Ridge regression."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.metrics import d2_tweedie_score, r2_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from ..losses import Gamma, Huber, Poisson, Quantile, Squared
from ..problems._input import less_offset
from ..run import Request
from ..run.prepare import tiny
from . import _arrays, _stream
from ._base import HeavyBall


def _has_stream(estimator: Any) -> bool:
    needed = {"loss": "squared", "method": Request.method, "batch_size": None}
    for name, value in needed.items():
        found = getattr(estimator, name)
        if found != value:
            raise AttributeError(
                f"HeavyBallRegressor: {name}={found!r} has no partial_fit, must be {value!r} for "
                "it, because a stream is one of sums; use fit with warm_start=True, or "
                "scikit-learn's SGDRegressor for streams."
            )
    return True


class LinearRegressor(MultiOutputMixin, RegressorMixin, HeavyBall):
    """What regressors share: targets, the fit, and predictions."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **HeavyBall._parameter_constraints,
        "loss": [StrOptions({"squared", "huber", "poisson", "gamma", "quantile"})],
        "delta": [Interval(Real, 0, None, closed="neither"), None],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "smoothing": [Interval(Real, 0, None, closed="neither"), None],
    }

    def _loss(self) -> Any:
        if self.loss == "huber":
            return Huber(None if self.delta is None else float(self.delta))
        if self.loss == "quantile":
            smoothing = None if self.smoothing is None else float(self.smoothing)
            return Quantile(float(self.quantile), smoothing)
        return {"squared": Squared, "poisson": Poisson, "gamma": Gamma}[self.loss]()

    @property
    def _log_link(self) -> bool:
        return bool(self._loss().log_link)

    def _note_losses(self, losses: list[Any]) -> None:
        self._found_losses = losses
        for name in losses[0]._fields:
            if name in ("delta", "smoothing"):
                found = np.array([getattr(loss, name) for loss in losses])
                setattr(self, f"{name}_", float(found[0]) if self._one_output else found)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        counts = self._log_link
        tags.target_tags.positive_only = counts
        tags.target_tags.multi_output = not counts
        return tags

    def _validated(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, finite: bool = True
    ) -> tuple[Any, ...]:
        how = {"multi_output": not self._log_link, "y_numeric": True, "order": self._order(X)}
        X, y = _arrays.checked(self, X, y, reset=reset, ensure_all_finite=finite, **how)
        y, _ = self._loss().targets(type(self).__name__, np.asarray(y))
        return X, y, self._weights(sample_weight, X)

    def _shows_finite(self, X: Any) -> bool:
        """May NaN and infinity be looked for in sums of squares of all columns, where the fit
        begins with those (``_fit``)? One pass over X less. (With weights rows may be left out.)"""
        return self.loss == "squared" and _arrays.plain_floats(X) and not tiny(X)

    def _prepared(self, X: Any, y: Any, weights: Any, offset: Any = None) -> tuple[Any, ...]:
        loss = self._loss()
        targets, weights = self._encoded(less_offset(loss, y, offset), weights)
        if offset is None or loss.quadratic:
            return X, targets, weights, None
        return X, targets, weights, offset.reshape(y.shape[0], -1).T

    def _encoded(self, y: Any, weights: Any) -> tuple[Any, ...]:
        self._one_output = y.ndim == 1
        self._n_outputs = y[:1].size
        return y.reshape(y.shape[0], -1).T, weights

    @property
    def _runs(self) -> list[str]:
        return [f"output {j}" for j in range(self._n_outputs)]

    def _shaped(self, coef: np.ndarray, intercept: np.ndarray) -> dict[str, Any]:
        if self._one_output:
            return {"coef_": coef[0], "intercept_": intercept[0]}
        return {"coef_": coef, "intercept_": intercept}

    def predict(self, X, offset=None):
        """x . coef + intercept for each row; its exponential for counts and amounts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        offset : array-like of the shape of the predictions, default=None
            Numbers added to x . coef + intercept, as in ``fit``.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        scores = self._scores(X, "predict", offset)
        if self._log_link:
            return _arrays.exponential(scores)
        return scores

    def score(self, X, y, sample_weight=None, offset=None):
        """R^2; for the Poisson and gamma losses D^2, the share of the deviance explained.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
        offset : array-like of the shape of y, default=None
            As for ``predict``.

        Returns
        -------
        score : float
        """
        guess = self.predict(X, offset)
        if not self._log_link:
            return r2_score(y, guess, sample_weight=sample_weight)
        power = 1 if self.loss == "poisson" else 2
        return d2_tweedie_score(y, guess, sample_weight=sample_weight, power=power)


class HeavyBallRegressor(LinearRegressor):
    """Ridge regression by stochastic heavy ball, with nothing to tune.

    Minimises, with weights c_i divided by their mean (1 unless given),

        1/(2n) sum_i c_i (x_i . coef + intercept - y_i)^2 + l2/2 ||coef||^2,

    the intercept unpenalised; ``Ridge(alpha=n * l2)`` has the same minimiser. Columns are centred
    and scaled inside and the result is scaled back: the objective is unchanged. ``method="auto"``
    takes a pass in small reshuffled batches first, where that pays, and ends with the best steps on
    all rows (``plane``): the objective never rises there.

    Parameters
    ----------
    l2 : float, default=1e-4
        The penalty on ||coef||^2/2, per row: it does not grow with n. 0 is none.
    loss : {"squared", "huber", "poisson", "gamma", "quantile"}, default="squared"
        Huber's loss is the squared one for residuals up to ``delta`` and linear beyond: outliers
        pull with bounded force. The Poisson loss, exp(z) - y z for y >= 0, is for counts:
        predictions are exp(x . coef + intercept), ``PoissonRegressor(alpha=l2)`` has the same
        minimiser, and for counts over different exposures y is the rate and ``sample_weight`` the
        exposure. Its curvature has no bound, so ``batch_size`` must be None and the method "auto",
        "plane" or a line search; y is one output. The gamma loss, z + y exp(-z) for y > 0, is for
        amounts whose spread grows with their mean, with the same log link and limits:
        ``GammaRegressor(alpha=l2)``. The quantile loss predicts a quantile of y instead of its
        mean.
    delta : float or None, default=None
        Of Huber's loss, in the units of y. None is 1.345 times a robust scale of the residuals (the
        median of their sizes, times 1.483): ``delta_`` has the number.
    quantile : float, default=0.5
        Of the quantile loss: the share of y below the predictions.
    smoothing : float or None, default=None
        Of the quantile loss, in the units of y: its corner is rounded over about this width. None
        takes a share of the spread of the residuals, which shrinks until the pinball loss is proved
        to be within 0.5 % of the least one, and the share of y below the predictions is right
        within 1/n + 1 %: ``smoothing_`` has the number. The loss is then multiplied by the spread
        of y, so that l2 means the same in every unit of y.
    method : str, default="auto"
        A method of bocce (``bocce methods`` lists them). Others than "auto" and "auto-shb" follow
        their schedule for ``max_iter`` passes and may not reach ``tol``.
    batch_size : int, float or None, default=None
        Rows, or a share of n in (0, 1]; None chooses. With "auto" it is the first batch.
    max_iter : int or None, default=None
        The most passes over the data: 10,000 with "auto" (100 if tol is 0), else 100.
    tol : float or "auto", default=1e-4
        Stop when the norm of the gradient is tol times the first: that of the best constant
        prediction (or at zero, if that is smaller). "auto" stops when it is proved that no
        coefficient is farther from the minimiser than a hundredth of its standard error (up to
        3,000 variables; beyond them it is 1e-4). Where X has few entries (20,000) "auto" goes
        on as far as rounding allows, for it takes milliseconds.
    fit_intercept : bool, default=True
        Whether to fit an unpenalised constant.
    standardize : bool, default=False
        Whether the penalty is in units of each column's standard deviation, as if a
        ``StandardScaler`` stood in front; ``coef_`` stays in the units of X. Without it a column of
        small values is penalised more than others (a warning says so where that matters).
    penalty : array-like of shape (n_features,), default=None
        Factors >= 0 of l2, one a column: 0 leaves a column unpenalised. None is all ones.
    warm_start : bool, default=False
        Start from the last fit's coefficients.
    random_state : int, RandomState or None, default=None
        Draws the batches.
    verbose : int, default=0
        Not 0 prints a line at each look at the objective.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        Of X's precision: float32 for float32.
    intercept_ : float or ndarray of shape (n_outputs,)
    n_iter_ : int
        Passes over the data, rounded, of the output that took most; after ``partial_fit``, calls.
    history_ : dict of arrays
        ``iteration``, ``passes``, ``value`` of the objective, ``gradient_norm`` (in the scaled
        variables) and ``output``, a row for each look.
    optimality_ : float
        The gradient's norm at the end over the first, in coef and intercept themselves: what
        ``tol`` is compared with. The largest over outputs; fitted by ``fit`` only.
    delta_, smoothing_ : float or ndarray of shape (n_outputs,)
        What was used, where ``loss`` is "huber" or "quantile".
    plan_ : str
        What was done and why, in words.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    HeavyBallClassifier : logistic regression.

    Notes
    -----
    Several outputs are one run each, which share the constants of X. With few columns and the
    squared loss a fit is one pass over X, for its Gram matrix, and one step: what
    ``Ridge(solver="cholesky")`` does. ``optimality_`` is then a bound that counts rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from bocce.sklearn import HeavyBallRegressor
    >>> X = np.array([[1.0, 2e6], [2.0, 1e6], [3.0, 4e6], [4.0, 3e6]])
    >>> y = X @ np.array([1.0, 2e-6]) + 3.0
    >>> model = HeavyBallRegressor(l2=0.0).fit(X, y)
    >>> (model.coef_ * [1.0, 1e6]).round(6), round(float(model.intercept_), 6)
    (array([1., 2.]), 3.0)
    """

    def __init__(
        self,
        l2=1e-4,
        *,
        loss="squared",
        delta=None,
        quantile=0.5,
        smoothing=None,
        method="auto",
        batch_size=None,
        max_iter=None,
        tol=1e-4,
        fit_intercept=True,
        standardize=False,
        penalty=None,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self._set_parameters(locals())

    @available_if(_has_stream)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None, offset=None):
        """Learn from a chunk of a stream, with the squared loss.

        ``coef_`` is that of ``fit`` on all rows seen since the first call, to rounding, in any
        order of chunks, wherever the columns move. Weights count as in ``fit``. X has at most 1,024
        columns.

        Parameters
        ----------
        X, y, sample_weight, offset : array-like
            As for ``fit``.

        Returns
        -------
        self

        Raises
        ------
        AttributeError
            If ``loss`` is not "squared", or a method or a batch size is given.
        ValueError
            If X has too many columns, or the chunk does not fit the stream.
        """
        _arrays.refuse_stream(self, X)
        first = getattr(self, "_stream", None) is None
        X, y, weights, offset = self._checked(X, y, sample_weight, offset, reset=first)
        y = less_offset(self._loss(), y, offset)
        if first:
            self._one_output = y.ndim == 1
        _stream.take_in(self, X, y, weights)
        return self
