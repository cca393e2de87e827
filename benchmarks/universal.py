"""How near can a rule come that knows as little as ``auto``? The best tables for many cases.

    python benchmarks/universal.py [--seed N] [--count N] [--longest T]

``auto`` knows L, mu, R2, R2~, n, b and T. One table must then serve every spectrum, start and noise
with these constants. In each cell (the first ones of "models" of benchmarks/regret.py with b < n
and a short T) there are 18 cases:

- three spectra of d = 200 eigenvalues with the same L, mu and trace (for Gaussian rows R2 = 2 L +
  trace and R2~ = d + 2 are then the same too): the cell's own, a power law where that is geometric
  and the reverse, and one half-way between the cell's own and two clusters at L and mu;
- two starts: an equal error along each eigenvector, and squared errors proportional to lambda;
- three sizes of the noise: none, 1e-3 and 1e-1 of the start's E (x^T e)^2.

The goal of a case is that of benchmarks/regret.py: with noise a gap of at most 2 times the best one
at T; without noise at most 1.25 times the steps, so that the gap at T is at most the best one at
0.8 T, or 1e-6 of the start. The ratio of a table is its largest gap over the goal. Each column has
the table with the least ratio that a search over all 3 T numbers finds:

- noise: the table knows the cell's spectrum and start, not the noise (3 cases);
- start: the spectrum alone (6 cases);
- constants: neither (18 cases);
- certified: neither, and every step is inside ``theory.lookahead_certificate``;
- most: as certified, but the table seeks as many goals as it can instead of the least ratio;
- auto: the rule itself.

A ratio above 1 says that the search found no table that reaches all goals. The search is local: it
gives upper bounds on the least ratio, and lower bounds on the number of goals.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import time
from collections.abc import Callable
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from _regret_cells import Cell, models  # noqa: E402
from scipy.interpolate import RectBivariateSpline  # noqa: E402
from scipy.optimize import brentq  # noqa: E402

from bocce.exact import Gaussian, best_schedule, expected  # noqa: E402
from bocce.exact.adjoint import GaussianMoments, Table, value_and_gradient  # noqa: E402
from bocce.exact.search import coordinates, descend, pulled_back, table_of  # noqa: E402
from bocce.schedules import REGISTRY, Schedule  # noqa: E402
from bocce.theory import zeta2  # noqa: E402
from bocce.theory.lookahead import TailSetting, certifies  # noqa: E402

LEVELS = (0.0, 1e-3, 1e-1)  # noise over the start's E (x^T e)^2
GAP, STEPS, ACCURACY = 2.0, 1.25, 1e-6
TOL, ROUGH = 0.1, 0.3  # of the searches for one case, and for all
SHARPNESS = (10.0, 100.0)  # of the soft maximum or step, one after the other
FIRST, MOST = 100, 600  # steps of L-BFGS from each start, and from the best
LOST = 700.0  # stands for the logarithm of a value that has overflown
KNOWN = ("noise", "start", "constants", "certified", "most", "auto")


def spectra(lam: np.ndarray, shape: str) -> list[np.ndarray]:
    """``lam``, falling, and two spectra with its largest and least eigenvalue, length and trace."""
    lam = np.sort(lam)[::-1]
    d, trace, L, mu = lam.size, float(lam.sum()), float(lam[0]), float(lam[-1])
    base = np.arange(1.0, d + 1.0) if shape == "geometric" else np.geomspace(1.0, L / mu, d)

    def other(power: float) -> np.ndarray:
        x = base**-power
        return mu + (L - mu) * (x - x[-1]) / (x[0] - x[-1])

    power = brentq(lambda p: float(other(p).sum()) - trace, -20.0, 20.1)
    large = int((trace - d * mu) / (L - mu))
    clusters = np.where(np.arange(d) < large, L, mu)
    clusters[large] += trace - clusters.sum()
    return [lam, other(power), 0.5 * (lam + clusters)]


class Case:
    """A model, its goal, and the logarithm of a table's gap over the goal."""

    def __init__(self, lam: np.ndarray, start: np.ndarray, level: float, cell: Cell) -> None:
        self.level, size = level, float(lam @ start)
        self.model = Gaussian(lam, noise=level * size, start=start, n=cell.model.n)
        self.best = best_schedule(
            self.model, cell.T if level else max(1, int(cell.T / STEPS)), cell.b, tol=TOL
        )
        self.goal = GAP * self.best.value if level else max(self.best.value, 0.5 * ACCURACY * size)
        z = zeta2(cell.model.n, cell.b)
        self.dynamics = GaussianMoments(lam, start, 0.5 * lam, z, self.model.noise)

    def ratio(self, table: Table) -> tuple[float, np.ndarray]:
        with np.errstate(all="ignore"):
            value, gradient = value_and_gradient(self.dynamics, table)
        if not 0.0 < value < math.inf or not np.isfinite(gradient).all():
            return LOST, np.zeros_like(gradient)
        return math.log(value / self.goal), gradient / value


class Longest:
    """The largest certified alpha, by 1 - beta and 1 + theta: a spline of logarithms."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.known, self.z = known, zeta2(known["n"], known["b"])
        self.slack, self.look = np.linspace(math.log(1e-4), 0.0, 40), np.linspace(0.0, 7.0, 40)
        found = [
            [self._largest(-math.expm1(s), math.expm1(x)) for x in self.look] for s in self.slack
        ]
        self.spline = RectBivariateSpline(self.slack, self.look, np.log(found))

    def inside(self, alpha: float, beta: float, theta: float) -> bool:
        k = self.known
        rows = (k["L_max"], k["kappa_tilde"], k["mu"], k["L"])
        return certifies(TailSetting(alpha, beta, theta, *rows), self.z, 1.0)

    def _largest(self, beta: float, theta: float) -> float:
        low, high = -25.0, math.log(4.0 / self.known["L"])
        while high - low > 1e-3:
            middle = 0.5 * (low + high)
            inside = self.inside(math.exp(middle), beta, theta)
            low, high = (middle, high) if inside else (low, middle)
        return math.exp(low)

    def __call__(self, slack: np.ndarray, look: np.ndarray) -> tuple[np.ndarray, ...]:
        """log alpha and its derivatives in log(1 - beta) and log(1 + theta)."""
        at = np.clip(slack, self.slack[0], 0.0), np.clip(look, 0.0, self.look[-1])
        return (
            self.spline.ev(*at),
            self.spline.ev(*at, dx=1) * (slack > self.slack[0]),
            self.spline.ev(*at, dy=1) * (look < self.look[-1]),
        )

    def free(self, table: Table) -> np.ndarray:
        """Coordinates v, log(1 - beta), log(1 + theta) with alpha = longest/(1 + e^v)."""
        log_alpha, slack, look = coordinates(table).reshape(3, -1)
        below = np.maximum(self(slack, look)[0] - log_alpha, 1e-3)
        return np.concatenate([np.log(np.expm1(below)), slack, look])

    def bound(self, v: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """The coordinates of ``coordinates``, and how a gradient in them is pulled back."""
        free, slack, look = v.reshape(3, -1)
        longest, by_slack, by_look = self(slack, look)
        share = 1.0 / (1.0 + np.exp(-free))

        def back(gradient: np.ndarray) -> np.ndarray:
            a, s, x = gradient.reshape(3, -1)
            return np.concatenate([-share * a, s + by_slack * a, x + by_look * a])

        return np.concatenate([longest - np.logaddexp(0.0, free), slack, look]), back

    def certified(self, schedule: Schedule) -> Schedule:
        """The same table; alphas that interpolation left outside are shortened."""
        alpha = schedule.alpha.copy()
        for k, (beta, theta) in enumerate(zip(schedule.beta, schedule.theta)):
            while not self.inside(alpha[k], beta, theta):
                alpha[k] *= 0.99
        return Schedule(alpha, schedule.beta, schedule.theta)


def common(
    cases: list[Case], starts: list[Table], longest: Longest | None = None, most: bool = False
) -> Schedule:
    """The table with the least of the largest ratios, by soft maxima, or with the most goals."""

    def soft(p: float) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        def objective(v: np.ndarray) -> tuple[float, np.ndarray]:
            u, back = (v, lambda x: x) if longest is None else longest.bound(v)
            table = table_of(u)
            logs, gradients = (np.array(part) for part in zip(*(c.ratio(table) for c in cases)))
            if most:  # the share of goals that are missed, each by a smooth step of width 10/p
                missed = 0.5 + 0.5 * np.tanh(5.0 * p * logs / SHARPNESS[-1])
                weights = 10.0 * p / SHARPNESS[-1] * missed * (1.0 - missed) / len(cases)
                value = float(missed.mean())
            else:
                weights = np.exp(p * (logs - logs.max()))
                value = float(logs.max() + math.log(weights.sum()) / p)
                weights /= weights.sum()
            mean = np.tensordot(weights, gradients, 1)
            return value, back(pulled_back(table, mean))

        return objective

    points = [coordinates(table) if longest is None else longest.free(table) for table in starts]
    tol = 0.1 * ROUGH if most else ROUGH
    first = [descend(soft(SHARPNESS[0]), point, FIRST, tol) for point in points]
    u = min(first, key=lambda found: found[1])[0]
    for p in SHARPNESS:
        u = descend(soft(p), u, MOST, tol)[0]
    if longest is None:
        return Schedule(*table_of(u))
    return longest.certified(Schedule(*table_of(longest.bound(u)[0])))


def ratios(schedule: Schedule, cases: list[Case], b: int) -> np.ndarray:
    return np.array([expected(c.model, schedule, b).gap[-1] / c.goal for c in cases])


def columns(cell: Cell) -> list[np.ndarray]:
    """The ratios of the five tables of KNOWN in the cases that each must serve."""
    shape = cell.name.split()[2]
    auto = REGISTRY["auto"].build(cell.T, cell.constants)
    cases = [
        Case(lam, start, level, cell)
        for lam in spectra(cell.model.spectrum, shape)
        for start in (np.ones(lam.size), lam / lam.max())
        for level in LEVELS
    ]
    found, start = [], auto
    for parts in (cases[:3], cases[:6], cases):
        bests = [c.best.schedule for c in parts[:6] if c.level]
        tables = [(s.alpha, s.beta, s.theta) for s in (start, auto, *bests)]
        start = common(parts, tables)
        found.append(ratios(start, parts, cell.b))
    longest = Longest(cell.constants)
    tables = [(s.alpha, s.beta, s.theta) for s in (start, auto)]
    certified = common(cases, tables, longest)
    tables = [(s.alpha, s.beta, s.theta) for s in (certified, auto, *bests)]
    most = common(cases, tables, longest, most=True)
    return found + [ratios(s, cases, cell.b) for s in (certified, most, auto)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--longest", type=int, default=200)
    options = parser.parse_args()
    start, found = time.process_time(), []
    short = (c for c in models(options.seed) if options.longest >= c.T and c.constants["n"] > c.b)
    print(f"| cell | {' | '.join(KNOWN)} |\n|{'---|' * (len(KNOWN) + 1)}")
    for cell in itertools.islice(short, options.count):
        found.append(columns(cell))
        name = cell.name.split(": ")[1].split(", noise")[0]
        shown = " | ".join(f"{x.max():.2f} ({(x > 1.0).sum()})" for x in found[-1])
        print(f"| {name} | {shown} |", flush=True)
    print("In brackets: how many goals are missed.")
    for i, name in enumerate(KNOWN):
        all_of = sum(x[i].max() <= 1.0 for x in found)
        share = np.mean(np.concatenate([x[i] for x in found]) <= 1.0)
        worst = np.median([x[i].max() for x in found])
        print(
            f"{name}: all goals in {all_of} of {len(found)} cells, {share:.0%} of goals; "
            f"median ratio {worst:.2f}"
        )
    print(f"{time.process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main()
