"""The paper's LaTeX as MathML, which browsers draw without any script."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from xml.etree.ElementTree import Element, fromstring

# The paper's own macros, and what they stand for.
MACROS = {
    r"\E": r"\mathbb{E}",
    r"\xk": "w_k",
    r"\xopt": "w^*",
    r"\x": "w",
    r"\fj": "f_i",
    r"\alphak": r"\alpha_k",
    r"\Lmax": "L",
    r"\nicefrac": r"\frac",
}
SPACES = re.compile(r"&|\\\\")  # places for alignment, and the ends of lines
TAG = re.compile(r"^\\(?:tag|For)\{(.*)\}$")  # a remark beside a line of a proof, or a loop
PIECES = re.compile(r"\$([^$]*)\$")
REFERENCE = re.compile(r"~?\\(?:cref|ref|cite|citep|citet|texttt)\{([^}]*)\}")
COMMAND = re.compile(r"\\[A-Za-z]+")
MATHEMATICS = re.compile(r"\\(?:frac|exp|log|ln|begin|left|tilde|approx|E|norm|normsq)\b")


@dataclass(frozen=True)
class Piece:
    """Words, or a formula as a tree of MathML; ``text`` holds the words, or the formula's LaTeX."""

    text: str
    formula: Element | None = None


@cache
def pieces(latex: str) -> tuple[Piece, ...]:
    """Text and formulas in turn; what cannot be typeset stays LaTeX.

    >>> [(p.text, p.formula is not None) for p in pieces("at $T = 1$")]
    [('at ', False), ('T = 1', True)]
    """
    latex = TAG.sub(r"\1", latex)
    if "$" not in latex and MATHEMATICS.search(latex):
        return (_formula(latex),)
    parts = PIECES.split(latex)
    made = [_formula(part) if i % 2 else Piece(_words(part)) for i, part in enumerate(parts)]
    return tuple(piece for piece in made if piece.text)


def _words(text: str) -> str:
    """Text without references' commands.

    >>> _words(r"From \\cref{thm:SHB_quad}, we see")
    'From thm:SHB_quad, we see'
    """
    return REFERENCE.sub(r" \1", text).replace("  ", " ").replace("( ", "(")


def _formula(latex: str) -> Piece:
    from latex2mathml.converter import convert  # type: ignore[import-untyped,import-not-found,unused-ignore]

    try:
        return Piece(latex, fromstring(convert(_expanded(latex))))
    except Exception:  # whatever the converter does not know: the reader sees the LaTeX
        return Piece(latex)


def _expanded(latex: str) -> str:
    """The formula without the paper's macros.

    >>> _expanded(r"\\norm{\\xk} & \\leq \\nicefrac{1}{2}")
    '\\\\lVert w_k\\\\rVert   \\\\leq \\\\frac{1}{2}'
    """
    for name, end in ((r"\normsq", r"\rVert^2"), (r"\norm", r"\rVert")):
        latex = _wrapped(latex, name + "{", r"\lVert ", end)
    latex = COMMAND.sub(lambda found: MACROS.get(found[0], found[0]), latex)
    if r"\begin" in latex:
        return latex
    return SPACES.sub(" ", latex)


def _wrapped(latex: str, opening: str, left: str, right: str) -> str:
    """``opening ... }`` as ``left ... right``, with the brace that belongs to it."""
    while (start := latex.find(opening)) >= 0:
        depth = 1
        at = start + len(opening)
        while depth and at < len(latex):
            depth += {"{": 1, "}": -1}.get(latex[at], 0)
            at += 1
        inside = latex[start + len(opening) : at - 1]
        latex = latex[:start] + left + inside + right + latex[at:]
    return latex
