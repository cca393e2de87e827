"""bocce's defaults against scikit-learn's linear models and nine other packages.

    python benchmarks/peers.py [--data NAME ...] [--l2 1/n 0.01/n] [--quick] [--again]
                               [--markdown] [--plot FILE] [--peers NAME ...] [--python FILE]

The peers in --peers (cyanure, glum, skglm, adelie, snapml, scikit-learn-intelex, statsmodels, SciPy
and torch) run each in a process of its own, by the interpreter --python; which are not installed
there is said (_peers_worker.py says how to install them). Their CPU seconds are that process's.

CPU seconds, one thread, until (f - f*)/(f(0) - f*) is at most 1e-4 and 1e-6. One objective for all:
mean loss + l2/2 ||w||^2 without intercept, l2 = 1/n and 0.01/n; every point is judged by it, and f*
is certified by its gradient. Each solver is refitted from scratch with growing settings (ours: a
tolerance that falls by half decades; the others: more iterations, own tolerance off); the time to a
level is that of the cheapest fit that reached it. The others take turns, and the fits that count
are repeated in turns; the least time of each is kept. Our kernels are compiled before the clock
runs. "SGD best" is the best at each level of six settings, their search not charged.

A peer climbs no further when one of its fits took --cap times as long as ours to 1e-6 without
getting there (it is slower), or when all its fits together took --budget seconds: the detailed
tables say which. With the defaults all cells take about a quarter of an hour on an idle core.
Every cell is kept in --results when it is done; a run that was stopped goes on behind it, and
--again measures anew.

ijcnn1 and covtype are dense, a9a, w8a, sector and rcv1 subset CSR. "rcv1 subset" is 1,747 documents
of RCV1, and sector (its first class against the rest) text with n < d: they stand in for LIBSVM's
rcv1. 200 x 500, 1k x 10, 300k x 20 and 100k x 400 are benchopt's simulated data (isotropic and
separable); wide is 2,000 x 20,000 of fifty factors; iris (its second class against the rest) and
cancer are scikit-learn's; words is a sparse 200,000 x 100,000 with 100 entries a row; million
1,000,000 x 100, condition number 100.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
import time
from pathlib import Path

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"  # before NumPy is loaded

import _peers_report as report  # noqa: E402
from _peers_cells import L2S, NAMES, Cell, cells, losses_of  # noqa: E402
from _peers_others import NAMES as OTHERS  # noqa: E402
from _peers_others import missing  # noqa: E402
from _peers_race import Raced, race  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

from bocce.data.libsvm import cache_folder  # noqa: E402


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="6,000 rows, about a minute")
    parser.add_argument("--data", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME")
    parser.add_argument("--l2", nargs="+", choices=list(L2S), default=list(L2S))
    parser.add_argument("--budget", type=float, help="seconds a solver may climb on one cell")
    parser.add_argument("--cap", type=float, default=3.0, help="times ours: a peer is slower")
    parser.add_argument("--repeats", type=int, default=3, help="of each fit that counts")
    parser.add_argument("--cache", type=Path, default=cache_folder() / "peers")
    parser.add_argument("--results", type=Path, default=Path("results/peers.json"))
    parser.add_argument("--peers", nargs="*", choices=OTHERS, default=list(OTHERS), metavar="NAME")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of these peers")
    parser.add_argument("--again", action="store_true", help="measure what is kept anew")
    parser.add_argument("--plot", type=Path, help="draw the curves into this file")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown too")
    return parser.parse_args()


class Kept:
    """The cells that are done, in a file."""

    def __init__(self, path: Path, settings: dict[str, float]) -> None:
        self.path, self.settings = path, settings
        known = json.loads(path.read_text()) if path.exists() else []
        self.all = [Raced.of(found) for found in known]

    def find(self, key: tuple[str, str, str]) -> Raced | None:
        of_this = (r for r in self.all if r.key == key and r.settings == self.settings)
        return next(of_this, None)

    def put(self, raced: Raced) -> None:
        others = [r for r in self.all if (r.key, r.settings) != (raced.key, raced.settings)]
        self.all = [*others, raced]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps([r.as_dict() for r in self.all], indent=1))
        beside.replace(self.path)


def raced_cell(cell: Cell, args: argparse.Namespace, settings: dict[str, float]) -> Raced:
    climbs = race(cell, settings["budget"], args.repeats, args.cap, args.peers, args.python)
    d, sparse = int(cell.X.shape[1]), not hasattr(cell.X, "strides")
    when = time.strftime("%Y-%m-%d %H:%M")
    return Raced(
        cell.data, cell.loss, cell.label, cell.n, d, sparse, climbs, settings, when
    )  # fmt: skip


def run(args: argparse.Namespace) -> list[Raced]:
    budget = args.budget or (2.0 if args.quick else 12.0)
    settings = {"budget": budget, "cap": args.cap, "repeats": args.repeats, "quick": args.quick}
    kept, found = Kept(args.results, settings), []
    for name in args.data:
        wanted = [(loss, label) for loss in losses_of(name) for label in args.l2]
        known = [] if args.again else [kept.find((name, *pair)) for pair in wanted]
        for raced in filter(None, known):
            print(f"{' '.join(raced.key)}: measured {raced.when}, kept in {args.results}.")
            wanted.remove((raced.loss, raced.label))
            found.append(raced)
        for cell in cells(name, wanted, args.quick, args.cache) if wanted else ():
            raced = raced_cell(cell, args, settings)
            print(report.detail(raced), flush=True)
            kept.put(raced)
            found.append(raced)
    return found


def main() -> None:
    args = arguments()
    for line in missing(args.python):
        print(line)
        args.peers = [name for name in args.peers if name != line.partition(":")[0]]
    begin = time.monotonic()
    with threadpool_limits(1):
        found = run(args)
    print("\n" + report.table(found))
    print("\n" + "\n".join(textwrap.fill(line, 100) for line in report.verdicts(found)))
    print(f"\n{time.monotonic() - begin:.0f} s in all")
    if args.markdown:
        print("\n" + report.markdown(found))
    if args.plot:
        from _peers_plot import draw

        draw(found, args.plot)


if __name__ == "__main__":
    main()
