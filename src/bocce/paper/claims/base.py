"""A claim: what the paper says, a stated criterion, and a function that applies it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..results import Results

SIMILAR = 3.0  # "similar", "close", "matches": within this factor, everywhere
SMALLER = 0.95  # "smaller", "better": at least 5 per cent smaller, everywhere
SETTLED = 0.1  # "converges to a neighbourhood": changes by less than this over the last quarter
FAR_DOWN = 1e-8  # a speed is measured until the gradient norm has fallen by this, or to the end
LARGE_KAPPA = 512  # "kappa is large" in the sweep over batch sizes: the three largest


@dataclass(frozen=True)
class Finding:
    """What one setting shows: case by case, in numbers, and in one sentence."""

    cases: dict[str, bool]
    numbers: dict[str, float]
    sentence: str


@dataclass(frozen=True)
class Claim:
    name: str
    figure: str
    source: str  # the paper's label
    text: str  # what the paper says; of ours, what we say
    criterion: str
    judge: Callable[[Results, str], Finding]
    ours: bool = False


@dataclass(frozen=True)
class Verdict:
    """A claim judged in every setting that was run."""

    claim: Claim
    findings: dict[str, Finding] = field(default_factory=dict)
    missing: str = ""

    @property
    def word(self) -> str:
        """holds, fails, holds only under ..., or not evaluated.

        >>> claim = Claim("c", "f", "s", "t", "c", lambda results, setting: None)
        >>> yes, no = (Finding({"a": x, "b": True}, {}, "") for x in (True, False))
        >>> Verdict(claim, {"paper": no, "authors": yes}).word
        'holds only under paper: b; authors'
        """
        judged = {name: f for name, f in self.findings.items() if f.cases}
        if not judged:
            return "not evaluated"
        every = [holds for finding in judged.values() for holds in finding.cases.values()]
        if all(every):
            return "holds"
        if not any(every):
            return "fails"
        if len(judged) == 1:
            return "holds only under " + _good_cases(*judged.values())
        return "holds only under " + "; ".join(filter(None, map(_under, judged.items())))

    @property
    def kind(self) -> str:
        """The word's first part: for counting and colouring."""
        return "holds only under" if self.word.startswith("holds only") else self.word


def _under(item: tuple[str, Finding]) -> str:
    setting, finding = item
    if all(finding.cases.values()):
        return setting
    return f"{setting}: {_good_cases(finding)}" if any(finding.cases.values()) else ""


def _good_cases(finding: Finding) -> str:
    """The cases that hold, named if they are few, else counted, with what they have in common.

    >>> cases = {f"{m}, kappa={k}": m == "2P" for m in ("2P", "Multi") for k in (1, 2, 3)}
    >>> _good_cases(Finding(cases, {}, ""))
    '3 of 6 cases (all with 2P)'
    """
    good = [name for name, holds in finding.cases.items() if holds]
    if len(good) <= 2:
        return "; ".join(good)
    parts = {part: None for name in good for part in name.split(", ")}
    pure = [part for part in parts if _always(part, finding.cases)]
    shown = f" (all with {', '.join(pure)})" if 0 < len(pure) <= 4 else ""
    return f"{len(good)} of {len(finding.cases)} cases{shown}"


def _always(part: str, cases: dict[str, bool]) -> bool:
    """Do all of several cases with this part in their name hold?"""
    concerned = [holds for name, holds in cases.items() if part in name.split(", ")]
    return len(concerned) > 1 and all(concerned)


def significant(value: Any) -> Any:
    """Six significant digits, so that claims.json can be read; infinity is null, as JSON has none.

    >>> significant({"a": 1.23456789, "b": math.inf, "c": 7})
    {'a': 1.23457, 'b': None, 'c': 7}
    """
    if isinstance(value, dict):
        return {str(key): significant(item) for key, item in value.items()}
    if isinstance(value, bool | int | str) or value is None:
        return value
    number = float(value)
    return float(f"{number:.6g}") if math.isfinite(number) else None


def within(a: float, b: float, factor: float = SIMILAR) -> bool:
    """Do two positive numbers agree within a factor? Infinities agree with nothing.

    >>> within(1.0, 2.9), within(1.0, 3.1), within(math.inf, math.inf)
    (True, False, False)
    """
    if not (math.isfinite(a) and math.isfinite(b) and a > 0 and b > 0):
        return False
    return max(a, b) <= factor * min(a, b)


def ratio(a: float, b: float) -> float:
    """a / b, infinite where b is 0.

    >>> ratio(1.0, 0.0), ratio(1.0, 4.0)
    (inf, 0.25)
    """
    return float(a) / float(b) if b else math.inf


def counted(cases: dict[str, bool], what: str = "cases") -> str:
    """
    >>> counted({"a": True, "b": False})
    '1 of 2 cases'
    """
    return f"{sum(cases.values())} of {len(cases)} {what}"
