"""
Acceleration appears as the batch grows
=======================================

With the full batch, momentum needs about sqrt(kappa) steps where plain gradient descent needs
kappa. With a small batch it may gain nothing, or diverge. Where is the change?
"""

# %%
# The exact rate at a batch size
# ------------------------------
# For constant parameters the second moments of the iterates are multiplied by one linear operator a
# step. Its spectral radius is the mean-square rate, and ``-1/log(rate)`` is how many steps divide
# the error by e. No run is needed. The targets have no noise here, so the only noise comes from
# drawing batches.

import matplotlib.pyplot as plt
import numpy as np

import bocce

X, y, _ = bocce.data.regression(n=2000, d=8, kappa=1000.0)
problem = bocce.LeastSquares(X, y)
c = problem.constants()
batches = np.unique(np.geomspace(1, problem.n, 28).round().astype(int))


def first_row(name, b):
    values = {"L": c.L, "mu": c.mu, "L_max": c.L_max, "n": problem.n, "b": int(b)}
    table = bocce.schedules.REGISTRY[name].build(2, values)
    return float(table.alpha[1]), float(table.beta[1])


def steps_per_e(name, b):
    rate = bocce.exact.mean_square_rate(problem, *first_row(name, b), batch_size=int(b))
    return -1.0 / np.log(rate) if rate < 1.0 else np.inf


times = {
    name: np.array([steps_per_e(name, b) for b in batches])
    for name in ("sgd", "sgd-safe", "shb", "auto-shb")
}

# %%
# ``sgd`` takes the step 1/L whatever the batch, ``shb`` the paper's momentum on top of it;
# ``sgd-safe`` and ``auto-shb`` shorten step and momentum as the noise of the batch demands.
#
# The same as curves
# ------------------
# The expected error of ``shb`` below, just above, and far above its critical batch size.

T = 600
table = bocce.schedules.shb(T, c.L, c.mu)
critical = bocce.exact.critical_batch_size(problem, *first_row("shb", problem.n))
sizes = (round(0.8 * critical), round(1.5 * critical), problem.n // 4, problem.n)
curves = {b: bocce.exact.expected(problem, table, batch_size=b).error2 for b in sizes}

# %%
# On the left, a method is unstable where its line is missing.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.0), layout="constrained")
for marker, (name, steps) in zip("osvD", times.items()):
    left.loglog(batches, steps, marker=marker, ms=4, lw=1.3, label=name)
for level, words in ((c.kappa, "kappa"), (np.sqrt(c.kappa), "sqrt(kappa)")):
    left.axhline(level, color="grey", lw=0.8, ls=(0, (5, 3)))
    left.text(1.1, level * 1.12, words, fontsize="small", color="grey")
left.axvline(critical, color="C2", lw=0.8, ls=(0, (1, 2)))
left.set(xlabel="batch size (n = 2000)", ylabel="steps to divide the error by e")
for marker, (b, error2) in zip("os^D", curves.items()):
    look = {"marker": marker, "markevery": 75, "ms": 4, "lw": 1.3}
    right.semilogy(error2 / error2[0], label=f"shb, b = {b}", **look)
right.set(xlabel="step", ylabel="expected squared error, of the first", ylim=(1e-12, 1e4))
for ax in (left, right):
    ax.grid(alpha=0.3, lw=0.5)
    ax.legend(fontsize="small", frameon=False)
plt.show()

print(f"shb is stable in mean square from b = {critical:.1f} of n = {problem.n} rows")
print("   b   auto-shb over sgd-safe, in steps")
for b in (1, 10, 100, 500, 2000):
    at = np.argmin(abs(batches - b))
    print(f"{batches[at]:4d}   {times['auto-shb'][at] / times['sgd-safe'][at]:.2f}")

# %%
# Conclusion
# ----------
# With a batch of a few rows momentum gains nothing. With larger batches the number of steps falls
# in proportion to the batch, down to about sqrt(kappa) at a quarter of the rows. A larger batch
# saves no more steps. The paper's fixed momentum (``shb``) is as good from twice its critical batch
# size on, and diverges below the critical size; ``auto-shb`` is stable everywhere.
