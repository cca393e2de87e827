"""
The exact curve, 3 runs and 3,000 runs
======================================

Papers usually show the mean of a few runs. For least squares the expectation over the batches can
be computed. How close is a mean of 3 runs, or of 3,000?
"""

# %%
# One problem, one schedule
# -------------------------

import matplotlib.pyplot as plt
import numpy as np

import bocce

# colours that the colour-blind can tell apart
BLACK = "#000000"
BLUE = "#0072B2"
ORANGE = "#E69F00"

X, y, _ = bocce.data.regression(n=500, d=5, kappa=50.0, noise_var=1.0)
problem = bocce.LeastSquares(X, y)
c = problem.constants()
T, b = 300, 60
table = bocce.schedules.two_phase(T, c.L, c.mu)
exact = bocce.exact.expected(problem, table, batch_size=b)

# %%
# A batch is a function of (seed, k), so 3,000 runs are 3,000 seeds.

RUNS, EVERY = 3000, 5


def squared_norms(seed):
    run = bocce.minimize(problem, table, batch_size=b, seed=seed, record_every=EVERY)
    return run.history["grad_norm"] ** 2


grad2 = np.array([squared_norms(seed) for seed in range(RUNS)])
steps = np.arange(0, T + 1, EVERY)

# %%
# The mean of the squared gradient norm, with the range of the three runs, and for 3,000 runs the
# distance of their mean from the exact curve in standard errors.

few, many = grad2[:3], grad2
deviation = many.std(axis=0, ddof=1)[1:] / np.sqrt(RUNS)
standard_errors = (many.mean(axis=0) - exact.grad2[steps])[1:] / deviation

figure, (top, below) = plt.subplots(
    2, 1, figsize=(8, 6), sharex=True, layout="constrained", height_ratios=(3, 1)
)
top.fill_between(steps, few.min(axis=0), few.max(axis=0), color=ORANGE, alpha=0.25, lw=0)
top.semilogy(steps, few.mean(axis=0), color=ORANGE, marker="s", ms=3, lw=1.0, label="mean of 3")
top.semilogy(steps, many.mean(axis=0), color=BLUE, ls="", marker="o", ms=4, label="mean of 3,000")
top.semilogy(exact.grad2, color=BLACK, lw=1.3, label="exact")
top.set_ylabel("squared gradient norm")
top.legend(frameon=False)
below.axhspan(-2, 2, color=BLUE, alpha=0.12, lw=0)
below.plot(steps[1:], standard_errors, color=BLUE, marker="o", ms=3, lw=0.8)
below.set(xlabel="step", ylabel="3,000 - exact,\nin standard errors", ylim=(-4, 4))
for ax in (top, below):
    ax.grid(alpha=0.3, lw=0.5)
plt.show()

ratio = few.mean(axis=0) / exact.grad2[steps]
print(f"3 runs over exact: from {ratio.min():.2f} to {ratio.max():.2f}")
ratio = many.mean(axis=0) / exact.grad2[steps]
print(f"3,000 runs over exact: from {ratio.min():.3f} to {ratio.max():.3f}")
print(f"within two standard errors: {np.mean(abs(standard_errors) <= 2):.0%} of the steps")

# %%
# Conclusion
# ----------
# A mean of three runs is wrong by up to a factor of six. It stays below the expectation for a
# hundred steps, because neighbouring steps share the noise of their batches. 3,000 runs agree with
# the exact curve to a few per cent, within their standard error, and cost far more time. So this
# gallery shows exact curves, and the tests use runs to check them.
