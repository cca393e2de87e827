"""
A linear probe: every class and every penalty
=============================================

A linear probe is softmax regression on features that an encoder has made. The penalty decides how
well it does and nobody knows it before, so all of them are fitted: as one path, without a learning
rate.
"""

# %%
# Features
# --------
# The digits through ``cos(X W + b)`` with random W and b: 256 features for each image, ten classes.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import bocce
from bocce.sklearn import HeavyBallClassifierCV

images, labels = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
W = rng.standard_normal((64, 256)) / 8.0
features = np.cos(scale(images) @ W + rng.uniform(0.0, 2.0 * np.pi, 256))
X, X_test, y, y_test = train_test_split(features, labels, test_size=0.25, random_state=0)

# %%
# The path
# --------
# Penalties go from the strongest to the weakest. Each run starts at an extrapolation of the last
# solutions and takes a few steps. A pass is a gradient, or a product with the Hessian.

l2s = np.geomspace(1e-1, 1e-6, 12)
p = bocce.Problem(X, y, "softmax", intercept=True)
path = bocce.path(p, l2s, tol=1e-8)
for l2, run in zip(l2s[::3], path[::3]):
    passes = run.history["gradient_evaluations"][-1] / p.n
    f = run.history["value"][-1]
    print(f"l2 = {l2:.0e}: {run.n_iter} steps, {passes:.0f} passes, f = {f:.4f}")

# %%
# Each point of the path is the minimiser for its penalty: ``LogisticRegression`` with
# C = 1/(n l2) finds the same.

peer = LogisticRegression(C=1 / (p.n * l2s[6]), tol=1e-8, max_iter=10_000).fit(X, y)
apart = np.abs(path[6].w.T - peer.coef_).max() / np.abs(peer.coef_).max()
print(f"coefficients differ from LogisticRegression's by {apart:.0e} of the largest")

# %%
# The penalty by cross-validation
# -------------------------------
# At each penalty all rows are fitted first, and then each fold along its own path.

probe = HeavyBallClassifierCV(l2s, cv=3, scoring="neg_log_loss").fit(X, y)
print(f"best l2 {probe.l2_:.1e}, test accuracy {probe.score(X_test, y_test):.3f}")

# %%
# The pictures
# ------------
# The scores of the folds, with the log loss of the path on the test rows, which the probe has not
# seen; and some coefficients along the path.

held_out = []
for run in path:
    scores = X_test @ run.w + run.intercept
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    held_out.append(-log_loss(y_test, shares / shares.sum(axis=1, keepdims=True)))

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.0), layout="constrained")
probe.plot_path(ax=left)
left.plot(l2s, held_out, color="black", ls=":", label="test rows")
left.set(ylabel="minus log loss", title="three folds, and the test rows")
left.legend(fontsize="small", frameon=False)
few = np.array([run.w[:6, :2].ravel() for run in path]).T
right.semilogx(l2s, few.T, linewidth=1.0)
right.set(xlabel="l2", ylabel="coefficient", title="six features, two classes")
plt.show()

# %%
# Conclusion
# ----------
# The whole path costs little more than its weakest penalty alone, because every run starts close to
# its solution. Each fold adds a few passes. Here a penalty that is too strong does more harm than
# one that is too weak, and the folds find the best one.
