"""The erratum that the authors can paste: what to change, line by line, from the statements."""

from __future__ import annotations

from collections.abc import Iterable

from .exhibits.theorems import CLAIMS, OTHER
from .verdicts import CLASSES, STATEMENT, WORDS, Change, Verdict

HEAD = """# Erratum

Dear authors, we reproduced every figure, those on RCV1 with a stand-in, and checked every statement
of *(Accelerated) Noise-adaptive Stochastic Heavy-Ball Momentum* (TMLR, 03/2025). {summary}
Theorem 2 is among the proved ones: line 203 defines L twice, and one definition is to be struck.

Below is what we would change, with line numbers of the LaTeX source. Every corrected form is proved
on the linked page and tested by computation. If we misread you, please tell us. This page is
printed by `bocce claims DIR --erratum`.
"""


def erratum(found: Iterable[Verdict] | None = None) -> str:
    """The erratum as Markdown.

    Parameters
    ----------
    found : iterable of Verdict, optional
        Verdicts on stored results. A statement among them whose evidence was not computed is
        named at the end. Without it, the evidence is taken as it was found for the release.

    Returns
    -------
    str
        One section a statement that needs a change, then slips outside the statements, then the
        statements that need none.
    """
    untested = [
        v.claim.source
        for v in found or ()
        if v.claim.kind == STATEMENT and v.word != v.claim.verdict
    ]
    parts = [HEAD.format(summary=summary([row.verdict for row in CLAIMS]))]
    for row in CLAIMS:
        if row.changes:
            title = f"## {row.name} (`{row.source}`, line {row.line}): {row.verdict}"
            parts.append(f"{title}\n\n{row.because}{_proof(row.proof)}\n")
            parts += [_change(change, row.proof) for change in row.changes]
    parts.append("## Outside the statements\n")
    parts += [_change(change) for change in OTHER]
    right = ", ".join(f"{row.name} (`{row.source}`)" for row in CLAIMS if not row.changes)
    parts.append(f"## Without a change\n\n{right}.\n")
    used = {row.verdict for row in CLAIMS}
    words = "\n".join(f"- **{name}**: {WORDS[name].meaning}." for name in CLASSES if name in used)
    parts.append(f"## The words\n\n{words}\n")
    if untested:
        parts.append(f"Not tested on these results: {', '.join(untested)}.\n")
    return "\n".join(parts)


def _change(change: Change, said: str = "") -> str:
    """One change: where, why, printed and corrected, and its proof if not the one already said."""
    line = f"**Line {change.line}.** {change.why}"
    if change.rate_survives:
        line += ""
    else:
        line += " The rate does not survive."
    if change.proof == said:
        line += ""
    else:
        line += _proof(change.proof)
    body = [line, "", "```latex", f"% printed\n{change.printed}"]
    return "\n".join([*body, f"% corrected\n{change.corrected}", "```", ""])


def _proof(path: str) -> str:
    page = path.removeprefix("docs/")
    if page:
        return f" Proof: [{page.split('/')[-1]}]({page})."
    return ""


COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
GRAVEST_FIRST = (
    *("restate", "constants", "margin", "proof-gap", "rounding"),
    *("proved", "true-where-tested", "not-tested"),
)


def in_words(count: int) -> str:
    """
    >>> in_words(3), in_words(22)
    ('three', '22')
    """
    if count < len(COUNTS):
        return COUNTS[count]
    return str(count)


def summary(classes: list[str]) -> str:
    """The sentence that stands first, counted from the classes of the statements.

    >>> summary(["rounding"])
    'Every rate that the paper claims survives; one number was rounded.'
    """
    parts = []
    for word in GRAVEST_FIRST:
        count = classes.count(word)
        if count:
            said = f"{in_words(count)} {WORDS[word].one if count == 1 else WORDS[word].many}"
            parts.append(said + (_one_line() if word == "constants" and count > 1 else ""))
    rates = all(change.rate_survives for row in CLAIMS for change in row.changes)
    if rates:
        first = "Every rate that the paper claims survives; "
    else:
        first = ""
    if len(parts) < 2:
        return first + "".join(parts) + "."
    return f"{first}{'; '.join(parts[:-1])}; and {parts[-1]}."


def _one_line() -> str:
    """How many of the wrong constants come from one line."""
    roots = [row.root for row in CLAIMS if row.verdict == "constants" and row.root]
    most = max((roots.count(root) for root in roots), default=0)
    if most > 1:
        return f" ({in_words(most)} of them because of one line)"
    return ""
