"""bocce's defaults against scikit-learn's linear models and cyanure.

    python benchmarks/peers.py [--quick] [--data NAME ...] [--plot FILE] [--json FILE] [--markdown]

CPU seconds, one thread, and passes over the data until (f - f*)/(f(0) - f*) is at most 1e-2, 1e-4
and 1e-6. One objective for all: mean loss + l2/2 ||w||^2 with l2 = 1/n and no intercept; every
point is judged by it, and f* is certified by its gradient. Each solver is refitted from scratch
with growing settings (ours: a tolerance that falls by half decades; the others: more iterations,
own tolerance off); the time to a level is that of the cheapest fit that reached it. Solvers take
turns, and the fits that count are repeated in turns; the least time of each is kept. Our kernels
are compiled before the clock runs. First-order are gradient steps alone: bocce, SGD, sag, saga and
cyanure. Passes are blank where a solver does not count them (lbfgs, Newton, lsqr, direct).
"SGD best" is the best at each level of six settings of step and averaging, their search not
charged. sector: its first class against the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import textwrap
import time
from pathlib import Path

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"  # before NumPy is loaded

import _peers_report as report  # noqa: E402
from _peers_cells import NAMES, cells  # noqa: E402
from _peers_race import LEVELS, race  # noqa: E402
from _peers_solvers import cyanure  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

from bocce.data.libsvm import cache_folder  # noqa: E402


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="subsets of rows, under two minutes")
    parser.add_argument("--data", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME")
    parser.add_argument("--l2", type=float, help="1/n unless given")
    parser.add_argument("--budget", type=float, help="seconds a solver may climb on one problem")
    parser.add_argument("--repeats", type=int, help="of each fit that counts")
    parser.add_argument("--cache", type=Path, default=cache_folder() / "peers")
    parser.add_argument("--plot", type=Path, help="draw the curves into this file")
    parser.add_argument("--json", type=Path, help="write every fit into this file")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown too")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    budget = args.budget or (2.0 if args.quick else 25.0)
    repeats = args.repeats or (2 if args.quick else 3)
    if cyanure is None:
        print("cyanure is not installed (pip install cyanure): left out.")
    begin = time.monotonic()
    raced = []
    with threadpool_limits(1):
        for cell in cells(args.data, args.l2, args.quick, args.cache):
            climbs = race(cell, budget, repeats)
            print(report.detail(cell, climbs), flush=True)
            raced.append((cell, climbs))
    for level in LEVELS:
        print("\n" + report.table(raced, level))
    print("\n" + "\n".join(textwrap.fill(line, 100) for line in report.verdicts(raced)))
    print(f"\n{time.monotonic() - begin:.0f} s in all")
    if args.markdown:
        print("\n" + report.markdown(raced))
    if args.json:
        args.json.write_text(json.dumps(report.as_json(raced), indent=1))
    if args.plot:
        from _peers_plot import draw

        draw(raced, args.plot)


if __name__ == "__main__":
    main()
