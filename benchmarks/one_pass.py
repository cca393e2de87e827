"""Out of core to a relative suboptimality of 1e-4: the plane over a block file, `auto`, and SGD.

    python benchmarks/one_pass.py [--rows 500000] [--d 100] [--folder .]      (about a minute)

The rows are those of benchmarks/blocks.py. SGD is scikit-learn's ``partial_fit`` on the blocks as
they come, averaged, at the best of three step sizes, checked every tenth of a pass (the checks are
not counted): both are stopped as soon as they are there. Seconds of the processor and of the clock,
reading included, in turns; the median of three. Once through the system's cache, which holds the
file, and once past it. The lines are those of docs/scale.md.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from blocks import rows
from sklearn.linear_model import SGDClassifier

import bocce

GOAL, L2, TURNS, MOST_PASSES = 1e-4, 1e-3, 3, 4.0
Spent = tuple[float, float, float, str]  # processor and clock seconds, gap, what was done


class Race:
    """A file, and how far a point is from its minimum."""

    def __init__(self, path: Path, direct: bool) -> None:
        self.path, self.direct = path, direct
        file = bocce.BlockFile(path)
        pairs = [file.read(i) for i in range(file.n_blocks)]
        self.whole = bocce.Logistic(*(np.concatenate(column) for column in zip(*pairs)), l2=L2)
        self.start = self.whole.value(np.zeros(file.d))
        self.best = bocce.minimize(self.whole, "plane", tol=1e-12).history["value"][-1]

    def gap(self, value: float) -> float:
        return (value - self.best) / (self.start - self.best)

    def ours(self, method: str) -> Spent:
        clock, processor = time.perf_counter(), time.process_time()
        problem = bocce.Logistic(bocce.BlockFile(self.path, direct=self.direct), l2=L2)
        r = bocce.minimize(
            problem, method, tol=1e-9, callback=lambda now: self.gap(now.value) <= GOAL
        )
        spent = time.process_time() - processor, time.perf_counter() - clock
        done = ", ".join(f"{stage.steps} steps of {stage.method}" for stage in r.stages)
        return *spent, self.gap(r.history["value"][-1]), f"{method}: {done}"

    def sgd(self, eta0: float) -> Spent:
        model = SGDClassifier(
            loss="log_loss", alpha=L2, fit_intercept=False, average=True, eta0=eta0,
            learning_rate="invscaling", random_state=0,
        )  # fmt: skip
        file = bocce.BlockFile(self.path, direct=self.direct)
        order = np.resize(np.arange(file.n_blocks), int(MOST_PASSES * file.n_blocks))
        clock = processor = 0.0
        with closing(file.stream(order.tolist())) as stream:
            for count in range(1, order.size + 1):
                began = time.perf_counter(), time.process_time()
                X, y = next(stream)
                model.partial_fit(X, y, classes=[-1.0, 1.0])
                clock += time.perf_counter() - began[0]
                processor += time.process_time() - began[1]
                if count % max(1, file.n_blocks // 10) and count < order.size:
                    continue
                gap = self.gap(self.whole.value(model.coef_[0].astype(np.float64)))
                if gap <= GOAL:
                    break
        return processor, clock, gap, f"SGD, eta0 = {eta0}, {count / file.n_blocks:.1f} passes"


def race(path: Path, direct: bool) -> list[str]:
    """A line for each way: what was done, processor s, clock s, suboptimality."""
    found = Race(path, direct)
    ways: dict[str, Callable[[], Spent]] = {
        "plane": lambda: found.ours("plane"),
        "auto": lambda: found.ours("auto"),
        **{f"SGD {eta0}": lambda eta0=eta0: found.sgd(eta0) for eta0 in (0.1, 1.0, 10.0)},
    }
    for way in ways.values():
        way()  # compiles, and reads the file once
    runs: dict[str, list[Spent]] = {name: [] for name in ways}
    for _ in range(TURNS):
        for name, way in ways.items():
            runs[name].append(way())
    lines = []
    for of_way in runs.values():
        processor, clock, gap = (float(np.median([run[i] for run in of_way])) for i in range(3))
        lines.append(f"| {of_way[0][3]} | {processor:.2f} | {clock:.2f} | {gap:.1e} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--d", type=int, default=100)
    parser.add_argument("--folder", type=Path, default=Path("."))
    args = parser.parse_args()
    path = args.folder / "one_pass.arrow"
    bocce.data.write_blocks(path, rows(args.rows, args.d, True))
    for direct in (False, True):
        print(f"\nload average {os.getloadavg()[0]:.1f}\n")
        print(f"| reads {'past' if direct else 'from'} the cache | processor | clock | reached |")
        print("|---|---|---|---|")
        print("\n".join(race(path, direct)), flush=True)
    path.unlink()


if __name__ == "__main__":
    main()
