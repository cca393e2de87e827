"""Verdicts as text: claims.json, tables in Markdown, and counts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from .._types import Json
from .verdicts import CLASSES, KINDS, OBSERVATION, OBSERVED, OURS, STATEMENT, Verdict


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


def _entry(v: Verdict) -> Json:
    claim = v.claim
    changes = [asdict(change) for change in claim.changes]
    entry = {
        "id": claim.id,
        "kind": claim.kind,
        "figure": v.figure,
        "source": claim.source,
        "text": claim.text,
        "criterion": claim.criterion,
        "verdict": v.word,
        "verdicts": v.words,
        "depends_on_reading": v.depends_on_reading,
        "cases": {setting: found.evaluated for setting, found in v.findings.items()},
        "met": {setting: found.met for setting, found in v.findings.items()},
        "other_readings": {
            name: {"verdict": found.word, "met": found.met, "cases": found.evaluated}
            for name, found in v.also.items()
        },
        "because": v.because,
        "data": v.data,
        "change": changes[0] if changes else None,
        "further_changes": changes[1:],
        "details": {
            setting: {"cases": dict(found.cases), "numbers": significant(found.numbers)}
            for setting, found in v.findings.items()
        },
    }
    given = {"quote": claim.quote, "line": claim.line, "proof": claim.proof}
    return entry | {name: value for name, value in given.items() if value}


def as_json(verdicts: Iterable[Verdict], profile: str, summary: list[str]) -> str:
    """claims.json: no times, no paths, numbers to six digits: the same results, the same bytes."""
    content = {
        "profile": profile,
        "bottom_line": summary,
        "claims": [_entry(verdict) for verdict in verdicts],
    }
    return json.dumps(content, indent=2, allow_nan=False)


TITLES = {OBSERVATION: "Observations", STATEMENT: "Statements", OURS: "Ours"}


def as_markdown(verdicts: list[Verdict]) -> str:
    """Tables in Markdown: observations, statements, and ours."""
    parts = []
    for kind, title in TITLES.items():
        members = [v for v in verdicts if v.claim.kind == kind]
        settings = [s for s in _settings(members) if any(s in v.score for v in members)]
        head = ["claim", "verdict", *settings, "because"]
        lines = [f"### {title}", "", _row(head), _row(["---"] * len(head))]
        for v in members:
            scores = [_score(v, setting) for setting in settings]
            claim = f"`{v.claim.id}` ({v.claim.source}): {v.claim.text}"
            lines.append(_row([claim, f"**{v.word}**", *scores, v.because]))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _score(v: Verdict, setting: str) -> str:
    """ "7 of 9, mixed" of an observation; "12 checks" of a statement."""
    if setting not in v.score:
        return "–"
    word = f", {v.words[setting]}" if v.claim.kind != STATEMENT else ""
    return v.score[setting] + word


def _settings(verdicts: Iterable[Verdict]) -> list[str]:
    return list(dict.fromkeys(setting for v in verdicts for setting in v.findings))


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"


def counts(verdicts: Iterable[Verdict], setting: str = "") -> dict[str, dict[str, int]]:
    """How many of each word, for the paper's observations, its statements, and ours.

    ``setting`` counts the words of that setting alone, where a claim was judged in it.
    """
    found: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
    for v in verdicts:
        group, word = found[v.claim.kind], v.words.get(setting, "") if setting else v.word
        if word:
            group[word] = group.get(word, 0) + 1
    order = dict.fromkeys((*OBSERVED, *CLASSES))
    return {
        kind: {word: group[word] for word in order if word in group}
        for kind, group in found.items()
    }


def summed(verdicts: list[Verdict]) -> list[str]:
    """The counts in words, and of observations those in the setting ``paper`` alone.

    >>> from bocce.paper.verdicts import Claim, Finding
    >>> found = {"paper": Finding({"a": False}), "authors": Finding({"a": True})}
    >>> claim = Claim("c", OBSERVATION, "s", "t", "c", lambda r, s: found[s], "runs")
    >>> summed([Verdict(claim, "fig", found)])
    ['1 observation: 1 holds', '1 observation in the setting paper alone: 1 fails']
    """

    def line(kind: str, words: dict[str, int], where: str = "") -> str:
        total = sum(words.values())
        name = kind if kind == OURS else kind + "s" * (total != 1)
        listed = ", ".join(f"{count} {word}" for word, count in words.items())
        return f"{total} {'of ' * (kind == OURS)}{name}{where}: {listed}"

    lines = [line(kind, words) for kind, words in counts(verdicts).items() if words]
    alone = counts([v for v in verdicts if not v.claim.readings], "paper")[OBSERVATION]
    where = " in the setting paper alone"
    return lines + ([line(OBSERVATION, alone, where)] if alone else [])
