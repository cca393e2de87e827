"""What is said of one statement, and the pages that prove the corrected forms."""

from __future__ import annotations

from dataclasses import dataclass

from ..verdicts import Change

EXPONENTIAL = "docs/theory/exponential.md"
MISESTIMATION = "docs/theory/misestimation.md"
ACCELERATED = "docs/theory/accelerated.md"
BOUNDED = "docs/theory/bounded-noise.md"
LOWER = "docs/theory/lower-bound.md"
STAGES = "docs/theory/multistage.md"
PHASES = "docs/theory/two-phase.md"


@dataclass(frozen=True)
class Statement:
    """A theorem, corollary or lemma: where it stands, what it says, and what to change in it.

    ``root`` is the label of the statement whose slip this one inherits.
    """

    id: str
    label: str
    name: str
    line: int
    says: str
    verdict: str
    because: str
    proof: str
    quote: str = ""
    changes: tuple[Change, ...] = ()
    root: str = ""


# c_L of lemma:Et_bound, as printed and as it should be.
C_L = (
    r"\frac{4 (1 - \gamma) }{\mu^2} \, \left[1 - \exp\left(-\frac{\mu \, \gamma}{2L}\right) \right]"
)
C_L_RIGHT = (
    r"\left(1 - \frac{\gamma}{2}\right)"
    r"\left[1 - \exp\left(-\frac{\tau\gamma}{4\kappa}\right)\right]"
)
NOISE = r"\frac{8\kappa^2\ln^2(T/\tau)}{L e^2\gamma^2}\,\frac{c_B\zeta^2\chi^2}{2L}"
