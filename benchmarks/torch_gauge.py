"""The gauge where the truth is known, its cost, and its predictions on six networks.

    python benchmarks/torch_gauge.py [coverage | cost | networks] [--seed N]

coverage: the share of 95 % intervals that contain the truth, on least squares with Gaussian rows,
where every number has a closed form. cost: CPU time of the gauge at every=100 over that of training
without it. networks: S(4b)/S(b) for b = 8, 32, 128, S the steps of SGD with its best constant step
(to a factor of the root of 2; mean of two seeds) to a training loss, rows drawn with replacement,
against what the gauge, the noise scale and short branches say along the run with b rows. The
networks: two perceptrons, two convolutional networks and a transformer on scikit-learn's digits, a
transformer on text that a Markov chain makes. About ten minutes on one idle core.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import count, pairwise
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch_networks import Transformer, convolutional

from bocce.torch import Gauge, Measurement
from bocce.torch.measure import CURVATURE_EVERY

DRAWS = 200
SEED = 5989  # Drawn once, after the rules were fixed.
COVERAGE = (
    ("1/i", 1.0 / np.arange(1, 21), 512),
    ("1/i", 1.0 / np.arange(1, 21), 2048),
    ("i^-1.5", np.arange(1, 101) ** -1.5, 1024),
    ("linear", np.linspace(1.0, 0.05, 10), 1024),
)
SIZES = (8, 32, 128, 512)
LOOK = {8: 10, 32: 5, 128: 2, 512: 2}  # Steps between two looks at the loss, by the batch.
MOST_STEPS = {8: 2500, 32: 1200, 128: 700, 512: 500}
COSTED: dict[str, Callable[[], torch.nn.Module]] = {
    "convolutional, 8 and 16 channels": convolutional,
    "convolutional, 32 channels": lambda: wide_convolutional(),
    "transformer, width 16": Transformer,
    "transformer, width 64": lambda: Transformer(64),
}
cross_entropy = torch.nn.functional.cross_entropy


def half_square(z: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return 0.5 * (z.squeeze(-1) - y).square().mean()


# -- coverage ------------------------------------------------------------------------------------


GAP = 0.3


def truth_of(lam: np.ndarray, w: np.ndarray, noise: float) -> dict[str, float]:
    """Gaussian rows with covariance diag(lam), targets of variance noise^2, the minimiser 0."""
    gradient2 = float((lam * w) @ (lam * w))
    variance = lam.sum() * float(w @ (lam * w)) + gradient2 + noise**2 * lam.sum()
    R2 = lam.sum() + 2.0 * lam.max()
    return {
        "gradient_noise": variance,
        "noise_scale": variance / gradient2,
        "curvature": lam.max(),
        "trace": lam.sum(),
        "R2": R2,
        "useful_batch": 2.0 * R2 / lam.max(),
        "with_gap": 2.0 * (R2 + variance / (2.0 * GAP)) / lam.max(),
    }


def coverage(seed: int) -> None:
    print(f"coverage of 95 % intervals, least squares, {DRAWS} draws, seed {seed}, in %")
    for name, lam, rows in COVERAGE:
        rng = np.random.default_rng(seed)
        w = rng.standard_normal(len(lam))
        truth = truth_of(lam, w, 0.3)
        model = torch.nn.Linear(len(lam), 1, bias=False).double()
        model.weight.data.copy_(torch.tensor(w)[None])
        covered = dict.fromkeys(truth, 0)
        for _ in range(DRAWS):
            X = rng.standard_normal((rows, len(lam))) * np.sqrt(lam)
            y = 0.3 * rng.standard_normal(rows)
            batch = (torch.tensor(X), torch.tensor(y))
            gauge = Gauge(model, half_square)
            gauge.step(batch)
            aimed = Gauge(model, half_square, gap=GAP)
            aimed.step(batch)
            for key, value in truth.items():
                interval = aimed.useful_batch if key == "with_gap" else getattr(gauge.last, key)
                covered[key] += interval.low <= value <= interval.high
        shares = "  ".join(f"{key} {100 * n / DRAWS:.1f}" for key, n in covered.items())
        print(f"  spectrum {name}, d = {len(lam)}, {rows} rows: {shares}", flush=True)


# -- networks ------------------------------------------------------------------------------------


def perceptron(*widths: int, activation: Any) -> torch.nn.Module:
    layers: list[torch.nn.Module] = []
    for inside, outside in pairwise(widths):
        layers += [torch.nn.Linear(inside, outside), activation()]
    return torch.nn.Sequential(*layers[:-1])


def wide_convolutional() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 8, 8)),
        torch.nn.Conv2d(1, 32, 3, padding=1),
        torch.nn.Tanh(),
        torch.nn.AvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(512, 10),
    )


class TextTransformer(torch.nn.Module):
    """The next letter after eight letters."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(12, 16)
        self.place = torch.nn.Parameter(0.1 * torch.randn(8, 16))
        self.layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.out = torch.nn.Linear(16, 12)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.out(self.layer(self.embed(tokens) + self.place)[:, -1])


@cache
def digits() -> tuple[torch.Tensor, torch.Tensor]:
    found = load_digits()
    return torch.tensor(found.data / 16.0, dtype=torch.float32), torch.tensor(found.target)


@cache
def markov_text() -> tuple[torch.Tensor, torch.Tensor]:
    """Windows of eight letters and the letter that follows, from a chain of 12 letters."""
    rng = np.random.default_rng(0)
    chain = rng.dirichlet(np.full(12, 0.15), size=12)
    letters = [0]
    for _ in range(2000):
        letters.append(int(rng.choice(12, p=chain[letters[-1]])))
    windows = np.lib.stride_tricks.sliding_window_view(np.array(letters), 9)
    return torch.tensor(windows[:, :8].copy()), torch.tensor(windows[:, 8].copy())


@dataclass(frozen=True)
class Case:
    """A network, its data, the loss that ends a run, and the smallest loss that there is."""

    build: Callable[[], torch.nn.Module]
    data: Callable[[], tuple[torch.Tensor, torch.Tensor]]
    target: float
    least: float = 0.0


ENTROPY = 1.4  # of the next letter of the chain, given the letter before
NETWORKS = {
    "perceptron 64-64-10, tanh": Case(
        lambda: perceptron(64, 64, 10, activation=torch.nn.Tanh), digits, 0.3
    ),
    "perceptron 64-48-48-10, ReLU": Case(
        lambda: perceptron(64, 48, 48, 10, activation=torch.nn.ReLU), digits, 0.3
    ),
    "convolutional, two layers, ReLU": Case(convolutional, digits, 0.4),
    "convolutional, one layer, tanh": Case(wide_convolutional, digits, 0.4),
    "transformer, digits": Case(Transformer, digits, 0.8),
    "transformer, text": Case(TextTransformer, markov_text, 1.6, least=ENTROPY),
}


class Runs:
    """Runs of SGD with a constant step on one network, to its target."""

    def __init__(self, case: Case, seeds: tuple[int, ...]) -> None:
        self.case = case
        self.seeds = seeds
        self.X, self.y = case.data()
        self.judged = torch.from_numpy(np.random.default_rng(99).permutation(len(self.X))[:512])

    def loss(self, model: torch.nn.Module) -> float:
        with torch.no_grad():
            return float(cross_entropy(model(self.X[self.judged]), self.y[self.judged]))

    def steps(self, b: int, lr: float, seed: int, limit: float, visit: Any = None) -> float:
        """The steps until the loss is at the target, inf beyond the limit."""
        torch.manual_seed(seed)
        model = self.case.build()
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        rng = np.random.default_rng([seed, b])
        before = math.inf
        for k in count():
            if k % LOOK[b] == 0:
                loss = self.loss(model)
                if loss <= self.case.target:
                    return k - LOOK[b] * (self.case.target - loss) / (before - loss)
                if k >= limit or not loss < 30.0:
                    return math.inf
                before = loss
            if visit is not None:
                visit(k, model, optimizer)
            self.train(model, optimizer, torch.from_numpy(rng.integers(0, len(self.X), b)))
        raise AssertionError("count never ends")

    def train(self, model: torch.nn.Module, optimizer: Any, rows: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss = cross_entropy(model(self.X[rows]), self.y[rows])
        loss.backward()
        optimizer.step()
        return loss.detach()

    def best(self, b: int, guess: float) -> tuple[float, float]:
        """(mean steps over the seeds, rate): the best rate, first by 2, then by its root."""
        tried: dict[float, float] = {}

        def mean_steps(lr: float) -> float:
            if lr not in tried:
                limit = min(MOST_STEPS[b], 1.4 * min(tried.values(), default=math.inf) + 10.0)
                found = []
                for seed in self.seeds:
                    found.append(self.steps(b, lr, seed, limit))
                    if math.isinf(found[-1]):
                        break
                tried[lr] = float(np.mean(found))
            return tried[lr]

        while math.isinf(mean_steps(guess)):
            guess = guess / 2.0
        for power in (2, 1):
            moved = True
            while moved:
                best = min(tried, key=lambda lr: tried[lr])
                for i in (power, -power):
                    mean_steps(round(best * 2.0 ** (i / 2.0), 4))
                moved = min(tried, key=lambda lr: tried[lr]) != best
        best = min(tried, key=lambda lr: tried[lr])
        return tried[best], best


def share(B: float, b: int) -> float:
    """S(4b)/S(b) of S = S_min (1 + B/b)."""
    return (1.0 + B / (4 * b)) / (1.0 + B / b) if math.isfinite(B) else 0.25


def predictions(runs: Runs, b: int, lr: float, S: float) -> dict[str, float]:
    """S(4b)/S(b) by each rule, from measurements at eight points of a run with batch b."""
    gap = runs.case.target - runs.case.least
    points = {round(S * part / 8) for part in range(9)}
    branched = round(S / 5)
    found: list[Measurement] = []
    losses: list[float] = []
    branches: dict[float, float] = {}

    def visit(k: int, model: torch.nn.Module, optimizer: Any) -> None:
        gauge = Gauge(model, cross_entropy, optimizer, gap=gap)
        if k in points:
            many = torch.from_numpy(np.random.default_rng(k).choice(len(runs.X), 512, False))
            gauge.step((runs.X[many], runs.y[many]), batch_size=b)
            found.append(gauge.last)
            losses.append(runs.loss(model))
        for raised in (1.0, 2.0) if k == branched else ():

            def train_step(factor: float, raised: float = raised) -> torch.Tensor:
                optimizer.param_groups[0]["lr"] = lr if factor == 1 else lr * raised
                rows = torch.randint(0, len(runs.X), (int(b * factor),))
                return runs.train(model, optimizer, rows)

            length = max(10, min(50, round(S / 2)))
            branches[raised] = gauge.branch(train_step, (1, 4), length).ratio.value

    runs.steps(b, lr, runs.seeds[0], 1.5 * S + 10.0, visit)
    useful = [m.useful_batch.value for m in found]
    curved = [2.0 * m.R2.value / m.curvature.value for m in found]
    scales = [m.noise_scale.value for m in found]
    last = found[-1]
    local = last.gradient_noise.value / (last.curvature.value * (losses[-1] - runs.case.least))
    rules = {
        "gauge, median along the run": float(np.nanmedian(useful)),
        "gauge, last measurement": useful[-1],
        "2 R2/L, median": float(np.nanmedian(curved)),
        "noise/(L (f - f*)), last": local,
        "noise scale, median": float(np.median(scales)),
        "noise scale, start": scales[0],
        "noise scale, last": scales[-1],
        "32 rows, whatever is measured": 32.0,
    }
    shares = {rule: share(B, b) for rule, B in rules.items()}
    for raised, ratio in branches.items():
        shares[f"branch, rate times {raised:g}"] = 1.0 / ratio if ratio > 0.0 else math.inf
    return shares


def networks(seed: int) -> None:
    seeds = (seed, seed + 1)
    print(f"S(4b)/S(b) of SGD with its best constant step, seeds {seeds[0]} and {seeds[1]}")
    errors: dict[str, list[float]] = {}
    for name, case in NETWORKS.items():
        runs = Runs(case, seeds)
        best = {}
        guess = 0.32
        for b in SIZES:
            best[b] = runs.best(b, guess)
            guess = best[b][1]
        print(f"{name}: steps " + ", ".join(f"{S:.0f} with {b}" for b, (S, _) in best.items()))
        for b, larger in pairwise(SIZES):
            measured = best[larger][0] / best[b][0]
            found = predictions(runs, b, best[b][1], best[b][0])
            for rule, value in found.items():
                error = math.exp(abs(math.log(value / measured))) if value < math.inf else math.inf
                errors.setdefault(rule, []).append(error)
            text = "  ".join(f"{value:.2f}" for value in found.values())
            print(f"  b {b:3d}  measured {measured:.2f}  predicted {text}", flush=True)
    print(f"{'rule':32s} within 1.5   median error   worst")
    for rule, off in errors.items():
        within = sum(error <= 1.5 for error in off)
        print(f"{rule:32s} {within:4d} of {len(off)} {np.median(off):12.2f} {max(off):10.2f}")


# -- cost ----------------------------------------------------------------------------------------


def cost(seed: int) -> None:
    """In rounds of ten steps and one measurement in turn; curvature is in one of twenty."""
    torch.manual_seed(seed)
    print("cost of every=100, batches of 256 rows, CPU time")
    X, y = (part[:256] for part in digits())
    for name, build in COSTED.items():
        model = build()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        gauge = Gauge(model, cross_entropy, optimizer, every=1)
        gauge.step((X, y))
        spent = {"training": 0.0, "gauge": 0.0}
        for _ in range(CURVATURE_EVERY):
            start = time.process_time()
            for _ in range(10):
                optimizer.zero_grad()
                cross_entropy(model(X), y).backward()
                optimizer.step()
            middle = time.process_time()
            gauge.step((X, y))
            spent["training"] += middle - start
            spent["gauge"] += time.process_time() - middle
        steps = spent["gauge"] / spent["training"] * 10.0
        step = 1e3 * spent["training"] / (10 * CURVATURE_EVERY)
        print(f"  {name}: {steps:.1f} % (a step takes {step:.1f} ms)", flush=True)


PARTS = {"coverage": coverage, "cost": cost, "networks": networks}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=PARTS, help="all of them without it")
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for name, part in PARTS.items():
        if asked.part in (None, name):
            part(asked.seed)


if __name__ == "__main__":
    main()
