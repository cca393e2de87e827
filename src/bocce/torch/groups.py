"""What a parameter group of SHB may hold, and how its schedule travels in a state_dict."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection
from typing import Any

import torch

from .. import _checks
from .._adapters import AFTER, refused
from ..schedules import Schedule

COLUMNS = ("alpha", "beta", "theta")
# torch writes these itself: names of parameters, and what its schedulers and SWA remember
TORCHS = ("params", "param_names", "initial_lr", "max_lr", "min_lr", "swa_lr")
OURS = ("k", "evaluating")  # known, but nobody's option
Group = dict[str, Any]


def refuse_unknown(where: str, group: Group, options: Collection[str]) -> None:
    """An option that nobody reads would be a silent mistake, such as ``momentum`` for SHB."""
    for key in group:
        if key not in options and key not in TORCHS:
            shown = [option for option in options if option not in OURS]
            near = difflib.get_close_matches(str(key), shown, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "leave it out."
            raise ValueError(
                f"{where}: a group has the key {key!r}, must be one of "
                f"{', '.join(map(repr, shown))}; {hint}"
            )


def check(group: Group) -> None:
    """Every option of a new group."""
    if not isinstance(group["schedule"], Schedule):
        raise TypeError(
            f"SHB: schedule={group['schedule']!r} must be a bocce Schedule; make one with "
            "bocce.schedules, or use SHB.from_lr."
        )
    _checks.real("SHB", "lr", group["lr"], least=0.0, remedy="it multiplies the schedule's alpha")
    _checks.real("SHB", "weight_decay", group["weight_decay"], least=0.0)
    _checks.choice("SHB", "after", group["after"], AFTER)


def check_ready(group: Group) -> None:
    """What must hold before a step, whoever changed the group meanwhile."""
    if group["evaluating"]:
        raise RuntimeError(
            "SHB.step: the parameters hold the iterate since eval_params(), but the gradient "
            "belongs at the training point; call train_params() before computing it."
        )
    lr = float(group["lr"])
    if not (math.isfinite(lr) and lr >= 0.0):
        raise ValueError(
            f"SHB.step: lr={lr!r} must be a finite number >= 0; check what the scheduler set."
        )
    if group["after"] == "raise" and group["k"] >= group["schedule"].T:
        raise RuntimeError(refused("SHB.step", group["schedule"]))


def pack(schedule: Schedule) -> dict[str, Any]:
    """As tensors, so that ``torch.load(..., weights_only=True)`` reads it."""
    columns = {c: torch.tensor(getattr(schedule, c), dtype=torch.float64) for c in COLUMNS}
    return {**columns, "name": schedule.name}


def unpack(packed: dict[str, Any]) -> Schedule:
    alpha, beta, theta = (packed[c].cpu().numpy() for c in COLUMNS)
    return Schedule(alpha, beta, theta, packed["name"])
