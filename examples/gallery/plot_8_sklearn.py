"""
scikit-learn in use
===================

``HeavyBallRegressor`` and ``HeavyBallClassifier`` are scikit-learn estimators with nothing to tune
but the penalty. They go into pipelines and searches like any other, and they reach the minimum of
what they say they minimise.
"""

# %%
# Regression on columns of very different size
# --------------------------------------------
# Columns are centred and scaled internally, and the coefficients are scaled back, so the objective
# does not change. ``SGDRegressor`` does not scale; it is shown with and without a scaler.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDRegressor
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bocce
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor

# colours that the colour-blind can tell apart
BLACK = "#000000"
BLUE = "#0072B2"
ORANGE = "#E69F00"
RED = "#D55E00"

X, y, _ = bocce.data.regression(n=5000, d=15, kappa=30.0, noise_var=1.0)
X = X * np.geomspace(0.1, 10.0, 15) + 3.0
ours = HeavyBallRegressor(l2=0.0, tol=1e-8, random_state=0).fit(X, y)
print(ours.plan_)

# %%
# The lowest value is that of ``LinearRegression``. Each point of ``SGDRegressor`` is a separate fit
# with the given number of passes.


def half_mean_square(model):
    return 0.5 * np.mean((model.predict(X) - y) ** 2)


def sgd(passes):
    return SGDRegressor(penalty=None, max_iter=passes, tol=None, random_state=0)


lowest = half_mean_square(LinearRegression().fit(X, y))
passes = [1, 2, 5, 10, 20, 50, 100]
alone = [half_mean_square(sgd(k).fit(X, y)) - lowest for k in passes]
scaled = [
    half_mean_square(make_pipeline(StandardScaler(), sgd(k)).fit(X, y)) - lowest for k in passes
]

# %%
# Classification, with a search over the penalty
# ----------------------------------------------
# ``l2`` is per row, so it keeps its meaning when a search fits on part of the rows.
# ``LogisticRegression(C=1/(n l2))`` has the same minimiser.

digits = load_digits()
train_rows, test_rows, train_labels, test_labels = train_test_split(
    digits.data, digits.target >= 5, random_state=0
)
grid = {"l2": np.geomspace(1e-3, 10.0, 9)}
search = GridSearchCV(HeavyBallClassifier(random_state=0), grid, cv=5)
search.fit(train_rows, train_labels)
l2 = float(search.best_params_["l2"])
print(f"best l2 {l2:.2g}, test accuracy {search.score(test_rows, test_labels):.3f}")

peer = LogisticRegression(C=1 / (len(train_labels) * l2), max_iter=20_000, tol=1e-10)
peer.fit(train_rows, train_labels)
close = HeavyBallClassifier(l2, tol=1e-8, random_state=0).fit(train_rows, train_labels)
apart = np.abs(close.coef_ - peer.coef_).max() / np.abs(peer.coef_).max()
print(f"coefficients differ from LogisticRegression's by {apart:.0e} of the largest")

# %%
# The pictures
# ------------

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.0), layout="constrained")
history = ours.history_
above = np.maximum(history["value"][1:] - lowest, 1e-16)
star = {"color": RED, "marker": "*", "ms": 7, "lw": 1.3}
left.loglog(history["passes"][1:], above, label="HeavyBallRegressor", **star)
left.loglog(passes, scaled, color=BLUE, marker="s", ms=4, label="scaler, SGDRegressor")
left.loglog(passes, alone, color=BLACK, marker="o", ms=4, label="SGDRegressor")
left.set(xlabel="passes over the data", ylabel="objective above its minimum", title="regression")
left.legend(fontsize="small", frameon=False)
scores = search.cv_results_
mean, deviation = scores["mean_test_score"], scores["std_test_score"]
right.errorbar(grid["l2"], mean, deviation, capsize=3, **star)
right.axvline(l2, color=ORANGE, lw=1.0, ls=(0, (4, 2)))
right.set(
    xscale="log", xlabel="l2", ylabel="accuracy, 5 folds", title="HeavyBallClassifier, digits"
)
for ax in (left, right):
    ax.grid(alpha=0.3, lw=0.5)
plt.show()

# %%
# Conclusion
# ----------
# Without a scaler ``SGDRegressor`` with its defaults is wrong by twenty powers of ten on these
# columns; with a scaler it stops at the noise of its steps. ``HeavyBallRegressor`` scales columns
# and reaches the minimum, because its last steps use all rows. ``HeavyBallClassifier`` agrees with
# ``LogisticRegression``. With 15 columns a direct solver is as fast. Use these estimators for many
# rows, or for more columns than a direct solver can handle.
