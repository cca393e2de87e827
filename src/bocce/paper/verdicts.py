"""The scale of verdicts: what a claim says, what was found, and the word that follows.

An observation (something seen in a figure) is judged by the share of its cases that meet a stated
criterion. A theorem is never given a share: one counterexample makes it false.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .results import Results

OBSERVATION, THEOREM = "observation", "theorem"
OBSERVED = ("holds", "mostly", "mixed", "mostly-not", "fails", "not-evaluated")
PROVEN = ("proved", "true-where-tested", "false", "not-tested")
MOSTLY = 0.8  # of the cases

Case = bool | None  # None: could not be evaluated (NaN, two infinities, no data)


@dataclass(frozen=True)
class Finding:
    """What one setting shows, case by case, in numbers, and in one sentence: what decides."""

    cases: dict[str, Case]
    numbers: dict[str, float] = field(default_factory=dict)
    because: str = ""

    @property
    def evaluated(self) -> int:
        return sum(case is not None for case in self.cases.values())

    @property
    def met(self) -> int:
        return sum(case is True for case in self.cases.values())


Judge = Callable[["Results", str], Finding]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper (or of ours), a criterion for it, and a function that applies it.

    ``proof`` names where a theorem is proved in full, if it is; ``judged_on`` says what kind of
    numbers the criterion is applied to.
    """

    id: str
    kind: str  # OBSERVATION or THEOREM: the scale it is judged on
    source: str  # the paper's label
    text: str  # what the paper says; of ours, what we say
    criterion: str
    judge: Judge
    judged_on: str
    ours: bool = False
    proof: str = ""


@dataclass(frozen=True)
class Verdict:
    """A claim judged in every setting that was run."""

    claim: Claim
    figure: str
    findings: dict[str, Finding] = field(default_factory=dict)
    data: str = ""  # what it was judged on: numbers, sizes, data sets and their stand-ins

    @property
    def word(self) -> str:
        """One word of `OBSERVED` or `PROVEN`.

        >>> claim = Claim("c", OBSERVATION, "s", "t", "c", lambda r, s: Finding({}), "runs")
        >>> found = Finding({"a": True, "b": True, "c": True, "d": True, "e": False, "f": None})
        >>> Verdict(claim, "fig", {"paper": found}).word
        'mostly'
        """
        cases = [case for finding in self.findings.values() for case in finding.cases.values()]
        judged = [case for case in cases if case is not None]
        if self.claim.kind == THEOREM:
            return _theorem(judged, self.claim.proof)
        return _observation(judged)

    @property
    def because(self) -> str:
        """One sentence; where settings differ, each has its own half of it."""
        said = {setting: found.because for setting, found in self.findings.items() if found.because}
        if len(set(said.values())) <= 1:
            return next(iter(said.values()), "Nothing was run.")
        return "; ".join(f"{setting}: {text.rstrip('.')}" for setting, text in said.items()) + "."

    @property
    def score(self) -> dict[str, str]:
        """By setting: cases met of those evaluated ("9 of 9"); of a theorem, how many tested."""
        theorem = self.claim.kind == THEOREM
        return {
            setting: f"{found.evaluated} tested" if theorem else f"{found.met} of {found.evaluated}"
            for setting, found in self.findings.items()
            if found.evaluated
        }


def _observation(cases: list[bool]) -> str:
    if not cases:
        return "not-evaluated"
    met, missed = sum(cases), len(cases) - sum(cases)
    if not (met and missed):
        return "holds" if met else "fails"
    if met >= MOSTLY * len(cases):
        return "mostly"
    return "mostly-not" if missed >= MOSTLY * len(cases) else "mixed"


def _theorem(cases: list[bool], proof: str) -> str:
    if not all(cases):
        return "false"
    if proof:
        return "proved"
    return "true-where-tested" if cases else "not-tested"


# ---------------------------------------------------------------- comparisons that can be refused


def below(a: float, b: float, factor: float = 1.0) -> Case:
    """Is a <= factor b? NaN, and two infinities, cannot be compared.

    >>> below(1.0, 2.0), below(3.0, math.inf), below(math.inf, math.inf), below(math.nan, 1.0)
    (True, True, None, None)
    """
    if math.isnan(a) or math.isnan(b) or (math.isinf(a) and math.isinf(b)):
        return None
    return bool(a <= factor * b)


def within(a: float, b: float, factor: float) -> Case:
    """Do two positive numbers agree within a factor?

    >>> within(1.0, 2.9, 3.0), within(1.0, math.inf, 3.0), within(math.inf, math.inf, 3.0)
    (True, False, None)
    """
    if math.isnan(a) or math.isnan(b) or (math.isinf(a) and math.isinf(b)):
        return None
    if a <= 0.0 or b <= 0.0:
        return False
    return bool(max(a, b) <= factor * min(a, b))


def ratio(a: float, b: float) -> float:
    """a / b for the tables of numbers: NaN where it has no meaning.

    >>> ratio(1.0, 4.0), ratio(1.0, 0.0), ratio(math.inf, math.inf)
    (0.25, inf, nan)
    """
    if b == 0.0:
        return math.inf if a else math.nan
    return float(a) / float(b)


def all_of(*cases: Case) -> Case:
    """False if one is; else None if one could not be evaluated.

    >>> all_of(True, None), all_of(True, None, False), all_of(True, True)
    (None, False, True)
    """
    if any(case is False for case in cases):
        return False
    return None if any(case is None for case in cases) else True


def counted(cases: dict[str, Case], what: str = "cases") -> str:
    """
    >>> counted({"a": True, "b": False, "c": None})
    '1 of 2 cases'
    """
    judged = [case for case in cases.values() if case is not None]
    return f"{sum(judged)} of {len(judged)} {what}"


def first_false(cases: dict[str, Case]) -> str:
    return next((name for name, case in cases.items() if case is False), "")


# ---------------------------------------------------------------- how they are told


def significant(value: Any) -> Any:
    """Six significant digits; infinity and NaN are null, as JSON has none.

    >>> significant({"a": 1.23456789, "b": math.inf, "c": 7})
    {'a': 1.23457, 'b': None, 'c': 7}
    """
    if isinstance(value, dict):
        return {str(key): significant(item) for key, item in value.items()}
    if isinstance(value, bool | int | str) or value is None:
        return value
    number = float(value)
    return float(f"{number:.6g}") if math.isfinite(number) else None


def _entry(v: Verdict) -> dict[str, Any]:
    return {
        "id": v.claim.id,
        "kind": "ours" if v.claim.ours else v.claim.kind,
        "figure": v.figure,
        "source": v.claim.source,
        "text": v.claim.text,
        "criterion": v.claim.criterion,
        "verdict": v.word,
        "cases": {setting: found.evaluated for setting, found in v.findings.items()},
        "met": {setting: found.met for setting, found in v.findings.items()},
        "because": v.because,
        "data": v.data,
        "details": {
            setting: {"cases": dict(found.cases), "numbers": significant(found.numbers)}
            for setting, found in v.findings.items()
        },
    }


def as_json(verdicts: Iterable[Verdict], profile: str, summary: list[str]) -> str:
    """claims.json: no times, no paths, numbers to six digits: the same results, the same bytes."""
    content = {
        "profile": profile,
        "bottom_line": summary,
        "claims": [_entry(verdict) for verdict in verdicts],
    }
    return json.dumps(content, indent=2, allow_nan=False)


def as_markdown(verdicts: list[Verdict]) -> str:
    """The tables of docs/reproduction.md: observations, theorems, and ours."""
    groups = {
        "Observations": [v for v in verdicts if _group(v) == OBSERVATION],
        "Theorems": [v for v in verdicts if _group(v) == THEOREM],
        "Ours": [v for v in verdicts if _group(v) == "ours"],
    }
    parts = []
    for title, members in groups.items():
        settings = [s for s in _settings(members) if any(s in v.score for v in members)]
        head = ["claim", "verdict", *settings, "because"]
        lines = [f"### {title}", "", _row(head), _row(["---"] * len(head))]
        for v in members:
            scores = [v.score.get(setting, "–") for setting in settings]
            claim = f"`{v.claim.id}` ({v.claim.source}): {v.claim.text}"
            lines.append(_row([claim, f"**{v.word}**", *scores, v.because]))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _group(v: Verdict) -> str:
    return "ours" if v.claim.ours else v.claim.kind


def _settings(verdicts: Iterable[Verdict]) -> list[str]:
    return list(dict.fromkeys(setting for v in verdicts for setting in v.findings))


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"


def counts(verdicts: Iterable[Verdict]) -> dict[str, dict[str, int]]:
    """How many of each word, for the paper's observations, its theorems, and ours."""
    found: dict[str, dict[str, int]] = {OBSERVATION: {}, THEOREM: {}, "ours": {}}
    for v in verdicts:
        group = found[_group(v)]
        group[v.word] = group.get(v.word, 0) + 1
    order = (*OBSERVED, *PROVEN)
    return {
        kind: {word: group[word] for word in order if word in group}
        for kind, group in found.items()
    }
