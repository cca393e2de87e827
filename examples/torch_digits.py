"""Heavy-ball schedules in PyTorch on scikit-learn's digits: a small network and a linear probe.

    pip install ".[torch,plots]" scikit-learn schedulefree       (in a clone, see docs/install.md)
    python examples/torch_digits.py --out digits.png

Two tasks (a network 64-64-10, and softmax regression on fixed random features), a small and a full
batch, the same number of steps for everyone. Each method runs at its defaults and at the best
learning rate of a small grid (chosen by training loss on two seeds), five seeds each. The defaults
of SHB: lr = 1/L with L from ``estimate_constants`` at the start, kappa = 100, the guard on; "auto"
is rule 1 of ``bocce.schedules.auto``, whose momentum falls with the batch. The table gives the
final training loss (mean and standard deviation over seeds), the test accuracy, and in how many of
the runs the guard had to act. Without ``schedulefree`` its rows are left out. A few minutes on one
core.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
import torch
from sklearn.datasets import load_digits

from bocce import schedules
from bocce.torch import SHB, estimate_constants

matplotlib.use("Agg")
import matplotlib.pyplot as plt

try:
    import schedulefree
except ImportError:
    schedulefree = None

GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # times each method's own default
TRIED = 2  # seeds that choose from the grid
L2 = 1e-3
KAPPA = 100.0
COLUMNS = ("at its defaults", "best of grid")
ROWS = 50  # single rows whose curvature is looked at, for L_max
Build = Callable[..., torch.optim.Optimizer]
Batch = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Task:
    name: str
    model: Callable[[], torch.nn.Module]
    train: Batch
    test: Batch


def network() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))


def linear_probe() -> torch.nn.Module:
    return torch.nn.Linear(256, 10)


def tasks() -> list[Task]:
    """Digits in a fixed split; the probe sees them through one random ReLU layer."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    X = torch.tensor(digits.data[order] / 16.0, dtype=torch.float32)
    y = torch.tensor(digits.target[order])
    weights = torch.randn(64, 256, generator=torch.Generator().manual_seed(0)) / 8.0
    hidden = torch.relu((X - X.mean(0)) @ weights)
    hidden = (hidden - hidden.mean(0)) / hidden.std(0)
    return [
        Task(name, model, (data[:1347], y[:1347]), (data[1347:], y[1347:]))
        for name, model, data in (("network", network, X), ("linear probe", linear_probe, hidden))
    ]


def loss_of(model: torch.nn.Module, X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Cross-entropy with weight decay inside, so that all methods minimise the same function."""
    penalty = sum(p.square().sum() for p in model.parameters())
    return torch.nn.functional.cross_entropy(model(X), y) + 0.5 * L2 * penalty


# -- methods: from a model, a batch size, a multiple of the default learning rate and T -----------


def shb(method: str) -> Build:
    def build(model: torch.nn.Module, task: Task, b: int, factor: float, T: int) -> SHB:
        mean_loss = torch.nn.functional.cross_entropy
        L = estimate_constants(model, mean_loss, task.train, steps=10).L + L2
        return SHB.from_lr(model.parameters(), factor / L, KAPPA, T, method, guard=True)

    return build


def auto(model: torch.nn.Module, task: Task, b: int, factor: float, T: int) -> SHB:
    """The noise of a batch limits alpha/(1 - beta): small batches get little momentum."""
    mean_loss = torch.nn.functional.cross_entropy
    found = estimate_constants(model, mean_loss, task.train, steps=10, rows=ROWS)
    L, L_max, n = found.L + L2, found.L_max + L2, len(task.train[0])
    schedule = schedules.auto(T, L, L / KAPPA, L_max, n, b, family="shb")
    return SHB(model.parameters(), schedule, lr=factor, guard=True)


def with_cosine(build: Build) -> Build:
    """Torch's cosine over the run, taken with every step."""

    def build_both(
        model: torch.nn.Module, task: Task, b: int, factor: float, T: int
    ) -> torch.optim.Optimizer:
        optimizer = build(model, task, b, factor, T)
        cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T)
        optimizer.register_step_post_hook(lambda *_: cosine.step())
        return optimizer

    return build_both


def plain(make: Build, lr: float, **options: Any) -> Build:
    def build(
        model: torch.nn.Module, task: Task, b: int, factor: float, T: int
    ) -> torch.optim.Optimizer:
        return make(model.parameters(), lr=factor * lr, **options)

    return build


def methods() -> dict[str, Build]:
    momentum = plain(torch.optim.SGD, 1e-3, momentum=0.9)
    found = {
        "SHB auto": auto,
        "SHB two-phase": shb("2p-shb"),
        "SHB exponential": shb("shb-exp"),
        "Nesterov exp.": shb("nesterov-exp"),
        "SGD, momentum 0.9": momentum,
        "the same, cosine": with_cosine(momentum),
        "AdamW": plain(torch.optim.AdamW, 1e-3, weight_decay=0.0),
    }
    if schedulefree is not None:
        found["schedule-free SGD"] = plain(schedulefree.SGDScheduleFree, 1.0)
        found["schedule-free AdamW"] = plain(schedulefree.AdamWScheduleFree, 0.0025)
    return found


# -- running ---------------------------------------------------------------------------------------


def batches(n: int, b: int, T: int, seed: int) -> Iterator[torch.Tensor]:
    """T batches, reshuffled each epoch."""
    rng = np.random.default_rng(seed)
    order = np.empty(0, dtype=int)
    for _ in range(T):
        if len(order) < b:
            order = rng.permutation(n)
        yield torch.from_numpy(order[:b])
        order = order[b:]


def at_iterate(optimizer: torch.optim.Optimizer):
    """Evaluate where the method says its answer is."""
    if isinstance(optimizer, SHB):
        return optimizer.eval_params()
    if hasattr(optimizer, "eval"):
        optimizer.eval()
    return nullcontext()


def run(task: Task, build: Build, factor: float, b: int, T: int, seed: int):
    """(training losses at 21 moments, test accuracy at the end, did the guard have to act)."""
    torch.manual_seed(seed)
    model = task.model()
    X, y = task.train
    optimizer = build(model, task, b, factor, T)
    every, curve = T // 20, []
    for k, rows in enumerate(batches(len(X), b, T, seed)):
        if k % every == 0:
            curve.append(measure(task, model, optimizer)[0])
        optimizer.zero_grad()
        loss = loss_of(model, X[rows], y[rows])
        loss.backward()
        optimizer.step(**({"loss": loss} if isinstance(optimizer, SHB) else {}))
    loss, accuracy = measure(task, model, optimizer)
    return [*curve, loss], accuracy, getattr(optimizer, "restores", 0) > 0


def measure(task: Task, model: torch.nn.Module, optimizer: torch.optim.Optimizer):
    with torch.no_grad(), at_iterate(optimizer):
        loss = float(loss_of(model, *task.train))
        accuracy = float((model(task.test[0]).argmax(1) == task.test[1]).double().mean())
    if hasattr(optimizer, "train"):
        optimizer.train()
    return (loss if np.isfinite(loss) else np.inf), accuracy


def compare(task: Task, b: int, T: int, seeds: int) -> dict[str, tuple]:
    """Per method: (runs at the defaults, best factor, runs with it)."""
    found = {}
    for name, build in methods().items():

        def final_loss(factor: float, build: Build = build) -> float:
            return sum(run(task, build, factor, b, T, seed)[0][-1] for seed in range(TRIED))

        best = min(GRID, key=final_loss)
        default, tuned = (
            [run(task, build, factor, b, T, seed) for seed in range(seeds)]
            for factor in (1.0, best)
        )
        found[name] = default, best, tuned
    return found


def show(runs: list[tuple[list[float], float, bool]]) -> str:
    final = np.array([curve[-1] for curve, *_ in runs])
    accuracy = 100 * np.mean([accuracy for _, accuracy, _ in runs])
    guarded = f"{accuracy:6.1f} {sum(restored for *_, restored in runs):6d}"
    if not np.isfinite(final).all():
        return f"{'diverged':>17s} {guarded}"
    return f"{final.mean():8.4f} ±{final.std(ddof=1):7.4f} {guarded}"


def momentum_of_auto(task: Task, b: int, T: int) -> float:
    torch.manual_seed(0)
    return float(auto(task.model(), task, b, 1.0, T).param_groups[0]["schedule"].beta[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", default="torch_digits.png", help="where the plot goes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="SHB: the loss blew up")  # the grid is meant to
    if schedulefree is None:
        print("schedulefree is not installed (pip install schedulefree): its rows are left out")
    panels = [(task, b) for task in tasks() for b in (32, len(task.train[0]))]
    figure, axes = plt.subplots(1, len(panels), figsize=(4 * len(panels), 3.6))
    for axis, (task, b) in zip(axes, panels):
        beta = momentum_of_auto(task, b, options.steps)
        print(f"\n{task.name}, batch {b}, {options.steps} steps, {options.seeds} seeds", end="")
        print(f"; momentum of SHB auto {beta:.2f} (first seed)")
        print(f"{'':20s}" + "".join(f" {title:>17s}  test%  guard " for title in COLUMNS))
        for name, (default, best, tuned) in compare(task, b, options.steps, options.seeds).items():
            print(f"{name:20s} {show(default)}  {show(tuned)}  lr x {best:g}", flush=True)
            curves = np.array([curve for curve, *_ in tuned])
            moments = np.linspace(0, options.steps, curves.shape[1])
            axis.semilogy(moments, np.median(curves, axis=0), label=name)
        axis.set(title=f"{task.name}, batch {b}", xlabel="step", ylabel="training loss (best lr)")
    axes[0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(options.out, dpi=120)
    print(f"\nplot: {options.out}")


if __name__ == "__main__":
    main()
