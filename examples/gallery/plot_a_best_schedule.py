"""
The best schedule
=================

How good can a schedule of T steps be? ``exact.best_schedule`` computes the table with the least
expected error for a data set or a model; ``exact.regret`` says how far another table is from it.
"""

# %%
# A model
# -------
# Gaussian rows are known by their spectrum: 100 curvatures from 1 to 1/300, 10,000 rows, batches of
# 1,000. The noise is that of the targets.

import matplotlib.pyplot as plt
import numpy as np

import bocce
from bocce.exact import Gaussian, best_schedule, expected

T, b = 80, 1000
spectrum = np.geomspace(1 / 300, 1.0, 100)
models = {noise: Gaussian(spectrum, noise=noise, n=10_000) for noise in (0.0, 1e-3, 0.1)}
best = {noise: best_schedule(model, T, b) for noise, model in models.items()}

# %%
# The best tables, and how far the methods are from them
# ------------------------------------------------------
# Without noise the table is nearly constant: a step near 3/L and a momentum that damps the slowest
# direction critically. With noise it begins in the same way; then the step falls, the lookahead
# grows, and the memory lengthens: the iterate becomes an average. On the right: the gap at T of the
# registry's methods over that of the best table.

names = ["auto", "auto-shb", "mass", "nesterov-exp", "nesterov", "2p-shb", "shb", "sgd"]
figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
for noise, found in best.items():
    s, model = found.schedule, models[noise]
    for panel, column in zip(axes, (s.alpha, 1 - s.beta, s.alpha * s.theta)):
        panel.semilogy(column[:-1], label=f"noise {noise:g}")
    known = model.schedule_arguments(b)
    tables = [bocce.schedules.REGISTRY[name].build(T, known) for name in names]
    over = [expected(model, table, b).gap[-1] / found.value for table in tables]
    axes[3].semilogx(over, names, "o")
for panel, title in zip(axes, ("alpha", "1 - beta", "alpha theta", "gap over the best")):
    panel.set_title(title)
axes[0].legend(frameon=False)
axes[3].invert_yaxis()
plt.show()

# %%
# Conclusion
# ----------
# The best table knows the spectrum and the noise, which nobody does before a run. ``auto`` knows
# neither; its rule was read off tables like these, and every step of it is certified. How much a
# rule loses by not knowing the noise can be computed too: ``best_schedule(..., scenarios=...)``
# finds one table for several noises at once.
