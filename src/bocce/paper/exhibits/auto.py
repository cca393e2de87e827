"""Ours: auto beside all methods, at all batch sizes."""

from __future__ import annotations

import numpy as np

from ..canvas import Line, Panel, Picture, words_of
from ..exhibit import Exhibit
from ..results import Results
from ..specs import EXACT, Cell, Data, Profile, Run
from ..texts import claims
from ..verdicts import Case, Finding, below, counted

LABEL, TITLE = "auto", "auto against all methods, over batch sizes"
METHODS = (
    "sgd",
    "sgd-exp",
    "shb",
    "shb-exp",
    "2p-shb",
    "nesterov-exp",
    "multi-shb-pan",
    "mass",
    "auto-shb",
    "auto",
)
SHARES = (0.0005, 0.01, 0.1, 0.5, 0.9)
NEAR = 3.0


def _rows(profile: Profile) -> int:
    return min(2000, profile.rows)


def _cells(setting: str, profile: Profile) -> list[Cell]:
    T, n = profile.steps(7000), _rows(profile)
    cells = []
    for design in ("haar", "heavy"):
        for kappa in (100, 1000):
            data = Data("regression", n=n, d=10, kappa=kappa, noise_var=0.1, design=design, mu=1.0)
            for method in METHODS:
                for share in SHARES:
                    run = Run(data, method, "paper", max(1, round(share * n)), T=T)
                    panel, name = f"{design}, kappa={kappa}", f"{method}, b={share:g} n"
                    cells.append(Cell(LABEL, "paper", panel, name, EXACT, run))
    return cells


def _error(results: Results, panel: str, method: str, share: float) -> np.ndarray:
    return results.curve(LABEL, "paper", panel, f"{method}, b={share:g} n").error


def _is_never_far(results: Results, setting: str) -> Finding:
    cases: dict[str, Case] = {}
    numbers: dict[str, float] = {}
    for panel in results.panels(LABEL, "paper"):
        for share in SHARES:
            last = {method: float(_error(results, panel, method, share)[-1]) for method in METHODS}
            best = min(last.values())
            name = f"{panel}, b={share:g} n"
            cases[name] = below(last["auto"], best, NEAR)
            numbers[f"{name}: auto / best"] = last["auto"] / best
    return Finding(
        cases,
        numbers,
        f"auto ends within a factor {NEAR:g} of the best of {len(METHODS)} methods in "
        f"{counted(cases)}; the worst ratio is {max(numbers.values()):.2g}.",
    )


def _title(panel: str) -> str:
    """
    >>> _title("heavy, kappa=100")
    'the released rows, κ = 100'
    """
    design, _, rest = panel.partition(", ")
    return f"{ {'haar': 'Haar rows', 'heavy': 'the released rows'}[design] }, {words_of(rest)}"


def _picture(results: Results, setting: str) -> Picture:
    panels = []
    for panel in results.panels(LABEL, "paper"):
        lines = []
        for method in METHODS:
            errors = [_error(results, panel, method, share) for share in SHARES]
            last, first = np.array([e[-1] for e in errors]), errors[0][0]
            settled = np.isfinite(last) & (last < first)
            lines.append(Line(method, np.array(SHARES)[settled], last[settled]))
        panels.append(Panel(_title(panel), "batch size / n", "error at T", tuple(lines), xlog=True))
    return Picture(LABEL, TITLE, columns=2, panels=tuple(panels))


EXHIBIT = Exhibit(
    label=LABEL,
    alias="auto",
    title=TITLE,
    caption=lambda profile: (
        f"Exact root mean square error at T = {profile.steps(7000):,}; what diverges is not drawn. "
        f"n = {_rows(profile):,}, d = 10, noise of variance 0.1."
    ),
    cells=_cells,
    picture=_picture,
    ours=True,
    claims=claims(
        LABEL,
        auto_near_best=_is_never_far,
    ),
)
