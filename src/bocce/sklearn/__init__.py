"""scikit-learn estimators: penalised linear models with nothing to tune."""

from .._extras import extra

with extra("sklearn"):
    from ._classifier import HeavyBallClassifier
    from ._cv import HeavyBallClassifierCV, HeavyBallRegressorCV
    from ._regressor import HeavyBallRegressor

__all__ = [
    "HeavyBallClassifier",
    "HeavyBallClassifierCV",
    "HeavyBallRegressor",
    "HeavyBallRegressorCV",
]
