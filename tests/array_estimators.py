"""An estimator for each loss, and what it may be asked: for tests on arrays of other libraries."""

from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor

ESTIMATORS = {
    "squared": HeavyBallRegressor(l2=1e-2),
    "huber": HeavyBallRegressor(l2=1e-2, loss="huber"),
    "poisson": HeavyBallRegressor(l2=1e-2, loss="poisson"),
    "logistic": HeavyBallClassifier(l2=1e-2),
    "squared_hinge": HeavyBallClassifier(l2=1e-2, loss="squared_hinge"),
    "softmax": HeavyBallClassifier(l2=1e-2),
}
SAID = ("predict", "decision_function", "predict_log_proba", "predict_proba")
