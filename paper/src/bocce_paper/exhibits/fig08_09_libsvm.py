"""fig:squared_loss and fig:logistic_loss: LIBSVM data; and mushrooms, which is ours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from ..canvas import GRADIENT, Line, Panel, Picture, method_lines
from ..exhibit import Exhibit, claims, exhibit, judges
from ..results import FigureView, interval
from ..specs import Data, Part, Profile, Run, curve
from ..texts import read
from ..verdicts import OURS, Claim, Finding, span
from ._synthetic import SIMILAR

METHODS = ("K-CNST", "K-EXP", "SLS-EXP", "SHB-CNST", "SHB-EXP", "SHB-SLS-EXP")
SEARCHES = ("SLS-EXP", "SHB-SLS-EXP")
SUBSET = "rcv1_vw_subset_1747"
SETS = ("ijcnn", "rcv1", SUBSET)
Pairs = tuple[tuple[str, str], ...]
SEEDS = 5
BATCH = 100
L2 = 0.01
LOOKS = 60  # A curve has about this many points.
# About how many rows each data set has. The number of rcv1 is of its stand-in, sector.scale.
ROWS = {"ijcnn": 35_000, "rcv1": 6_400, "rcv1_vw_subset_1747": 1_747, "mushrooms": 8_100}
NAMES = {
    "rcv1_vw_subset_1747": "rcv1, 1,747 of its documents",
    "squared": "squared loss",
    "logistic": "logistic loss",
}
LOSSES = ("squared", "logistic")
CLOSE = (("SHB-EXP", "K-EXP"),)
BETTER = (("K-EXP", "K-CNST"), ("SHB-EXP", "SHB-CNST"))
SEARCH = (("SHB-SLS-EXP", "SHB-EXP"),)
NO_DATA = "The data are not on this machine; BOCCE_DATA names a folder to look in."
NO_SEARCH = "The released line search is not a search on SHB and is not imitated."


def _parts(panels: dict[str, tuple[str, str]], setting: str, profile: Profile) -> Iterator[Part]:
    """``panels``: the data set and the loss of each panel."""
    # The released line search is not a search on SHB, so that only the paper's is run.
    methods = [m for m in METHODS if setting == "paper" or m not in SEARCHES]
    for panel, (name, loss) in panels.items():
        keep = 0.8 if setting == "authors" else 1.0
        data = Data("libsvm", name, loss=loss, l2=L2, keep=keep)
        # The full gradient is recorded at even distances over the passes.
        every = max(1, round(profile.passes * ROWS[name] / BATCH / LOOKS))
        for method in methods:
            run = Run(data, method, setting, BATCH, passes=profile.passes, every=every)
            yield from curve(panel, method, run, profile.runs(SEEDS), exact=False)


# ---------------------------------------------------------------- claims


def _stands_in(view: FigureView, panel: str) -> bool:
    """Is the panel on rows that stand in for the paper's?"""
    data = view.note(panel, "data")
    return panel == SUBSET or (panel == "rcv1" and not data.startswith("rcv1"))


def _log_ratios(view: FigureView, pairs: Pairs, stand_ins: bool = False) -> dict[str, np.ndarray]:
    """ln(last value of a / last value of b), seed by seed, for each pair on each data set: the
    paper's, or those that stand in for them."""
    found = {}
    there = (panel for panel in view.panels if not view.note(panel, "missing"))
    for panel in (panel for panel in there if _stands_in(view, panel) == stand_ins):
        curves = view.curves(panel)
        for a, b in (pair for pair in pairs if {*pair} <= {*curves}):
            with np.errstate(invalid="ignore"):
                ratios = np.log(curves[a].runs[:, -1]) - np.log(curves[b].runs[:, -1])
            found[f"{a} / {b}, {panel}"] = ratios
    return found


def _judge(pairs: Pairs, better: bool, view: FigureView) -> Finding:
    """Is the first method of each pair as good as the second, or ``better``?"""
    return _compared(_log_ratios(view, pairs), better, view)


def _compared(ratios: dict[str, np.ndarray], better: bool, view: FigureView) -> Finding:
    if not ratios:
        absent = all(view.note(panel, "missing") for panel in view.panels)
        return Finding({}, {}, NO_DATA if absent else NO_SEARCH)
    found = Finding()
    for name, values in ratios.items():
        low, high = interval(values)
        # One seed has no interval: the sign decides.
        below = (values[0] if values.size == 1 else high) < 0.0
        if better:
            met = below
        else:
            met = abs(values.mean()) <= math.log(SIMILAR)
        if np.isfinite(values).all():
            found.cases[name] = bool(met)
        else:
            found.cases[name] = None
        found.numbers[name] = float(np.exp(values.mean()))
        found.numbers[f"{name}, low"] = math.exp(low)
        found.numbers[f"{name}, high"] = math.exp(min(high, 700))
    factors = span(found.numbers[name] for name in ratios)
    if not better:
        barely = [name for name in ratios if found.cases[name] and _is_close_call(found, name)]
        said = f" Barely on {', '.join(map(_panel_of, barely))}: the interval exceeds the factor 3."
        return found.said(f"Ratios of final gradient norms: {factors}." + said * bool(barely))
    return found.said(
        f"The final gradient norm with decreasing steps is {factors} times that with constant ones."
    )


def _is_close_call(found: Finding, name: str) -> bool:
    """Does the 95 % interval of the ratio leave the factor that counts as alike?"""
    low = found.numbers[f"{name}, low"]
    high = found.numbers[f"{name}, high"]
    return 0.0 < low < 1.0 / SIMILAR or SIMILAR < high < math.inf


def _panel_of(name: str) -> str:
    return name.partition(", ")[2]


@judges("squared_loss_stand_ins")
@judges("logistic_loss_stand_ins")
def stand_ins(view: FigureView) -> Finding:
    """The three sentences on rows that stand in for rcv1, together."""
    alike = _compared(_log_ratios(view, (*CLOSE, *SEARCH), True), False, view)
    smaller = _compared(_log_ratios(view, BETTER, True), True, view)
    if not alike.cases:
        return alike
    both = Finding(alike.cases | smaller.cases, alike.numbers | smaller.numbers)
    return both.said(f"{alike.because} {smaller.because}")


judges("close")(partial(_judge, CLOSE, False))
judges("better")(partial(_judge, BETTER, True))
judges("search")(partial(_judge, SEARCH, False))


def _claims(label: str, ours: bool = False) -> tuple[Claim, ...]:
    """The three sentences about figures 8 and 9; of mushrooms they are ours, and no quotes."""
    made = claims(read("claims.toml")["libsvm"])
    named = [replace(c, id=f"{label}_{c.id}", source=f"fig:{label}") for c in made]
    if ours:
        source = "docs/reproduction.md"
        named = [replace(c, kind=OURS, source=source, quote="", line=0) for c in named]
        named = [replace(c, text=f"{c.text.rstrip('.')} (mushrooms).") for c in named]
    return tuple(named)


# ---------------------------------------------------------------- pictures


def _panel(view: FigureView, panel: str) -> Panel:
    lines: list[Line] = []
    title = NAMES.get(panel, panel)
    for method in (m for m in METHODS if m in view.methods(panel)):
        curve = view.curve(panel, method)
        lines += method_lines(method, curve, curve.evaluations)
        found = view.seeds(panel, method)[0].notes["data"]
        if panel == "rcv1" and not found.startswith("rcv1"):
            title = f"rcv1 (stand-in: {found})"
    return Panel(title, "number of gradient evaluations", GRADIENT, lines)


def _picture(view: FigureView) -> Picture:
    """A panel for each data set that was found, and a note for each that was not."""
    there = [name for name in view.panels if not view.note(name, "missing")]
    absent = {view.note(n, "wanted") or n: None for n in view.panels if n not in there}
    notes = tuple(f"{NAMES.get(n, n)}: not found, set BOCCE_DATA to its folder" for n in absent)
    panels = [_panel(view, name) for name in there]
    title = "Mushrooms, squared and logistic loss" * (view.figure == "mushrooms")
    return Picture("", title, 3, panels, seeds=view.seed_count, notes=notes)


def _exhibit(label: str, panels: dict[str, tuple[str, str]]) -> Exhibit:
    made = _claims(label, label == "mushrooms")
    return exhibit(label, partial(_parts, panels), _picture, made)


EXHIBITS = [
    *(_exhibit(f"{loss}_loss", {name: (name, loss) for name in SETS}) for loss in LOSSES),
    _exhibit("mushrooms", {loss: ("mushrooms", loss) for loss in LOSSES}),
]
