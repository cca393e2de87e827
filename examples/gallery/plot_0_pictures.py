"""
Pictures in one line
====================

A plan, a result, a schedule and an expected curve draw themselves: ``plot()`` returns matplotlib's
axes, and in a notebook the objects show a small table with a line in it. This page draws each.
"""

# %%
# A problem and its plan
# ----------------------
# ``bocce.plan`` says what a run will do and what batch sizes would cost. A notebook shows it so:

import matplotlib.pyplot as plt

import bocce

X, y, _ = bocce.data.regression(n=5000, d=10, kappa=300.0, noise_var=0.01)
problem = bocce.LeastSquares(X, y)
plan = bocce.plan(problem)
plan

# %%
# A run
# -----
# Heavy ball with the paper's two phases: the first accelerates, the second averages the noise out.

c = problem.constants()
T, b = 2000, 500
schedule = bocce.schedules.two_phase(T, c.L, c.mu)
result = bocce.minimize(problem, schedule, batch_size=b)
result

# %%
# What to expect
# --------------
# The same schedule on average over all batches, and two others: no run is needed for that.

tables = {
    "2p-shb": schedule,
    "shb": bocce.schedules.shb(T, c.L, c.mu),
    "auto": bocce.schedules.auto(T, c.L, c.mu, *c.sharpest[:1], problem.n, b, c.sharpest[1]),
}
first, *others = (bocce.exact.expected(problem, table, b) for table in tables.values())

# %%
# The pictures
# ------------
# Each object draws into the axes that it is given; without, it makes a figure of its own.

figure, axes = plt.subplots(2, 3, figsize=(12.5, 7.2), layout="constrained")
plan.plot(axes[0, :2])
result.plot(axes[0, 2])
first.plot(*others, labels=list(tables), ax=axes[1, 0])
schedule.plot(axes[1, 1])
tables["auto"].plot(axes[1, 2])
plt.show()

# %%
# Conclusion
# ----------
# Look at the plan before a run, at the result after it, and at the expected curves of two methods
# before choosing one. The run on the upper right follows the curve of ``2p-shb`` on the lower left.
# In ``auto`` momentum and lookahead grow from step to step where ``2p-shb`` restarts. To see the
# same for any batch size and condition number, move the sliders of ``bocce explore``.
