"""The scale of verdicts: what a claim says, what was found, and the word that follows.

Three kinds of claim are judged on two scales:

- An *observation* is a sentence of the paper outside its statements. The share of cases that meet a
  stated criterion decides, setting by setting; settings are never pooled.
- A *statement* is a theorem, corollary or lemma of the paper. Its class says what a referee would
  ask its authors to change, and `Change` says how. The class is printed only if all evidence for it
  was computed and found.
- A claim of *ours* is proved (if a page of docs/theory proves it and every case agrees), or judged
  as an observation is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from .results import FigureView
from .texts import read


class Word(NamedTuple):
    """What a verdict means, how it looks in the report, and how one or many claims of it read."""

    style: str
    meaning: str
    one: str
    many: str


OBSERVATION = "observation"
STATEMENT = "statement"
OURS = "ours"
KINDS = (OBSERVATION, STATEMENT, OURS)
OBSERVED = ("holds", "mostly", "mixed", "mostly-not", "fails", "not-evaluated")
WORDS = {name: Word(*row) for name, row in read("claims.toml")["words"].items()}
CLASSES = tuple(name for name in WORDS if name not in OBSERVED)
# The setting nearest to what the authors ran comes first: it gives the headline.
NEAREST = ("published", "released-rows", "authors", "paper")
MOSTLY = 0.8  # of the cases

Case = bool | None  # None: could not be evaluated (NaN, two infinities, no data)
Cases = dict[str, Case]
Numbers = dict[str, float]


@dataclass(frozen=True)
class Finding:
    """What one setting shows: case by case, in numbers, and in one sentence (``because``).

    ``also`` has the cases of other readings of the sentence, where its reading can be disputed.
    Without a sentence of its own a finding has that of its claim.
    """

    cases: Cases = field(default_factory=dict)
    numbers: Numbers = field(default_factory=dict)
    because: str = ""
    also: dict[str, Finding] = field(default_factory=dict)

    def said(self, because: str, also: dict[str, Finding] | None = None) -> Finding:
        """The same finding with its sentence, and with other readings."""
        return replace(self, because=because, also=also or {})

    @classmethod
    def of(cls, found: Found) -> Finding:
        """What a judge yielded. Numbers without the name of a case belong to none.

        >>> Finding.of([("a", True, {"a: SHB / SGD": 0.5}), ("", None, {"b": 3.0})])
        Finding(cases={'a': True}, numbers={'a: SHB / SGD': 0.5, 'b': 3.0}, because='', also={})
        """
        made = cls()
        for name, case, numbers in found:
            made.numbers.update(numbers)
            if name:
                made.cases[name] = case
        return made

    @property
    def span(self) -> str:
        """The smallest and the largest of all numbers."""
        return span(self.numbers.values())

    @property
    def evaluated(self) -> int:
        return sum(case is not None for case in self.cases.values())

    @property
    def met(self) -> int:
        return sum(case is True for case in self.cases.values())

    @property
    def score(self) -> str:
        """
        >>> Finding({"a": True, "b": False, "c": None}).score
        '1 of 2'
        """
        return f"{self.met} of {self.evaluated}"

    @property
    def first_false(self) -> str:
        """The name of the first case that is not met, or nothing."""
        return next((name for name, case in self.cases.items() if case is False), "")

    @property
    def word(self) -> str:
        """A word of `OBSERVED`.

        >>> Finding({"a": True, "b": True, "c": True, "d": True, "e": False, "f": None}).word
        'mostly'
        """
        met = self.met
        missed = self.evaluated - self.met
        if not (met or missed):
            return "not-evaluated"
        if not (met and missed):
            return "holds" if met else "fails"
        if met >= MOSTLY * self.evaluated:
            return "mostly"
        if missed >= MOSTLY * self.evaluated:
            return "mostly-not"
        return "mixed"


# What a judge may yield: the name of a case, whether it is met, and numbers.
Found = Iterable[tuple[str, Case, Numbers]]
Judge = Callable[[FigureView], Finding | Found]


@dataclass(frozen=True)
class Change:
    """What to change in the paper: where, from what, to what, and why.

    ``line`` is a line of the paper's LaTeX source, ``printed`` and ``corrected`` are LaTeX,
    ``proof`` is the page of docs/theory that proves the corrected form.
    """

    line: int
    printed: str
    corrected: str
    why: str
    rate_survives: bool = True  # the rate that the statement claims
    proof: str = ""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper (or of ours), a criterion for it, and a function that applies it.

    ``source`` is the paper's label. ``text`` says the sentence in our words; ``quote`` is verbatim
    LaTeX of the paper or empty. ``because`` is the reason for the verdict, in which {found.score},
    {found.span} and {found.numbers[...]} stand for what was found. ``verdict`` is the class of a
    statement, ``root`` the label of the statement whose slip causes this one. ``readings`` are
    names that the judge gets in the place of settings, where the paper leaves open what was run;
    the first reading gives the headline.
    """

    id: str
    kind: str
    source: str
    text: str
    criterion: str
    judge: Judge
    judged_on: str
    quote: str = ""
    line: int = 0
    proof: str = ""
    verdict: str = ""
    because: str = ""
    changes: tuple[Change, ...] = ()
    root: str = ""
    readings: tuple[str, ...] = ()

    def finding(self, view: FigureView) -> Finding:
        """What the judge finds, with a sentence."""
        judged = self.judge(view)
        if isinstance(judged, Finding):
            found = judged
        else:
            found = Finding.of(judged)
        if found.because:
            return found
        return replace(found, because=self.because.format(found=found))

    @property
    def name(self) -> str:
        """The name of a statement, such as "Theorem 1"."""
        return self.text.partition(":")[0]


@dataclass(frozen=True)
class Verdict:
    """A claim judged in every setting that was run."""

    claim: Claim
    figure: str
    findings: dict[str, Finding] = field(default_factory=dict)
    data: str = ""  # what it was judged on: numbers, sizes, data sets and their stand-ins

    @property
    def words(self) -> dict[str, str]:
        """The verdict by setting.

        >>> claim = Claim("c", OBSERVATION, "s", "t", "c", lambda view: Finding({}), "runs")
        >>> found = {"paper": Finding({"a": False}), "authors": Finding({"a": True})}
        >>> Verdict(claim, "fig", found).words
        {'paper': 'fails', 'authors': 'holds'}
        """
        return {setting: self._word(found) for setting, found in self.findings.items()}

    def _word(self, found: Finding) -> str:
        complete = found.evaluated > 0 and found.met == len(found.cases)
        if self.claim.kind == STATEMENT:
            if complete:
                return self.claim.verdict
            return "not-tested"
        if self.claim.proof and complete:
            return "proved"
        return found.word

    @property
    def headline(self) -> str | None:
        """The setting nearest to what was run, among those that could be evaluated."""
        order = (*self.claim.readings, *NEAREST)
        known = [s for s in order if s in self.findings]
        judged = [s for s in known if self.findings[s].evaluated]
        return next(iter(judged or known), None)

    @property
    def word(self) -> str:
        """The verdict of the headline's setting."""
        if self.headline is None:
            if self.claim.kind == STATEMENT:
                return "not-tested"
            return "not-evaluated"
        return self.words[self.headline]

    @property
    def depends_on_reading(self) -> bool:
        """Do settings that could be evaluated, or readings of the sentence, differ in the word?"""
        judged = [w for s, w in self.words.items() if self.findings[s].evaluated]
        return len({*judged, *(found.word for found in self.also.values())}) > 1

    @property
    def also(self) -> dict[str, Finding]:
        """The other readings of the sentence in the headline's setting."""
        if self.headline:
            return self.findings[self.headline].also
        return {}

    @property
    def because(self) -> str:
        """One sentence, of the headline first; where settings differ, each has its own."""
        first = self.headline
        order = [s for s in (first, *self.findings) if s is not None and self.findings[s].because]
        said = {setting: self.findings[setting].because for setting in dict.fromkeys(order)}
        if len(set(said.values())) <= 1:
            return next(iter(said.values()), "Nothing was run.")
        return "; ".join(f"{setting}: {text.rstrip('.')}" for setting, text in said.items()) + "."

    @property
    def score(self) -> dict[str, str]:
        """By setting: cases met of those evaluated ("9 of 9"); of a statement, its checks."""
        checks = self.claim.kind == STATEMENT
        return {
            setting: f"{found.evaluated} checks" if checks else found.score
            for setting, found in self.findings.items()
            if found.evaluated
        }


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
    """a / b for the tables of numbers; NaN if both are 0.

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
    if any(case is None for case in cases):
        return None
    return True


def span(values: Iterable[float]) -> str:
    """The smallest and the largest value; "unknown" without values (every run diverged).

    >>> span([3.0, 0.25]), span([])
    ('0.25 to 3', 'unknown')
    """
    found = list(values)
    if found:
        return f"{min(found):.2g} to {max(found):.2g}"
    return "unknown"
