"""The paper's five contributions: one picture and a few sentences each, from what was computed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from .canvas import Line, Panel, Picture
from .results import Results
from .verdicts import Verdict

NEAREST = ("published", "released-rows", "authors", "paper")  # to what was run
SHOWN = ("κ = 1000, r = 1e-2", "published")  # the panel of figure 3 that the cards show


@dataclass(frozen=True)
class Contribution:
    """``holds``: what was found; ``where``: at which batch sizes; ``stops``: where it ends."""

    number: int
    title: str
    statements: tuple[str, ...]
    holds: str
    where: str
    stops: str
    picture: Picture | None = None


@dataclass(frozen=True)
class Shelf:
    """What the cards are made from."""

    results: Results
    verdicts: dict[str, Verdict]
    pictures: dict[str, list[Picture]]

    def met(self, claim: str) -> str:
        """The cases met in each setting, in words."""
        verdict = self.verdicts.get(claim)
        if verdict is None or not verdict.score:
            return "not run here"
        order = [s for s in NEAREST if s in verdict.score]
        return "; ".join(f"{verdict.score[s]} ({s})" for s in order)

    def table(self, figure: str, panel: str, method: str) -> dict[str, np.ndarray] | None:
        key = (figure, "paper", panel, method, "table")
        outcome = self.results.outcomes.get(key)
        return outcome.numbers if outcome else None

    def curves(self, name: str, title: str, methods: tuple[str, ...]) -> Picture | None:
        """Some methods of one panel of figure 3, in the setting of the published panel."""
        for picture in self.pictures.get("shb_quad", []):
            for panel in picture.panels:
                if picture.name.endswith(SHOWN[1]) and panel.title == SHOWN[0]:
                    lines = tuple(line for line in panel.lines if line.name in methods)
                    return replace(
                        picture,
                        name=name,
                        columns=1,
                        panels=(replace(panel, title=title, lines=lines),),
                    )
        return None


def contributions(
    results: Results, verdicts: list[Verdict], pictures: dict[str, list[Picture]]
) -> list[Contribution]:
    """The five cards, in the paper's order."""
    shelf = Shelf(results, {v.claim.id: v for v in verdicts}, pictures)
    return [make(shelf) for make in (_adaptive, _neighbourhood, _lower_bound, _stages, _phases)]


def _adaptive(shelf: Shelf) -> Contribution:
    found = shelf.table("rates", "noise", "SHB-EXP")
    picture, fall = None, ""
    if found is not None:
        T, error2 = found["T"].astype(float), found["error2"]
        half = T.size // 2
        slope = float(np.polyfit(np.log(T[half:]), np.log(error2[half:]), 1)[0])
        fall = (
            f" Started at the minimiser, where noise is all there is, its squared error falls as "
            f"T^{slope:.2f}."
        )
        guide = Line("1/T", T, error2[-1] * T[-1] / T, "guide")
        panel = Panel(
            "error that the noise leaves, b = n/10",
            "T",
            "E‖w − w*‖²",
            (Line("SHB-EXP", T, error2), guide),
            xlog=True,
        )
        picture = Picture("contribution-1", "Noise-adaptive steps", panels=(panel,))
    return Contribution(
        1,
        "Noise-adaptive, non-accelerated convergence (Theorem 1)",
        ("theorem_1",),
        "The rate exp(-T/κ) + σ²/T stands: exponentially decreasing steps reach the minimiser "
        f"without knowing the noise.{fall}",
        "At every batch size.",
        "It stops nowhere within its hypotheses. A constant of the appendix (C_4, line 681) grows "
        "with T as printed and is corrected below.",
        picture,
    )


def _neighbourhood(shelf: Shelf) -> Contribution:
    shares = {}
    for design in ("haar", "heavy"):
        row = shelf.table("thresholds", f"{design}, kappa=1000", "rules")
        if row is not None:
            shares[design] = 100.0 * float(row["exact"][0] / row["n"][0])
    needed = (
        f"Measured at κ = 1000: {shares['haar']:.2g} % of the rows are enough where rows are "
        f"alike, {shares['heavy']:.2g} % are needed on the released rows, where twenty rows carry "
        "nearly all curvature."
        if len(shares) == 2
        else ""
    )
    return Contribution(
        2,
        "Accelerated convergence to a neighbourhood (Theorem 2)",
        ("theorem_2", "interpolation"),
        "The rate exp(-T/√κ) + σ stands. In figure 3 SHB reaches its neighbourhood in fewer steps "
        f"than SGD: {shelf.met('quad_i_faster')}.",
        f"Above a batch size that depends on κ. {needed}",
        "The theorem's own b* is the whole data set in every experiment of the paper: it is "
        "sufficient, far from necessary. L has to be the smoothness of the steepest row.",
        shelf.curves("contribution-2", "figure 3, κ = 1000, r = 0.01", ("SHB", "SGD")),
    )


def _lower_bound(shelf: Shelf) -> Contribution:
    found = shelf.table("lower_bound_n", "all b", "Psi")
    picture = None
    if found is not None:
        lines = tuple(
            Line(words, found["kappa"], found[key])
            for words, key in (("exact", "exact"), ("printed", "printed"))
        )
        panel = Panel(
            "SHB diverges below this batch, n = 100",
            "κ",
            "batch size",
            lines,
            xlog=True,
            ylog=False,
        )
        picture = Picture("contribution-3", "Lower bound", panels=(panel,))
    return Contribution(
        3,
        "A batch that grows with κ is necessary (Theorem 3)",
        ("theorem_3", "two_samples"),
        "There are problems on which SHB diverges below a batch size that grows with κ.",
        "Of 100 rows every batch up to 98 diverges below its printed threshold, as the theorem "
        "says; the exact threshold is higher and approaches n as 1/√κ, not as κ^-0.6.",
        "At b = 99 it is off by one batch size, for κ from 18,345 to 21,928.",
        picture,
    )


def _stages(shelf: Shelf) -> Contribution:
    least = math.ceil(384.0 * math.sqrt(2.0 * 200.0))
    return Contribution(
        4,
        "Noise-adaptive, accelerated convergence (Theorem 4)",
        ("theorem_4", "multistage_T_range"),
        "The rate exp(-T/√κ) + σ/√T stands. In figure 3 the variants end below both SGD and SHB: "
        f"{shelf.met('quad_ii_variants')}.",
        "For b >= b*(a_I) and T long enough for a stage.",
        f"The printed number of stages is zero at T = 7000: Algorithm 1 has a second stage from "
        f"T = {least:,} on at κ = 200. The gain in figure 3 comes from the stages of the released "
        "code.",
        shelf.curves(
            "contribution-4",
            "figure 3, κ = 1000, r = 0.01",
            ("SHB", "Multi-SHB", "Multi-SHB-CNST"),
        ),
    )


def _phases(shelf: Shelf) -> Contribution:
    return Contribution(
        5,
        "Two phases, partially accelerated (Algorithm 2)",
        ("two_phase", "two_phase_c"),
        "The rate stands. In figure 3 2P-SHB ends below Multi-SHB: "
        f"{shelf.met('quad_iv_two_phase')}.",
        "For b >= b*, as Theorem 2.",
        "The exponent q is 0.7075 at κ = 4 and at most 0.7 from κ = 5.2 on. Its constants inherit "
        "the one slip of the energy lemma.",
        shelf.curves(
            "contribution-5", "figure 3, κ = 1000, r = 0.01", ("SGD", "2P-SHB", "Nesterov-EXP")
        ),
    )
