"""Evidence for the verdicts on lemmas and on the theorems that the paper cites or uses as lemmas.

Every entry is an inequality, left <= right, that the class of a statement rests on: the corrected
form holds, or the printed one does not (then the printed side is on the left).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from bocce import LeastSquares, theory

SEED = 7  # The seed of the random instances.
Entry = tuple[str, float, float]  # A name, the left side and the right side.
Evidence = Iterator[Entry]


# ---------------------------------------------------------------- lemmas of Theorem 1


def _small_problem(generator: np.random.Generator, l2: float, n: int = 4) -> LeastSquares:
    return LeastSquares(generator.standard_normal((n, 2)), generator.standard_normal(n), l2=l2)


def _batches(n: int, b: int) -> list[np.ndarray]:
    return [np.array(rows) for rows in itertools.combinations(range(n), b)]


def _batch_gap(p: LeastSquares, rows: np.ndarray, w: np.ndarray) -> float:
    """f_B(w) - min f_B."""
    part = LeastSquares(p.X[rows], p.y[rows], l2=p.l2)
    A = part.X.T @ part.X / len(rows) + p.l2 * np.eye(p.d)
    best = np.linalg.lstsq(A, part.X.T @ part.y / len(rows), rcond=None)[0]
    return float(part.value(w) - part.value(best))


def _noises(p: LeastSquares, b: int, mu: float) -> tuple[float, float, float]:
    """sigma_B^2, its printed bound kappa zeta0^2 sigma^2, and zeta0^2 chi^2."""
    c = p.constants()
    w = p.minimiser()
    sigma2, batch2 = (
        float(np.mean([_batch_gap(p, rows, w) for rows in _batches(p.n, size)])) for size in (1, b)
    )
    zeta2 = theory.zeta2(p.n, b)
    return batch2, c.L_max / mu * zeta2 * sigma2, zeta2 * p.row_gradient_mean2(w)


def lemma_batch_noise() -> Evidence:
    """sigma_B^2 <= zeta0^2 chi^2/(2 mu) <= kappa zeta0^2 sigma^2 where every row is mu-convex."""
    generator = np.random.default_rng(SEED)
    for i in range(40):
        p = _small_problem(generator, 0.5)
        batch2, bound, gradient2 = _noises(p, 3, p.l2)
        middle = gradient2 / (2.0 * p.l2)
        yield f"instance {i}: the batch", batch2, middle
        yield f"instance {i}: the lemma", middle, bound


def one_step_inequality() -> Evidence:
    """E[E_{k+1}] against (1 - eta_k mu) E_k + 2 L eta_k^2 s^2, for two s^2, at random states.

    s^2 = c_B zeta0^2 chi^2/(2L) is proved; s^2 = kappa zeta0^2 sigma^2 is printed, and larger. And
    one set of rows of rank one for which the lemma that the printed proof uses does not hold.
    """
    generator = np.random.default_rng(SEED)
    for i in range(60):
        p = _small_problem(generator, 0.0)
        c = p.constants()
        star = p.minimiser()
        b = int(generator.integers(1, 5))
        T = int(generator.integers(5, 200))
        k = int(generator.integers(0, T))
        w = star + generator.standard_normal(2)
        before = star + generator.standard_normal(2)
        _, printed, gradient2 = _noises(p, b, c.mu)
        twice = 2.0 * c.L_max / c.mu - 1.0
        zeta2 = theory.zeta2(4, b)
        c_B = twice / (twice - zeta2 * (c.L_max / c.mu - 1.0))
        better = c_B * gradient2 / (2.0 * c.L_max)
        yield f"the printed term is larger, instance {i}, b={b}", better, printed
        for name, noise in (("as proved", better), ("as printed", printed)):
            left, right = _energies(p, c.L_max, c.mu, T, k, (w, before if k else w), b, noise)
            yield f"{name}, instance {i}, b={b}, k={k} of {T}", left, right
    yield _gap(generator)


def _gap(generator: np.random.Generator) -> Entry:
    """Rows of rank one for which sigma_B^2 is above kappa zeta0^2 sigma^2, the worst of 60."""
    found = []
    for i in range(60):
        p = _small_problem(generator, 0.0)
        batch2, printed, _ = _noises(p, 3, p.constants().mu)
        found.append((f"the gap: sigma_B^2 above its bound, b=3, instance {i}", printed, batch2))
    return max(found, key=lambda entry: entry[2] / entry[1])


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
    alpha = eta[0] / (1.0 + lam[1])
    beta = lam[0] * (1.0 - eta[0] * mu) / (1.0 + lam[1])
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


def lemma_energy() -> Evidence:
    """c_L against the least E_T over ||w_{T-1} - w*||^2, which is mu eta_T lambda_T.

    The least is reached where w_T cancels A_T and w_{T-1} lies along the flattest direction.
    """
    for mu, kappa, T in itertools.product((1e-3, 1.0), (10.0, 1000.0), (100, 10_000)):
        L = kappa * mu
        gamma = (1.0 / T) ** (1.0 / T)
        eta = gamma ** (T + 1) / (4.0 * L)
        least = (1.0 - gamma / 2.0) * -math.expm1(T * math.log1p(-eta * mu))
        printed = 4.0 * (1.0 - gamma) / mu**2 * -math.expm1(-mu * gamma / (2.0 * L))
        corrected = (1.0 - gamma / 2.0) * -math.expm1(-gamma / (4.0 * kappa))
        name = f"mu={mu:g}, kappa={kappa:g}, T={T}"
        yield f"corrected c_L, {name}", corrected, least
        if mu < 1.0:
            yield f"printed c_L is too large, {name}", least, printed


def _decays() -> list[tuple[float, int, float, np.ndarray]]:
    """(tau, T, gamma, gamma^1 .. gamma^T) over a grid."""
    found = []
    for tau, T in itertools.product((1.0, 3.0, 10.0), (20, 100, 1000, 10_000)):
        gamma = (tau / T) ** (1.0 / T)
        found.append((tau, T, gamma, gamma ** np.arange(1.0, T + 1.0)))
    return found


def lemma_A() -> Evidence:
    """Lemma A: the lower bound against the sum."""
    for tau, T, gamma, powers in _decays():
        log = math.log(T / tau)
        yield f"tau={tau:g}, T={T}", gamma * T / log - 2.0 * tau / log, powers.sum()


def lemma_B() -> Evidence:
    """Lemma B: the sum against the upper bound."""
    for tau, T, gamma, powers in _decays():
        later = np.concatenate([np.cumsum(powers[::-1])[::-1][1:], [0.0]])
        log = math.log(T / tau)
        for kappa in (1.0, 10.0, 100.0, 1000.0):
            total = float((powers**2 * np.exp(-later / kappa)).sum())
            c_2 = math.exp(2.0 * tau / (kappa * log))
            bound = 4.0 * kappa**2 * c_2 * log**2 / (math.e**2 * gamma**2 * T)
            yield f"tau={tau:g}, T={T}, kappa={kappa:g}", total, bound


# ---------------------------------------------------------------- lemmas of Theorem 2


def _printed_constant(beta: float, spectrum: tuple[float, float]) -> float:
    """C_0 of Wang et al., with z = alpha lambda at both ends of the spectrum."""
    h = [-(beta - (1 - math.sqrt(z)) ** 2) * (beta - (1 + math.sqrt(z)) ** 2) for z in spectrum]
    return math.sqrt(2.0) * (beta + 1.0) / math.sqrt(min(h))


def _largest_powers(kappa: float, beta: float) -> dict[str, float]:
    """sup over k and the spectrum of ||H^k v||/(rho^k ||v||), H with -beta as in the proof."""
    worst = {"any v": 0.0, "v = (u, u)": 0.0, "v = (delta, 0)": 0.0}
    same = np.ones(2) / math.sqrt(2.0)
    for z in np.geomspace(1.0 / kappa, 1.0, 40):
        H = np.array([[1.0 + beta - z, -beta], [1.0, 0.0]]) / math.sqrt(beta)
        power = np.eye(2)
        for _ in range(min(4000, int(40 * math.sqrt(kappa)))):
            power = H @ power
            sizes = (np.linalg.norm(power, 2), np.linalg.norm(power @ same))
            for v, size in zip(worst, (*sizes, np.linalg.norm(power[:, 0]))):
                worst[v] = max(worst[v], float(size))
    return worst


def wang_power_bound() -> Evidence:
    """Where the printed C_0 is too small, and that 3 sqrt(kappa) covers every vector."""
    for kappa in (1.0, 2.0, 10.0, 100.0, 1000.0):
        beta = (1.0 - 0.5 / math.sqrt(kappa)) ** 2
        printed = _printed_constant(beta, (1.0 / kappa, 1.0))
        worst = _largest_powers(kappa, beta)
        name = f"kappa={kappa:g}"
        yield f"sqrt(2) C_0 is enough, {name}", worst["any v"], math.sqrt(2.0) * printed
        yield f"3 sqrt(kappa) is enough, {name}", worst["any v"], 3.0 * math.sqrt(kappa)
        yield f"C_0 is enough for (u, u), {name}", worst["v = (u, u)"], printed
        if kappa > 1.0:
            yield f"C_0 is too small for some v, {name}", printed, worst["any v"]
        else:
            yield f"C_0 is too small for (delta, 0), {name}", printed, worst["v = (delta, 0)"]


def lemma_recurrence() -> Evidence:
    """E||Delta_T|| over all sequences of batches against the recurrence as printed."""
    generator = np.random.default_rng(SEED)
    for i, a in itertools.product(range(6), (1.0, 0.3)):
        p = _small_problem(generator, 0.0, n=3)
        c = p.constants()
        beta = (1.0 - 0.5 * math.sqrt(a * c.mu / c.L_max)) ** 2
        T = 4
        states = [(-p.minimiser(), -p.minimiser())]
        means = []
        for _ in range(T + 1):
            means.append(float(np.mean([np.linalg.norm(np.concatenate(s)) for s in states])))
            states = [
                (w - a / c.L_max * p.gradient(w + p.minimiser(), rows=r) + beta * (w - v), w)
                for w, v in states
                for r in _batches(3, 2)
            ]
        C_0 = _printed_constant(beta, (a * c.mu / c.L_max, a))
        zeta = math.sqrt(3 * theory.zeta2(3, 2))
        chi = math.sqrt(p.row_gradient_mean2(p.minimiser()))
        powers = math.sqrt(beta) ** np.arange(T - 1, -1, -1)
        bound = C_0 * math.sqrt(beta) ** T * means[0]
        bound += 2.0 * a * C_0 * zeta * float(powers @ means[:T])
        bound += a * C_0 * chi * zeta / c.L_max * float(powers.sum())
        yield f"instance {i}, a={a:g}, T={T}", means[T], bound


def lemma_wang_constant() -> Evidence:
    """C_0 against 3 sqrt(kappa/a)."""
    for kappa, a in itertools.product((1.0, 1.5, 10.0, 1e3, 1e6), (1.0, 0.5, 0.1, 1e-3)):
        beta = (1.0 - 0.5 * math.sqrt(a / kappa)) ** 2
        printed = _printed_constant(beta, (a / kappa, a))
        yield f"kappa={kappa:g}, a={a:g}", printed, 3.0 * math.sqrt(kappa / a)


def lemma_batch_factor() -> Evidence:
    """|E||g_B - g||^2 / (zeta^2 E||g_i - g||^2) - 1| against rounding, over all batches."""
    generator = np.random.default_rng(SEED)
    for n, b in ((4, 1), (4, 3), (6, 2), (7, 5)):
        g = generator.standard_normal((n, 3))
        mean = g.mean(axis=0)
        of_batches = np.mean([np.sum((g[r].mean(axis=0) - mean) ** 2) for r in _batches(n, b)])
        of_rows = float(np.mean(np.sum((g - mean) ** 2, axis=1)))
        ratio = of_batches / (theory.zeta2(n, b) * of_rows)
        yield f"n={n}, b={b}", abs(float(ratio) - 1.0), 1e-12
