"""What a step on the plane costs over Ray actors: messages, work, and the model of both.

    python benchmarks/ray_step.py [--numbers 100000000] [--workers 1 2]

Messages: the three of a step on two rows a worker, so that nothing but messages is left. Work: the
same step of logistic regression on ``--numbers`` float32 numbers a worker (d = 100). Each is the
median, and the least, over steps; on a machine that others use at the same time the least is the
better guess. The last lines are what benchmarks/scale.py takes: messages = call + worker P, and the
work of one worker.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any, NamedTuple

import numpy as np
import ray

from bocce.losses import Logistic
from bocce.problems import Problem
from bocce.ray.problem import placed
from bocce.ray.sources import Survey
from bocce.rows import Dense

STEPS, WARM, HELD = 40, 5, 6
DIRECTIONS = np.full(HELD, 1e-3)


class Made(NamedTuple):
    """Rows that a worker makes for itself: nothing large is sent."""

    rows: int
    d: int
    seed: int

    def __call__(self, loss: Any, l2: float) -> Problem:
        rng = np.random.default_rng(self.seed)
        X = rng.standard_normal((self.rows, self.d), dtype=np.float32)
        y = np.where(X[:, 0] + rng.standard_normal(self.rows) > 0, 1.0, -1.0)
        return Problem.of(Dense(X), y, loss, l2)


def milliseconds(rows: int, d: int, workers: int, steps: int = STEPS) -> tuple[float, float]:
    """The median and the least time of a step on so many rows a worker."""
    counts = [rows] * workers
    sources = [Made(rows, d, part) for part in range(workers)]
    kind, cost = np.dtype(np.float32), float(workers * rows * d)
    found = Survey(sources, counts, counts, d, None, kind, cost)
    with placed(found, Logistic(), 0.0, 0) as problem:
        scores = problem.scores(problem, HELD - 1, ())
        rng, times = np.random.default_rng(0), []
        scores.start(np.zeros(d))
        for slot in range(1, HELD):
            scores.scale(slot, scores.aim(slot, rng.standard_normal(d)))
        for k in range(steps + WARM):
            direction = rng.standard_normal(d)
            begin = time.perf_counter()
            scores.scale(0, scores.aim(0, direction))
            scores.gram(HELD)
            scores.move(DIRECTIONS)
            scores.keep(1 + k % (HELD - 1), 1.0)
            scores.gradient()
            times.append(1e3 * (time.perf_counter() - begin))
    return float(np.median(times[WARM:])), min(times[WARM:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--numbers", type=float, default=1e8)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    cores = os.cpu_count() or 1
    cpus = max(cores, *args.workers)
    ray.init(address="local", num_cpus=cpus, include_dashboard=False, log_to_driver=False)
    print(f"{cores} cores, load {os.getloadavg()[0]:.1f}; ms a step: median (least)")
    messages = {}
    for d in (100, 50_000):
        for count in args.workers:
            messages[d, count] = milliseconds(2, d, count)
            median, least = messages[d, count]
            print(f"messages  d = {d:6d}  workers {count:3d}  {median:9.2f} ({least:.2f})")
    whole = {}
    for count in args.workers:
        whole[count] = milliseconds(int(args.numbers / 100), 100, count, 12)
        median, least = whole[count]
        print(f"with work d =    100  workers {count:3d}  {median:9.1f} ({least:.1f})")
    first, last = args.workers[0], args.workers[-1]
    for which, name in enumerate(("median", "least")):
        for d in (100, 50_000):
            a, b = messages[d, first][which], messages[d, last][which]
            slope = (b - a) / max(1, last - first)
            print(f"{name}: d = {d}: call {a - slope * first:.2f} ms, worker {slope:.2f} ms")
        work = whole[first][which] - messages[100, first][which]
        ratio = last / first * whole[first][which] / whole[last][which]
        print(
            f"{name}: work {work:.1f} ms for {args.numbers:.0e} numbers; {last} workers on "
            f"{last // first} times the data of {first}: {ratio:.2f} times its speed"
        )
    ray.shutdown()


if __name__ == "__main__":
    main()
