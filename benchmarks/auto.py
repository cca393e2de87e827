"""The experiment that decides: auto against every method, by exact expected dynamics.

    python benchmarks/auto.py [--profile quick|full] [--out DIR]

Least squares: designs haar, gaussian, heavy, diagonal, and real rows (ijcnn1, a9a, covtype: 1,000
rows in their 8 leading principal coordinates; BOCCE_DATA names the folder), condition numbers 10 to
2000, batches from one row to all, without and with noise. Every method of the registry runs with
the paper's constants (L = lambda_max) and, where it takes no other, with the safe one ("safe":
L = L_max). All expectations are exact, for all methods at once; they are compared with
``bocce.exact.expected`` in the first cell.

Without noise: steps to 1e-6 of f(w0) - f*, extrapolated by the rate reached where T is too short.
With noise: E||w_T - w*||^2 over the statistical limit zeta0^2 tr(A^-1 S A^-1)/T, and over 1 where
the start was nearer than that limit. A method is compared with the best other one in the cells
where T suffices: somebody reaches 1e-6, or 10 times the limit.

Logistic: runs of ``minimize`` (median of seeds), gradient norm after 30 passes over the best one's.

Writes auto.json and auto.png (a heat map: auto over the best method) and prints the tables of
docs/auto.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

import bocce  # noqa: E402
from bocce.exact import expected  # noqa: E402
from bocce.exact.moments import Tabulated, frame_of  # noqa: E402
from bocce.schedules import REGISTRY, adaptive  # noqa: E402
from bocce.theory import zeta2  # noqa: E402

ACCURACY = 1e-6
SUFFICES = 10.0  # times the statistical limit
PROFILES = {
    "quick": {"T": 2000, "n": 400, "d": 6, "kappas": (10, 300), "real": ("ijcnn1",),
              "shares": (0.0, 0.05, 0.5, 1.0), "seeds": 3},
    "full": {"T": 4000, "n": 1000, "d": 8, "kappas": (10, 100, 500, 2000),
             "real": ("ijcnn1", "a9a", "covtype.libsvm.binary.scale"),
             "shares": (0.0, 0.003, 0.02, 0.1, 0.5, 0.9, 1.0), "seeds": 5},
}  # fmt: skip
AVERAGED = "sgd-safe, tail average"  # not a schedule: shown, but not among the rivals
OURS = ("auto", "auto-shb", "auto, R2 and R2~", "auto, optimised", "auto, plain")


# -- the problems -------------------------------------------------------------------------------


def targets(X: np.ndarray, noise: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    clean = X @ rng.uniform(size=X.shape[1])
    return clean + noise * np.sqrt(np.mean(clean**2)) * rng.standard_normal(len(X))


def real_rows(name: str, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """n rows in their d leading principal coordinates, and their labels."""
    X, y = bocce.data.load(name)
    rows = np.random.default_rng(0).permutation(X.shape[0])[:n]
    block = X[np.sort(rows)]
    block = block.toarray() if hasattr(block, "toarray") else np.asarray(block)
    _, _, V = np.linalg.svd(block, full_matrices=False)
    return block @ V[:d].T, y[np.sort(rows)]


def problems(profile: dict[str, Any], noise: float) -> Iterator[tuple[str, int, Any]]:
    n, d = profile["n"], profile["d"]
    for kappa in profile["kappas"]:
        for design in ("haar", "gaussian", "heavy"):
            X, _, _ = bocce.data.regression(n, d, kappa, design=design)
            yield design, kappa, bocce.LeastSquares(X, targets(X, noise, 1))
        X, _, _ = bocce.data.diagonal(2 * d, kappa)
        X = np.repeat(X.toarray() if hasattr(X, "toarray") else X, 2, axis=0)  # noise needs n > d
        yield "diagonal", kappa, bocce.LeastSquares(X, targets(X, noise, 1))
    for name in profile["real"]:
        rows, labels = real_rows(name, n, d)
        for kappa in profile["kappas"]:
            spectrum = (rows**2).mean(axis=0)  # principal coordinates: these are the eigenvalues
            X = rows[:, spectrum >= spectrum[0] / kappa]  # l2 would leave noise at the minimiser
            y = np.where(labels == labels.max(), 1.0, -1.0) if noise else targets(X, 0.0, 1)
            yield name.split(".")[0], kappa, bocce.LeastSquares(X, y)


# -- the methods --------------------------------------------------------------------------------


def methods(p: Any, b: int, T: int) -> dict[str, bocce.Schedule]:
    """Every schedule of the registry, as the paper sets it and with L_max for L; and ours."""
    c = p.constants()
    own = {"mu": c.mu, "L_max": c.L_max, "kappa_tilde": c.kappa_tilde, "n": p.n, "b": b}
    built = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, method in REGISTRY.items():
            if name.startswith("auto"):
                continue
            built[name] = method.build(T, {"L": c.L, **own})
            if set(method.needs) <= {"L", "mu"}:
                built[f"{name}, safe"] = method.build(T, {"L": c.L_max, **own})
    make = bocce.schedules.auto
    given = {"T": T, "L": c.L, "mu": c.mu, "n": p.n, "b": b}
    built["auto"] = make(**given, L_max=c.L_max, kappa_tilde=c.kappa_tilde)
    built["auto-shb"] = make(**given, L_max=c.L_max, family="shb")
    R2, tilde = c.sharpest
    built["auto, R2 and R2~"] = make(**given, L_max=R2, kappa_tilde=tilde)
    built["auto, optimised"] = make(
        **given, L_max=c.L_max, kappa_tilde=c.kappa_tilde, optimise=True
    )
    # no growing memory, and a decay that does not know the time constant
    given = (c.L, c.mu, c.L_max, c.kappa_tilde, zeta2(p.n, b))
    alpha, beta, theta = adaptive.design(*given)
    shape = adaptive.decay(T) if b < p.n else np.ones(T)
    built["auto, plain"] = bocce.Schedule(alpha * shape, np.full(T, beta), np.full(T, theta))
    return built


def evolve(
    p: Any, tables: list[bocce.Schedule], b: int, averaged: int = 0
) -> tuple[np.ndarray, np.ndarray, float]:
    """E f(w_k) - f* (T+1, methods) and E||w_T - w*||^2: the recurrence of ``bocce.exact``.

    The third is E||mean of w_k over the second half - w*||^2 of the table number ``averaged``.
    """
    frame = frame_of("benchmark", p)
    noise, lam, z = Tabulated(frame), frame.lam, zeta2(p.n, b)
    t = noise.triangle
    M, r, T = len(tables), frame.rank, max(table.T for table in tables)
    columns = [np.array([getattr(s, name) for s in tables]) for name in ("alpha", "beta", "theta")]
    m = np.repeat(frame.split(np.zeros(p.d))[0][None], M, axis=0)
    m_v, C, C_ev, C_v = np.zeros((M, r)), *np.zeros((3, M, r, r))
    gaps = np.empty((T + 1, M))
    tail = Tail(r)
    gaps[0] = 0.5 * (m * m) @ lam
    for k in range(T):
        alpha, beta, theta = (column[:, k, None] for column in columns)
        x = alpha * lam
        s = beta - theta * x
        if z > 0:
            look = theta[:, :, None]
            C_y = C + look * (C_ev + C_ev.transpose(0, 2, 1)) + look**2 * C_v
            m_y = m + theta * m_v
            P = C_y + m_y[:, :, None] * m_y[:, None, :]
            packed = P[:, t.rows, t.columns] * t.scale @ noise._quartic.T
            packed += m_y @ noise._cubic.T + noise._constant
            injected = (packed / t.scale)[:, t._place]
            e_next = C_ev * s[:, None, :] - C * x[:, None, :]
            v_next = C_v * s[:, None, :] - C_ev.transpose(0, 2, 1) * x[:, None, :]
            C_v = s[:, :, None] * v_next - x[:, :, None] * e_next
            C_v += (alpha[:, :, None] ** 2 * z) * injected
            C_v = 0.5 * (C_v + C_v.transpose(0, 2, 1))
            C = C + e_next + e_next.transpose(0, 2, 1) + C_v
            C_ev = e_next + C_v
        m_v = s * m_v - x * m
        m = m + m_v
        if 2 * k >= T:
            i = averaged
            tail.add(m[i], C[i], C_ev[i], x[i], s[i])
        variance = np.maximum(np.einsum("mii->mi", C), 0.0)
        gaps[k + 1] = 0.5 * (m * m + variance) @ lam
    final = (m * m + variance).sum(axis=1)
    gaps, final = (np.where(np.isfinite(array), array, np.inf) for array in (gaps, final))
    return gaps, final, tail.error2


class Tail:
    """The sum S of the errors e since the average began: its mean and its covariances.

    The noise of a step is uncorrelated with the past, so cov(S, v_next) = s cov(S, v) - x cov(S, e)
    as for the means; then e_next = e + v_next and S_next = S + e_next.
    """

    def __init__(self, r: int) -> None:
        self.count, self.mean = 0, np.zeros(r)
        self.C_e, self.C_v, self.C = np.zeros((3, r, r))

    def add(self, m: Any, C: Any, C_ev: Any, x: Any, s: Any) -> None:
        """One step further; C and C_ev are those of e and v after it."""
        v_next = self.C_v * s - self.C_e * x
        e_next = self.C_e + v_next
        self.C = self.C + e_next + e_next.T + C
        self.C_e, self.C_v = e_next + C, v_next + C_ev
        self.count, self.mean = self.count + 1, self.mean + m

    @property
    def error2(self) -> float:
        return float((self.mean @ self.mean + np.trace(self.C)) / self.count**2)


def steps_to(gap: np.ndarray) -> float:
    """The first k with gap <= 1e-6 of the first; by the rate where there is none."""
    reached = np.flatnonzero(gap <= ACCURACY * gap[0])
    if reached.size:
        return float(reached[0])
    progress = math.log(gap[0] / gap[-1]) if 0 < gap[-1] < gap[0] else 0.0
    return math.inf if progress <= 0 else (gap.size - 1) * math.log(1 / ACCURACY) / progress


def statistical_limit(p: Any, b: int, T: int) -> float:
    frame = frame_of("benchmark", p)
    S = Tabulated(frame).residual_covariance()
    return float(zeta2(p.n, b) * (np.diag(S) / frame.lam**2).sum() / T)


def check_against_package(p: Any, table: bocce.Schedule, b: int) -> None:
    gaps, final, _ = evolve(p, [table], b)
    curve = expected(p, table, b)
    np.testing.assert_allclose(gaps[:, 0], curve.gap, rtol=1e-6, atol=1e-14 * curve.gap[0])
    np.testing.assert_allclose(final[0], curve.error2[-1], rtol=1e-6, atol=1e-20)


def least_squares(profile: dict[str, Any]) -> list[dict[str, Any]]:
    cells, T = [], profile["T"]
    for noise in (0.0, 0.3):
        for design, kappa, p in problems(profile, noise):
            sizes = sorted({max(1, round(share * p.n)) for share in profile["shares"]})
            for b in sizes if noise == 0.0 else [b for b in sizes if b < p.n]:
                tables = methods(p, b, T)
                if not cells:
                    check_against_package(p, tables["auto"], b)
                with np.errstate(all="ignore"):
                    place = list(tables).index("sgd-safe")
                    gaps, final, tail = evolve(p, list(tables.values()), b, place)
                if noise == 0.0:
                    scores = {name: steps_to(gaps[:, i]) for i, name in enumerate(tables)}
                else:
                    limit = statistical_limit(p, b, T)
                    scores = {name: final[i] / limit for i, name in enumerate(tables)}
                    scores[AVERAGED] = tail / limit
                blown = [name for i, name in enumerate(tables) if not gaps[-1, i] < 4 * gaps[0, i]]
                cells.append(
                    {"design": design, "kappa": kappa, "n": p.n, "b": b, "noise": noise, "T": T,
                     "scores": scores, "diverged": blown}
                )  # fmt: skip
    return cells


# -- logistic loss, by runs ---------------------------------------------------------------------

LOGISTIC = ("auto", "auto-shb", "sgd", "sgd-safe", "shb", "2p-shb", "nesterov", "nesterov-exp",
            "multi-shb", "mass", "shb-sls-exp", "schedule-free", "momsps")  # fmt: skip


def logistic(profile: dict[str, Any]) -> list[dict[str, Any]]:
    cells = []
    for name in profile["real"]:
        X, labels = real_rows(name, profile["n"], profile["d"])
        for l2 in (1e-2, 1e-4):
            p = bocce.Logistic(X, labels, l2=l2)
            for share in (0.01, 0.1, 1.0):
                b = max(1, round(share * p.n))
                T = max(200, 30 * p.n // b)
                scores, blown = {}, []
                for method in LOGISTIC:
                    norms = []
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        for seed in range(profile["seeds"]):
                            r = bocce.minimize(p, method, T, b, seed=seed, record_every=T)
                            final = np.linalg.norm(p.gradient(r.w)) / r.history["grad_norm"][0]
                            norms.append(math.inf if r.status == "diverged" else final)
                    scores[method] = float(np.median(norms))
                    if math.isinf(max(norms)):
                        blown.append(method)
                cells.append({"design": name.split(".")[0], "l2": l2, "n": p.n, "b": b,
                              "scores": scores, "diverged": blown})  # fmt: skip
    return cells


# -- tables -------------------------------------------------------------------------------------


def ratios(cells: list[dict[str, Any]], name: str, noisy: bool) -> list[float]:
    """Over the best rival, in the cells where there is something to compare."""
    found = []
    for cell in cells:
        if (cell["noise"] > 0) != noisy:
            continue
        if (best := suffices(cell)) is not None:
            found.append(cell["scores"][name] / best)
    return found


def suffices(cell: dict[str, Any]) -> float | None:
    """The best rival's score, where T is long enough for it to mean something."""
    best = min(score for other, score in cell["scores"].items() if other not in (*OURS, AVERAGED))
    if cell["noise"] > 0:
        return max(best, 1.0) if best <= SUFFICES else None
    return best if best <= cell["T"] else None


def table(cells: list[dict[str, Any]]) -> list[str]:
    names = list(cells[-1]["scores"])
    lines = [
        "| method | diverges | steps / best: median, 95 %, worst | limit: median, 95 %, worst |",
        "|---|---|---|---|",
    ]
    for name in sorted(names, key=lambda name: name not in OURS):
        blown = sum(name in cell["diverged"] for cell in cells) / len(cells)
        parts = [f"{100 * blown:.0f} %"]
        steps = ratios(cells, name, noisy=False) if name != AVERAGED else [math.nan]
        over = [
            cell["scores"][name]
            for cell in cells
            if cell["noise"] > 0 and suffices(cell) is not None
        ]
        for numbers in (steps, over):
            parts.append(", ".join(shown(q) for q in quantiles(numbers)))
        lines.append(f"| {name} | " + " | ".join(parts) + " |")
    return lines


def quantiles(numbers: list[float]) -> list[float]:
    ranked = np.sort(numbers)
    return [float(ranked[math.ceil(q * ranked.size) - 1]) for q in (0.5, 0.95, 1.0)]


def shown(x: float) -> str:
    return "" if math.isnan(x) else "inf" if math.isinf(x) else f"{x:.3g}"


def verdict(cells: list[dict[str, Any]], name: str = "auto") -> dict[str, float]:
    steps = np.array(ratios(cells, name, noisy=False))
    errors = np.array(ratios(cells, name, noisy=True))
    both = np.concatenate([steps, errors])
    over = [c["scores"][name] for c in cells if c["noise"] > 0 and suffices(c) is not None]
    return {
        "cells": len(cells),
        "diverged": sum(name in cell["diverged"] for cell in cells),
        "compared, T suffices": int(both.size),
        "within 2x of the best": float((both <= 2).mean()),
        "within 4x": float((both <= 4).mean()),
        "worst": float(both.max()),
        "steps, within 2x": float((steps <= 2).mean()),
        "noise, within 2x": float((errors <= 2).mean()),
        "within 6x of the limit": float(np.mean([x <= 6 for x in over])),
    }


def heat_map(cells: list[dict[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.6), layout="constrained")
    for place, noisy in enumerate((False, True)):
        chosen = [cell for cell in cells if (cell["noise"] > 0) == noisy]
        rows = sorted({(c["design"], c["kappa"]) for c in chosen})
        shares = sorted({round(c["b"] / c["n"], 3) for c in chosen if c["design"] != "diagonal"})
        image = np.full((len(rows), len(shares)), np.nan)
        for c in chosen:
            if (best := suffices(c)) is None:
                continue
            column = int(np.argmin(np.abs(np.array(shares) - c["b"] / c["n"])))
            image[rows.index((c["design"], c["kappa"])), column] = c["scores"]["auto"] / best
        axes = figure.add_subplot(1, 2, place + 1)
        axes.set_title("E error at T" if noisy else "steps to 1e-6, no noise")
        axes.set_facecolor("0.75")  # where T is too small for every method
        picture = axes.imshow(
            np.log2(image), cmap="RdBu_r", vmin=-3, vmax=3, aspect="auto", interpolation="nearest"
        )
        axes.set_yticks(range(len(rows)), [f"{d} {k}" for d, k in rows], fontsize=6)
        axes.set_xticks(range(len(shares)), [f"{s:g}" for s in shares], fontsize=6)
        axes.set_xlabel("b/n")
    figure.colorbar(picture, ax=figure.axes, label="log2 (auto / best other method)")
    figure.savefig(path, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile", choices=PROFILES, default="quick")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    profile = PROFILES[options.profile]
    options.out.mkdir(parents=True, exist_ok=True)
    start = time.process_time()
    cells, runs = least_squares(profile), logistic(profile)
    print(f"least squares, T = {profile['T']}, {len(cells)} cells, exact expectations")
    print("\n".join(table(cells)))
    for name in OURS:
        print(name, json.dumps(verdict(cells, name)))
    print(f"\nlogistic, {len(runs)} cells: final gradient norm over the best, median and worst")
    for method in LOGISTIC:
        over = [c["scores"][method] / min(c["scores"].values()) for c in runs]
        blown = sum(method in c["diverged"] for c in runs)
        print(f"| {method} | {blown} | {shown(float(np.median(over)))} | {shown(max(over))} |")
    report = {"profile": options.profile, "cells": cells, "logistic": runs}
    (options.out / "auto.json").write_text(json.dumps(report))
    heat_map(cells, options.out / "auto.png")
    print(f"\n{time.process_time() - start:.0f} s of CPU; wrote {options.out}/auto.json, auto.png")


if __name__ == "__main__":
    main()
