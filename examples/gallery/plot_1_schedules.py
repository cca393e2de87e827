"""
Every schedule, drawn
=====================

A method is a table of three numbers a step, put into one update::

    y_k     = w_k + theta_k (w_k - w_{k-1})                      where the gradient is taken
    w_{k+1} = w_k + beta_k (w_k - w_{k-1}) - alpha_k g_k(y_k)    w_{-1} = w_0

This page draws the tables of every method in ``bocce.schedules.REGISTRY``.
"""

# %%
# What the tables are made from
# -----------------------------
# The constants of a problem: the largest and smallest curvature ``L`` and ``mu``, the largest
# curvature of one row ``L_max``, the statistical condition number ``kappa~``, and the batch, here
# 500 of 1,000 rows. Each method takes those that its formula needs.

import matplotlib.pyplot as plt
from matplotlib.ticker import NullLocator

import bocce

# colours that the colour-blind can tell apart
BLUE = "#0072B2"
GREEN = "#009E73"
RED = "#D55E00"

T = 3000
constants = {"L": 1.0, "mu": 1 / 20, "L_max": 5.0, "kappa_tilde": 8.0, "n": 1000, "b": 500}
tables = {name: m.build(T, constants) for name, m in bocce.schedules.REGISTRY.items()}

# %%
# The tables
# ----------
# Steps ``alpha`` on the left axis (blue, logarithmic, in units of 1/L, cut at 1e-5); momentum
# ``beta`` (red) and lookahead ``theta`` (green, dashed) on the right axis. The ``theta`` of
# ``asgd`` is beyond the picture.

figure, axes = plt.subplots(5, 4, figsize=(11, 11), sharex=True, sharey=True, layout="constrained")
for place, (ax, (name, table)) in enumerate(zip(axes.flat, tables.items())):
    right = ax.twinx()
    (alpha,) = ax.semilogy(table.alpha * constants["L"], color=BLUE, lw=1.6)
    (beta,) = right.plot(table.beta, color=RED, lw=1.3)
    (theta,) = right.plot(table.theta, color=GREEN, lw=1.6, ls=(0, (4, 3)))
    right.set(ylim=(-0.03, 1.03), yticks=(0.0, 0.5, 1.0))
    right.tick_params(labelright=place % 4 == 3)
    ax.set_title(name, fontsize="medium")
    ax.grid(alpha=0.3, lw=0.5)
for ax in axes.flat[len(tables) :]:
    ax.set_axis_off()
    ax.legend(
        [alpha, beta, theta],
        ["alpha L (left axis)", "beta (right axis)", "theta (right axis)"],
        loc="center",
        frameon=False,
    )
axes[0, 0].set(ylim=(1e-5, 4.0), yticks=(1e-4, 1e-2, 1.0))
axes[0, 0].yaxis.set_minor_locator(NullLocator())
figure.supxlabel("step k", fontsize="medium")
plt.show()

# %%
# Where ``beta`` drops to 0 for one step the method restarts: a new stage begins from rest
# (``multi-shb``, ``multi-shb-cnst``, the second phase of ``2p-shb``). The two line searches,
# ``sgd-sls-exp`` and ``shb-sls-exp``, are not here: they decide each step when they see the batch,
# so they have no table before the run.

# %%
# Conclusion
# ----------
# All methods are the same loop over different tables. Heavy ball has ``theta = 0``, Nesterov's
# method ``theta = beta``, SGD neither. What is left to choose is how long the steps stay long, and
# whether the batch is large enough for the momentum: the next pages.
