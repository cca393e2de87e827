"""The gauge where the truth is known, its cost, and its predictions on six networks.

    python benchmarks/torch_gauge.py [coverage | cost | networks]

coverage: the share of 95 % intervals that contain the truth, on least squares with Gaussian rows,
where every number has a closed form. cost: CPU time of the gauge at every=100 over that of training
without it. networks: S(4b)/S(b), S the steps of SGD with a constant step (the best of six, a factor
2 apart) to a training loss, b = 16, against what the gauge says along the run with b rows. The
networks: two perceptrons, two convolutional networks and a transformer on scikit-learn's digits, a
transformer on text that a Markov chain makes. About ten minutes on one core.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch_networks import Transformer, convolutional

from bocce.torch import Gauge

DRAWS = 200
COVERAGE = (
    ("1/i", 1.0 / np.arange(1, 21), 512),
    ("1/i", 1.0 / np.arange(1, 21), 2048),
    ("i^-1.5", np.arange(1, 101) ** -1.5, 1024),
    ("linear", np.linspace(1.0, 0.05, 10), 1024),
)
RATES = (0.08, 0.16, 0.32, 0.64, 1.28, 2.56)
SMALL = 16
MOST_STEPS = 300
LOOK = 5  # Steps between two looks at the loss of all rows.
MEASURED_ROWS = 256
COSTED = (
    "convolutional, one layer, tanh",
    "convolutional, two layers, ReLU",
    "transformer, digits",
)
cross_entropy = torch.nn.functional.cross_entropy


def half_square(z: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return 0.5 * (z.squeeze(-1) - y).square().mean()


# -- coverage ------------------------------------------------------------------------------------


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
    }


def coverage() -> None:
    print(f"coverage of 95 % intervals, least squares, {DRAWS} draws, in %")
    for name, lam, rows in COVERAGE:
        rng = np.random.default_rng(7)
        w = rng.standard_normal(len(lam))
        truth = truth_of(lam, w, 0.3)
        model = torch.nn.Linear(len(lam), 1, bias=False).double()
        model.weight.data.copy_(torch.tensor(w)[None])
        covered = dict.fromkeys(truth, 0)
        for _ in range(DRAWS):
            X = rng.standard_normal((rows, len(lam))) * np.sqrt(lam)
            y = 0.3 * rng.standard_normal(rows)
            gauge = Gauge(model, half_square)
            gauge.step((torch.tensor(X), torch.tensor(y)))
            for key, value in truth.items():
                interval = getattr(gauge.last, key)
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


Data = Callable[[], tuple[torch.Tensor, torch.Tensor]]
NETWORKS: dict[str, tuple[Callable[[], torch.nn.Module], Data, float]] = {
    "perceptron 64-64-10, tanh": (
        lambda: perceptron(64, 64, 10, activation=torch.nn.Tanh),
        digits,
        0.3,
    ),
    "perceptron 64-48-48-10, ReLU": (
        lambda: perceptron(64, 48, 48, 10, activation=torch.nn.ReLU),
        digits,
        0.3,
    ),
    "convolutional, two layers, ReLU": (convolutional, digits, 0.4),
    "convolutional, one layer, tanh": (wide_convolutional, digits, 0.4),
    "transformer, digits": (Transformer, digits, 0.8),
    "transformer, text": (TextTransformer, markov_text, 1.4),
}


def batches(n: int, b: int, seed: int) -> Iterator[torch.Tensor]:
    rng = np.random.default_rng(seed)
    while True:
        yield torch.from_numpy(rng.choice(n, b, replace=False))


def steps_to(network: str, b: int, lr: float, seed: int, gauged: bool) -> tuple[float, Any]:
    """(steps until all rows' loss is at the target, the gauge of the run or None)."""
    build, data, target = NETWORKS[network]
    X, y = data()
    torch.manual_seed(seed)
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    gauge = Gauge(model, cross_entropy, optimizer, every=25, gap=target) if gauged else None
    for k, rows in enumerate(batches(len(X), b, seed)):
        if k % LOOK == 0:
            with torch.no_grad():
                loss = float(cross_entropy(model(X), y))
            if loss <= target:
                return k, gauge
            if k >= MOST_STEPS or not math.isfinite(loss):
                return math.inf, gauge
        if gauge is not None:
            many = torch.from_numpy(np.random.default_rng(k).choice(len(X), MEASURED_ROWS, False))
            gauge.step((X[many], y[many]), batch_size=b)
        optimizer.zero_grad()
        cross_entropy(model(X[rows]), y[rows]).backward()
        optimizer.step()
    raise AssertionError("batches never end")


def ratio_of(B: float) -> float:
    return (1.0 + B / (4 * SMALL)) / (1.0 + B / SMALL)


def predictions(gauge: Gauge) -> dict[str, float]:
    """S(4b)/S(b) by three rules, the median along the run."""
    table = gauge.history
    rules = {
        "gauge": table["useful_batch"],
        "2 R2/L": 2.0 * table["R2"] / table["curvature"],
        "noise scale": table["noise_scale"],
    }
    return {
        rule: float(np.nanmedian([ratio_of(min(B, 1e9)) for B in rows]))
        for rule, rows in rules.items()
    }


def best_run(network: str, b: int) -> tuple[float, float]:
    """(the fewest steps to the target, the learning rate that took them)."""
    return min((steps_to(network, b, lr, 0, False)[0], lr) for lr in RATES)


def networks() -> None:
    print(f"S(4b)/S(b), b = {SMALL}, SGD with its best constant step, to a training loss")
    errors: dict[str, list[float]] = {}
    for name in NETWORKS:
        S, lr = best_run(name, SMALL)
        S4, lr4 = best_run(name, 4 * SMALL)
        measured = S4 / S
        _, gauge = steps_to(name, SMALL, lr, 0, True)
        said = predictions(gauge)
        for rule, value in said.items():
            errors.setdefault(rule, []).append(math.exp(abs(math.log(value / measured))))
        texts = ", ".join(f"{rule} {value:.2f}" for rule, value in said.items())
        runs_text = f"{S4:g} steps (lr {lr4:g}) over {S:g} (lr {lr:g}) = {measured:.2f}"
        print(f"  {name}: {runs_text}; predicted: {texts}", flush=True)
    for rule, found in errors.items():
        within = sum(error <= 1.5 for error in found)
        print(f"  {rule}: within 1.5 in {within} of {len(found)}, worst {max(found):.2f}")


# -- cost ----------------------------------------------------------------------------------------


def cost() -> None:
    """In rounds of ten steps and one measurement in turn; curvature is in one of ten."""
    print("cost of every=100, batches of 256 rows, CPU time")
    for name in (
        "convolutional, one layer, tanh",
        "convolutional, two layers, ReLU",
        "transformer, digits",
    ):
        build, data, _ = NETWORKS[name]
        X, y = (part[:256] for part in data())
        model = build()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        gauge = Gauge(model, cross_entropy, optimizer, every=1)
        gauge.step((X, y))
        spent = {"training": 0.0, "gauge": 0.0}
        for _ in range(10):
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
        print(f"  {name}: a measurement costs {steps:.1f} steps, so {steps:.1f} %", flush=True)


PARTS = {"coverage": coverage, "cost": cost, "networks": networks}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=PARTS, help="all of them without it")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for name, part in PARTS.items():
        if asked.part in (None, name):
            part()


if __name__ == "__main__":
    main()
