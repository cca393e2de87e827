"""What is said about a run: rows of (condition, text).

A condition is a function of the facts. A text is a format string in which ``f`` stands for the
facts: ``"T = {f.T} is enough."`` Modules that know the facts ask for the texts that hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

Row = tuple[Callable[[Any], bool], str]


def said(rows: Sequence[Row], facts: object) -> Iterator[str]:
    """The texts whose conditions hold, in their order.

    Parameters
    ----------
    rows : sequence of (condition, text)
        What may be said.
    facts : object
        What the conditions and the texts are about.

    Returns
    -------
    iterator of str

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> rows = [(lambda f: f.n > 1, "{f.n:,} rows."), (lambda f: f.n == 1, "One row.")]
    >>> list(said(rows, SimpleNamespace(n=2000)))
    ['2,000 rows.']
    """
    for holds, text in rows:
        if holds(facts):
            yield text.format(f=facts)


def first_said(rows: Sequence[Row], facts: object) -> Iterator[str]:
    """The first text whose condition holds, if there is one.

    Parameters
    ----------
    rows, facts : sequence of (condition, text), object
        As for ``said``.

    Returns
    -------
    iterator of str
        One text, or none.
    """
    for holds, text in rows:
        if holds(facts):
            yield text.format(f=facts)
            return


def otherwise(facts: object) -> bool:
    """The condition of a last row, which is said where no other one is.

    Parameters
    ----------
    facts : object
        Anything.

    Returns
    -------
    bool
        True.
    """
    return True


# ---------------------------------------------------------------- a result: how a run ended

TOO_LONG = (
    "The step is too long for batch_size={f.batch} of n={f.n} (or L is under-estimated): use the "
    "method auto, a larger batch, or a shorter step."
)
RUN_OF_A_TABLE: list[Row] = [
    (
        lambda f: f.verdict == "converged",
        "{f.name}: gradient norm at most {f.tol:g} times the first at step {f.k}.",
    ),
    (lambda f: f.verdict == "stopped", "{f.name}: stopped by the callback at step {f.k}."),
    (
        lambda f: f.verdict == "noisy",
        "{f.name}: {f.rise}, which was so near to the minimum that the noise of batches explains "
        "the rise; use a larger batch than batch_size={f.batch}, or a method whose steps shrink.",
    ),
    (lambda f: f.verdict != "diverged", "{f.name}: all {f.k} steps taken."),
    (lambda f: f.rose, "{f.name} diverged: {f.rise}. " + TOO_LONG),
    (
        otherwise,
        "{f.name} diverged at step {f.k}: the gradient norm passed {f.factor:g} times its start or "
        "overflowed. " + TOO_LONG,
    ),
]

MISSED = " The gradient norm is {f.reached:.3g} times the first{f.missed}"
STALLED = "{f.name}: no further fall of f can be measured after {f.spent}." + MISSED
PASSES_USED = "{f.name}: all allowed passes are used: {f.spent}." + MISSED
RUN_TO_A_TOLERANCE: list[Row] = [
    (
        lambda f: f.verdict == "converged" and f.first_norm == 0.0,
        "{f.name}: the gradient is zero where the run begins.",
    ),
    (
        lambda f: f.verdict == "converged",
        "{f.name}: gradient norm at most {f.tol:g} times the first after {f.spent}.",
    ),
    (lambda f: f.verdict == "stopped", "{f.name}: stopped by the callback after {f.spent}."),
    (
        lambda f: f.verdict == "diverged",
        "{f.name}: diverged after {f.spent}: check the data for rows of very different size.",
    ),
    (
        lambda f: f.verdict == "unbounded",
        "{f.name}: f falls while w grows without limit, after {f.spent}: there is no finite "
        "minimiser (separable classes, and l2 = {f.l2:g})."
        + MISSED
        + ": set l2 > 0, for example 1e-4.",
    ),
    (
        lambda f: f.verdict == "stalled" and f.tol > 0,
        STALLED + ": raise tol, or scale the data.",
    ),
    (lambda f: f.verdict == "stalled", STALLED + "."),
    (
        lambda f: f.tol > 0,
        PASSES_USED + ": raise passes, tol or l2, or start another run with w0=result.w.",
    ),
    (otherwise, PASSES_USED + "."),
]

RETREATS: list[Row] = [
    (
        lambda f: f.retreats > 0,
        "The guard returned to the best point {f.times}: the steps are now {f.shorter} times "
        "shorter.",
    ),
]

# ---------------------------------------------------------------- plan: how far the run leads

PROSPECTS: list[Row] = [
    (
        lambda f: f.tol > 0,
        "It stops when the gradient's norm is {f.tol:g} times the first: {f.spent}.",
    ),
    (lambda f: f.tol == 0, "In all {f.spent}."),
    (
        lambda f: f.certified,
        "Certified: after {f.T:,} steps at b = {f.batch_size:,} the error is at most "
        "{f.error:.2g} in root mean square.",
    ),
]

# ---------------------------------------------------------------- plan: what batch sizes cost

COSTS = (
    "Cost of a fixed batch size with auto: steps and passes to relative error {f.accuracy:g} "
    "(recommended: few passes, and then few steps; full speed: larger batches save few steps):"
)
NO_BATCH = (
    "No batch size is recommended: with T or a batch size given, steps are taken in the columns as "
    "they are, and even the cheapest batch ({f.cheapest:,} rows) would need {f.cheapest_passes} "
    "passes to relative error {f.accuracy:g}. Columns of very different size, columns that nearly "
    "depend on one another, or a few rows that dominate are the cause: standardise the columns, if "
    "they are not, or leave T and the batch size out."
)

# ---------------------------------------------------------------- plan: what a table is made of

COURSE: list[Row] = [
    (
        lambda f: f.in_pieces,
        "The table accelerates at {f.fast:,} of {f.T:,} steps.",
    ),
    (
        lambda f: f.accelerated and f.averages,
        "The table accelerates for {f.accelerated:,} steps (momentum up to {f.said_momentum}), "
        "then averages over the last {f.averaged:,} steps.",
    ),
    (
        lambda f: f.accelerated == f.T,
        "The table accelerates to the end (momentum up to {f.said_momentum}).",
    ),
    (
        lambda f: f.accelerated > 0,
        "The table accelerates for {f.accelerated:,} steps (momentum up to {f.said_momentum}), "
        "then takes shorter steps.",
    ),
    (
        lambda f: f.all_averaged,
        "The table does not accelerate: it averages over all {f.T:,} steps.",
    ),
    (
        lambda f: f.averages,
        "The table does not accelerate: it averages over the last {f.averaged:,} of {f.T:,} steps.",
    ),
    (
        lambda f: f.plain and f.shrinks,
        "The table takes {f.T:,} plain steps, which shrink.",
    ),
    (lambda f: f.plain, "The table takes {f.T:,} plain steps."),
    (
        otherwise,
        "The table neither accelerates nor averages over many steps.",
    ),
]

# ---------------------------------------------------------------- plan: what a table of steps does

UNKNOWN = "What {f.name} will do with batches of {f.b:,} rows is not known beforehand."

STABILITY: list[Row] = [
    (
        lambda f: f.never_stable,
        "{f.name} diverges{f.where} at every batch size: its step is too long for all rows.",
    ),
    (lambda f: f.least == 1, "{f.name} is stable{f.where} at every batch size."),
    (
        lambda f: f.least is not None and f.b >= f.least,
        "{f.name} diverges{f.where} below {f.least:,} rows; b = {f.b:,} is stable.",
    ),
    (
        lambda f: f.least is not None,
        "{f.name} diverges{f.where} below {f.least:,} rows, and b = {f.b:,}: take at least "
        "{f.least:,} rows, or the method auto.",
    ),
    (
        lambda f: f.certified_rows is not None and f.certified_rows > f.n,
        "Nothing is certified of {f.name}'s longest step.",
    ),
    (
        lambda f: f.certified_rows is not None and f.certified_rows > f.b,
        "{f.name}'s longest step is certified to be stable from {f.certified_rows:,} rows on.",
    ),
]

GAP: list[Row] = [
    (lambda f: f.gap is None or (f.gap > 1.0 and f.certified), ""),
    (lambda f: f.gap > 1.0, "In expectation f - f* grows {f.growth} in {f.T:,} steps."),
    (
        lambda f: f.steps is not None,
        "{f.after}; T = {f.T} is enough: {f.accuracy:g} is reached after {f.steps:,} steps.",
    ),
    (lambda f: f.gap <= f.accuracy, "{f.after}; T = {f.T} is enough."),
    (
        lambda f: f.b < f.n,
        "{f.after}, above the {f.accuracy:g} asked for; raise T or the batch.",
    ),
    (otherwise, "{f.after}, above the {f.accuracy:g} asked for; raise T or l2."),
]

# ---------------------------------------------------------------- plan: why these stages

STAGES: list[Row] = [
    (lambda f: f.planned_steps and (f.batch_given or f.b == f.n), ""),
    (
        lambda f: f.planned_steps and f.curvature_unknown,
        "A batch has half of the rows, because the curvature of f is not known.",
    ),
    (
        lambda f: f.planned_steps,
        "Batches of {f.b:,} rows are the smallest at which the full speed of momentum is "
        "certified.",
    ),
    (
        lambda f: f.batch_given and f.b < f.n,
        "The run begins with the given batch of {f.b:,} rows, enlarges the batch when noise "
        "prevents progress, and ends with all rows.",
    ),
    (
        lambda f: not f.on_all_rows,
        "The data do not fit into memory, so one pass is made in batches of {f.b:,} rows, the "
        "smallest at which momentum works at full speed. Then full-batch steps follow, with the "
        "best step and momentum computed instead of chosen.",
    ),
    (
        lambda f: f.unbounded,
        "The {f.loss} loss has no bound on its curvature, so no fixed step size is safe: all rows "
        "are used, and the best step is computed each time.",
    ),
    (
        lambda f: f.has_gram,
        "The products of all pairs of columns are computed once, after which all rows cost no more "
        "than a few: batches would save nothing.",
    ),
    (
        otherwise,
        "The data fit into memory, where full-batch steps end sooner than batches would.",
    ),
]

# ---------------------------------------------------------------- plan: what is odd about the data

ZERO = "Every row is zero and l2 = 0: f does not depend on w."

FLAT_DIRECTIONS: list[Row] = [
    (
        lambda f: not f.quadratic and f.mu > f.accuracy * f.L,
        "Without a penalty on every variable the {f.loss} loss may have less curvature elsewhere "
        "than at its minimum; the table uses {f.mu:.3g}, the curvature at the minimum.",
    ),
    (
        lambda f: f.sum_of_intercepts,
        "Only differences of intercepts matter, so f does not change along their sum, and no run "
        "moves it; the table is for curvatures above {f.mu:.3g}.",
    ),
    (
        otherwise,
        "The problem looks singular (columns that depend on one another, fewer rows than columns, "
        "or no l2): f converges, but w may not, and the table ignores curvatures below "
        "{f.mu:.3g}. {f.More_l2} would help.",
    ),
]

DATA: list[Row] = [
    (
        lambda f: f.sampled,
        "The number of steps comes from a trial on {f.trial_rows:,} of the rows.",
    ),
    (lambda f: f.n == 1, "There is one row only, so every batch is the full batch."),
    (lambda f: f.flat, "{f.flat_directions}"),
    (
        lambda f: f.dominated,
        "The steepest row is {f.steepest:.3g} times as curved as the mean: a few rows dominate, "
        "which small batches often miss. Scaling rows or columns would help more than any method.",
    ),
]

BATCH: list[Row] = [
    (lambda f: f.b == f.n, "With all rows in each batch there is no sampling noise."),
    (
        lambda f: f.noise_dominates,
        "At {f.b:,} rows the noise of the data dominates: the error falls as 1/T with every "
        "method, and a batch twice as large takes half the steps.",
    ),
    (
        lambda f: f.b >= f.knee,
        "At {f.b:,} rows momentum is at full speed: larger batches save few steps.",
    ),
    (
        otherwise,
        "At {f.b:,} rows the noise of a batch limits momentum: up to {f.knee:,} rows a larger "
        "batch saves steps.",
    ),
]

ENOUGH: list[Row] = [
    (
        lambda f: f.steps <= f.T,
        "T = {f.T} is enough: about {f.steps:,} steps are needed.",
    ),
    (
        otherwise,
        "T = {f.T} is too small: about {f.steps:,} steps are needed for a relative error of "
        "{f.accuracy:g}; raise T, l2 or the batch size, or accept a larger error.",
    ),
]

LAST: list[Row] = [
    (
        lambda f: not f.trial_met,
        "The trial did not reach its tolerance: there may be no finite minimum (classes that a "
        "plane separates, without l2), or columns that depend on one another; {f.more_l2} would "
        "help.",
    ),
    (
        lambda f: f.direct_is_faster,
        "With {f.d:,} columns a direct solver would be faster: {f.direct}.",
    ),
    (
        lambda f: not (f.quadratic or f.on_all_rows),
        "For the {f.loss} loss nothing is proved for batches: steps are chosen as for least "
        "squares of the same curvature{f.guard}.",
    ),
]
