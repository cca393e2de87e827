"""What benchmarks/peers.py prints: tables, verdicts, Markdown, JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from _peers_cells import SYNTHETIC, Cell
from _peers_race import LEVELS, Climb, Rung, by_label
from _peers_solvers import OURS, Solver

Raced = tuple[Cell, list[Climb]]
HEAD = (
    f"{'data':<10}{'loss':<9}{'ours':>7} |{'sklearn':>8}{'ratio':>7} {'which':<11} |"
    f"{'1st-order':>9}{'ratio':>7} {'which':<9} |{'cyanure':>8}{'ratio':>7}"
)
SLOWER, FASTER = 3.0, 5.0  # the goals: at most 3x slower to 1e-4; 5x faster on the million rows
GOAL_LEVEL = 1e-4


def seconds(rung: Rung | None) -> float:
    return math.inf if rung is None else rung.seconds


def best_of(
    climbs: list[Climb], level: float, which: Callable[[Solver], bool]
) -> tuple[float, str]:
    """The least seconds to the level among some solvers, and whose."""
    labels = {climb.solver.label for climb in climbs if which(climb.solver)}
    found = by_label(climbs, level)
    return min(((seconds(found[label]), label) for label in labels), default=(math.inf, ""))


def ours(climbs: list[Climb], level: float) -> float:
    return best_of(climbs, level, lambda s: s.label == OURS)[0]


def sklearn_best(climbs: list[Climb], level: float) -> tuple[float, str]:
    return best_of(climbs, level, lambda s: s.kind == "sklearn")


def first_order_best(climbs: list[Climb], level: float) -> tuple[float, str]:
    return best_of(climbs, level, lambda s: s.first_order and s.label != OURS)


def cyanure_best(climbs: list[Climb], level: float) -> tuple[float, str]:
    return best_of(climbs, level, lambda s: s.kind == "cyanure")


def peers_best(climbs: list[Climb], level: float) -> tuple[float, str]:
    return best_of(climbs, level, lambda s: s.label != OURS)


def number(x: float) -> str:
    return "-" if not math.isfinite(x) else f"{x:#.3g}".rstrip(".") if x < 1000 else f"{x:.0f}"


def ratio(theirs: float, mine: float) -> str:
    """Theirs over ours: "-" where they never get there, "lost" where only they do."""
    if math.isinf(theirs):
        return "-"
    return "lost" if math.isinf(mine) else number(theirs / mine)


def detail(cell: Cell, climbs: list[Climb]) -> str:
    """Seconds and passes of every solver on one cell."""
    head = " ".join(f"{f's to {level:.0e}':>12}" for level in LEVELS)
    head += " ".join(f"{f'passes {level:.0e}':>14}" for level in LEVELS)
    kind = "dense" if cell.dense else "sparse"
    size = f"{cell.data}, {cell.loss}: {cell.n} x {cell.X.shape[1]} {kind}, l2 = {cell.l2:.3g}"
    lines = [size, f"  {'':<12}{head}"]
    found = [by_label(climbs, level) for level in LEVELS]
    for label in found[0]:
        rungs = [at[label] for at in found]
        spent = " ".join(f"{number(seconds(rung)):>12}" for rung in rungs)
        passes = [math.inf if r is None or r.passes is None else r.passes for r in rungs]
        lines.append(f"  {label:<12}{spent}" + " ".join(f"{number(x):>14}" for x in passes))
    for climb in climbs:
        if climb.failure:
            lines.append(f"  {climb.solver.label} {climb.solver.name} stopped: {climb.failure}")
    return "\n".join(lines)


def row(cell: Cell, climbs: list[Climb], level: float) -> tuple[str, ...]:
    mine = ours(climbs, level)
    whole, first = sklearn_best(climbs, level), first_order_best(climbs, level)
    other = cyanure_best(climbs, level)[0]
    return (
        *(cell.data, cell.loss, number(mine)),
        *(number(whole[0]), ratio(whole[0], mine), whole[1] if whole[0] < math.inf else ""),
        *(number(first[0]), ratio(first[0], mine), first[1] if first[0] < math.inf else ""),
        *(number(other), ratio(other, mine)),
    )


def table(raced: Iterable[Raced], level: float) -> str:
    lines = [f"Seconds to (f - f*)/(f(0) - f*) <= {level:.0e}; ratio = theirs/ours", HEAD]
    for cell, climbs in raced:
        data, loss, mine, s, sr, sw, f, fr, fw, c, cr = row(cell, climbs, level)
        lines.append(
            f"{data:<10}{loss:<9}{mine:>7} |{s:>8}{sr:>7} {sw:<11} |"
            f"{f:>9}{fr:>7} {fw:<9} |{c:>8}{cr:>7}"
        )
    return "\n".join(lines)


def markdown(raced: list[Raced]) -> str:
    lines = []
    for level in LEVELS:
        lines += [
            f"To {level:.0e}:",
            "",
            "| data | loss | ours, s | best of scikit-learn, s | ratio | best first-order peer, s "
            "| ratio | cyanure, s | ratio |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for cell, climbs in raced:
            data, loss, mine, s, sr, sw, f, fr, fw, c, cr = row(cell, climbs, level)
            lines.append(
                f"| {data} | {loss} | {mine} | {s} {sw} | {sr} | {f} {fw} | {fr} | {c} | {cr} |"
            )
        lines.append("")
    return "\n".join([*lines, *(f"- {line}" for line in verdicts(raced))])


def verdicts(raced: list[Raced]) -> list[str]:
    """The three goals, and where others win, in words."""
    lines = [_never_much_slower(raced), _first_on_dense(raced), _much_faster_on_a_million(raced)]
    for level in LEVELS:
        lost = []
        for cell, climbs in raced:
            theirs, name = peers_best(climbs, level)
            if theirs < ours(climbs, level):
                lost.append(f"{cell.data} {cell.loss} ({name})")
        lines.append(f"To {level:.0e} others are first on: {', '.join(lost) or 'none'}.")
    return lines


def _times(mine: float, theirs: float) -> str:
    return "not reached by ours" if math.isinf(mine) else f"ours {mine / theirs:.2g}x slower"


def _verdict(goal: str, failures: list[str], applies: bool) -> str:
    if not applies:
        return f"{goal}: not measured in this run."
    return f"{goal}: " + ("met." if not failures else f"MISSED on {'; '.join(failures)}.")


def _never_much_slower(raced: list[Raced]) -> str:
    failures = []
    for cell, climbs in raced:
        mine, (theirs, name) = ours(climbs, GOAL_LEVEL), peers_best(climbs, GOAL_LEVEL)
        if mine > SLOWER * theirs:
            failures.append(f"{cell.data} {cell.loss} ({name}, {_times(mine, theirs)})")
    goal = f"Never more than {SLOWER:g}x slower than the best to {GOAL_LEVEL:.0e}"
    return _verdict(goal, failures, bool(raced))


def _first_on_dense(raced: list[Raced]) -> str:
    failures, dense = [], [pair for pair in raced if pair[0].dense]
    for cell, climbs in dense:
        for level in LEVELS:
            mine, (theirs, name) = ours(climbs, level), first_order_best(climbs, level)
            if theirs < mine:
                slower = _times(mine, theirs)
                failures.append(f"{cell.data} {cell.loss} to {level:.0e} ({name}, {slower})")
    return _verdict("Faster than every first-order peer on dense data", failures, bool(dense))


def _much_faster_on_a_million(raced: list[Raced]) -> str:
    failures, large = [], [pair for pair in raced if pair[0].data == SYNTHETIC]
    for cell, climbs in large:
        for level in LEVELS:
            mine, (theirs, name) = ours(climbs, level), sklearn_best(climbs, level)
            if theirs < FASTER * mine:
                by = "ours never" if math.isinf(mine) else f"{ratio(theirs, mine)}x"
                failures.append(f"{cell.loss} to {level:.0e} ({name}, {by})")
    goal = f"At least {FASTER:g}x faster than scikit-learn's best on n = 1M"
    return _verdict(goal, failures, any(cell.n == 1_000_000 for cell, _ in large))


def as_json(raced: list[Raced]) -> list[dict[str, Any]]:
    """Every rung of every solver."""
    found = []
    for cell, climbs in raced:
        for climb in climbs:
            about = {
                "data": cell.data, "loss": cell.loss, "n": cell.n, "d": int(cell.X.shape[1]),
                "dense": cell.dense, "l2": cell.l2, "solver": climb.solver.label,
                "setting": climb.solver.name, "failure": climb.failure,
            }  # fmt: skip
            rungs = [vars(rung) | {"gap": min(rung.gap, 1e300)} for rung in climb.rungs]
            found.append(about | {"rungs": rungs})
    return found
