"""Every claim applied to stored results, and the bottom line."""

from __future__ import annotations

from . import EXHIBITS
from .erratum import summary
from .exhibit import Exhibit
from .listing import counts
from .results import Results, View
from .specs import Profile
from .verdicts import OBSERVATION, STATEMENT, Verdict

IN_WORDS = {
    "holds": "holds",
    "mostly": "mostly holds",
    "mixed": "is mixed",
    "mostly-not": "mostly does not hold",
    "fails": "fails",
    "not-evaluated": "could not be judged",
}
PLURAL = {
    "holds": "hold",
    "mostly": "mostly hold",
    "mixed": "are mixed",
    "mostly-not": "mostly do not",
    "fails": "fail",
    "not-evaluated": "were not judged",
}


def judge_all(results: Results, profile: Profile) -> list[Verdict]:
    """A verdict on every claim whose exhibit is there."""
    verdicts = []
    for exhibit in EXHIBITS.values():
        settings = results.settings(exhibit.label)
        data = _data(exhibit, results, profile)
        for claim in exhibit.claims if settings else ():
            readings = claim.readings or settings
            findings = {s: claim.judge(View(results, exhibit.label, s)) for s in readings}
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
        shown = "; ".join(f"{setting} {score}" for setting, score in verdict.score.items())
        return IN_WORDS[verdict.word] + (f" ({shown})" if shown else "")

    def panel(setting: str) -> str:
        found = by_id["published_panel"].score if "published_panel" in by_id else {}
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
    parts = [f"{count} {PLURAL[word]}" for word, count in total[kind].items()]
    if len(parts) < 2:
        return parts[0] if parts else "none was run"
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
