"""CSV: the time and the memory of `bocce.data.open` beside those of pandas, pyarrow and polars.

    python benchmarks/csv_text.py [--rows 1000000] [--d 20] [--digits 17] [--folder .]

Each reader has a process of its own and reads the file several times, in turns with the others.
Ratios are medians over turns, of processor time and of the clock; below 1 bocce is faster. pandas
is timed twice: ``read_csv`` alone, and with X as a row-major array of numbers, which a fit needs.
Memory is the peak of the process above what it has after its imports, in units of the arrays X and
y. OMP_NUM_THREADS=1 gives pyarrow one thread as well.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

READERS = {
    "bocce": "import bocce, pyarrow.csv\nread = lambda: bocce.data.open(path)",
    "pandas": "import pandas\nread = lambda: pandas.read_csv(path)",
    "pandas, X and y": (
        "import pandas, numpy as np\n"
        "def read():\n    whole = pandas.read_csv(path).to_numpy()\n"
        "    return np.ascontiguousarray(whole[:, :-1]), whole[:, -1].copy()"
    ),
    "pyarrow": "from pyarrow import csv\nread = lambda: csv.read_csv(path)",
    "polars": "import polars\nread = lambda: polars.read_csv(path)",
}
LOOP = """
import os, resource, sys, time
path = sys.argv[1]
{code}
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
with open(path, "rb") as file:
    head = b"".join(file.readline() for _ in range(3))
small = path + "." + str(os.getpid()) + ".csv"  # the readers start at the same time
open(small, "wb").write(head)
whole, path = path, small
read()
path, before = whole, peak()
for _ in sys.stdin:
    clock, cpu = time.perf_counter(), time.process_time()
    found = read()
    spent = time.process_time() - cpu, time.perf_counter() - clock
    print(*spent, peak() - before, flush=True)
    del found
"""


def write(path: Path, rows: int, d: int, digits: int) -> None:
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        file.write(",".join(f"x{j}" for j in range(d)) + "\n")
        for start in range(0, rows, 10_000):
            np.savetxt(
                file,
                rng.standard_normal((min(10_000, rows - start), d)),
                fmt=f"%.{digits}g",
                delimiter=",",
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--d", type=int, default=20, help="columns, the target included")
    parser.add_argument("--digits", type=int, default=17)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path("."))
    args = parser.parse_args()
    path = args.folder / "table.csv"
    write(path, args.rows, args.d, args.digits)
    print(f"{args.rows} x {args.d}, {path.stat().st_size / 1e6:.0f} MB of text")
    made = {
        name: subprocess.Popen(
            [sys.executable, "-c", LOOP.format(code=code), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, code in READERS.items()
    }
    found: dict[str, list[list[float]]] = {name: [] for name in made}
    for _ in range(args.turns):
        for name, process in made.items():
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            found[name].append([float(word) for word in process.stdout.readline().split()])
            time.sleep(0.05)
    for process in made.values():
        process.communicate()
    for small in args.folder.glob("table.csv*"):
        small.unlink()
    ours = np.array(found["bocce"])
    print("| | processor | clock | bocce/it, processor | bocce/it, clock | memory |")
    print("|---|---|---|---|---|---|")
    for name, times in found.items():
        cpu, clock, _ = np.array(times).T
        ratios = np.median(ours[:, 0] / cpu), np.median(ours[:, 1] / clock)
        memory = times[0][2] / (8 * args.rows * args.d)  # of the first time
        shown = " | ".join(f"{x:.2f}" for x in (*ratios, memory))
        print(f"| {name} | {cpu.min():.2f} s | {clock.min():.2f} s | {shown} |")


if __name__ == "__main__":
    main()
