"""
PyTorch in use
==============

``bocce.torch.SHB`` puts a schedule into a PyTorch optimizer. Two things are shown: that it takes
the very steps of the solver, which ``torch.optim.SGD`` with the same numbers does not, and how it
is used on a network.
"""

# %%
# The same steps as the solver
# ----------------------------
# A batch is a function of (seed, k), so PyTorch can be given the batches of ``bocce.minimize``.

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits

import bocce
from bocce.torch import SHB

# colours that the colour-blind can tell apart
BLACK = "#000000"
BLUE = "#0072B2"
GREEN = "#009E73"
RED = "#D55E00"
SKY = "#56B4E9"

torch.set_num_threads(1)
n, b, T = 1000, 500, 400
X, y, _ = bocce.data.regression(n, d=5, kappa=50.0, noise_var=0.1)
problem = bocce.LeastSquares(X, y)
c = problem.constants()
table = bocce.schedules.two_phase(T, c.L, c.mu)
solved = bocce.minimize(problem, table, batch_size=b, seed=0)

rows, targets = torch.from_numpy(X.copy()), torch.from_numpy(y)


def train(make_optimizer, before_step=lambda optimizer, k: None):
    w = torch.nn.Parameter(torch.zeros(5, dtype=torch.float64))
    optimizer = make_optimizer([w])
    norms = []
    for k in range(T):
        norms.append(np.linalg.norm(problem.gradient(w.detach().numpy())))
        batch = torch.from_numpy(bocce.sampling.batch(seed=0, k=k, n=n, b=b))
        optimizer.zero_grad()
        (0.5 * (rows[batch] @ w - targets[batch]).square().mean()).backward()
        before_step(optimizer, k)
        optimizer.step()
    return norms


def use_row(optimizer, k):
    group = optimizer.param_groups[0]
    group["lr"], group["momentum"] = float(table.alpha[k]), float(table.beta[k])


with_shb = train(lambda params: SHB(params, table))
with_sgd = train(lambda params: torch.optim.SGD(params, lr=1.0, momentum=0.5), use_row)
apart = max(abs(np.array(with_shb) / solved.history["grad_norm"][:-1] - 1))
print(f"SHB and bocce.minimize differ by at most {apart:.0e} of the gradient norm")

# %%
# ``torch.optim.SGD`` was given ``alpha_k`` as ``lr`` and ``beta_k`` as ``momentum`` at each step.
# It keeps ``m <- beta m + g`` and moves by ``-lr m``: an ``lr`` that shrinks also shrinks what
# earlier steps left in ``m``, so this is another method as soon as the steps vary.
#
# A network
# ---------
# A network has no L and mu. ``from_lr`` takes a learning rate in the place of 1/L and ``kappa``,
# which sets how far momentum reaches: about sqrt(kappa) steps. By default it is heavy ball with
# momentum 0.9025 and steps that fall to 0 along a cosine.

digits = load_digits()
inputs = torch.tensor(digits.data / 16.0, dtype=torch.float32)
labels = torch.tensor(digits.target)
STEPS, BATCH = 300, 1024


def losses(make_optimizer):
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    optimizer = make_optimizer(network.parameters())
    found = []
    for k in range(STEPS):
        batch = torch.from_numpy(bocce.sampling.batch(seed=1, k=k, n=len(labels), b=BATCH))
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(inputs[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def shb(method):
    return lambda params: SHB.from_lr(params, lr=0.5, T=STEPS, method=method)


def sgd(params):
    return torch.optim.SGD(params, lr=0.5, momentum=0.9)


curves = {
    "SHB, 2p-shb": (losses(shb("2p-shb")), GREEN, "-"),
    "SHB, nesterov-exp": (losses(shb("nesterov-exp")), SKY, "-"),
    "SHB.from_lr": (losses(shb("shb")), RED, "-"),
    "torch SGD, momentum 0.9": (losses(sgd), BLACK, (0, (4, 2))),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.0), layout="constrained")
left.semilogy(solved.history["grad_norm"], color=BLUE, lw=4, alpha=0.35, label="bocce.minimize")
left.semilogy(with_shb, color=RED, lw=1.2, label="bocce.torch.SHB")
left.semilogy(
    with_sgd, color=BLACK, lw=1.0, ls=(0, (4, 2)), label="torch SGD, same lr and momentum"
)
left.set(title="least squares, 2p-shb", xlabel="step", ylabel="gradient norm")
for name, (values, colour, dash) in curves.items():
    right.semilogy(values, color=colour, ls=dash, lw=1.3, label=name)
right.set(title=f"digits, a network, batch {BATCH}", xlabel="step", ylabel="loss of the batch")
for ax in (left, right):
    ax.grid(alpha=0.3, lw=0.5)
    ax.legend(fontsize="small", frameon=False)
plt.show()
for name, (values, *_) in curves.items():
    print(f"{name:26s} mean of the last 20 losses {np.mean(values[-20:]):.4f}")

# %%
# Conclusion
# ----------
# The optimizer takes exactly the steps of the solver. While the step is constant, heavy ball is
# torch's SGD (``shb`` at kappa = 100 has beta = 0.9025, and its line lies on that of momentum 0.9).
# Decaying steps help where noise stops progress, as on the left. On this network 300 steps with
# batches of 1,024 do not reach a noise floor, so the schedules that decay (``2p-shb``,
# ``nesterov-exp``) end higher. Nothing is proved for networks; ``docs/torch.md`` compares methods.
