"""Colours and marks of every line: told apart by colour-blind readers, and without colour."""

from __future__ import annotations

from dataclasses import dataclass

# Okabe and Ito's palette; the luminances differ, and markers repeat what colour says
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, RED, PINK, GREY = "#B8A800", "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"


@dataclass(frozen=True)
class Style:
    colour: str
    marker: str  # matplotlib's letter
    dash: tuple[int, ...] = ()


# which marker Plotly means
SYMBOLS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "v": "triangle-down",
    "D": "diamond",
    "P": "cross",
    "X": "x",
    "*": "star",
    "<": "triangle-left",
    ">": "triangle-right",
    "": "circle",
}

NAMED = {
    "SGD": Style(BLACK, "o"),
    "SGD, 1/L_max": Style(GREY, "v"),
    "SHB": Style(RED, "s"),
    "Multi-SHB": Style(BLUE, "^"),
    "Multi-SHB-CNST": Style(SKY, "v"),
    "2P-SHB": Style(GREEN, "D"),
    "Nesterov-EXP": Style(PINK, "X"),
    "Multi-SHB-PAN-2": Style(ORANGE, "P"),
    "Multi-SHB-PAN-T-KAP": Style(RED, "*"),
    "NON-ACC-SHB": Style(GREY, "v"),
    "KAP": Style(BLACK, "", (1, 2)),
    "SQRT-KAP": Style(BLACK, "", (5, 2, 1, 2)),
    "K-CNST": Style(BLACK, "o"),
    "K-EXP": Style(ORANGE, "s"),
    "SLS-EXP": Style(SKY, "^"),
    "SHB-CNST": Style(GREY, "v"),
    "SHB-EXP": Style(RED, "D"),
    "SHB-SLS-EXP": Style(BLUE, "X"),
    "exact": Style(BLACK, "o"),
    "printed": Style(RED, "X", (2, 2)),
    "corrected": Style(BLUE, "s", (6, 2)),
    "certified": Style(BLUE, "s", (6, 2)),
    "paper's b*": Style(RED, "X", (2, 2)),
    "observed": Style(GREEN, "D"),
    "sgd": Style(BLACK, "o"),
    "sgd-exp": Style(BLUE, "s"),
    "shb": Style(GREY, "^"),
    "shb-exp": Style(GREEN, "v"),
    "2p-shb": Style(PINK, "X"),
    "nesterov-exp": Style(SKY, "<"),
    "multi-shb-pan": Style(BLUE, "P", (2, 2)),
    "mass": Style(YELLOW, ">"),
    "auto": Style(RED, "*"),
    "auto-shb": Style(ORANGE, "D"),
}
CYCLE = (
    Style(BLACK, "o"),
    Style(BLUE, "s"),
    Style(ORANGE, "^"),
    Style(GREEN, "D"),
    Style(PINK, "X"),
    Style(SKY, "v"),
    Style(GREY, "P"),
    Style(YELLOW, "*"),
    Style(RED, "<"),
    Style(BLACK, ">"),
)
# a ladder of equal steps in luminance, dark to light, for SHB-0.1 .. SHB-1.0
LADDER = (
    "#00204D",
    "#0B3370",
    "#31446B",
    "#4B546C",
    "#61656F",
    "#767676",
    "#8C8779",
    "#A59C74",
    "#C0B169",
    "#DDC85A",
)
LADDER_MARKERS = ("o", "s", "^", "v", "D", "P", "X", "*", "<", ">")


def style_of(name: str, place: int) -> Style:
    """The style of a method by its name; of a line without one by its place."""
    if name in NAMED:
        return NAMED[name]
    if name.startswith("SHB-") and name[4:].replace(".", "").isdigit():
        step = round(float(name[4:]) * 10) - 1
        return Style(LADDER[step], LADDER_MARKERS[step])
    return CYCLE[place % len(CYCLE)]
