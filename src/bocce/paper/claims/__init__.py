"""Verdicts: every claim applied to stored results. The same results give the same bytes."""

from __future__ import annotations

import json
from typing import Any

from ..results import Results
from . import extra, lower, pan, quad, real, sweep
from .base import Claim, Finding, Verdict, significant

CLAIMS: tuple[Claim, ...] = (
    *lower.CLAIMS[:4],
    *quad.CLAIMS,
    *sweep.CLAIMS,
    *lower.CLAIMS[4:],
    *real.CLAIMS,
    *pan.CLAIMS,
    *extra.CLAIMS,
)

__all__ = ["CLAIMS", "Claim", "Finding", "Verdict", "as_json", "as_markdown", "judge_all"]


def judge_all(results: Results) -> list[Verdict]:
    """A verdict on every claim whose figure is there."""
    verdicts = []
    for claim in CLAIMS:
        settings = results.settings(claim.figure)
        if settings:
            findings = {setting: claim.judge(results, setting) for setting in settings}
            verdicts.append(Verdict(claim, findings, _missing(results, claim.figure)))
    return verdicts


def _missing(results: Results, figure: str) -> str:
    panels = [
        panel
        for setting in results.settings(figure)
        for panel in results.panels(figure, setting)
        if results.missing(figure, setting, panel)
    ]
    return f"data not available: {', '.join(dict.fromkeys(panels))}" if panels else ""


def as_content(verdicts: list[Verdict], profile: str) -> dict[str, Any]:
    return {
        "profile": profile,
        "claims": [
            {
                "name": v.claim.name,
                "figure": v.claim.figure,
                "source": v.claim.source,
                "ours": v.claim.ours,
                "text": v.claim.text,
                "criterion": v.claim.criterion,
                "verdict": v.word,
                "missing": v.missing,
                "findings": {
                    setting: {
                        "holds": int(sum(finding.cases.values())),
                        "of": len(finding.cases),
                        "sentence": finding.sentence,
                        "cases": {case: bool(holds) for case, holds in finding.cases.items()},
                        "numbers": significant(finding.numbers),
                    }
                    for setting, finding in v.findings.items()
                },
            }
            for v in verdicts
        ],
    }


def as_json(verdicts: list[Verdict], profile: str) -> str:
    """claims.json: no times, no paths, numbers to six digits."""
    return json.dumps(as_content(verdicts, profile), indent=2, allow_nan=False)


def as_markdown(verdicts: list[Verdict]) -> str:
    """The table of docs/reproduction.md."""
    lines = ["| claim | source | verdict | paper | authors |", "|---|---|---|---|---|"]
    for v in verdicts:
        cells = [_score(v.findings.get(setting)) for setting in ("paper", "authors")]
        mark = " (ours)" if v.claim.ours else ""
        row = (f"`{v.claim.name}`{mark}: {v.claim.text}", v.claim.source, v.word, *cells)
        lines.append("| " + " | ".join(text.replace("|", "\\|") for text in row) + " |")
    return "\n".join(lines)


def _score(finding: Finding | None) -> str:
    if finding is None or not finding.cases:
        return "–"
    return f"{sum(finding.cases.values())}/{len(finding.cases)}"
