"""Data in parts: processor time and memory of a pass over Arrow and Parquet, beside raw reads.

    python benchmarks/studies/parts.py [--rows 1000000] [--d 100] [--part-rows 2500] [--folder .]

A minute; docs/scale.md quotes the ratios. ``raw`` reads the bytes of the Arrow file in the same
order with one thread and nothing else, from the system's cache. All ways are measured in turns, and
a ratio is the median over turns. ``lists``: the same rows as one column of lists. A gradient is
``Problem.gradient`` of least squares; a step takes a tenth of the parts, and a run of ten steps
looks at all rows once more. Megabytes are the most that the process took, less what it took before
the files were opened.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import resource

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import bocce
from bocce.data.read.files import in_parts

TURNS = 5


def batches(n: int, d: int, size: int):
    """Columns of falling scale (kappa of about 100), a linear model and noise."""
    rng = np.random.default_rng(0)
    scales = np.geomspace(1.0, 0.1, d).astype(np.float32)
    w = rng.standard_normal(d) / np.sqrt((scales**2).sum())
    for _ in range(n // size):
        X = rng.standard_normal((size, d), dtype=np.float32) * scales
        yield X, X @ w + rng.standard_normal(size)


def write(folder: Path, n: int, d: int, size: int) -> dict[str, Path]:
    """The same rows in three files."""
    names = [f"x{j}" for j in range(d)]
    columns = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.float64())])
    lists = pa.schema([("x", pa.list_(pa.float32(), d)), ("y", pa.float64())])
    paths = {
        "Arrow": folder / "columns.arrow",
        "Arrow, lists": folder / "lists.arrow",
        "Parquet": folder / "columns.parquet",
    }
    with (
        pa.ipc.new_file(str(paths["Arrow"]), columns) as by_columns,
        pa.ipc.new_file(str(paths["Arrow, lists"]), lists) as by_rows,
        parquet.ParquetWriter(
            paths["Parquet"], columns, compression="none", use_dictionary=False
        ) as groups,
    ):
        for X, y in batches(n, d, size):
            batch = pa.record_batch([*X.T.copy(), y], schema=columns)
            by_columns.write_batch(batch)
            groups.write_batch(batch)
            rows = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), d)
            by_rows.write_batch(pa.record_batch([rows, y], schema=lists))
    return paths


def read_raw(path: Path) -> None:
    room = bytearray(1 << 20)
    with path.open("rb", buffering=0) as stream:
        while stream.readinto(room):
            pass


def read_stream(file: bocce.data.Parts) -> None:
    with closing(file.stream(range(file.n_parts))) as stream:
        for _ in stream:
            pass


def ways_of(name: str, file: bocce.data.Parts) -> dict[str, Callable[[], object]]:
    """A pass each."""
    problem = bocce.LeastSquares(file)
    problem.gram  # noqa: B018 - so that steps are all that is measured
    w = np.full(file.d, 0.5)
    steps = bocce.schedules.sgd(10, L=1e3)
    how = {"batch_size": 0.1, "sampling": "reshuffle", "record_every": 10}
    return {
        f"{name}: stream": lambda: read_stream(file),
        f"{name}: gradient": lambda: problem.gradient(w),
        f"{name}: steps": lambda: bocce.minimize(problem, steps, **how),
    }


def megabytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--d", type=int, default=100)
    parser.add_argument("--part-rows", type=int, default=2500)
    parser.add_argument("--folder", type=Path, default=Path("."))
    args = parser.parse_args()
    paths = write(args.folder, args.rows, args.d, args.part_rows)
    size = paths["Arrow"].stat().st_size
    before = megabytes()
    ways: dict[str, Callable[[], object]] = {"raw read": lambda: read_raw(paths["Arrow"])}
    for name, path in paths.items():
        ways |= ways_of(name, in_parts(path))
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(TURNS + 1):  # the first turn warms up
        for name, way in ways.items():
            begin = time.process_time()
            way()
            if turn:
                spent[name].append(time.process_time() - begin)
    raw = np.array(spent["raw read"])
    print(f"{args.rows} x {args.d} float32, {size / 1e9:.2f} GB, parts of {args.part_rows} rows")
    print(f"load average {os.getloadavg()[0]:.1f}; {megabytes() - before} MB taken\n")
    print("| a pass | processor s | times raw |\n|---|---|---|")
    for name, times in spent.items():
        ratio = np.median(np.array(times) / raw)
        print(f"| {name} | {np.median(times):.3f} | {ratio:.2f} |")
    for path in paths.values():
        path.unlink()


if __name__ == "__main__":
    main()
