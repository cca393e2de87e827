"""Every claim applied to stored results; the verdicts as text: claims.json, tables, counts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict

from .erratum import summary
from .exhibit import Exhibit
from .exhibits import EXHIBITS
from .results import FigureView, Results
from .specs import Json, Profile
from .verdicts import CLASSES, KINDS, OBSERVATION, OBSERVED, OURS, STATEMENT, WORDS, Verdict


def judge_all(results: Results, profile: Profile) -> list[Verdict]:
    """A verdict on every claim whose exhibit is there."""
    verdicts = []
    for exhibit in EXHIBITS.values():
        settings = results.settings(exhibit.label)
        data = _data(exhibit, results, profile)
        for claim in exhibit.claims if settings else ():
            readings = claim.readings or settings
            findings = {s: claim.finding(FigureView(results, exhibit.label, s)) for s in readings}
            verdicts.append(Verdict(claim, exhibit.label, findings, f"{claim.judged_on}; {data}"))
    return verdicts


def _data(exhibit: Exhibit, results: Results, profile: Profile) -> str:
    said = [f"profile {profile.name}: {exhibit.caption(profile).rstrip('.')}"]
    return "; ".join([*said, *results.stand_ins(exhibit.label)])


def bottom_line(verdicts: list[Verdict]) -> list[str]:
    """Five sentences about the paper, from the verdicts alone."""
    by_id = {verdict.claim.id: verdict for verdict in verdicts}

    def said(claim: str) -> str:
        if claim not in by_id:
            return "was not run"
        verdict = by_id[claim]
        nearest = verdict.headline
        if nearest not in verdict.score:
            return WORDS[verdict.word].one
        others = ", ".join(f"{s} {score}" for s, score in verdict.score.items() if s != nearest)
        cases = f"{verdict.score[nearest]} cases in the setting {nearest}"
        return f"{WORDS[verdict.word].one} ({cases}{f'; elsewhere: {others}' if others else ''})"

    def panel(setting: str) -> str:
        if "published_panel" in by_id:
            found = by_id["published_panel"].score
        else:
            found = {}
        return f"{setting} {found.get(setting, 'not judged')}"

    total = counts(verdicts)
    classes = [v.word for v in verdicts if v.claim.kind == STATEMENT]
    return [
        summary(classes) if classes else "The statements of the paper were not tested.",
        f"Of the paper's {sum(total[OBSERVATION].values())} observations "
        f"{_listed(total, OBSERVATION)}, each in the setting nearest to what was run.",
        f"That SHB accelerates when the batch is large {said('quad_i_faster')}. That small batches "
        f"make it diverge {said('sweep_i_divergence')}: on the authors' data twenty rows carry "
        "nearly all curvature; on rows of equal size 2 % of the data suffices.",
        f"That the three variants beat the noise {said('quad_ii_variants')}: by the printed rule "
        "Multi-SHB has no second stage at the text's T and kappa, and is then SHB. That the "
        f"two-phase method ends below Multi-SHB {said('quad_iv_two_phase')}.",
        "The released code is another algorithm on other data than the paper describes, so that "
        "verdicts are given for each setting; the one published panel in its notebook agrees best "
        f"with a mixture of the two ({panel('published')}; {panel('paper')}, {panel('authors')}).",
    ]


def _listed(total: dict[str, dict[str, int]], kind: str) -> str:
    """
    >>> _listed({"observation": {"holds": 2, "mixed": 3, "fails": 1}}, "observation")
    '2 hold, 3 are mixed and 1 fail'
    """
    parts = [f"{count} {WORDS[word].many}" for word, count in total[kind].items()]
    if len(parts) < 2:
        if parts:
            return parts[0]
        return "none was run"
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


# ---------------------------------------------------------------- text


def significant(value: float) -> float | None:
    """Six significant digits; infinity and NaN are null, as JSON has none.

    >>> significant(1.23456789), significant(math.inf), significant(7)
    (1.23457, None, 7)
    """
    if isinstance(value, int):
        return value
    if math.isfinite(value):
        return float(f"{value:.6g}")
    return None


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
            setting: {
                "cases": found.cases,
                "numbers": {name: significant(value) for name, value in found.numbers.items()},
            }
            for setting, found in v.findings.items()
        },
    }
    given = {"quote": claim.quote, "line": claim.line, "proof": claim.proof}
    return entry | {name: value for name, value in given.items() if value}


def as_json(verdicts: Iterable[Verdict], profile: str, bottom_line: list[str]) -> str:
    """claims.json: no times, no paths, numbers to six digits: the same results, the same bytes."""
    content = {
        "profile": profile,
        "bottom_line": bottom_line,
        "claims": [_entry(verdict) for verdict in verdicts],
    }
    return json.dumps(content, indent=2, allow_nan=False)


TITLES = {OBSERVATION: "Observations", STATEMENT: "Statements", OURS: "Ours"}


def as_markdown(verdicts: list[Verdict]) -> str:
    """Tables in Markdown: observations, statements, and ours."""
    parts = []
    for kind, title in TITLES.items():
        members = [v for v in verdicts if v.claim.kind == kind]
        judged = dict.fromkeys(setting for v in members for setting in v.findings)
        settings = [s for s in judged if any(s in v.score for v in members)]
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
    if v.claim.kind != STATEMENT:
        word = f", {v.words[setting]}"
    else:
        word = ""
    return v.score[setting] + word


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"


def counts(verdicts: Iterable[Verdict], setting: str = "") -> dict[str, dict[str, int]]:
    """How many of each word, for the paper's observations, its statements, and ours.

    ``setting`` counts the words of that setting alone, where a claim was judged in it.
    """
    found: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
    for v in verdicts:
        group = found[v.claim.kind]
        word = v.words.get(setting, "") if setting else v.word
        if word:
            group[word] = group.get(word, 0) + 1
    order = dict.fromkeys((*OBSERVED, *CLASSES))
    return {
        kind: {word: group[word] for word in order if word in group}
        for kind, group in found.items()
    }


def summed(verdicts: list[Verdict]) -> list[str]:
    """The counts in words, and of observations those in the setting ``paper`` alone: the text says
    "random" rows, and rows of equal size are our reading of it.

    >>> from bocce_paper.verdicts import Claim, Finding
    >>> found = {"paper": Finding({"a": False}), "authors": Finding({"a": True})}
    >>> claim = Claim("c", OBSERVATION, "s", "t", "c", lambda r, s: found[s], "runs")
    >>> summed([Verdict(claim, "fig", found)])
    ['1 observation: 1 holds', '1 observation with rows of equal size (our reading): 1 fails']
    """

    def line(kind: str, words: dict[str, int], where: str = "") -> str:
        total = sum(words.values())
        if kind == OURS:
            name = kind
        else:
            name = kind + "s" * (total != 1)
        listed = ", ".join(f"{count} {word}" for word, count in words.items())
        return f"{total} {'of ' * (kind == OURS)}{name}{where}: {listed}"

    lines = [line(kind, words) for kind, words in counts(verdicts).items() if words]
    alone = counts([v for v in verdicts if not v.claim.readings], "paper")[OBSERVATION]
    where = " with rows of equal size (our reading)"
    return lines + ([line(OBSERVATION, alone, where)] if alone else [])
