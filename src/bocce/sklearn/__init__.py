"""scikit-learn estimators: ridge and logistic regression with nothing to tune."""

from .._extras import extra

with extra("sklearn"):
    from ._classifier import HeavyBallClassifier
    from ._display import HistoryDisplay
    from ._regressor import HeavyBallRegressor

__all__ = ["HeavyBallClassifier", "HeavyBallRegressor", "HistoryDisplay"]
