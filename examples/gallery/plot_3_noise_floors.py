"""
Noise floors
============

Targets with noise, batches smaller than the data: with a constant step the iterates never settle.
They keep a distance from the minimiser that depends on the step, the momentum and the batch. What
lowers the floor, and what does it cost?
"""

# %%
# Floors of a constant step
# -------------------------
# ``bocce.exact.stationary`` gives what is left in the limit, ``bocce.exact.expected`` the way
# there. The step is ``a/L``; the paper's momentum goes with it.

import matplotlib.pyplot as plt

import bocce

X, y, _ = bocce.data.regression(n=2000, d=6, kappa=50.0, noise_var=1.0)
problem = bocce.LeastSquares(X, y)
c = problem.constants()
T, b = 2000, 1000
by_step, floors = {}, []
for parts in (1, 4, 16, 64):
    table = bocce.schedules.shb(T, c.L, c.mu, a=1 / parts)
    by_step[f"a = 1/{parts}"] = bocce.exact.expected(problem, table, b).error2
    floor = bocce.exact.stationary(problem, float(table.alpha[0]), float(table.beta[0]), b)
    floors.append(floor.error2)
    print(f"a = 1/{parts:<4d} floor {floor.error2:.2e}")

# %%
# A quarter of the step halves the floor and doubles the number of steps to get there.
#
# Floors of a larger batch
# ------------------------
# A batch of b of n rows without replacement has the sampling noise zeta² = (n - b)/((n - 1) b),
# and the floor is nearly proportional to it: no floor at all at b = n.

by_batch = {}
for size in (500, 1000, 1800, 2000):
    curve = bocce.exact.expected(problem, bocce.schedules.shb(T, c.L, c.mu), size)
    by_batch[f"b = {size}"] = curve.error2
    zeta2 = bocce.theory.zeta2(problem.n, size)
    print(f"b = {size:<5d} zeta² {zeta2:.1e}  end {curve.error2[-1]:.1e}")

# %%
# Schedules that go through the floor
# -----------------------------------
# If the steps shrink, the noise averages out, and the error falls below the floor.

values = {"L": c.L, "mu": c.mu, "L_max": c.L_max, "n": problem.n, "b": b}
by_schedule = {}
for name in ("shb", "shb-exp", "2p-shb", "multi-shb-pan", "auto-shb"):
    table = bocce.schedules.REGISTRY[name].build(T, values)
    by_schedule[name] = bocce.exact.expected(problem, table, b).error2
    print(f"{name:14s} at T = {T}: {by_schedule[name][-1]:.1e}")

# %%
# The pictures
# ------------

# Dark to light, for a quantity that grows.
ladder = ("#0B3370", "#4B546C", "#767676", "#A59C74")
colours = [f"C{place}" for place in range(len(by_schedule))]
panels = (
    (f"shb, b = {b}: the step", by_step, ladder),
    ("shb, a = 1: the batch", by_batch, ladder),
    (f"b = {b}: schedules", by_schedule, colours),
)
figure, axes = plt.subplots(1, 3, figsize=(11, 4.0), sharey=True, layout="constrained")
for ax, (title, curves, colours) in zip(axes, panels):
    for colour, marker, (label, error2) in zip(colours, "os^vD", curves.items()):
        look = {"color": colour, "marker": marker, "ms": 4, "lw": 1.3}
        ax.semilogy(error2, markevery=250, label=label, **look)
    ax.set(title=title, xlabel="step")
    ax.grid(alpha=0.3, lw=0.5)
    ax.legend(fontsize="small", frameon=False)
for colour, floor in zip(ladder, floors):
    axes[0].axhline(floor, color=colour, lw=0.7, ls=(0, (2, 3)))
axes[0].set(ylabel="expected squared error", ylim=(1e-7, 10.0))
plt.show()

# %%
# Conclusion
# ----------
# A constant step stops at a floor. A shorter step lowers the floor slowly (with the paper's
# momentum, as the square root of the step), a larger batch lowers it as zeta². Schedules with
# decaying steps go below the floor if they first come near. ``shb-exp`` decays from the start and
# is still far when its steps have become short. ``2p-shb`` and ``auto-shb`` run fast first and then
# decay. They must know the number of steps T; ``auto`` without T averages instead.
