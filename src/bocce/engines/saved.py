"""A run on the plane, to stop and go on: what a checkpoint holds of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..rows import Moments
from .metric import Metric

if TYPE_CHECKING:
    from .plane import Plane

Array = npt.NDArray[np.float64]

COUNTS = ("memory", "k", "products", "sweeps", "kept", "stalls", "escapes", "trusted")
MOST_MEMORY = 10  # displacements, as ``minimize`` allows
NUMBERS = ("shrank", "start", "best_norm", "drift")


def saved(plane: Plane) -> dict[str, Array]:
    """All that the next steps depend on."""
    counts = [getattr(plane, name) for name in COUNTS]
    numbers = [getattr(plane, name) for name in NUMBERS]
    k = plane.directions
    state = {
        "w": plane.w.copy(),
        "D": plane.D[1:k].copy(),
        **plane.scores.state(k),
        "wrong": np.stack([plane.wrong, plane.width, plane.reach]),
        "products": np.stack([plane.pulled, plane.bent]),
        "counts": np.array(counts, dtype=np.int64),
        "numbers": np.array(numbers),
    }
    if plane.chooser is not None:
        state["chooser"] = plane.chooser.state()
    if plane.newton is not None:
        state |= plane.newton.state()
    parts = {"factor": plane.metric.factor, "root": plane.metric.root}
    state |= {name: part for name, part in parts.items() if part is not None}
    return state


def restore(plane: Plane, problem: Any, state: dict[str, Any]) -> None:
    """Make a plane, as yet empty, the one that ``state`` was taken of."""
    check(problem, state)
    memory = int(state["counts"][COUNTS.index("memory")])
    metric = "auto" if "chooser" in state else Metric(state.get("factor"), state.get("root"))
    w, inner = np.array(state["w"], dtype=np.float64), "newton" in state
    if summed := "gram" in state:
        known = float(state["summed"][0]), int(state["summed"][1])
        sums = Moments(np.array(state["gram"]), np.array(state["moment"]), *known)
        problem = problem.knowing("sums", sums)
    plane._lay_out(problem, w, memory, metric, inner, summed)
    if plane.newton is not None:
        plane.newton.restore(state)
    if plane.chooser is not None:
        plane.chooser.restore(state["chooser"])
        plane.metric = plane.chooser.remade(state.get("factor"), state.get("root"))
    held = len(state["D"])
    plane.D[1 : held + 1] = state["D"]
    plane.scores.restore(state, plane.w, plane.D[1 : held + 1])
    with np.errstate(all="ignore"):
        plane._settle(plane._look())
    plane.pulled, plane.bent = np.array(state["products"], dtype=np.float64)
    plane.wrong, plane.width, plane.reach = np.array(state["wrong"], dtype=np.float64)
    for name, count in zip(COUNTS, state["counts"]):
        setattr(plane, name, int(count))
    for name, number in zip(NUMBERS, state["numbers"]):
        setattr(plane, name, float(number))
    if np.shape(plane.metric.solve(plane.gradient)) != plane.w.shape:
        raise ValueError("its metric has another shape than w")


def check(problem: Any, state: dict[str, Any]) -> None:
    """Refuse a state that no run has: numbers beyond their range would fail many steps later."""
    for name in ("w", "D", "z", "U", "S", "Y", "products", "gram", "moment", "factor", "root"):
        if name in state and not np.isfinite(state[name]).all():
            raise ValueError(f"its array {name!r} has NaN or infinity")
    size = state["w"].size
    shapes = [np.shape(state[name]) for name in ("S", "Y") if name in state]
    if any(len(shape) != 2 or shape != shapes[0] or shape[1] != size for shape in shapes):
        raise ValueError("its pairs have another shape than w")
    if (state["counts"] < 0).any() or not state["counts"][COUNTS.index("memory")] <= MOST_MEMORY:
        raise ValueError("its counters are not those of a run")
    if "chooser" in state and state["chooser"].size > 5:
        rows, _, taken, age, _, expected = state["chooser"][:6].tolist()
        if not (1 <= rows <= problem.n and taken >= 0 and age >= 0 and 0.0 < expected < 1.0):
            raise ValueError("its metric is not of rows of this problem")
