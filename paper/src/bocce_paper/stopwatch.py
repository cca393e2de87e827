"""How long a reproduction took, on the clock and of the processors."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field

from .specs import Json


def _processor_seconds() -> float:
    """Of this process and of its children that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def end_workers() -> None:
    """End the pool of workers, so that their time is counted; the next use starts another."""
    if "joblib" in sys.modules:
        from joblib.externals.loky import get_reusable_executor  # type: ignore[import-untyped]

        get_reusable_executor().shutdown(wait=True)


@dataclass
class Stopwatch:
    """Runs from when it is made."""

    jobs: int
    _clock: float = field(default_factory=time.perf_counter)
    _spent: float = field(default_factory=_processor_seconds)

    def read(self) -> dict[str, float]:
        """Seconds so far. On a cluster only this machine's are counted."""
        end_workers()
        return {
            "processes": self.jobs,
            "elapsed": round(time.perf_counter() - self._clock, 1),
            "processor": round(_processor_seconds() - self._spent, 1),
        }


def in_words(last: Json) -> str:
    """What run.json holds of the last run.

    >>> in_words({"cells": 3, "of": 9, "processes": 2, "elapsed": 312.4, "processor": 540.0})
    '5 min 12 s elapsed, 9 min 0 s CPU, 2 processes; 3 of 9 cells computed'
    """
    if last["processes"] == 1:
        count = "1 process"
    else:
        count = f"{last['processes']} processes"
    return (
        f"{minutes(last['elapsed'])} elapsed, {minutes(last['processor'])} CPU, {count}; "
        f"{last['cells']} of {last['of']} cells computed"
    )


def minutes(seconds: float) -> str:
    """Seconds in words.

    >>> minutes(59.6), minutes(3.2)
    ('1 min 0 s', '3 s')
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes:
        return f"{minutes} min {rest} s"
    return f"{rest} s"
