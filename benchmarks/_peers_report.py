"""What benchmarks/peers.py prints: a table a cell, one of all, and the goals."""

from __future__ import annotations

import math

from _peers_race import LEVELS, OURS, Raced, Rung

MOST = 1.5  # the goals: at most so many times the best peer's time,
FIRST = 2.0 / 3.0  # and first on this share of the cells to the last level
HEAD = ("data", "loss", "l2", *(h for _ in LEVELS for h in ("ours, s", "best peer, s", "ratio")))
WIDTHS = (12, 9, 7, *(w for _ in LEVELS for w in (10, 22, 8)))


def seconds(rung: Rung | None) -> float:
    return math.inf if rung is None else rung.seconds


def number(x: float) -> str:
    return "-" if not math.isfinite(x) else f"{x:#.3g}".rstrip(".") if x < 1000 else f"{x:.0f}"


def best_peer(raced: Raced, level: float) -> tuple[float, str]:
    labels = {climb.label for climb in raced.climbs} - {OURS}
    return min((seconds(raced.best(label, level)), label) for label in labels)


def ratio(raced: Raced, level: float) -> float:
    """Our time over the best peer's: 0 where no peer gets there, infinite where ours does not."""
    mine, theirs = seconds(raced.best(OURS, level)), best_peer(raced, level)[0]
    if math.isinf(mine):
        return math.inf
    return 0.0 if math.isinf(theirs) else mine / theirs


def _ratio(raced: Raced, level: float) -> str:
    found = ratio(raced, level)
    return "only ours" if found == 0.0 else "lost" if math.isinf(found) else f"{found:.2f}"


def detail(raced: Raced) -> str:
    """Seconds and passes of every solver on one cell, and why it went no further."""
    kind = "CSR" if raced.sparse else "dense"
    lines = [f"{raced.data}, {raced.loss}, l2 = {raced.label}: {raced.n} x {raced.d} {kind}"]
    head = "".join(f"{f's to {level:.0e}':>12}" for level in LEVELS)
    head += "".join(f"{f'passes {level:.0e}':>14}" for level in LEVELS)
    lines.append(f"  {'':<12}{head}   nearest")
    for label in dict.fromkeys(climb.label for climb in raced.climbs):
        found = [raced.best(label, level) for level in LEVELS]
        spent = "".join(f"{number(seconds(rung)):>12}" for rung in found)
        passes = [math.inf if r is None or r.passes is None else r.passes for r in found]
        mine = [climb for climb in raced.climbs if climb.label == label]
        nearest = min((rung.gap for climb in mine for rung in climb.rungs), default=math.inf)
        ends = "" if found[-1] else ", ".join(dict.fromkeys(climb.ended for climb in mine))
        counted = "".join(f"{number(x):>14}" for x in passes)
        lines.append(f"  {label:<12}{spent}{counted}   {nearest:.0e} {ends}".rstrip())
    return "\n".join(lines)


def row(raced: Raced) -> tuple[str, ...]:
    line = [raced.data, raced.loss, raced.label]
    for level in LEVELS:
        theirs, who = best_peer(raced, level)
        line += [number(seconds(raced.best(OURS, level)))]
        line += [f"{number(theirs)} {who}" if math.isfinite(theirs) else "-", _ratio(raced, level)]
    return tuple(line)


def table(found: list[Raced]) -> str:
    groups = " " * sum(WIDTHS[:3]) + "".join(f"{f'to {level:.0e}:':<40}" for level in LEVELS)
    lines = [groups.rstrip()]
    for line in (HEAD, *map(row, found)):
        lines.append("".join(f"{part:<{width}}" for part, width in zip(line, WIDTHS)).rstrip())
    return "\n".join(lines)


def markdown(found: list[Raced]) -> str:
    head = ["data", "loss", "l2"]
    for level in LEVELS:
        head += [f"{level:.0e}: ours, s", "best peer, s", "ours/best"]
    lines = [head, ["---"] * len(head), *map(row, found)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def verdicts(found: list[Raced]) -> list[str]:
    """The goals, and where others win, in words."""
    lines = []
    for level in LEVELS:
        ratios = {raced.key: ratio(raced, level) for raced in found}
        won = sum(r < 1.0 for r in ratios.values())
        above = [_named(key, r) for key, r in ratios.items() if r > MOST]
        behind = [_named(key, r) for key, r in ratios.items() if 1.0 <= r <= MOST]
        lines += [
            f"To {level:.0e}: ours first on {won} of {len(found)} cells.",
            f"To {level:.0e}: above {MOST:g} on {len(above)}: {'; '.join(above) or 'none'}.",
            f"To {level:.0e}: others first by less on {'; '.join(behind) or 'none'}.",
        ]
    won = sum(ratio(raced, LEVELS[-1]) < 1.0 for raced in found)
    met = "met" if won >= FIRST * len(found) else "MISSED"
    lines.append(f"First on two thirds of the cells to {LEVELS[-1]:.0e}: {met}.")
    most = max((ratio(raced, level) for raced in found for level in LEVELS), default=0.0)
    met = "met" if most <= MOST else "MISSED"
    lines.append(f"At most {MOST:g} times the best peer everywhere: {met} (largest {most:.2f}).")
    return lines


def _named(key: tuple[str, str, str], found: float) -> str:
    return f"{' '.join(key)} ({'not reached' if math.isinf(found) else f'{found:.2f}'})"
