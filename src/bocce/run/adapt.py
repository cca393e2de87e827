"""Losses whose parameters suit the residuals: a fit, the loss for its residuals, another fit."""

from __future__ import annotations

from .certain import until_certain
from .descend import Descent, descend
from .prepare import PreparedRun

MOST_FITS = 20  # The most fits; Huber's loss takes about 4, the quantile loss about 5.


def complete(run: PreparedRun) -> Descent:
    """Run until the tolerance is met, the loss suits the residuals of its own fit, and the
    coefficients are certain, as far as that was asked for.

    The history is that of the last fit, and of the runs that went on from there.
    """
    done = descend(run)
    for _ in range(MOST_FITS * run.p.adapts):
        suited = done.run.p.suited(done.w)
        if suited is done.run.p:
            break
        done = descend(done.run.with_loss(suited, done.w))
    return until_certain(done)
