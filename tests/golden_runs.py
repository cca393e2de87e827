"""What tests/run/test_golden.py compares with tests/golden: batches, tables and a few steps.

``python tests/golden_runs.py`` writes those files anew. Do so only when iterates are meant to
change, and say why in CHANGELOG.md: a user's stored results will no longer be met.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import bocce
from bocce import sampling
from bocce.control import registry

FOLDER = Path(__file__).parent / "golden"
LOSSES = ("squared", "logistic")
T = 6
KEPT = (1, 3, 6)  # the iterates that are stored: enough to see where a run leaves
SEED = 7
# for b > n/2 an epoch is one batch, and the two modes are one
BATCHES = (
    *((b, mode) for b in (1, 3) for mode in sampling.MODES),
    *((b, "independent") for b in (6, 8)),
)
ROWS = [[1, 2], [-1, 0.5], [2, 0], [0.5, -1], [-2, 1], [0, 1.5], [1, 1], [-0.5, -2]]
TARGETS = [1, -0.5, 2, 0.25, -1.5, 0.75, -1, 0.5]
# the tables: long enough for every method to have more than one stage
TABLE_T = 4000
CONSTANTS = {"L": 4.0, "mu": 1.0, "L_max": 9.0, "kappa_tilde": 5.0, "n": 1000, "b": 900}
PLACES = (0, 1, 2, 1000, 2000, 3000, 3999)

# Tables that a search finds: where the minimum is flat, rounding decides between tables that are
# equally good, so that platforms differ by more than the last digits.
SEARCHED = ("auto", "auto-shb")

Numbers = dict[str, Any]


def problem(loss: str) -> Any:
    y = np.array(TARGETS)
    if loss == "squared":
        return bocce.LeastSquares(np.array(ROWS), y, l2=0.05)
    return bocce.Logistic(np.array(ROWS), y > 0, l2=0.05)


def iterates(p: Any, method: str, b: int, mode: str, engine: str) -> list[list[float]]:
    """w_k at the steps of KEPT, as a user's callback sees them."""
    seen: dict[int, list[float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # six steps are one stage, and multistage says so
        bocce.minimize(
            *(p, method, T, b, SEED),
            sampling=mode,
            engine=engine,
            callback=lambda now: seen.update({now.k: now.w.tolist()}),
        )
    return [seen[k] for k in KEPT]


def steps(loss: str, engine: str) -> Numbers:
    p = problem(loss)
    return {
        f"{name} b={b} {mode}": iterates(p, name, b, mode, engine)
        for name in registry()
        if name != "plane"  # takes all rows, whatever the batch
        if name not in SEARCHED
        for b, mode in BATCHES
    }


def anytime(engine: str) -> Numbers:
    """The runs that need no number of steps: how many they took, and where they ended."""
    found = {}
    for loss in LOSSES:
        for method in SEARCHED:
            r = bocce.minimize(problem(loss), method, None, 3, SEED, tol=1e-2, engine=engine)
            found[f"{method} {loss}"] = {"n_iter": r.n_iter, "w": r.w.tolist()}
    return found


def tables() -> Numbers:
    """alpha, beta and theta of each schedule at PLACES."""
    found = {}
    for name, method in bocce.schedules.REGISTRY.items():
        if name in SEARCHED:
            continue
        made = method.build(TABLE_T, CONSTANTS)
        columns = (made.alpha, made.beta, made.theta)
        found[name] = [column[list(PLACES)].tolist() for column in columns]
    return found


def batches() -> dict[str, list[int]]:
    """Which rows, for seeds, steps and sizes at both ends of what is allowed."""
    largest = 2**64 - 1
    found = {
        f"batch seed={seed} k={k} n={n} b={b} {mode}": sampling.batch(seed, k, n, b, mode)
        for seed in (0, 1, largest)
        for k in (0, 1, 10**12)
        for n, b in ((10, 3), (10, 7), (1000, 5))
        for mode in sampling.MODES
    }
    found["batch seed=0 k=0 n=4294967295 b=3"] = sampling.batch(0, 0, sampling.MOST_ROWS, 3)
    found["search_batch seed=0 k=5 n=50 b=4"] = sampling.search_batch(0, 5, 50, 4)
    found["permutation seed=3 epoch=2 n=12"] = sampling.permutation(3, 2, 12)
    found["shuffle_keys seed=1 0..2"] = sampling.shuffle_keys(1, 0, 3)
    found["split_counts seed=4 k=9 50,0,30,20 b=10"] = sampling.split_counts(
        4, 9, [50, 0, 30, 20], 10
    )
    found["part_batch seed=4 k=9 part=2 size=30 count=3"] = sampling.part_batch(4, 9, 2, 30, 3)
    return {name: rows.tolist() for name, rows in found.items()}


def stored(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text())


def _write(name: str, numbers: Numbers) -> None:
    """One line an entry, so that a difference reads well."""
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in numbers.items())
    (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for loss in LOSSES:
        _write(f"steps-{loss}", steps(loss, "reference"))
    _write("tables", tables())
    _write("batches", batches())
    print(f"wrote {FOLDER}; say in CHANGELOG.md why the numbers changed")
