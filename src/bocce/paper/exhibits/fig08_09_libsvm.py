"""fig:squared_loss and fig:logistic_loss: LIBSVM data; and mushrooms, which is ours."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..canvas import GRADIENT, Line, Panel, Picture, method_lines, runs_picture
from ..exhibit import Exhibit
from ..results import Results, interval
from ..specs import Cell, Data, Profile, Run, run_cells
from ..texts import claims
from ..verdicts import OURS, Case, Claim, Finding, Judge

METHODS = ("K-CNST", "K-EXP", "SLS-EXP", "SHB-CNST", "SHB-EXP", "SHB-SLS-EXP")
SEARCHES = ("SLS-EXP", "SHB-SLS-EXP")
SETS = ("ijcnn", "rcv1", "rcv1_vw_subset_1747")
SETTINGS = ("paper", "authors")
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
LOSSES = {"squared": "Squared loss", "logistic": "Logistic loss"}
CLOSE = (("SHB-EXP", "K-EXP"),)
BETTER = (("K-EXP", "K-CNST"), ("SHB-EXP", "SHB-CNST"))
SEARCH = (("SHB-SLS-EXP", "SHB-EXP"),)


def _set_cells(
    label: str, setting: str, panel: str, data: Data, profile: Profile, seeds: int
) -> list[Cell]:
    # line searches step in Python; their release is not a search on SHB: the paper's only
    methods = [m for m in METHODS if setting == "paper" or m not in SEARCHES]
    cells = []
    for method in methods:
        run = Run(data, method, setting, BATCH, passes=profile.passes, every=_every(data, profile))
        cells += run_cells(label, setting, panel, method, run, profile.runs(seeds), exact=False)
    return cells


def _every(data: Data, profile: Profile) -> int:
    """Looks at the full gradient are spread evenly over the passes."""
    return max(1, round(profile.passes * ROWS[data.name] / BATCH / LOOKS))


def _data(name: str, loss: str, setting: str) -> Data:
    return Data("libsvm", name, loss=loss, l2=L2, keep=0.8 if setting == "authors" else 1.0)


# ---------------------------------------------------------------- claims


def _log_ratios(
    results: Results, label: str, setting: str, pairs: tuple[tuple[str, str], ...]
) -> dict[str, np.ndarray]:
    """ln(last value of a / last value of b), seed by seed, for each pair on each data set."""
    found = {}
    for panel in results.panels(label, setting):
        if results.missing(label, setting, panel):
            continue
        methods = results.methods(label, setting, panel)
        for a, b in pairs:
            if a in methods and b in methods:
                first, second = (
                    results.curve(label, setting, panel, m).runs[:, -1] for m in (a, b)
                )
                with np.errstate(invalid="ignore"):
                    found[f"{a} / {b}, {panel}"] = np.log(first) - np.log(second)
    return found


def _numbers(ratios: dict[str, np.ndarray]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for name, values in ratios.items():
        low, high = interval(values)
        numbers[name] = float(np.exp(values.mean()))
        numbers[f"{name}, low"], numbers[f"{name}, high"] = math.exp(low), math.exp(min(high, 700))
    return numbers


def _why_empty(results: Results, label: str, setting: str) -> str:
    if all(results.missing(label, setting, panel) for panel in results.panels(label, setting)):
        return "The data could not be had; BOCCE_DATA names a folder to look in."
    return "The released line search is not a search on SHB and is not imitated."


def _span(ratios: dict[str, np.ndarray]) -> str:
    factors = [math.exp(float(values.mean())) for values in ratios.values()]
    return f"{min(factors):.2g} to {max(factors):.2g}"


def _close(label: str, pairs: tuple[tuple[str, str], ...]) -> Judge:
    def judge(results: Results, setting: str) -> Finding:
        ratios = _log_ratios(results, label, setting, pairs)
        if not ratios:
            return Finding({}, {}, _why_empty(results, label, setting))
        cases: dict[str, Case] = {
            n: bool(abs(v.mean()) <= math.log(SIMILAR)) if np.isfinite(v).all() else None
            for n, v in ratios.items()
        }
        return Finding(
            cases,
            _numbers(ratios),
            f"The ratios of final gradient norms are {_span(ratios)}.",
        )

    return judge


def _better(label: str, pairs: tuple[tuple[str, str], ...]) -> Judge:
    def judge(results: Results, setting: str) -> Finding:
        ratios = _log_ratios(results, label, setting, pairs)
        if not ratios:
            return Finding({}, {}, _why_empty(results, label, setting))
        cases: dict[str, Case] = {}
        for name, values in ratios.items():
            if not np.isfinite(values).all():
                cases[name] = None
            else:  # one seed has no interval: its sign decides
                high = values[0] if values.size == 1 else interval(values)[1]
                cases[name] = bool(high < 0.0)
        return Finding(
            cases,
            _numbers(ratios),
            f"The final gradient norm with decreasing steps is {_span(ratios)} times that with "
            "constant ones.",
        )

    return judge


def _claims(label: str, ours: bool = False) -> tuple[Claim, ...]:
    """The three sentences about figures 8 and 9; of mushrooms they are ours, and no quotes."""
    judges = {"close": _close(label, CLOSE), "better": _better(label, BETTER)}
    made = claims("libsvm", **judges, search=_close(label, SEARCH))
    if not ours:
        return tuple(replace(c, id=f"{label}_{c.id}", source=f"fig:{label}") for c in made)
    return tuple(
        replace(
            c,
            id=f"{label}_{c.id}",
            text=f"{c.text.rstrip('.')} (mushrooms).",
            kind=OURS,
            source="docs/reproduction.md",
            quote="",
            line=0,
        )
        for c in made
    )


# ---------------------------------------------------------------- pictures


def _panel(results: Results, label: str, setting: str, panel: str) -> Panel:
    lines: list[Line] = []
    title = NAMES.get(panel, panel)
    for method in (m for m in METHODS if m in results.methods(label, setting, panel)):
        curve = results.curve(label, setting, panel, method)
        lines += method_lines(method, curve, curve.evaluations)
        found = results.seeds(label, setting, panel, method)[0].notes["data"]
        if panel == "rcv1" and not found.startswith("rcv1"):
            title = f"rcv1 (stand-in: {found})"
    return Panel(title, "number of gradient evaluations", GRADIENT, tuple(lines))


def _drawn(results: Results, label: str, title: str, setting: str) -> Picture:
    """A panel for each data set; those that cannot be had are said below, without a frame."""
    names = results.panels(label, setting)
    there = [name for name in names if not results.missing(label, setting, name)]
    absent = {results.wanted(label, setting, name): None for name in names if name not in there}
    notes = tuple(f"{NAMES.get(n, n)}: not found, set BOCCE_DATA to its folder" for n in absent)
    panels = [_panel(results, label, setting, name) for name in there]
    return runs_picture(results, label, title, setting, SETTINGS, 3, panels, notes)


def _caption(profile: Profile) -> str:
    passes = f"{profile.passes:g} passes"
    return f"l2 = {L2}, b = {BATCH}, {passes} over the data, {profile.counted(SEEDS)}."


def _exhibit(alias: str, loss: str) -> Exhibit:
    label, title = f"{loss}_loss", f"{LOSSES[loss]} on LIBSVM data"

    def cells(setting: str, profile: Profile) -> list[Cell]:
        return [
            cell
            for name in SETS
            for cell in _set_cells(label, setting, name, _data(name, loss, setting), profile, SEEDS)
        ]

    return Exhibit(
        label=label,
        alias=alias,
        title=title,
        caption=_caption,
        cells=cells,
        picture=lambda results, setting: _drawn(results, label, title, setting),
        settings=SETTINGS,
        claims=_claims(label),
    )


def _mushroom_cells(setting: str, profile: Profile) -> list[Cell]:
    return [
        cell
        for loss in LOSSES
        for cell in _set_cells(
            "mushrooms", setting, loss, _data("mushrooms", loss, setting), profile, SEEDS
        )
    ]


EXHIBITS = (_exhibit("fig8", "squared"), _exhibit("fig9", "logistic"))
MUSHROOMS = Exhibit(
    label="mushrooms",
    alias="mushrooms",
    title="The same methods on mushrooms, which the paper does not have",
    caption=_caption,
    cells=_mushroom_cells,
    picture=lambda results, setting: _drawn(
        results, "mushrooms", "Mushrooms, squared and logistic loss", setting
    ),
    settings=SETTINGS,
    claims=_claims("mushrooms", ours=True),
    ours=True,
)
