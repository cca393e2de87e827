"""L, mu, L_max and kappa~ of a linear problem, exactly where that is cheap."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..rows import Array
from ..schedules.twin import reduced

if TYPE_CHECKING:
    from .objective import Objective

LANCZOS_STEPS = 16
LANCZOS_MARGIN = 1.1
GUARDED_STEPS = 5
INTERCEPT_STEP = 1e-4  # The intercept is moved by this to see how the gradient changes.
FLAT_RITZ = 1e-12  # A Ritz value below this share of the largest is 0.
FLAT_INTERCEPT = 1e-8  # Curvatures of intercepts below this share of the largest are 0.
ROW_MOMENT_FLOPS = 1e10
SAMPLE_FLOPS = 1e8
SAMPLE_MARGINS = (1.1, 1.15)  # on L, and on what single rows decide


@dataclass(frozen=True)
class Constants:
    """Curvature constants of a problem.

    Let A_i be the Hessian of row i (an upper bound for the logistic loss; l2 included) and A their
    mean.

    Attributes
    ----------
    L, mu, L_max : float
        The largest eigenvalue of A; the smallest one that moves w (on a quadratic from w_0 = 0: of
        the row space), else a lower bound of all; the largest eigenvalue of any A_i.
    kappa_tilde : float or None
        The largest x_i^T A^-1 x_i; None where it is too expensive.
    exact : bool
        Whether the constants were computed; otherwise they were estimated, from above.
    R2 : float, optional
        The smallest rho with E[A_i^2] <= rho A; at most L_max. None where it is too expensive.
    R2_tilde : float, optional
        The smallest rho with E[A_i A^-1 A_i] <= rho A; at most kappa_tilde.
    reads : int, default 1
        The number of times that the data were read.
    spectrum : pair of tuples, optional
        The spectrum of A where it moves w: nodes, and how many eigenvalues each stands for.
    """

    L: float
    mu: float
    L_max: float
    kappa_tilde: float | None
    exact: bool
    R2: float | None = None
    R2_tilde: float | None = None
    reads: int = 1
    spectrum: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    @property
    def sharpest(self) -> tuple[float, float | None]:
        """R2 and R2_tilde where they are known, else L_max and kappa~, which bound them."""
        if self.R2 is None:
            return self.L_max, self.kappa_tilde
        return self.R2, self.R2_tilde

    @property
    def kappa(self) -> float:
        """L/mu, infinite when mu = 0."""
        if self.mu > 0:
            return self.L / self.mu
        return math.inf


def bound(problem: Objective) -> float:
    """The loss's bound on its second derivative, which every constant rests on."""
    if problem.loss.curvature is None:
        raise ValueError(
            f"{problem.loss.problem_name}: the {problem.loss.name} loss has no bound on its "
            "curvature, must have one for constants, and so for steps of a given length; use the "
            'method "plane", or a line search.'
        )
    return problem.loss.curvature


def lanczos(problem: Objective, steps: int = LANCZOS_STEPS) -> tuple[Array, Array, float]:
    """Ritz values of X^T X/n from a fixed random start, the number of eigenvalues that each stands
    for (d in all), and the residual norm of the largest.

    Costs two passes over the data a step; the basis is kept orthogonal.
    """
    d = problem.width
    steps = min(steps, d)
    basis = np.zeros((steps + 1, d))
    start = np.random.default_rng(0).standard_normal(d)
    basis[0] = start / np.linalg.norm(start)
    diagonal = np.zeros(steps)
    off = np.zeros(steps)
    used = steps
    for j in range(steps):
        v = problem.gram_times(basis[j])
        diagonal[j] = basis[j] @ v
        for _ in range(2):  # once is not enough in floating point
            v -= basis[: j + 1].T @ (basis[: j + 1] @ v)
        off[j] = np.linalg.norm(v)
        if off[j] <= 1e-14 * max(diagonal[: j + 1].max(), 1e-300):
            used = j + 1
            off[j] = 0.0
            break
        basis[j + 1] = v / off[j]
    T = np.diag(diagonal[:used]) + np.diag(off[: used - 1], 1) + np.diag(off[: used - 1], -1)
    values, vectors = np.linalg.eigh(T)
    return values, d * vectors[0] ** 2, float(off[used - 1] * abs(vectors[-1, -1]))


def _row_constants(
    problem: Objective, whole: Array, vectors: Array
) -> tuple[float | None, float | None, float | None]:
    """kappa~ = max_i h c_i x_i^T A^-1 x_i, R2 and R2~, given the eigenvalues and vectors of A."""
    usable = whole > problem.width * np.finfo(float).eps * whole[-1]
    kept = whole[usable]
    basis = vectors[:, usable]
    root = basis / np.sqrt(kept)
    h = bound(problem)
    flat = problem.l2 > 0 and not usable.all()
    if problem.in_parts:
        return None if flat else h * problem.largest_projection2(root), None, None
    too_many = 4.0 * problem.n * problem.width**2 > ROW_MOMENT_FLOPS
    if flat and too_many:
        return None, None, None
    leverages = problem.rows.projections2(root)  # one pass for all of them
    if flat:
        kappa_tilde = None
    else:
        kappa_tilde = h * float(problem.weighted(leverages).max())
    moments = (None, None) if too_many else _row_moments(problem, usable, kept, basis, leverages)
    return kappa_tilde, *moments


def _row_moments(
    problem: Objective, usable: Array, whole: Array, basis: Array, leverages: Array
) -> tuple[float | None, float | None]:
    """R2 and R2_tilde, as the largest eigenvalues of whitened second moments of the A_i.

    A_i = h c x x^T + R with R = l2 diag(r), so with A_0 = A - R
    E[A_i M A_i] = h^2 E[c^2 (x^T M x) x x^T] + R M A_0 + A_0 M R + R M R
    for M = I and M = A^-1; ``whole`` and ``basis`` are the eigenvalues and vectors of A that are
    ``usable``, and ``leverages`` are x^T A^-1 x.
    """
    h = bound(problem)
    l2 = problem.l2
    root = basis / np.sqrt(whole)
    ridge = l2 * np.eye(whole.size)
    if problem.penalty is not None:
        ridge = basis.T @ (problem.ridge[:, None] * basis)
    rest = np.diag(whole) - ridge
    square = problem.weighted(np.ones(problem.n)) ** 2
    # where no row reaches, A_i = l2 I
    cases = (
        (problem.rows.norms2, np.ones(whole.size), l2),
        (leverages, 1.0 / whole, 1.0),
    )
    found = []
    for sizes, inverse, elsewhere in cases:
        across = ridge @ (inverse[:, None] * rest)
        penalised = across + across.T + ridge @ (inverse[:, None] * ridge)
        with np.errstate(over="ignore", invalid="ignore"):
            moment = root.T @ (h * h * problem.rows.gram(square * sizes)) @ root
            moment += penalised / np.multiply.outer(np.sqrt(whole), np.sqrt(whole))
        if not np.isfinite(moment).all():  # fourth powers of X have no place in a double
            return None, None
        top = float(np.linalg.eigvalsh(moment)[-1])
        found.append(top if usable.all() or l2 == 0.0 else max(top, elsewhere))
    return found[0], found[1]


def _spectrum(problem: Objective) -> tuple[Array, Array, Array]:
    """Eigenvalues and vectors of A = h sum_i c_i x_i x_i^T / n + R, and which of them are above R's
    least entry: only these move w from 0."""
    h = bound(problem)
    l2 = problem.l2
    if not np.isfinite(problem.gram).all():
        raise ValueError(
            f"{problem.loss.problem_name}: the squares of X overflow, must be finite for its "
            "curvature; divide X by a constant."
        )
    if problem.penalty is not None:
        whole, vectors = np.linalg.eigh(h * problem.gram + np.diag(problem.ridge))
        whole = np.maximum(whole, 0.0)
        least = float(problem.ridge.min())
    else:
        eigenvalues, vectors = np.linalg.eigh(h * problem.gram)
        whole = np.maximum(eigenvalues, 0.0) + l2
        least = l2
    moves = whole - least > problem.width * np.finfo(float).eps * whole[-1]
    return whole, vectors, moves


def mu_with_intercept(problem: Objective) -> float:
    """The least curvature of f with an intercept that has no penalty, at the best constant model.

    Write the Hessian, in the coefficients u and the intercept t, as [[B + l2 I, m], [m^T, s]]. The
    part without l2 is positive, so B >= m m^T/s, and with r = ||m||/s

        (u, t) H (u, t) >= l2 ||u||^2 + s (t + m.u/s)^2 >= mu (||u||^2 + t^2),
        mu = l2 s / (l2 + s (1 + r^2)),

    because [[l2 + s r^2, s r], [s r, s]] has the determinant l2 s and a trace of l2 + s (1 + r^2).
    r is the length of the mean row (weighted by curvature): columns that are centred have r = 0 and
    mu is nearly l2. With several outputs s is the least curvature of the intercepts but along
    their sum, where f is flat and no run moves, and r is the largest singular value of M S^+.

    For least squares s = 1 everywhere, and mu is a bound on the curvature of f. For other losses s
    falls far from the best constant model (the coefficients 0 and the best intercept), where it is
    taken: there mu is what the first steps see.
    """
    at = np.zeros(problem.shape)
    if not problem.in_parts:
        at[-1] = problem.best_constant()
    outputs = at[-1].size
    responses = []
    for k in range(outputs):
        push = np.zeros(at.shape)
        push.reshape(-1, outputs)[-1, k] = INTERCEPT_STEP
        change = problem.gradient(at + push) - problem.gradient(at - push)
        responses.append(change.reshape(-1, outputs) / (2.0 * INTERCEPT_STEP))
    blocks = np.array(responses)  # output pushed, variable, output that answers
    S = blocks[:, -1, :]
    M = blocks[:, :-1, :].reshape(outputs, -1)
    values, vectors = np.linalg.eigh(0.5 * (S + S.T))
    moves = values > FLAT_INTERCEPT * values[-1]
    least = float(np.min(problem.ridges[: problem.d]))
    if not moves.any() or values[-1] <= 0.0:
        return 0.0
    s = float(values[moves][0])
    mean_row = (vectors[:, moves] / values[moves]).T @ M
    r = float(np.linalg.norm(mean_row, 2))
    return least * s / (least + s * (1.0 + r * r))


def constants(problem: Objective) -> Constants:
    h = bound(problem)
    ridge = float(np.max(problem.ridge))
    L_max = h * problem.largest_row2 + ridge
    if problem.gram_fits:
        whole, vectors, moves = _spectrum(problem)
        L = float(whole[-1])
        mu = float(np.min(problem.ridge))
        if problem.loss.quadratic and moves.any():
            mu = float(whole[moves][0])
        if L > 0:
            found = _row_constants(problem, whole, vectors)
        else:
            found = (None, None, None)
        kappa_tilde, R2, R2_tilde = found
        # but for rounding
        if R2 is None:
            R2 = None
        else:
            R2 = min(max(R2, L), max(L, L_max))
        reads = 3 if R2 is None else 5  # row norms, Gram, leverages, and Gram with two weights
        spectrum = _nodes(whole, np.ones_like(whole), moves)
        return Constants(L, mu, max(L, L_max), kappa_tilde, True, R2, R2_tilde, reads, spectrum)
    return _by_lanczos(problem, L_max, LANCZOS_STEPS)


def _by_lanczos(problem: Objective, L_max: float, steps: int) -> Constants:
    """L from above but for bad luck with the start; mu is what l2 gives."""
    h = bound(problem)
    ridge = problem.ridge
    ritz, count, residual = lanczos(problem, steps)
    top = float(ritz[-1])
    L = h * min(LANCZOS_MARGIN * (top + residual), problem.mean_row2) + float(np.max(ridge))
    reads = 1 + 2 * min(steps, problem.width)
    mu = float(np.min(ridge))
    spectrum = _nodes(h * np.maximum(ritz, 0.0) + mu, count, ritz > FLAT_RITZ * top)
    return Constants(min(L, L_max), mu, L_max, None, exact=False, reads=reads, spectrum=spectrum)


def _nodes(
    lam: Array, count: Array, moves: Array
) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """The part of a spectrum that moves w, in few nodes."""
    moves = moves & (lam > 0.0) & (count > 0.0)
    if not moves.any():
        return None
    nodes, times = reduced(lam[moves], count[moves])
    return tuple(nodes.tolist()), tuple(times.tolist())


def estimated(problem: Objective) -> Constants:
    """Constants from a sample of the rows, or few Lanczos steps, where all would take long."""
    sample = problem.sample(SAMPLE_FLOPS)
    if not sample.gram_fits:
        L_max = bound(problem) * problem.largest_row2 + float(np.max(problem.ridge))
        return _by_lanczos(problem, L_max, GUARDED_STEPS)
    c = sample.constants()
    if sample is problem:
        return c
    margin, wider = SAMPLE_MARGINS

    def grown(size: float | None) -> float | None:
        if size is None:
            return None
        return wider * size

    return replace(
        c, L=margin * c.L, mu=min(c.mu, margin * c.L), L_max=wider * c.L_max, exact=False, reads=1,
        kappa_tilde=grown(c.kappa_tilde), R2=grown(c.R2), R2_tilde=grown(c.R2_tilde),
    )  # fmt: skip
