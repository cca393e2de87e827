"""Both sides of the paper's corollaries and lemmas, computed exactly: left <= right is claimed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial

import numpy as np

from ... import LeastSquares, exact, schedules, theory
from ..compute import problem
from ..specs import Data

SEED = 7  # of the random instances
Sides = tuple[list[str], list[float], list[float]]


def _sides(rows: list[tuple[str, float, float]]) -> Sides:
    return [r[0] for r in rows], [float(r[1]) for r in rows], [float(r[2]) for r in rows]


# ---------------------------------------------------------------- corollaries


def _epsilon_target() -> Sides:
    """E||w_T - w*|| (its root mean square) against sqrt(epsilon), for b >= b*(a)."""
    p = problem(Data("regression", n=10_000, d=2, kappa=2.0, noise_var=1e-4, mu=1.0))
    c, chi = p.constants(), math.sqrt(p.noise().chi2)
    D = float(np.linalg.norm(p.minimiser()))
    rows = []
    for epsilon in (1e-1, 1e-2, 1e-3):
        target_at = partial(theory.epsilon_target, epsilon, c.L_max, c.mu, p.n, chi=chi, D=D)
        a = target_at(b=p.n).a
        b = min(p.n, math.ceil(theory.batch_threshold(p.n, c.L_max / c.mu, a)))
        target = target_at(b=b)
        curve = exact.expected(p, schedules.shb(int(target.T), c.L_max, c.mu, target.a), b)
        rows.append(
            (f"epsilon={epsilon:g}, b={b}", math.sqrt(curve.error2[-1]), math.sqrt(epsilon))
        )
    return _sides(rows)


def _horizon_range() -> Sides:
    """The printed end of the range of T against the exact one."""
    rows = []
    for n, b, kappa in ((10**6, 999_000, 10.0), (10**6, 999_900, 10.0), (10**5, 99_990, 4.0)):
        printed, right = (
            theory.multistage_range(n, b, kappa, which).high for which in ("printed", "corrected")
        )
        rows.append((f"n={n}, b={b}, kappa={kappa:g}", printed, right))
    return _sides(rows)


def _two_phase_exponent() -> Sides:
    """q(kappa) at c = 1/2 against the printed 0.7, kappa > 4."""
    kappas = (4.01, 4.5, 5.0, 6.0, 10.0, 100.0, 1e4, 1e8)
    return _sides([(f"kappa={k:g}", theory.two_phase_exponent(k), 0.7) for k in kappas])


def _bounded_noise() -> Sides:
    """The exact error of SHB under additive noise against the bounded-noise theorem.

    One column and rows of equal length: then the noise of a batch does not depend on w.
    """
    X = np.ones((50, 1))
    y = np.random.default_rng(SEED).standard_normal(50)
    p = LeastSquares(X, y)
    sigma = math.sqrt(p.noise().chi2)
    D = float(np.linalg.norm(p.minimiser()))
    rows = []
    for a, b, T in itertools.product((1.0, 0.25), (1, 5, 25), (10, 100)):
        curve = exact.expected(p, schedules.shb(T, 1.0, 1.0, a), b)
        bound = theory.bound_bounded_noise(T, 1.0, 1.0, p.n, b, a, D, sigma, "printed")
        rows.append((f"a={a:g}, b={b}, T={T}", math.sqrt(curve.error2[-1]), bound.total))
    return _sides(rows)


def _share_falls() -> Sides:
    """b*/n at ten times as many rows against b*/n."""
    rows = []
    for kappa in (10.0, 100.0, 1000.0):
        for n in (10**3, 10**4, 10**5, 10**6, 10**7):
            many, few = (theory.batch_threshold(m, kappa) / m for m in (10 * n, n))
            rows.append((f"kappa={kappa:g}, n={n}", many, few))
    return _sides(rows)


# ---------------------------------------------------------------- lemmas of Theorem 1


def _small_problem(generator: np.random.Generator, l2: float) -> LeastSquares:
    return LeastSquares(generator.standard_normal((4, 2)), generator.standard_normal(4), l2=l2)


def _batches(n: int, b: int) -> list[np.ndarray]:
    return [np.array(rows) for rows in itertools.combinations(range(n), b)]


def _batch_gap(p: LeastSquares, rows: np.ndarray, w: np.ndarray) -> float:
    """f_B(w) - min f_B."""
    part = LeastSquares(p.X[rows], p.y[rows], l2=p.l2)
    A = part.X.T @ part.X / len(rows) + p.l2 * np.eye(p.d)
    best = np.linalg.lstsq(A, part.X.T @ part.y / len(rows), rcond=None)[0]
    return float(part.value(w) - part.value(best))


def _batch_noise() -> Sides:
    """sigma_B^2 against kappa zeta^2 sigma^2: rows of rank one, and rows that are mu-convex."""
    generator = np.random.default_rng(SEED)
    rows = []
    for l2 in (0.0, 0.5):
        for i in range(40):
            p = _small_problem(generator, l2)
            c, w = p.constants(), p.minimiser()
            mu = p.l2 if l2 else c.mu
            sigma2 = float(np.mean([_batch_gap(p, one, w) for one in _batches(4, 1)]))
            batch2 = float(np.mean([_batch_gap(p, three, w) for three in _batches(4, 3)]))
            bound = c.L_max / mu * theory.zeta2(4, 3) * sigma2
            kind = "f_i mu-strongly convex" if l2 else "f_i of rank one"
            rows.append((f"{kind}, instance {i}", batch2, bound))
    return _sides(rows)


def _one_step() -> Sides:
    """E[E_{k+1}] against (1 - eta_k mu) E_k + 2 L eta_k^2 sigma_B^2, at random states."""
    generator = np.random.default_rng(SEED)
    rows = []
    for i in range(60):
        p = _small_problem(generator, 0.1)
        c, star, b = p.constants(), p.minimiser(), int(generator.integers(1, 5))
        noise = float(np.mean([_batch_gap(p, part, star) for part in _batches(4, b)]))
        T = int(generator.integers(5, 200))
        k = int(generator.integers(0, T))
        w, before = star + generator.standard_normal(2), star + generator.standard_normal(2)
        left, right = _energies(p, c.L_max, c.mu, T, k, (w, before if k else w), b, noise)
        rows.append((f"instance {i}, b={b}, k={k} of {T}", left, right))
    return _sides(rows)


def _energies(
    p: LeastSquares,
    L: float,
    mu: float,
    T: int,
    k: int,
    state: tuple[np.ndarray, np.ndarray],
    b: int,
    noise: float,
) -> tuple[float, float]:
    gamma = (1.0 / T) ** (1.0 / T)
    eta = [gamma ** (j + 1) / (4.0 * L) for j in (k, k + 1)]
    omega = 1.0 - gamma / 2.0
    lam = [omega / (e * mu) * (1.0 - (1.0 - e * mu) ** j) for e, j in zip(eta, (k, k + 1))]
    alpha, beta = eta[0] / (1.0 + lam[1]), lam[0] * (1.0 - eta[0] * mu) / (1.0 + lam[1])
    star = p.minimiser()

    def energy(w: np.ndarray, before: np.ndarray, e: float, weight: float) -> float:
        moved = w - star + weight * (w - before)
        gap = float(p.value(before) - p.value(star))
        return float(moved @ moved) + 2.0 * e * weight * gap

    w, before = state
    after = [
        w - alpha * p.gradient(w, rows=rows) + beta * (w - before) for rows in _batches(p.n, b)
    ]
    left = float(np.mean([energy(new, w, eta[1], lam[1]) for new in after]))
    right = (1.0 - eta[0] * mu) * energy(w, before, eta[0], lam[0])
    return left, right + 2.0 * L * eta[0] ** 2 * noise


def _energy_bound() -> Sides:
    """c_L, as printed, against the least E_T over ||w_{T-1} - w*||^2, which is mu eta_T lambda_T.

    The least is reached where w_T cancels A_T and w_{T-1} lies along the flattest direction.
    """
    rows = []
    for mu, kappa, T in itertools.product((1e-3, 1.0), (10.0, 1000.0), (100, 10_000)):
        L, gamma = kappa * mu, (1.0 / T) ** (1.0 / T)
        eta = gamma ** (T + 1) / (4.0 * L)
        least = (1.0 - gamma / 2.0) * -math.expm1(T * math.log1p(-eta * mu))
        printed = 4.0 * (1.0 - gamma) / mu**2 * -math.expm1(-mu * gamma / (2.0 * L))
        rows.append((f"mu={mu:g}, kappa={kappa:g}, T={T}", printed, least))
    return _sides(rows)


def _decays() -> list[tuple[float, int, float, np.ndarray]]:
    """(tau, T, gamma, gamma^1 .. gamma^T) over a grid."""
    found = []
    for tau, T in itertools.product((1.0, 3.0, 10.0), (20, 100, 1000, 10_000)):
        gamma = (tau / T) ** (1.0 / T)
        found.append((tau, T, gamma, gamma ** np.arange(1.0, T + 1.0)))
    return found


def _sum_of_steps() -> Sides:
    """Lemma A: the lower bound against the sum."""
    rows = []
    for tau, T, gamma, powers in _decays():
        log = math.log(T / tau)
        rows.append((f"tau={tau:g}, T={T}", gamma * T / log - 2.0 * tau / log, powers.sum()))
    return _sides(rows)


def _sum_of_noise() -> Sides:
    """Lemma B: the sum against the upper bound."""
    rows = []
    for tau, T, gamma, powers in _decays():
        later = np.concatenate([np.cumsum(powers[::-1])[::-1][1:], [0.0]])
        log = math.log(T / tau)
        for kappa in (1.0, 10.0, 100.0, 1000.0):
            total = float((powers**2 * np.exp(-later / kappa)).sum())
            c_2 = math.exp(2.0 * tau / (kappa * log))
            bound = 4.0 * kappa**2 * c_2 * log**2 / (math.e**2 * gamma**2 * T)
            rows.append((f"tau={tau:g}, T={T}, kappa={kappa:g}", total, bound))
    return _sides(rows)


# ---------------------------------------------------------------- lemmas of Theorem 2


def _printed_constant(beta: float, spectrum: tuple[float, float]) -> float:
    """C_0 of Wang et al., with z = alpha lambda at both ends of the spectrum."""
    h = [-(beta - (1 - math.sqrt(z)) ** 2) * (beta - (1 + math.sqrt(z)) ** 2) for z in spectrum]
    return math.sqrt(2.0) * (beta + 1.0) / math.sqrt(min(h))


def _power_bound() -> Sides:
    """sup_k ||H^k|| / rho^k (with -beta, as in the proof) against C_0."""
    rows = []
    for kappa in (2.0, 10.0, 100.0, 1000.0):
        beta = (1.0 - 0.5 / math.sqrt(kappa)) ** 2
        worst = 0.0
        for z in np.geomspace(1.0 / kappa, 1.0, 40):
            H = np.array([[1.0 + beta - z, -beta], [1.0, 0.0]]) / math.sqrt(beta)
            power = np.eye(2)
            for _ in range(min(4000, int(40 * math.sqrt(kappa)))):
                power = power @ H
                worst = max(worst, float(np.linalg.norm(power, 2)))
        rows.append((f"kappa={kappa:g}", worst, _printed_constant(beta, (1.0 / kappa, 1.0))))
    return _sides(rows)


def _power_constant() -> Sides:
    """C_0 against 3 sqrt(kappa/a)."""
    rows = []
    for kappa, a in itertools.product((1.0, 1.5, 10.0, 1e3, 1e6), (1.0, 0.5, 0.1, 1e-3)):
        beta = (1.0 - 0.5 * math.sqrt(a / kappa)) ** 2
        rows.append(
            (
                f"kappa={kappa:g}, a={a:g}",
                _printed_constant(beta, (a / kappa, a)),
                3.0 * math.sqrt(kappa / a),
            )
        )
    return _sides(rows)


def _batch_variance() -> Sides:
    """|E||g_B - g||^2 / (zeta^2 E||g_i - g||^2) - 1| against rounding, over all batches."""
    generator = np.random.default_rng(SEED)
    rows = []
    for n, b in ((4, 1), (4, 3), (6, 2), (7, 5)):
        g = generator.standard_normal((n, 3))
        mean = g.mean(axis=0)
        of_batches = np.mean([np.sum((g[r].mean(axis=0) - mean) ** 2) for r in _batches(n, b)])
        of_rows = float(np.mean(np.sum((g - mean) ** 2, axis=1)))
        ratio = of_batches / (theory.zeta2(n, b) * of_rows)
        rows.append((f"n={n}, b={b}", abs(float(ratio) - 1.0), 1e-12))
    return _sides(rows)


STATEMENTS: dict[str, Callable[[], Sides]] = {
    "epsilon_target": _epsilon_target,
    "horizon_range": _horizon_range,
    "two_phase_exponent": _two_phase_exponent,
    "bounded_noise": _bounded_noise,
    "one_step": _one_step,
    "energy_bound": _energy_bound,
    "batch_noise": _batch_noise,
    "sum_of_steps": _sum_of_steps,
    "sum_of_noise": _sum_of_noise,
    "power_bound": _power_bound,
    "power_constant": _power_constant,
    "batch_variance": _batch_variance,
    "share_falls": _share_falls,
}
