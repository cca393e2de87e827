"""Iterates do not change in silence: every method is compared with numbers stored in tests/golden.

When one of these fails, either a change was not meant, or it is written down:
``python tests/golden_runs.py`` and a line in CHANGELOG.md.
"""

import numpy as np
import pytest

import golden_runs as golden
from bocce import engines
from golden_runs import stored

CLOSE = 1e-12  # platforms differ in the last digits
AGAIN = "the methods are others than those stored: run python tests/golden_runs.py"


def assert_close(found, wanted):
    """The same names, and each entry within CLOSE of the stored one, relative to its size."""
    assert list(found) == list(wanted), AGAIN
    for name, value in found.items():
        kept = np.array(wanted[name])
        np.testing.assert_allclose(
            np.array(value), kept, rtol=0, atol=CLOSE * np.abs(kept).max(), err_msg=name
        )


@pytest.mark.parametrize("engine", engines.REGISTRY)
@pytest.mark.parametrize("loss", golden.LOSSES)
def test_every_method_takes_the_stored_steps(loss, engine):
    assert_close(golden.steps(loss, engine), stored(f"steps-{loss}"))


def test_runs_without_T_take_one_course_on_all_engines():
    first, *others = (golden.anytime(engine) for engine in engines.REGISTRY)
    for found in others:
        assert {name: run["n_iter"] for name, run in found.items()} == {
            name: run["n_iter"] for name, run in first.items()
        }
        assert_close(
            {name: run["w"] for name, run in found.items()},
            {name: run["w"] for name, run in first.items()},
        )


def test_every_schedule_is_the_stored_table():
    found, wanted = golden.tables(), stored("tables")
    assert list(found) == list(wanted), AGAIN
    for name, table in found.items():
        # each number by itself: the last steps are thousands of times shorter than the first
        np.testing.assert_allclose(table, wanted[name], rtol=10 * CLOSE, err_msg=name)


def test_batches_are_the_stored_rows():
    assert golden.batches() == stored("batches")


def test_the_stored_runs_tell_methods_modes_and_batches_apart():
    """Equal entries would hide a change of one into another; those that are equal are known."""
    for loss in golden.LOSSES:
        ends = [tuple(run[-1]) for run in stored(f"steps-{loss}").values()]
        assert len(set(ends)) > 0.8 * len(ends)


def test_a_small_change_of_an_iterate_is_seen():
    wanted = stored("steps-squared")
    name = next(iter(wanted))
    changed = {**wanted, name: (np.array(wanted[name]) * (1 + 1e-11)).tolist()}
    with pytest.raises(AssertionError, match=name):
        assert_close(changed, wanted)
