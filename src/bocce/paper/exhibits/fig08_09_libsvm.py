"""fig:squared_loss and fig:logistic_loss: LIBSVM data; and mushrooms, which is ours."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from ..canvas import GRADIENT, Line, Panel, Picture, method_lines, runs_picture
from ..exhibit import Exhibit
from ..results import FigureView, interval
from ..specs import Cell, Data, Profile, Run, run_cells
from ..texts import claims
from ..verdicts import OURS, Case, Claim, Finding, Judge, Numbers, span, tally

METHODS = ("K-CNST", "K-EXP", "SLS-EXP", "SHB-CNST", "SHB-EXP", "SHB-SLS-EXP")
SEARCHES = ("SLS-EXP", "SHB-SLS-EXP")
SETS = ("ijcnn", "rcv1", "rcv1_vw_subset_1747")
SEEDS, BATCH, L2 = 5, 100, 0.01
SIMILAR = 3.0
LOOKS = 60  # points of a curve, about
# Rows, about: of rcv1 its stand-in's, and of the part of RCV1 that can be had here all documents.
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
NO_DATA = "The data could not be had; BOCCE_DATA names a folder to look in."
NO_SEARCH = "The released line search is not a search on SHB and is not imitated."


def _cells(
    label: str, panels: dict[str, tuple[str, str]], setting: str, profile: Profile
) -> list[Cell]:
    """``panels``: the data set and the loss of each panel."""
    # line searches step in Python; their release is not a search on SHB: the paper's only
    methods = [m for m in METHODS if setting == "paper" or m not in SEARCHES]
    cells = []
    for panel, (name, loss) in panels.items():
        keep = 0.8 if setting == "authors" else 1.0
        data = Data("libsvm", name, loss=loss, l2=L2, keep=keep)
        # looks at the full gradient are spread evenly over the passes
        every = max(1, round(profile.passes * ROWS[name] / BATCH / LOOKS))
        for method in methods:
            run = Run(data, method, setting, BATCH, passes=profile.passes, every=every)
            place = (label, setting, panel, method)
            cells += run_cells(*place, run, profile.runs(SEEDS), exact=False)
    return cells


# ---------------------------------------------------------------- claims


def _log_ratios(view: FigureView, pairs: tuple[tuple[str, str], ...]) -> dict[str, np.ndarray]:
    """ln(last value of a / last value of b), seed by seed, for each pair on each data set."""
    found = {}
    for panel in (panel for panel in view.panels if not view.note(panel, "missing")):
        curves = view.curves(panel)
        for a, b in (pair for pair in pairs if {*pair} <= {*curves}):
            with np.errstate(invalid="ignore"):
                ratios = np.log(curves[a].runs[:, -1]) - np.log(curves[b].runs[:, -1])
            found[f"{a} / {b}, {panel}"] = ratios
    return found


def _numbers(ratios: dict[str, np.ndarray]) -> Numbers:
    _, numbers = tally()
    for name, values in ratios.items():
        low, high = interval(values)
        numbers[name] = float(np.exp(values.mean()))
        numbers[f"{name}, low"], numbers[f"{name}, high"] = math.exp(low), math.exp(min(high, 700))
    return numbers


def _judge(pairs: tuple[tuple[str, str], ...], better: bool) -> Judge:
    """Is the first method of each pair as good as the second, or ``better``?"""

    def met(values: np.ndarray) -> Case:
        if not np.isfinite(values).all():
            return None
        if not better:
            return bool(abs(values.mean()) <= math.log(SIMILAR))
        # one seed has no interval: its sign decides
        return bool((values[0] if values.size == 1 else interval(values)[1]) < 0.0)

    def judge(view: FigureView) -> Finding:
        ratios = _log_ratios(view, pairs)
        if not ratios:
            absent = all(view.note(panel, "missing") for panel in view.panels)
            return Finding({}, {}, NO_DATA if absent else NO_SEARCH)
        factors = span(math.exp(float(values.mean())) for values in ratios.values())
        said = f"The ratios of final gradient norms are {factors}."
        if better:
            said = f"The final gradient norm with decreasing steps is {factors} times that with "
            said += "constant ones."
        return Finding({name: met(x) for name, x in ratios.items()}, _numbers(ratios), said)

    return judge


def _claims(label: str, ours: bool = False) -> tuple[Claim, ...]:
    """The three sentences about figures 8 and 9; of mushrooms they are ours, and no quotes."""
    judges = {"close": _judge(CLOSE, False), "better": _judge(BETTER, True)}
    made = claims("libsvm", **judges, search=_judge(SEARCH, False))
    named = tuple(replace(c, id=f"{label}_{c.id}", source=f"fig:{label}") for c in made)
    if not ours:
        return named
    named = tuple(replace(c, kind=OURS, source="docs/reproduction.md", quote="") for c in named)
    return tuple(replace(c, text=f"{c.text.rstrip('.')} (mushrooms).", line=0) for c in named)


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
    return Panel(title, "number of gradient evaluations", GRADIENT, tuple(lines))


def _picture(view: FigureView) -> Picture:
    """A panel for each data set; those that cannot be had are said below, without a frame."""
    there = [name for name in view.panels if not view.note(name, "missing")]
    absent = {view.note(n, "wanted") or n: None for n in view.panels if n not in there}
    notes = tuple(f"{NAMES.get(n, n)}: not found, set BOCCE_DATA to its folder" for n in absent)
    return runs_picture(view, 3, [_panel(view, name) for name in there], notes)


def _exhibit(loss: str) -> Exhibit:
    label = f"{loss}_loss"
    cells = partial(_cells, label, {name: (name, loss) for name in SETS})
    return Exhibit(label, cells, _picture, _claims(label))


EXHIBITS = tuple(map(_exhibit, LOSSES))
MUSHROOMS = Exhibit(
    "mushrooms",
    partial(_cells, "mushrooms", {loss: ("mushrooms", loss) for loss in LOSSES}),
    lambda view: replace(_picture(view), title="Mushrooms, squared and logistic loss"),
    _claims("mushrooms", ours=True),
)
