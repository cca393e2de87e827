"""Logistic regression, of two classes or more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from ..losses import Logistic, Softmax, SquaredHinge
from ..problems._input import refuse_offset
from . import _arrays
from ._base import HeavyBall


def _has_probabilities(estimator: Any) -> bool:
    if estimator.loss == "squared_hinge":
        raise AttributeError(
            f"HeavyBallClassifier: loss={estimator.loss!r} has no probabilities, must be "
            "'log_loss' for them; or calibrate with CalibratedClassifierCV."
        )
    return True


def _classes_of(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``np.unique(y, return_inverse=True)``, without sorting numbers of which there are two: a fit
    to a million labels of -1.0 and 1.0 is 1.4 times as fast."""
    if y.dtype.kind in "biuf" and y.size:
        classes = np.array([y.min(), y.max()])
        upper = y == classes[1]
        if classes[0] < classes[1] and (upper | (y == classes[0])).all():
            return classes, upper.astype(np.intp)
    return np.unique(y, return_inverse=True)


class LinearClassifier(ClassifierMixin, HeavyBall):
    """What classifiers share: labels, weights of classes, the fit, and what a model says."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **HeavyBall._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "loss": [StrOptions({"log_loss", "logistic", "squared_hinge"})],
    }

    def _loss(self) -> Any:
        if self.loss == "squared_hinge":
            return SquaredHinge()
        if self.classes_.size == 2:
            return Logistic()
        return Softmax()

    def _validated(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, finite: bool = True
    ) -> tuple[Any, ...]:
        how = {"reset": reset, "ensure_all_finite": finite, "order": self._order(X)}
        X, y = _arrays.checked(self, X, y, **how)
        check_classification_targets(y)
        return X, y, self._weights(sample_weight, X)

    def _by_class(
        self, places: np.ndarray, weights: np.ndarray | None, classes: np.ndarray, y: np.ndarray
    ) -> np.ndarray | None:
        """The weights of the rows times those of their classes."""
        if self.class_weight is None:
            return weights
        if self.class_weight == "balanced":
            counts = np.bincount(places, weights)  # of weights: a row twice counts twice
            factors = counts.sum() / (classes.size * counts)
        else:
            factors = compute_class_weight(self.class_weight, classes=classes, y=y)
        if factors.min() < 0.0:
            raise ValueError(
                f"{type(self).__name__}: class_weight has {factors.min():g}, must be >= 0; 0 "
                "leaves a class out."
            )
        if weights is None:
            return factors[places]
        return factors[places] * weights

    @property
    def _sides(self) -> list[int]:
        """The classes that are fitted against the rest, by place: of two, the second."""
        if self.classes_.size == 2:
            return [1]
        return list(range(self.classes_.size))

    def _targets(self, places: np.ndarray) -> Iterator[np.ndarray]:
        """What each run is fitted to: the places of the classes, or a class against the rest."""
        if self._loss().multi_output:
            yield places
            return
        for j in self._sides:
            yield np.where(places == j, 1.0, -1.0)

    @property
    def _runs(self) -> list[str]:
        if self._loss().multi_output:
            return [f"{self.classes_.size} classes"]
        return [f"class {self.classes_[j]}" for j in self._sides]

    def _prepared(self, X: Any, y: Any, weights: Any, offset: Any = None) -> tuple[Any, ...]:
        """See HeavyBall; ``classes_`` is set."""
        classes, places, weights = self._sorted(y, weights)
        if weights is not None:
            X, places, weights, offset = self._weighted_rows(X, places, weights, offset)
            present = np.bincount(places, minlength=classes.size) > 0
            if not present.all():  # all rows of a class have weight zero
                classes = classes[present]
                places = (np.cumsum(present) - 1)[places]
        if classes.size < 2:
            raise ValueError(
                f"{type(self).__name__}: y has {classes.size} class ({classes.tolist()!r}) in the "
                "rows of positive weight, must have two or more; check how the data were split."
            )
        self.classes_ = classes
        if offset is not None and classes.size > 2:
            refuse_offset(Softmax())
        offsets = None if offset is None else [offset]
        return X, self._targets(places), weights, offsets

    def _sorted(self, y: Any, weights: Any) -> tuple[Any, ...]:
        """The classes, the place of each row's among them, and its weight."""
        classes, places = _classes_of(y)
        return classes, places, self._by_class(places, weights, classes, y)

    def _encoded(self, y: Any, weights: Any) -> tuple[Any, ...]:
        self.classes_, places, weights = self._sorted(y, weights)
        return self._targets(places), weights

    def _like(self, other: Any, y: Any) -> bool:
        return np.array_equal(np.unique(y), other.classes_)

    def _shaped(self, coef: np.ndarray, intercept: np.ndarray) -> dict[str, Any]:
        return {"coef_": coef, "intercept_": intercept}

    def decision_function(self, X, offset=None):
        """x . coef + intercept: of the second of two classes, or of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        offset : array-like of shape (n_samples,), default=None
            Numbers added to the scores, as in ``fit``.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        return self._decision(X, "decision_function", offset)

    def _decision(self, X: Any, method: str, offset: Any = None) -> Any:
        scores = self._scores(X, method, offset)
        if scores.shape[1] == 1:
            return scores[:, 0]
        return scores

    def predict(self, X, offset=None):
        """The label of the highest score for each row.

        Parameters
        ----------
        X, offset : array-like
            As for ``decision_function``.
        """
        places = _arrays.highest(self._decision(X, "predict", offset))
        return _arrays.labels_at(self.classes_, places)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X, offset=None):
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X, offset : array-like
            As for ``decision_function``.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
        """
        return self._log_proba(X, "predict_log_proba", offset)

    def _log_proba(self, X: Any, method: str, offset: Any) -> Any:
        scores = self._decision(X, method, offset)
        if _arrays.elsewhere(scores):
            return _arrays.log_probabilities(scores)
        if scores.ndim == 1:
            return log_expit(np.column_stack([-scores, scores]))
        return log_softmax(scores, axis=1)

    @available_if(_has_probabilities)
    def predict_proba(self, X, offset=None):
        """Probabilities of the classes.

        Parameters
        ----------
        X, offset : array-like
            As for ``decision_function``.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        return _arrays.exponential(self._log_proba(X, "predict_proba", offset))

    def score(self, X, y, sample_weight=None, offset=None):
        """The share of rows whose label is predicted.

        Parameters
        ----------
        X, y, sample_weight, offset : array-like
            As for ``fit``.

        Returns
        -------
        score : float
        """
        return accuracy_score(y, self.predict(X, offset), sample_weight=sample_weight)


class HeavyBallClassifier(LinearClassifier):
    """Logistic regression by stochastic heavy ball, with nothing to tune.

    Minimises, with s_i = +-1 and weights c_i divided by their mean (1 unless given),

        1/n sum_i c_i log(1 + exp(-s_i (x_i . coef + intercept))) + l2/2 ||coef||^2,

    the intercept unpenalised; ``LogisticRegression(C=1 / (n * l2))`` has the same minimiser.
    Columns are centred and scaled inside and the result is scaled back: the objective is unchanged.

    Three classes or more are fitted at once, by the multinomial (softmax) likelihood: with z_i the
    scores of row i, one a class, and z_iy that of its own,

        1/n sum_i c_i (log sum_k exp(z_ik) - z_iy) + l2/2 ||coef||^2,

    which has the minimiser of ``LogisticRegression(C=1 / (n * l2))`` as well. (For one class
    against the rest see scikit-learn's ``OneVsRestClassifier``.) A fit holds X and about a dozen
    arrays of n_samples x n_classes numbers.

    Parameters
    ----------
    l2 : float, default=1e-4
        The penalty on ||coef||^2/2, per row: it does not grow with n. 0 is none; then separable
        classes have no finite minimiser, and a warning says so.
    loss : {"log_loss", "logistic", "squared_hinge"}, default="log_loss"
        Logistic regression (both names), or a linear support vector machine with
        max(0, 1 - s z)^2 in place of log(1 + exp(-s z)): ``LinearSVC(C=1 / (n * l2))`` without its
        penalty on the intercept. It has no probabilities, and three classes or more are fitted one
        against the rest.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes: each multiplies the weight of the rows of its class.
    method, batch_size, max_iter, tol, random_state, verbose : various
        As for :class:`HeavyBallRegressor`.
    fit_intercept, standardize, penalty, warm_start : various
        As for :class:`HeavyBallRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Of X's precision: float32 for float32.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    n_iter_, history_, optimality_, plan_, n_features_in_, feature_names_in_
        As for :class:`HeavyBallRegressor`. A run is for all classes, or for one against the rest.

    See Also
    --------
    HeavyBallRegressor : ridge regression.

    Examples
    --------
    >>> from bocce.sklearn import HeavyBallClassifier
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> y = ["low", "low", "high", "low", "high", "high"]
    >>> model = HeavyBallClassifier(l2=0.01).fit(X, y)
    >>> model.predict([[0.5], [4.5]]).tolist(), bool(model.optimality_ <= 1e-4)
    (['low', 'high'], True)
    """

    def __init__(
        self,
        l2=1e-4,
        *,
        loss="log_loss",
        method="auto",
        batch_size=None,
        max_iter=None,
        tol=1e-4,
        fit_intercept=True,
        standardize=False,
        penalty=None,
        class_weight=None,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self._set_parameters(locals())
