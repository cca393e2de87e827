"""The penalty by cross-validation: a path of penalties in each fold, then a fit on all rows."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context, is_classifier
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .. import _pictures
from .._pictures import Axes
from .._threads import one_thread
from ..losses import Loss
from ..rows import Array
from ..run.path import check_penalties
from . import _ridge
from ._arrays import elsewhere
from ._base import HeavyBall
from ._classifier import HeavyBallClassifier, LinearClassifier
from ._folds import Fold, Track, curvature_is_shared
from ._regressor import HeavyBallRegressor, LinearRegressor

# of a grid that is given by its length
STRONGEST = 10.0
WEAKEST = 1e-7


def _constraints(base: type[HeavyBall]) -> dict[str, list[Any]]:
    own = {**base._parameter_constraints}
    for name in ("l2", "method", "batch_size", "warm_start"):
        del own[name]
    return {
        **own,
        "l2s": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "n_jobs": [Integral, None],
    }


class CrossValidated:
    """Mixin: chooses ``l2_`` by cross-validation and then fits as the estimator next in line."""

    # of the fit on all rows
    method = "auto"
    batch_size = None
    warm_start = False

    _plain: ClassVar[type[HeavyBall]]  # the estimator with one penalty
    _fold_losses: list[Loss] | None = None  # those of all folds, where they suit residuals

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False  # the penalties and their scores are NumPy's, whatever X is
        return tags

    @property
    def _l2(self) -> float:
        return float(self.l2_)

    def _grid(self) -> Array:
        if isinstance(self.l2s, Integral):
            return np.geomspace(STRONGEST, WEAKEST, int(self.l2s))
        return check_penalties(type(self).__name__, np.ravel(self.l2s).tolist())

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Choose the penalty and fit with it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Or of a regression with several outputs, (n_samples, n_outputs).
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in the fits and in the scores.

        Returns
        -------
        self
        """
        self._choose(X, y, sample_weight)
        return super().fit(X, y, sample_weight)

    def _begins_warm(self) -> bool:
        return True

    @one_thread()
    def _choose(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Set l2s_, scores_ and l2_; and coef_ and intercept_, from which the fit begins."""
        self.l2s_ = self._grid()
        self._score_all(self._validated(X, y, sample_weight, reset=True))

    def _folds(self, data: tuple[Any, Array, Array | None]) -> list[tuple[Array, Array]]:
        return list(check_cv(self.cv, data[1], classifier=is_classifier(self)).split(*data[:2]))

    def _score_all(self, data: tuple[Any, Array, Array | None]) -> None:
        """By a path of penalties on each fold, and where they share its curvature, on all rows."""
        folds = self._folds(data)
        scorer = check_scoring(self._model(), scoring=self.scoring)
        weakest = float(self.l2s_.min())
        leader = None
        if curvature_is_shared(data[0]) or not self._complete(data, folds):
            leader = Track(self._model(), *data, weakest, min(len(test) for _, test in folds))
        others = [Fold(self._model(), data, fold, weakest, leader) for fold in folds]
        self.scores_ = np.full((len(folds), self.l2s_.size), np.nan)
        # threads: rows are shared, and products of matrices run side by side
        work = Parallel(n_jobs=self.n_jobs, prefer="threads")
        done: list[int] = []
        for place in np.argsort(-self.l2s_, kind="stable").tolist():
            l2 = float(self.l2s_[place])
            fitted = [leader.fit(l2)] if leader else []
            self.scores_[:, place] = work(delayed(other.score)(l2, scorer) for other in others)
            done.append(place)
            self._tell(l2, self.scores_[:, place], len(done))
            means = self.scores_[:, done].mean(axis=0)
            if not (means[-1] <= means[:-1]).any():  # the best so far: where the last fit begins
                fitted = fitted or [vars(other.track.model) for other in others]
                for name in ("coef_", "intercept_"):
                    setattr(self, name, sum(one[name] for one in fitted) / len(fitted))
            if self._past_best(done):
                break
        self._best()

    def _complete(self, data: tuple[Any, Array, Array | None], folds: Any) -> bool:
        """Has each fold all classes, for certain?"""
        _, y, weights = data
        count = np.unique(y).size
        return not is_classifier(self) or (
            weights is None and all(np.unique(y[train]).size == count for train, _ in folds)
        )

    def _past_best(self, done: list[int]) -> bool:
        """Have the mean scores been below the best for two penalties? Asked of a grid that is given
        by its length: its weakest penalties take most of the time."""
        means = self.scores_[:, done].mean(axis=0)
        return isinstance(self.l2s, Integral) and len(done) > 2 and means[-2:].max() < means.max()

    def _best(self) -> int:
        """Set l2_ to the penalty of the best mean score, of equals the strongest; its place."""
        means = self.scores_.mean(axis=0)
        tried = ~np.isnan(self.scores_).all(axis=0)
        if not tried.any() or np.isnan(means[tried]).any():
            l2 = self.l2s_[np.isnan(means)][0]
            raise ValueError(
                f"{type(self).__name__}: a score of l2={l2:g} is NaN, must be a number to choose "
                "by; give another scoring, or fewer folds, so that each has all classes."
            )
        best = int(np.argmax(np.where(means == means[tried].max(), self.l2s_, -np.inf)))
        self.l2_ = float(self.l2s_[best])
        return best

    def _tell(self, l2: float, scores: Array, done: int) -> None:
        if self.verbose:
            print(
                f"[{type(self).__name__}] penalty {done} of {self.l2s_.size}, l2 = {l2:.3g}: "
                f"mean score {scores.mean():.6g}"
            )

    def _model(self) -> HeavyBall:
        """The estimator with one penalty, and the parameters that both have; it prints nothing."""
        shared = {*self._get_param_names()} & {*self._plain._get_param_names()} - {"verbose"}
        model = self._plain(**{name: getattr(self, name) for name in shared})
        model._settled = self._fold_losses
        return model

    def plot_path(self, *, ax: Any = None) -> Axes:
        """Draw the mean score of each penalty, with a band of one standard deviation of the folds.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        matplotlib Axes
            The axes that were drawn on.
        """
        check_is_fitted(self, "scores_")
        return _pictures.penalties(self.l2s_, self.scores_, self.l2_, ax)


class HeavyBallClassifierCV(CrossValidated, LinearClassifier):
    """:class:`HeavyBallClassifier` with its penalty chosen by cross-validation.

    Penalties go from the strongest to the weakest. All rows are fitted first, as a path
    (``bocce.path``); then the folds, each on a path of its own, with the curvature found there.
    (More than 1,024 rows of more than 2,048 columns have no such curvature: there the folds alone
    are fitted.) As they only serve scores, these fits end when what f may still fall by moves a
    mean loss by a few percent of its standard error; a ``tol`` below 1e-4 makes them finer. The
    last fit, with the best penalty, goes on from there until ``tol``. As l2 is per row, it means
    the same in a fold and on all rows.

    Parameters
    ----------
    l2s : int or array-like, default=10
        Penalties; an int is so many from 10 to 1e-7, evenly by ratio, from the strongest on. Such a
        grid is left once the mean score has been below the best for two penalties.
    cv : int, splitter, iterable or None, default=None
        As in scikit-learn; None is 5 stratified folds.
    scoring : str, callable or None, default=None
        As in scikit-learn; None is accuracy. "neg_log_loss" judges probabilities.
    loss : {"log_loss", "logistic", "squared_hinge"}, default="log_loss"
        As for :class:`HeavyBallClassifier`.
    max_iter : int or None, default=None
        The most passes over the data of the last fit.
    tol : float or "auto", default=1e-4
        As for :class:`HeavyBallClassifier`.
    fit_intercept : bool, default=True
        Whether to fit an unpenalised constant.
    standardize, penalty : bool and array-like, default=False and None
        As for :class:`HeavyBallRegressor`; standard deviations are those of the fitted rows.
    class_weight : dict, "balanced" or None, default=None
        As for :class:`HeavyBallClassifier`.
    random_state : int, RandomState or None, default=None
        Draws the batches.
    n_jobs : int or None, default=None
        Folds that are run at once, in threads.
    verbose : int, default=0
        Not 0 prints a line for each penalty, and at each look of the last fit.

    Attributes
    ----------
    l2_ : float
        The penalty of the best mean score; of equals the strongest.
    l2s_ : ndarray of shape (n_l2s,)
    scores_ : ndarray of shape (n_folds, n_l2s)
        NaN for penalties that were not tried.
    classes_, coef_, intercept_, n_iter_, history_, optimality_, plan_, n_features_in_
        As for :class:`HeavyBallClassifier`, of the fit on all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bocce.sklearn import HeavyBallClassifierCV
    >>> model = HeavyBallClassifierCV(scoring="neg_log_loss").fit(*load_iris(return_X_y=True))
    >>> model.scores_.shape, bool(model.l2_ < 0.1)
    ((5, 10), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _constraints(LinearClassifier)
    _plain = HeavyBallClassifier

    def __init__(
        self,
        l2s=10,
        *,
        cv=None,
        scoring=None,
        loss="log_loss",
        max_iter=None,
        tol=1e-4,
        fit_intercept=True,
        standardize=False,
        penalty=None,
        class_weight=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self._set_parameters(locals())


class HeavyBallRegressorCV(CrossValidated, LinearRegressor):
    """:class:`HeavyBallRegressor` with its penalty chosen by cross-validation.

    With the squared loss one eigendecomposition (of each fold, or of all rows for leave-one-out)
    gives the exact fits of all penalties, where X has at most 3,000 rows or columns. Otherwise each
    fold is fitted along a path of penalties, from the strongest to the weakest, as accurately as
    its scores need. The penalty with the best mean score is then fitted on all rows until ``tol``.
    As l2 is per row, it means the same in a fold and on all rows.

    Parameters
    ----------
    cv : int, splitter, iterable or None, default=None
        As in scikit-learn. None with the squared loss is leave-one-out, computed in closed form as
        ``RidgeCV`` does (the penalty ``n * l2`` of all rows is kept), where X has at most 3,000
        rows or columns; else None is 5 folds.
    scoring : str, callable or None, default=None
        As in scikit-learn; None is R^2. Of leave-one-out the predictions of all rows are scored
        together.
    loss : {"squared", "huber", "poisson", "gamma", "quantile"}, default="squared"
        As for :class:`HeavyBallRegressor`.
    delta, quantile, smoothing : float or None, default=None, 0.5 and None
        As for :class:`HeavyBallRegressor`. Where None, the folds and penalties have what a fit of
        all rows with the weakest penalty finds.
    l2s, max_iter, tol, random_state, n_jobs, verbose : various
        As for :class:`HeavyBallClassifierCV`.
    fit_intercept, standardize, penalty : various
        As for :class:`HeavyBallClassifierCV`.

    Attributes
    ----------
    l2_, l2s_, scores_
        As for :class:`HeavyBallClassifierCV`; for leave-one-out ``scores_`` has one row.
    coef_, intercept_, n_iter_, history_, optimality_, plan_, n_features_in_, feature_names_in_
        As for :class:`HeavyBallRegressor`, of the fit on all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from bocce.sklearn import HeavyBallRegressorCV
    >>> model = HeavyBallRegressorCV(l2s=[1.0, 1e-3, 1e-6]).fit(*load_diabetes(return_X_y=True))
    >>> model.scores_.shape, model.l2_ in (1e-3, 1e-6)
    ((1, 3), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _constraints(LinearRegressor)
    _plain = HeavyBallRegressor

    def __init__(
        self,
        l2s=10,
        *,
        cv=None,
        scoring=None,
        loss="squared",
        delta=None,
        quantile=0.5,
        smoothing=None,
        max_iter=None,
        tol=1e-4,
        fit_intercept=True,
        standardize=False,
        penalty=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self._set_parameters(locals())

    def _score_all(self, data: tuple[Any, Array, Array | None]) -> None:
        """In closed form where that can be had."""
        self._fold_losses = None
        if not self._loss().is_complete:
            model = self._model().set_params(l2=float(self.l2s_.min())).fit(*data)
            self._fold_losses = model._found_losses
        direct = self.loss == "squared" and not callable(self.scoring) and not elsewhere(data[0])
        direct &= self.penalty is None and not self.standardize  # one penalty for all columns
        if not (direct and _ridge.affordable(data[0])):
            super()._score_all(data)
            return
        # a splitter counts the rows of weight zero; they are not left out one by one
        X, y, weights = self._weighted_rows(*data)[:3] if self.cv is None else data
        if len(y) < 2:
            raise ValueError(
                f"{type(self).__name__}: X has n_samples=1, must have 2 or more, because each is "
                "predicted from the others; give more rows."
            )
        self._one_output = y.ndim == 1
        rows = _ridge.CentredRows(X, y.reshape(len(y), -1), weights, self.fit_intercept)
        if self.cv is None:
            folds = [(np.arange(len(y)), np.arange(len(y)))]
            predictions = [rows.left_out(self.l2s_)]
        else:
            folds = self._folds((X, y, weights))
            predictions = [
                [X[test] @ coef.T + intercept for coef, intercept in map(fit.at, self.l2s_)]
                for fit, (_, test) in zip(rows.folds(folds), folds)
            ]
        kept = [None if weights is None else weights[test] for _, test in folds]
        self.scores_ = np.array(
            [
                self._scored(y[test], guesses, c)
                for (_, test), guesses, c in zip(folds, predictions, kept)
            ]
        )
        for done, place in enumerate(np.argsort(-self.l2s_, kind="stable").tolist(), 1):
            self._tell(float(self.l2s_[place]), self.scores_[:, place], done)
        for name, value in self._shaped(*rows.whole[0].at(self.l2s_[self._best()])).items():
            setattr(self, name, value)

    def _scored(self, y: Array, guesses: list[Array], weights: Array | None) -> Array:
        """A score for each penalty's predictions (n, n_outputs)."""
        if self.scoring in (None, "r2"):
            return _ridge.r2_scores(y.reshape(len(y), -1), guesses, weights)
        scorer = check_scoring(_Echo(), scoring=self.scoring)
        if weights is None:
            more = {}
        else:
            more = {"sample_weight": weights}
        return np.array([scorer(_Echo(), p.reshape(y.shape), y, **more) for p in guesses])


class _Echo(RegressorMixin, BaseEstimator):
    """A regressor whose rows are its predictions, for scorers that ask a model."""

    def fit(self, X: Array, y: Array) -> _Echo:
        return self

    def predict(self, X: Array) -> Array:
        return X
