"""A guard against a step that is too large: restore the best parameters, halve the step."""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch

Points = dict[torch.Tensor, dict[str, Any]]

BLOW_UP = 4.0  # one loss beyond this many times the first is a blow-up
LOST = 0.25  # so is a running mean above its lowest by this share of the first loss ...
NOISE = 4.0  # ... and by this many times the mean deviation of a single loss
MEMORY = 0.9  # of both running means


def fresh() -> dict[str, Any]:
    """What the guard remembers: the first loss, running means, the lowest mean, the count."""
    return {"first": None, "mean": 0.0, "noise": 0.0, "lowest": math.inf, "restores": 0}


def halved(memory: dict[str, Any] | None) -> float:
    """What the guard multiplies every step with; ``lr`` is left to the user and his scheduler."""
    return 0.5 ** int(memory["restores"]) if memory else 1.0


def check_loss(loss: Any) -> float:
    """The loss as a float, or an error that says how to give it."""
    if loss is None:
        raise ValueError(
            "SHB.step: guard=True needs the loss of this step; call step(closure), or "
            "step(loss=loss) after loss.backward()."
        )
    return float(loss.detach() if isinstance(loss, torch.Tensor) else loss)


def blown_up(memory: dict[str, Any], loss: float) -> bool:
    """Take the loss into the running means and judge it."""
    if memory["first"] is None:
        if not (math.isfinite(loss) and loss >= 0.0):
            raise ValueError(
                f"SHB.step: the first loss={loss!r} must be finite and >= 0, as guard=True "
                f"compares every later loss with {BLOW_UP:g} times it; check the starting "
                "parameters, or add a constant to a loss that can be negative."
            )
        memory["first"] = memory["mean"] = loss
    if not math.isfinite(loss) or loss > BLOW_UP * memory["first"]:
        return True
    deviation = abs(loss - memory["mean"])
    memory["mean"] = MEMORY * memory["mean"] + (1.0 - MEMORY) * loss
    memory["noise"] = MEMORY * memory["noise"] + (1.0 - MEMORY) * deviation
    allowed = max(LOST * memory["first"], NOISE * memory["noise"])
    return bool(memory["mean"] > memory["lowest"] + allowed)


def remember(memory: dict[str, Any], points: Points) -> None:
    """Copy the parameters where the running mean is lowest."""
    if memory["mean"] < memory["lowest"]:
        memory["lowest"] = memory["mean"]
        for point, state in points.items():
            if "best" in state:
                state["best"].copy_(point)
            else:
                state["best"] = point.detach().clone(memory_format=torch.preserve_format)


def restore(memory: dict[str, Any], loss: float, points: Points) -> None:
    """Back to the best parameters, at rest; counted and said."""
    for point, state in points.items():
        if "best" in state:
            point.copy_(state["best"])
        if "velocity" in state:
            state["velocity"].zero_()
    memory["restores"] += 1
    memory["mean"] = memory["lowest"]
    warnings.warn(
        f"SHB: the loss blew up ({loss:.3g}, first {memory['first']:.3g}); the best parameters "
        f"are restored and the step is halved (restore {memory['restores']}).",
        RuntimeWarning,
        stacklevel=7,
    )
