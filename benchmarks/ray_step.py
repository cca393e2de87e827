"""What a synchronous step over Ray actors costs, and whether the cost model of docs/scale.md holds.

    python benchmarks/ray_step.py [--rows 400000] [--workers 1 2 4]

Overhead: a step on one row a worker, so that nothing but messages is left. Work: a step of logistic
regression on a tenth of the rows. Latency: a sleep put into every worker's answer. The model is

    step = overhead(workers, d) + work / min(workers, cores) + latency

with the overhead measured in the first table and the work with one worker. Medians over steps.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
import ray

import bocce
import bocce.ray
from bocce.ray import ActorEngine, _placed, _survey

STEPS, WARM = 60, 10


def parts(n: int, d: int, workers: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    made = []
    for rows in (len(share) for share in np.array_split(np.empty(n), workers)):
        X = rng.standard_normal((rows, d), dtype=np.float32)
        y = np.where(np.arange(rows) % 2, 1.0, -1.0)
        made.append((X, y))
    return made


def milliseconds(rows: list[tuple[np.ndarray, np.ndarray]], b: int) -> float:
    """The median time of a step on b rows."""
    found = _survey(rows, bocce.Logistic, None)
    with _placed(found, bocce.Logistic, 0.0, 0) as problem:
        engine = ActorEngine(problem, b, 0)
        at, times = np.zeros(problem.d), []
        for k in range(STEPS):
            start = time.perf_counter()
            engine.unit_sum(at, k)
            times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times[WARM:]))


def with_latency(seconds: float) -> type:
    """A worker whose sums come late; a local class, so that Ray sends its code along."""
    base = bocce.ray.Worker

    class Late(base):
        def unit_sum(self, at: np.ndarray, k: int, count: int) -> np.ndarray:
            time.sleep(seconds)
            return super().unit_sum(at, k, count)

    return Late


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    args = parser.parse_args()
    cores = os.cpu_count() or 1
    ray.init(num_cpus=cores, include_dashboard=False, log_to_driver=False)
    worker = bocce.ray.Worker
    overhead = {}
    print(f"{cores} cores\nms a step without work:   workers   d = 100   d = 50,000")
    for count in args.workers:
        for d in (100, 50_000):
            overhead[count, d] = milliseconds(parts(2 * count, d, count), 2 * count)
        row = "".join(f"{overhead[count, d]:10.2f}" for d in (100, 50_000))
        print(f"{count:33d}{row}")
    rows = {count: parts(args.rows, 100, count) for count in args.workers}
    alone = milliseconds(rows[args.workers[0]], args.rows // 10) - overhead[args.workers[0], 100]
    print("ms a step of work, d = 100:   workers   latency   measured   model   ratio")
    for latency in (0.0, 5.0, 20.0):
        bocce.ray.Worker = with_latency(latency / 1e3) if latency else worker
        for count in args.workers:
            measured = milliseconds(rows[count], args.rows // 10)
            model = overhead[count, 100] + alone / min(count, cores) + latency
            ratio = measured / model
            print(f"{count:37d}{latency:10.0f}{measured:11.2f}{model:8.2f}{ratio:8.2f}")
    bocce.ray.Worker = worker
    ray.shutdown()


if __name__ == "__main__":
    main()
