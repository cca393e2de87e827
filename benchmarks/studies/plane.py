"""What the plane's metrics are worth: `auto` against each of them, kept for the whole run.

    python benchmarks/studies/plane.py [--data NAME ...] [--l2 1e-3 1/n] [--nystrom RANK]
        [--markdown]

Columns: P = I (memory 5); H of 20 d rows, drawn anew when a step shrinks the gradient by less than
0.15; H of all rows; `auto`. Each cell: steps, Hessians, CPU seconds of one thread
until the gradient is 1e-6 of the first, from w = 0, no intercept; the best of --repeats runs, which
take turns. The last column is `auto` over the best of the others. "-": not in 300 steps, or in
--budget seconds. --nystrom adds a column for a low-rank sketch of the Hessian, for d beyond 1,024.
A few minutes on an idle core. The race against other packages is benchmarks/peers.py.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"  # before NumPy is loaded
ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests")]

import numpy as np  # noqa: E402
from _peers_cells import MILLION, NAMES, REAL, load  # noqa: E402

import plane_problems as given  # noqa: E402
from bocce.plane import FactorMetric, Identity, IdentityPolicy, PlaneRun, Sample, View  # noqa: E402
from bocce.problems import ProblemLimits  # noqa: E402

TOL = 1e-6
STALE = 0.15  # a step that shrinks the gradient by less wants a new Hessian
MOST_STEPS = 300
ROWS = {"covtype 200k": ("covtype", 200_000)}
DENSE_BAD = "dense 4k x 2k"
ALL = (*(name for name in NAMES if name != MILLION), *ROWS, DENSE_BAD)
USUAL = tuple(name for name in (*REAL, "100k x 400", "1k x 10", *ROWS) if name != "covtype")
L2S: dict[str, Callable[[int], float]] = {
    "1e-3": lambda n: 1e-3,
    "1/n": lambda n: 1.0 / n,
    "0.01/n": lambda n: 0.01 / n,
}


class FixedRule(IdentityPolicy):
    """A metric that is taken by one rule: of so many rows, whenever a step was poor."""

    rows = 0
    taken = 0

    def update(self, view: View) -> Any:
        if not isinstance(view.metric, Identity) and not view.gradient_ratio > STALE:
            return None
        metric = self._fresh(view)
        self.taken += 1
        return metric

    def _fresh(self, view: View) -> Any:
        whole = 2 * self.rows >= view.problem.n
        H = view.hessian(Sample(self.rows, self.taken, whole))
        return FactorMetric.of(H, view.ridge.reshape(-1), 1.0 / self.rows)


class Nystrom(FixedRule):
    """H ~ C^T W^-1 C from products of H with a few random vectors, for many columns."""

    rank = 50

    def _fresh(self, view: View) -> Any:
        draws = np.random.default_rng(self.taken).standard_normal((view.gradient.size, self.rank))
        draws = np.linalg.qr(draws)[0]
        Y = view.hessian_times(draws)
        shift = np.sqrt(len(draws)) * np.finfo(float).eps * np.linalg.norm(Y)
        Y += shift * draws
        C = np.linalg.cholesky(draws.T @ Y)
        U, s, _ = np.linalg.svd(np.linalg.solve(C, Y.T).T, full_matrices=False)
        return LowRank(U, np.maximum(0.0, s**2 - shift))


class LowRank(Identity):
    """(U diag(s) U^T)^-1 on span U; beyond it, as if curvature were the least in s."""

    def __init__(self, U: np.ndarray, s: np.ndarray) -> None:
        self.U, self.share = U, s[-1] / s - 1.0

    def solve(self, g: np.ndarray) -> np.ndarray:
        return g + self.U @ (self.share * (self.U.T @ g))


def made(column: str, p: Any, rank: int) -> PlaneRun:
    w0, d, n = np.zeros(p.rows.d), p.rows.d, p.n
    if column in ("auto", "I"):
        return PlaneRun(p, w0, metric="auto" if column == "auto" else "identity")
    kind, rows, memory = {
        "H of 20 d": (FixedRule, min(n, 20 * d), 2),
        "H of all": (FixedRule, n, 2),
        "Nystrom": (Nystrom, n, 5),
    }[column]

    def policy(problem: Any) -> FixedRule:
        rule = kind(problem)
        rule.rows = rows
        if isinstance(rule, Nystrom):
            rule.rank = rank
        return rule

    return PlaneRun(p, w0, memory=memory, metric=policy)


def timed(column: str, p: Any, rank: int, budget: float) -> tuple[float, str]:
    """CPU seconds, and steps (Hessians)."""
    begin = time.process_time()
    run = made(column, p, rank)
    goal = TOL * run.norm
    while run.norm > goal:
        verdict = run.step()
        spent = time.process_time() - begin
        if verdict or run.k >= MOST_STEPS or spent > budget:
            return np.inf, "-"
    taken = getattr(run.policy, "taken", 0)
    return time.process_time() - begin, f"{run.k} ({taken})"


def badly_conditioned(n: int = 4_000, d: int = 2_000) -> tuple[np.ndarray, np.ndarray]:
    """Dense rows whose covariance has eigenvalues 1/j^2, as kernels have."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    X = (rng.standard_normal((n, d)) / np.arange(1, d + 1)) @ turn
    z = X @ (turn.T @ np.sqrt(np.arange(1.0, d + 1)))
    return X, np.where(z + 0.3 * z.std() * rng.standard_normal(n) > 0, 1.0, -1.0)


def problem(name: str, l2: str) -> Any:
    X, y = badly_conditioned() if name == DENSE_BAD else load(*ROWS.get(name, (name,)))
    return given.problem(X, y, given.Logistic(), L2S[l2](X.shape[0]))


def row(p: Any, columns: list[str], args: argparse.Namespace) -> tuple[list[str], float]:
    best: dict[str, tuple[float, str]] = {}
    for turn in range(args.repeats):
        for column in columns:
            big = p.rows.d > ProblemLimits().factor_columns and column in ("H of 20 d", "H of all")
            if big or (turn and best[column][0] > 1.0):
                best.setdefault(column, (np.inf, "-"))
                continue
            found = timed(column, p, args.nystrom or 0, args.budget)
            best[column] = min(found, best.get(column, (np.inf, "-")))
    ratio = best["auto"][0] / min(best[column][0] for column in columns if column != "auto")
    words = [f"{at}, {s:.4f}" if s < np.inf else "-" for s, at in (best[c] for c in columns)]
    return words, ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=ALL, default=list(USUAL), metavar="NAME")
    parser.add_argument("--l2", nargs="+", choices=list(L2S), default=["1e-3", "1/n"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for one run")
    parser.add_argument("--nystrom", type=int, metavar="RANK")
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    columns = ["I", "H of 20 d", "H of all", "auto"]
    columns += ["Nystrom"] if args.nystrom else []
    bar, ratios = " | " if args.markdown else "  ", []
    print(bar.join(["data", "l2", *columns, "auto/best"]), flush=True)
    for name in args.data:
        for l2 in args.l2:
            words, ratio = row(problem(name, l2), columns, args)
            ratios.append(ratio)
            print(bar.join([name, l2, *words, f"{ratio:.2f}"]), flush=True)
    above = sum(r > 1.3 for r in ratios)
    print(f"auto: {max(ratios):.2f} times the best at most, above 1.3 on {above} of {len(ratios)}")


if __name__ == "__main__":
    main()
