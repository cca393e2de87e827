"""The sentences about a run that is over: every verdict has one, and every sentence is said."""

import itertools

import pytest

from bocce.control import RunVerdict
from bocce.messages import RUN_OF_A_TABLE, RUN_TO_A_TOLERANCE, first_said
from bocce.run.facts import RunFacts
from bocce.run.result import Record


def facts():
    """Of each verdict, with and without a tolerance, a rise of f and a gradient at the start."""
    choices = itertools.product(RunVerdict, [0.0, 1e-6], [0.5, 3.0], [0.0, 2.0])
    for verdict, tol, last, norm in choices:
        yield RunFacts(
            verdict, "some method", 7, tol, n=100, l2=0.1, batch=10,
            first=Record(0, 1.0, 2.0, 0), last=Record(7, last, 0.5, 70),
            first_norm=norm, spent="7 steps", retreats=0,
        )  # fmt: skip


@pytest.mark.parametrize("rows", [RUN_OF_A_TABLE, RUN_TO_A_TOLERANCE], ids=["table", "tolerance"])
def test_every_verdict_has_a_sentence_and_every_sentence_is_said(rows):
    used = set()
    for known in facts():
        (text,) = first_said(rows, known)
        assert text.startswith("some method")
        assert text.endswith(".")
        assert "{" not in text
        used.add(next(i for i, (holds, _) in enumerate(rows) if holds(known)))
    assert used == set(range(len(rows)))


def test_a_rise_is_told_by_the_values_and_the_rest_by_the_gradient():
    rose = [known for known in facts() if known.verdict == RunVerdict.DIVERGED]
    said = {next(first_said(RUN_OF_A_TABLE, known)).split(". The step")[0] for known in rose}
    assert said == {
        "some method diverged: f is 3 after 7 steps and was 1 at the start",
        "some method diverged at step 7: the gradient norm passed 1e+08 times its start or "
        "overflowed",
    }
