"""Files larger than memory: the share of the disk's speed, and the time to a solution.

    python benchmarks/blocks.py [--rows 1000000] [--d 100] [--folder .] [--rows-solved 0]

Two minutes; docs/scale.md quotes the ratios. All reads of the file go past the system's cache,
so its size does not matter. ``raw`` reads the same bytes in the same random order with one thread
and nothing else; it is measured in turns with the others, and shares are medians over turns. The
first pass compares every checksum. Parquet: the same rows in a file of as many row groups,
uncompressed, as ``bocce.data.open`` reads it in parts (through the cache; each part decoded and its
checksum compared every time). With ``--rows-solved`` a last table is logistic regression in batches
to a relative suboptimality of 1e-4 and 1e-6, every pass included: block file, the same rows in
memory, and scikit-learn's partial_fit over the same block file (its reading included, its checks
not).
"""

from __future__ import annotations

import argparse
import mmap
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from sklearn.linear_model import SGDClassifier

import bocce
from bocce._direct import PAGE
from bocce.engines import Recorder, State
from bocce.engines.blocks import BlockEngine

TURNS, GOALS, L2 = 7, (1e-4, 1e-6), 1e-3
STEPS = (50, 100, 200, 400, 800, 1600)
CHUNK = 50_000


def rows(n: int, d: int, labels: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Columns of falling scale (kappa of about 100), a linear model and noise."""
    rng = np.random.default_rng(0)
    scales = np.geomspace(1.0, 0.1, d).astype(np.float32)
    w = rng.standard_normal(d) / np.sqrt((scales**2).sum())
    for _ in range(n // CHUNK):
        X = rng.standard_normal((CHUNK, d), dtype=np.float32) * scales
        y = X @ w + rng.standard_normal(CHUNK)
        yield X, np.where(y > 0, 1.0, -1.0) if labels else y


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def read_raw(file: bocce.BlockFile, order: np.ndarray) -> None:
    handle = os.open(file.path, os.O_RDONLY | getattr(os, "O_DIRECT", 0))
    first = file.store.table["offset"] // PAGE * PAGE
    ends = file.store.table["offset"] + file.store.table["length"]
    sizes = -(-(ends - first) // PAGE) * PAGE
    view = memoryview(mmap.mmap(-1, int(sizes.max())))
    for i in order.tolist():
        os.preadv(handle, [view[: sizes[i]]], int(first[i]))
    os.close(handle)


def read_stream(file: bocce.BlockFile, order: np.ndarray) -> None:
    with closing(file.stream(order.tolist())) as stream:
        for _ in stream:
            pass


def as_parquet(file: bocce.BlockFile) -> bocce.BlockFile:
    """The same blocks as row groups, opened in parts."""
    path = file.path.with_suffix(".parquet")
    names = [f"x{j}" for j in range(file.d)] + ["y"]
    schema = pa.schema([(name, pa.float32()) for name in names[:-1]] + [("y", pa.float64())])
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    with parquet.ParquetWriter(path, schema, **options) as writer:
        for X, y in file.stream(range(file.n_blocks)):
            writer.write_table(pa.table([*X.T.copy(), y], schema=schema))
    return bocce.data.open(path, memory=file.block_rows * file.d * 100)


def bandwidth(file: bocce.BlockFile) -> None:
    gigabytes = file.store.table["length"].sum() / 1e9
    columns = as_parquet(file)
    problem = bocce.LeastSquares(file)
    taken = max(1, file.n_blocks // 10)
    steps = file.n_blocks // taken
    schedule = bocce.schedules.sgd(steps, L=1e3)
    problem.gram  # noqa: B018 - the pass that also compares every checksum
    engine = BlockEngine(problem, round(taken * file.n / file.n_blocks), 0, "reshuffle")

    def take_steps() -> None:
        state = State(np.zeros(file.d), np.zeros(file.d))
        engine.advance(state, schedule, steps, Recorder(np.array([steps]), np.inf, -1.0))

    take_steps()  # compiles

    def first_pass(order: np.ndarray) -> None:
        read_stream(bocce.BlockFile(file.path, direct=True), order)

    ways = {
        "raw: one thread, the same bytes in the same order": lambda order: read_raw(file, order),
        "`BlockFile.stream`": lambda order: read_stream(file, order),
        "the same, first pass": first_pass,
        "steps of 10 % of the blocks": lambda order: take_steps(),
        "the same rows in Parquet": lambda order: read_stream(columns, order),
    }
    rng = np.random.default_rng(1)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(TURNS):
        order = rng.permutation(file.n_blocks)
        for name, way in ways.items():
            times[name].append(seconds(lambda way=way, order=order: way(order)))
    raw = np.array(next(iter(times.values())))
    block = int(file.store.table["length"].max()) >> 10
    print(f"{file}: {gigabytes:.2f} GB, blocks of {block} KiB")
    print(f"load average {os.getloadavg()[0]:.1f}\n\n| | GB/s | share of raw |\n|---|---|---|")
    for name in ways:
        share = np.median(raw / times[name])
        print(f"| {name} | {gigabytes / np.median(times[name]):.2f} | {share:.2f} |")


def time_to_goals(name: str, attempt: Callable[[int], tuple[float, float]]) -> None:
    """Twice as many steps until each goal is reached."""
    runs = []
    for steps in STEPS:
        runs.append((*attempt(steps), steps))
        if runs[-1][1] <= GOALS[-1]:
            break
    for goal in GOALS:
        made = [run for run in runs if run[1] <= goal]
        spent, gap, steps = made[0] if made else runs[-1]
        words = "reached in" if made else "not reached in"
        print(f"  {name:34s} {goal:.0e} {words} {spent:6.2f} s ({gap:.1e} after {steps} steps)")


def solve(folder: Path, n: int, d: int) -> None:
    path = folder / "logistic.arrow"
    file = bocce.data.write_blocks(path, rows(n, d, True))
    whole = bocce.Logistic(
        *(np.concatenate(c) for c in zip(*((X.copy(), y) for X, y in rows(n, d, True)))), l2=L2
    )
    start, best = whole.value(np.zeros(d)), whole.value(whole.minimiser())

    def suboptimality(w: np.ndarray) -> float:
        return (whole.value(w) - best) / (start - best)

    def on_blocks(steps: int) -> tuple[float, float]:
        fresh = bocce.Logistic(bocce.BlockFile(path, direct=True), l2=L2)
        return run(fresh, steps)

    def in_memory(steps: int) -> tuple[float, float]:
        return run(bocce.Logistic(whole.X, whole.y, l2=L2), steps)

    def run(p: bocce.Logistic, steps: int) -> tuple[float, float]:
        begin = time.perf_counter()
        r = bocce.minimize(
            p, "auto", T=steps, batch_size=0.02, record_every=steps, sampling="reshuffle"
        )
        return time.perf_counter() - begin, suboptimality(r.w)

    def partial_fit(steps: int) -> tuple[float, float]:
        """As many rows as bocce's steps take; the best of three step sizes, each timed alone."""
        found = []
        for eta0 in (0.01, 0.1, 1.0):
            model = SGDClassifier(
                loss="log_loss", alpha=L2, fit_intercept=False, average=True, eta0=eta0,
                learning_rate="invscaling", random_state=0,
            )  # fmt: skip
            begin = time.perf_counter()
            order = np.resize(np.arange(file.n_blocks), round(0.02 * file.n_blocks * steps))
            with closing(bocce.BlockFile(path, direct=True).stream(order.tolist())) as stream:
                for X, y in stream:
                    model.partial_fit(X, y, classes=[-1.0, 1.0])
            found.append((time.perf_counter() - begin, suboptimality(model.coef_[0])))
        return min(found, key=lambda pair: pair[1])

    in_memory(2)  # compiles
    on_blocks(2)
    print(f"logistic, n = {n}, d = {d}, l2 = {L2}: relative suboptimality")
    time_to_goals("bocce, block file", on_blocks)
    time_to_goals("bocce, in memory", in_memory)
    time_to_goals("SGDClassifier.partial_fit, blocks", partial_fit)
    path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--d", type=int, default=100)
    parser.add_argument("--folder", type=Path, default=Path("."))
    parser.add_argument("--rows-solved", type=int, default=0)
    args = parser.parse_args()
    path = args.folder / "bandwidth.arrow"
    spent = seconds(lambda: bocce.data.write_blocks(path, rows(args.rows, args.d, False)))
    print(f"written with its shuffle at {path.stat().st_size / spent / 1e9:.2f} GB/s")
    bandwidth(bocce.BlockFile(path, direct=True))
    path.unlink()
    path.with_suffix(".parquet").unlink()
    if args.rows_solved:
        solve(args.folder, args.rows_solved, args.d)


if __name__ == "__main__":
    main()
