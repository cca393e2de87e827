"""Every claim applied to stored results, and the bottom line."""

from __future__ import annotations

from . import EXHIBITS
from .exhibit import Exhibit
from .results import Results
from .specs import Profile
from .verdicts import OBSERVATION, THEOREM, Verdict, counts

IN_WORDS = {
    "holds": "holds",
    "mostly": "mostly holds",
    "mixed": "is mixed",
    "mostly-not": "mostly does not hold",
    "fails": "fails",
    "not-evaluated": "could not be judged",
    "proved": "is proved",
    "true-where-tested": "is true where tested",
    "false": "is false",
    "not-tested": "was not tested",
}

PLURAL = {
    "holds": "hold",
    "mostly": "mostly hold",
    "mixed": "mixed",
    "mostly-not": "mostly not",
    "fails": "fail",
    "not-evaluated": "not judged",
    "proved": "proved",
    "true-where-tested": "true where tested",
    "false": "false",
    "not-tested": "not tested",
}


def judge_all(results: Results, profile: Profile) -> list[Verdict]:
    """A verdict on every claim whose exhibit is there."""
    verdicts = []
    for exhibit in EXHIBITS.values():
        settings = results.settings(exhibit.label)
        data = _data(exhibit, results, profile)
        for claim in exhibit.claims if settings else ():
            findings = {setting: claim.judge(results, setting) for setting in settings}
            verdicts.append(Verdict(claim, exhibit.label, findings, f"{claim.judged_on}; {data}"))
    return verdicts


def _data(exhibit: Exhibit, results: Results, profile: Profile) -> str:
    said = [f"profile {profile.name}: {exhibit.caption(profile).rstrip('.')}"]
    return "; ".join([*said, *results.stand_ins(exhibit.label)])


def bottom_line(verdicts: list[Verdict]) -> list[str]:
    """Five sentences about the whole paper, from the verdicts alone."""
    by_id = {verdict.claim.id: verdict for verdict in verdicts}

    def said(claim: str) -> str:
        if claim not in by_id:
            return "was not run"
        verdict = by_id[claim]
        met = sum(found.met for found in verdict.findings.values())
        of = sum(found.evaluated for found in verdict.findings.values())
        share = f" ({met} of {of} cases)" if verdict.claim.kind == OBSERVATION and of else ""
        return IN_WORDS[verdict.word] + share

    def which(claims: tuple[str, ...], words: tuple[str, ...]) -> int:
        return sum(by_id[claim].word in words for claim in claims if claim in by_id)

    def panel(setting: str) -> str:
        found = by_id["published_panel"].score if "published_panel" in by_id else {}
        return f"{setting} {found.get(setting, 'not judged')}"

    printed = tuple(claim for claim in by_id if claim.endswith("_printed"))
    corrected = tuple(claim for claim in by_id if claim.endswith("_corrected"))
    total = counts(verdicts)
    return [
        f"Of the paper's {sum(total[OBSERVATION].values())} observations "
        f"{_listed(total, OBSERVATION)}; "
        f"of its {sum(total[THEOREM].values())} theorems, corollaries and lemmas "
        f"{_listed(total, THEOREM)}.",
        f"That SHB accelerates when the batch is large {said('quad_i_faster')}; that smaller "
        f"batches make it diverge {said('sweep_i_divergence')}, because it takes rows of very "
        "unlike size: where rows are alike a fiftieth of the data is enough.",
        f"That the three variants beat the noise {said('quad_ii_variants')}, because the printed "
        "number of stages is zero at the paper's T and Multi-SHB is then SHB; that the two-phase "
        f"method beats it {said('quad_iv_two_phase')}, and similarity to Nesterov-EXP "
        f"{said('quad_v_nesterov')}.",
        f"Of the {len(printed)} bounds tested as printed {which(printed, ('false',))} are false in "
        "some units and "
        f"{which(printed, ('true-where-tested', 'proved'))} true where tested; all "
        f"{which(corrected, ('proved',))} corrected ones are proved, and the threshold b* with the "
        f"experiments' L {said('thm2_lambda_max')}.",
        "The released code is another algorithm on other data than the paper describes, so that "
        "verdicts are given for both; the one published panel in its notebook agrees best with a "
        f"mixture of the two ({panel('published')}; {panel('paper')}, {panel('authors')}).",
    ]


def _listed(total: dict[str, dict[str, int]], kind: str) -> str:
    """
    >>> _listed({"observation": {"holds": 2, "mixed": 3, "fails": 1}}, "observation")
    '2 hold, 3 mixed and 1 fail'
    """
    parts = [f"{count} {PLURAL[word]}" for word, count in total[kind].items()]
    if len(parts) < 2:
        return parts[0] if parts else "none was run"
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
