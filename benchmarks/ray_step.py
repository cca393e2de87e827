"""What a step on the plane costs over Ray actors: messages, work, and the model of both.

    python benchmarks/ray_step.py [--numbers 100000000] [--workers 1 2]

Messages: the three of a step on two rows a worker, so that nothing but messages is left. Work: the
same step of logistic regression on ``--numbers`` float32 numbers a worker (d = 100), and the time
that a worker's processor spends on it: on a machine that others use at the same time that, and the
least of the messages, is what to go by. The last lines are what benchmarks/scale.py takes.
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


class Times(NamedTuple):
    """ms of a step: the median, the least, and what the busiest worker's processor spends."""

    median: float
    least: float
    processor: float


def processor_time(problem: Problem) -> float:
    return time.process_time()


def milliseconds(rows: int, d: int, workers: int, steps: int = STEPS) -> Times:
    """A step on so many rows a worker."""
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
        before = [spent for _, spent in problem.over(processor_time)]
        for k in range(steps + WARM):
            direction = rng.standard_normal(d)
            begin = time.perf_counter()
            scores.scale(0, scores.aim(0, direction))
            scores.gram(HELD)
            scores.move(DIRECTIONS)
            scores.keep(1 + k % (HELD - 1), 1.0)
            scores.gradient()
            times.append(1e3 * (time.perf_counter() - begin))
        after = [spent for _, spent in problem.over(processor_time)]
    spent = 1e3 * max(np.subtract(after, before)) / (steps + WARM)
    return Times(float(np.median(times[WARM:])), min(times[WARM:]), float(spent))


def show(what: str, count: int, times: Times) -> None:
    print(f"{what:24s}{count:9d}{times.median:9.2f}{times.least:9.2f}{times.processor:12.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--numbers", type=float, default=1e8)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    cores = os.cpu_count() or 1
    cpus = max(cores, *args.workers)
    ray.init(address="local", num_cpus=cpus, include_dashboard=False, log_to_driver=False)
    print(f"{cores} cores, load {os.getloadavg()[0]:.1f}")
    print("ms a step                 workers   median    least   processor")
    messages, whole = {}, {}
    for count in args.workers:
        for d in (100, 50_000):
            messages[d, count] = milliseconds(2, d, count)
            show(f"messages, d = {d}", count, messages[d, count])
    for count in args.workers:
        whole[count] = milliseconds(int(args.numbers / 100), 100, count, 8)
        show(f"{args.numbers:.0e} numbers each", count, whole[count])
    first, last = args.workers[0], args.workers[-1]
    for d in (100, 50_000):
        a, b = messages[d, first].least, messages[d, last].least
        each = (b - a) / max(1, last - first)
        print(f"d = {d}: --call-ms {max(0.0, a - each * first):.2f} --worker-ms {each:.2f}")
    print(f"--work-ms {whole[first].processor:.0f}")
    alone = last / first * whole[first].processor
    speed = alone / (whole[last].processor + messages[100, last].least)
    print(f"{last} workers, each on a core of its own: {speed:.2f} times one machine")
    ray.shutdown()


if __name__ == "__main__":
    main()
