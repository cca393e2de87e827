"""Colours and marks of every line: the paper's own for its methods, Okabe and Ito's for ours."""

from __future__ import annotations

from dataclasses import dataclass

# Okabe and Ito's palette; the luminances differ, and markers repeat what colour says
BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#B8A800"
BLUE = "#0072B2"
RED = "#D55E00"
PINK = "#CC79A7"
GREY = "#7F7F7F"


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
    "d": "diamond-tall",
    "D": "diamond",
    "P": "cross",
    "X": "x",
    "x": "x-thin",
    "*": "star",
    "h": "hexagon",
    "H": "hexagon2",
    "p": "pentagon",
    "8": "octagon",
    "3": "y-left",
    "<": "triangle-left",
    ">": "triangle-right",
    "": "circle",
}

# the colours and markers of the release's notebook, by method
PAPER = {
    "SGD": Style("#000000", "d"),
    "SHB": Style("#0000FF", "o"),
    "Multi-SHB": Style("#008000", "*"),
    "Multi-SHB-CNST": Style("#FFA500", "h"),
    "2P-SHB": Style("#FF0000", "P"),
    "Nesterov-EXP": Style("#800080", "s"),
    "Multi-SHB-PAN-2": Style("#9370DB", "8"),
    "Multi-SHB-PAN-T-KAP": Style("#000080", "3"),
    "SHB-1.0": Style("#008B8B", "d"),
    "SHB-0.9": Style("#BF00BF", "v"),
    "SHB-0.8": Style("#FF0000", "s"),
    "SHB-0.7": Style("#A52A2A", "p"),
    "SHB-0.6": Style("#FFA500", "8"),
    "SHB-0.5": Style("#9370DB", "H"),
    "SHB-0.4": Style("#87CEEB", "X"),
    "SHB-0.3": Style("#008000", "x"),
    "SHB-0.2": Style("#00CED1", ">"),
    "SHB-0.1": Style("#F08CA0", "h"),
}

NAMED = PAPER | {
    "SGD, 1/L": Style(BLACK, "d"),
    "SGD, 1/L_max": Style(GREY, "v"),
    "NON-ACC-SHB": Style("#708090", "^"),
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
    "cosine, 0.9": Style("#C51B7D", "p"),
    "auto-shb": Style(ORANGE, "D"),
    "Ψ": Style(BLUE, ""),
    "min Ψ": Style(BLUE, ""),
    "Ψ = 1": Style(BLACK, "", (4, 2)),
    "bound = error": Style(BLACK, "", (1, 2)),
    "exact error": Style(BLACK, "o"),
    "each run": Style(GREY, "", (2, 2)),
    "b with κ* > 1": Style(BLUE, "o"),
    "b with κ* cut at 1": Style(PINK, "X"),
    "fit to all": Style(BLACK, "", (1, 2)),
    "fit to κ* > 1": Style(BLUE, "", (4, 2)),
    "figure": Style(ORANGE, "", (5, 2, 1, 2)),
    "theorem": Style(RED, "", (6, 2)),
}
YOURS = Style("#8C510A", ">")  # a method of your own
_COLOURS = (BLACK, BLUE, ORANGE, GREEN, PINK, SKY, GREY, YELLOW, RED, BLACK)
CYCLE = tuple(Style(colour, marker) for colour, marker in zip(_COLOURS, "os^DXvP*<>"))


def style_of(name: str, place: int) -> Style:
    """The style of a method by its name up to a colon; of a line without one by its place."""
    return NAMED.get(name.partition(":")[0], CYCLE[place % len(CYCLE)])
