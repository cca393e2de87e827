"""What a step on the plane costs over Ray actors: messages, work, and the model of both.

    python benchmarks/ray_step.py [--numbers 100000000] [--workers 1 2]      (about two minutes)

A step that ends where it was expected to is one message, another three. Messages: of such steps on
two rows a worker, so that nothing else is left. Work: of the same steps of logistic regression on
``--numbers`` float32 numbers a worker (d = 100), and the time that a worker's processor spends on
it: on a machine that others use at the same time that, and the least of the messages, is what to go
by. The model (benchmarks/scale.py) is printed with what was just measured.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any, NamedTuple

import numpy as np
import ray
import scale

from bocce.losses import Logistic
from bocce.problems import Problem
from bocce.ray.problem import placed
from bocce.ray.sources import Survey
from bocce.rows import Dense

STEPS, WARM, HELD = 40, 5, 6
KINDS = ("one message", "three")


class Made(NamedTuple):
    """Rows that a worker makes for itself: nothing large is sent."""

    rows: int
    d: int
    seed: int

    def __call__(self, loss: Any, l2: float, intercept: bool) -> Problem:
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


def milliseconds(rows: int, d: int, workers: int, kind: str, steps: int = STEPS) -> Times:
    """A step on so many rows a worker."""
    counts = [rows] * workers
    sources = [Made(rows, d, part) for part in range(workers)]
    dtype, cost = np.dtype(np.float32), float(workers * rows * d)
    found = Survey(sources, counts, d, None, dtype, cost)
    with placed(found, Logistic(), 0.0, False) as problem:
        scores = problem.scores(problem, HELD - 1, ())
        rng, times = np.random.default_rng(0), []
        scores.start(np.zeros(d))
        for slot in range(1, HELD):
            scores.scale_direction(slot, scores.add_direction(slot, rng.standard_normal(d)))
        before = [spent for _, spent in problem.over(processor_time)]
        for k in range(steps + WARM):
            direction = rng.standard_normal(d)
            begin = time.perf_counter()
            far = scores.add_direction(0, direction, 1e-3 if kind == KINDS[0] else 0.0)
            scores.scale_direction(0, far)
            scores.curvature(HELD)
            c = np.zeros(HELD)
            c[0] = 1e-3 * far
            scores.try_step(c)
            scores.accept(1 + k % (HELD - 1), 1.0)
            scores.gradient()
            times.append(1e3 * (time.perf_counter() - begin))
        after = [spent for _, spent in problem.over(processor_time)]
    spent = 1e3 * max(np.subtract(after, before)) / (steps + WARM)
    return Times(float(np.median(times[WARM:])), min(times[WARM:]), float(spent))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--numbers", type=float, default=1e8)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    cores = os.cpu_count() or 1
    cpus = max(cores, *args.workers)
    ray.init(address="local", num_cpus=cpus, include_dashboard=False, log_to_driver=False)
    print(f"{cores} cores, load average {os.getloadavg()[0]:.1f} before\n")
    print("| workers | a step is | messages, d = 100 | d = 50,000 | with work: clock | processor |")
    print("|---|---|---|---|---|---|")
    messages, whole = {}, {}
    for count in args.workers:
        for kind in KINDS:
            few, many = (milliseconds(2, d, count, kind).least for d in (100, 50_000))
            work = milliseconds(int(args.numbers / 100), 100, count, kind, 8)
            messages[kind, count], whole[kind, count] = few, work.processor
            cells = f"{few:.1f} | {many:.1f} | {work.least:.0f} | {work.processor:.0f}"
            print(f"| {count} | {kind} | {cells} |", flush=True)
    ray.shutdown()
    first, last = args.workers[0], args.workers[-1]
    dear = KINDS[1]  # what is expected of workers is not to depend on guesses
    a, b = messages[dear, first], messages[dear, last]
    each, work = (b - a) / max(1, last - first), whole[dear, first]
    call = max(0.0, a - each * first)
    speed = last / first * work / (whole[dear, last] + b)
    print(f"\n{last} workers, each on a core of its own: {speed:.2f} times one machine")
    print(f"--work-ms {work:.0f} --call-ms {call:.2f} --worker-ms {each:.2f}\n")
    scale.table(work, call, each)


if __name__ == "__main__":
    main()
