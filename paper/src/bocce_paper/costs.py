"""About how long cells take: for an order of work and for the time that is left."""

from __future__ import annotations

from collections.abc import Hashable

from .specs import EXACT, Cell, Run

# Milliseconds of one core, measured at the paper's sizes: the headers of the cells hold them.
TABLES = {"diverging_run": 400.0, "observed_batch": 300.0, "batch_factor": 300.0}
REAL = {"ijcnn": 200.0, "rcv1": 900.0, "rcv1_vw_subset_1747": 250.0, "mushrooms": 60.0}
SEARCH = 2.0  # a line search takes so many times as long
SHARE = 4000.0  # milliseconds that one share takes, about: one problem of figures 3 and 10


def cost(cell: Cell) -> float:
    """About how many milliseconds of an idle core a cell takes."""
    job = cell.job
    if not isinstance(job, Run):
        return TABLES.get(job.name, 60.0)
    if job.data.source == "libsvm":
        run = REAL[job.data.name] * (SEARCH if "SLS" in job.rule else 1.0)
        return 5.0 + run * job.passes / 100.0
    if cell.seed == EXACT:
        return 10.0 + 0.006 * job.T
    if isinstance(job.batch, float):
        share = job.batch
    else:
        share = job.batch / job.data.n
    thousands = job.data.n * min(share, 1.0 - share) / 1000.0  # of rows that a step reads
    return 3.0 + (0.002 + 0.008 * thousands) * job.T


def shares(waiting: list[Cell], jobs: int) -> list[list[Cell]]:
    """Cells that are computed one after the other, expensive ones first.

    Those of one problem stay together, for then its data and tables are made once. A share is no
    longer than `SHARE`, nor than what keeps all processes at work.
    """
    groups: dict[Hashable, list[Cell]] = {}
    for cell in waiting:
        problem = cell.job.data if isinstance(cell.job, Run) else cell.key
        groups.setdefault(problem, []).append(cell)
    longest = min(SHARE, sum(map(cost, waiting)) / (4.0 * jobs))
    found = [share for group in groups.values() for share in _cut(group, longest)]
    return sorted(found, key=lambda share: sum(map(cost, share)), reverse=True)


def _cut(cells: list[Cell], longest: float) -> list[list[Cell]]:
    """Pieces of a list of cells that take no longer than ``longest``, or hold one cell."""
    pieces: list[list[Cell]] = [[]]
    spent = 0.0
    for cell in cells:
        if pieces[-1] and spent + cost(cell) > longest:
            pieces.append([])
            spent = 0.0
        pieces[-1].append(cell)
        spent += cost(cell)
    return pieces
