"""What a step costs: bocce.torch.SHB against torch.optim.SGD(momentum=0.9), foreach and fused.

About 10 million float32 parameters in 60 tensors, one thread, rounds of both in turn; the ratio
is taken of the fastest round of each in CPU time, since noise only ever adds time. The target is
1.2.

    python benchmarks/torch_step.py
"""

from __future__ import annotations

import argparse
import time

import torch

from bocce import schedules
from bocce.torch import SHB

TARGET = 1.2


def parameters(millions: float) -> list[torch.nn.Parameter]:
    """Layers like a network's: large matrices and short vectors."""
    side = int((millions * 1e6 / 30) ** 0.5)
    generator = torch.Generator().manual_seed(0)
    shapes = [shape for _ in range(30) for shape in ((side, side), (side,))]
    points = [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in shapes]
    for p in points:
        p.grad = 1e-3 * torch.randn(p.shape, generator=generator)
    return points


def seconds(optimizer: torch.optim.Optimizer, steps: int) -> float:
    """CPU time a step: on one thread it is the step's own, whatever else the machine does."""
    start = time.process_time()
    for _ in range(steps):
        optimizer.step()
    return (time.process_time() - start) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--millions", type=float, default=10.0, help="parameters, in millions")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=5, help="steps a round")
    options = parser.parse_args()
    torch.set_num_threads(1)
    T = (options.rounds + 1) * options.steps
    heavy = schedules.two_phase(T, L=10.0, mu=0.1)
    ahead = schedules.nesterov(T, L=10.0, mu=0.1)

    def sgd(nesterov: bool) -> torch.optim.Optimizer:
        points = parameters(options.millions)
        return torch.optim.SGD(points, lr=0.01, momentum=0.9, nesterov=nesterov, foreach=True)

    points = parameters(options.millions)
    optimizers = {
        "SGD(momentum=0.9)": sgd(nesterov=False),
        "SHB, heavy ball, fused=False": SHB(parameters(options.millions), heavy, fused=False),
        "SGD(momentum=0.9, fused=True)": torch.optim.SGD(points, 0.01, 0.9, fused=True),
        "SHB, heavy ball": SHB(parameters(options.millions), heavy),
        "SGD(momentum=0.9, nesterov=True)": sgd(nesterov=True),
        "SHB, lookahead": SHB(parameters(options.millions), ahead),
    }
    rounds: dict[str, list[float]] = {name: [] for name in optimizers}
    for turn in range(options.rounds + 1):
        for name, optimizer in optimizers.items():
            spent = seconds(optimizer, options.steps)
            if turn:  # the first round makes the buffers
                rounds[name].append(spent)
    best = {name: min(spent) for name, spent in rounds.items()}
    count = sum(p.numel() for p in parameters(options.millions))
    print(f"{count:,} parameters, float32, 1 thread, best of {options.rounds} interleaved rounds")
    for name, spent in best.items():
        ratio = spent / best["SGD(momentum=0.9)"]
        print(f"{name:34s} {1e3 * spent:8.2f} ms   ratio {ratio:5.2f}")
    ratio = best["SHB, heavy ball"] / best["SGD(momentum=0.9)"]
    verdict = "met" if ratio <= TARGET else "MISSED"
    print(f"heavy ball / SGD = {ratio:.2f}, target <= {TARGET}: {verdict}")


if __name__ == "__main__":
    main()
