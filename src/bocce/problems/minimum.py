"""Minimisers to rounding, for reference, and the gradient noise there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..rows import Array

if TYPE_CHECKING:
    from .objective import Objective

NEWTON_STEPS = 100
PILOT_FLOPS = 1e7  # of the Gram matrix of a pilot
LARGEST_SHARE = 1e6  # of the noise in f(w_0) - f*: a start so near the minimiser
FLATTEST_NEWTON = 1e-22  # of the rows' size: the least curvature that Newton's method believes


@dataclass(frozen=True)
class Noise:
    """The gradient noise of a problem at its minimiser.

    Attributes
    ----------
    chi2, sigma2 : float
        The mean of ||grad f_i(w*)||^2; the mean of f_i(w*) - min f_i.
    """

    chi2: float
    sigma2: float


class Pilot(NamedTuple):
    """The noise of the targets over f(w_0) - f*; where the loss is not quadratic, the eigenvalues
    of the Hessian at the minimiser. None where not known."""

    noise: float | None
    spectrum: Array | None


def pilot(p: Objective, start: Array | None = None) -> Pilot:
    """What a twin of the data needs, from the minimiser on a sample of rows.

    The noise is mean_i ||grad f_i(w*)||^2 over the trace of the Hessian there: the variance of the
    targets around the best prediction, where it does not depend on the row. Nothing is known where
    no minimiser is found, or where the start is no worse.
    """
    sample = p.sample(PILOT_FLOPS)
    if not sample.gram_fits or sample.loss.multi_output:
        return Pilot(None, None)
    try:
        best = sample.minimiser()
    except ValueError:  # the sample has no minimiser
        return Pilot(None, None)
    gap = sample.value(np.zeros(p.shape) if start is None else start) - sample.value(best)
    if sample.loss.quadratic:
        curvatures = None
        trace = sample.mean_row2 + float(sample.ridges.sum())
    else:
        curvatures = np.maximum(np.linalg.eigvalsh(sample.hessian(best)), 0.0)
        curvatures += float(sample.ridges.min())
        trace = float(curvatures.sum())
    if not (gap > 0.0 and trace > 0.0):
        return Pilot(None, curvatures)
    noise = sample.row_gradient_mean2(best) / trace / gap
    return Pilot(min(noise, LARGEST_SHARE), curvatures)


def minimiser(p: Objective) -> Array:
    """w*: least squares by eigenvalues (LSQR where d is large), other losses by Newton's method."""
    if not p.loss.quadratic:
        return _by_newton(p)
    if p.gram_fits:
        return _by_eigenvalues(p)
    return _by_lsqr(p)


def _by_eigenvalues(p: Objective) -> Array:
    """Of least norm when there are several."""
    eigenvalues, vectors = np.linalg.eigh(p.gram + np.diag(p.ridges))
    usable = eigenvalues > p.width * np.finfo(float).eps * max(eigenvalues[-1], 0.0)
    inverse = np.divide(1.0, eigenvalues, where=usable, out=np.zeros(p.width))
    w = vectors @ (inverse * (vectors.T @ p.moment))
    for _ in range(2):  # refinement: the Gram matrix squares the condition number
        w = w - vectors @ (inverse * (vectors.T @ p.gradient(w)))
    return np.asarray(w)


def _by_lsqr(p: Objective) -> Array:
    """Rows times sqrt(c_i), then sqrt(n l2 r_j) on the diagonal: an ordinary least squares."""
    from scipy.sparse.linalg import LinearOperator, lsqr

    if p.weight is None:
        root = np.ones(p.n)
    else:
        root = np.sqrt(p.weight)
    damp = np.sqrt(p.n * p.ridges)
    operator = LinearOperator(
        (p.n + p.width, p.width),
        matvec=lambda w: np.concatenate([root * p.rows.times(w.ravel()), damp * w.ravel()]),
        rmatvec=lambda z: p.combine(root * z[: p.n]) + damp * z[p.n :],
        dtype=np.float64,
    )
    target = np.concatenate([root * p.y, np.zeros(p.width)])
    return np.asarray(lsqr(operator, target, atol=1e-14, btol=1e-14, iter_lim=10_000)[0])


def _by_newton(p: Objective) -> Array:
    w = np.zeros(p.shape)
    value, g = p.look(w)
    scale = np.sqrt(p.row_gradient_mean2(w))
    for _ in range(NEWTON_STEPS):
        if np.linalg.norm(g) <= 1e-13 * scale:
            break
        direction = _newton_direction(p, w, g)
        step = 1.0
        decrease = float(np.vdot(g, direction))
        slack = 1e-15 * abs(value)  # a decrease that drowns in rounding counts as made
        while p.value(w + step * direction) > value + 1e-4 * step * decrease + slack:
            step /= 2
        trial = w + step * direction
        new_value, new_g = p.look(trial)
        if np.linalg.norm(new_g) >= np.linalg.norm(g) and new_value >= value:
            break  # rounding: no further progress can be measured
        w = trial
        value = new_value
        g = new_g
    if np.linalg.norm(g) > 1e-8 * scale or _escapes(p, w, g):
        raise ValueError(
            f"{p.loss.problem_name}: l2={p.l2!r} leaves no finite minimiser that could be reached "
            "(separable data?), must be > 0 then; add regularisation, for example l2=1e-4."
        )
    return w


def _escapes(p: Objective, w: Array, g: Array) -> bool:
    """Would Newton's method still move some x_i . w by a good part of 1?

    On the way to infinity the gradient vanishes but the steps do not.
    """
    if p.l2 > 0 or not g.any():
        return False
    step = _newton_direction(p, w, g)
    return p.largest_projection2(step.reshape(p.width, -1)) > 0.01**2


def _newton_direction(p: Objective, w: Array, g: Array) -> Array:
    if p.gram_fits and not p.loss.multi_output:
        H = p.hessian(w)
        level = 1e-14 * float(np.trace(H))
        # Where no row has curvature: Huber's loss far away, a hinge behind.
        if not level > FLATTEST_NEWTON * p.mean_row2:
            level = FLATTEST_NEWTON * max(p.mean_row2, 1e-300)
        return np.asarray(-np.linalg.solve(H + np.diag(p.ridges + level), g))
    from scipy.sparse.linalg import LinearOperator, cg

    z = p.predict(w)

    def multiply(v: Array) -> Array:
        v = v.reshape(p.shape)
        bent = p.combine(
            p.weighted(p.loss.bend_times(z, p.y, p.rows.times(v)))
        ) / p.n + p.penalty_gradient(v)
        return np.asarray(bent.ravel())

    H = LinearOperator((w.size, w.size), matvec=multiply, dtype=np.float64)
    return np.asarray(cg(H, -g.ravel(), rtol=1e-6, maxiter=500)[0].reshape(p.shape))


def noise_at(p: Objective, w: Array) -> Noise:
    if p.penalty is not None:
        raise ValueError(
            f"{p.loss.problem_name}: penalty and intercept must be left out for noise, which is "
            "defined for one l2 on all variables."
        )
    if p.loss.multi_output:
        raise ValueError(
            f"{p.loss.problem_name}: noise is defined for one score a row, must not be asked for "
            f"with the {p.loss.name} loss; make one class against the rest first."
        )
    values = p.losses(p.predict(w)) + p.ridge_value(w)
    sigma2 = max(0.0, float((values - _lowest(p)).mean()))
    return Noise(p.row_gradient_mean2(w), sigma2)


def _lowest(p: Objective) -> Array:
    """min over w of f_i, which is the minimum over z = x_i . w of c_i loss(z) + l2 z^2/(2 |x_i|^2).

    A row of zeros cannot be fitted at all; without l2 any other one can.
    """
    norms2 = p.rows.norms2
    live = norms2 > 0
    at_zero = p.losses(p.shifted(np.zeros(p.n)))
    if p.l2 == 0.0:
        return np.where(live, p.weighted(p.loss.infimum(p.y)), at_zero)
    y = p.y[live]
    ridge = p.l2 / p.weighted(norms2)[live]  # c_i comes out in front of both terms
    added = p.added(np.flatnonzero(live))
    if added is None:
        added = np.zeros(y.size)

    def derivatives(z: Array) -> tuple[Array, Array]:
        return p.loss.slope(z + added, y) + ridge * z, p.loss.bend(z + added, y) + ridge

    z = _root(derivatives, y.size)
    lowest = at_zero.copy()
    weight = 1.0 if p.weight is None else p.weight[live]
    lowest[live] = weight * (p.loss.value(z + added, y) + 0.5 * ridge * z**2)
    return lowest


def _root(slope_and_bend: Callable[[Array], tuple[Array, Array]], size: int) -> Array:
    """Where an increasing function of each of many numbers is zero: Newton kept in a bracket."""
    z = np.zeros(size)
    low = np.full(size, -np.inf)
    high = np.full(size, np.inf)
    with np.errstate(over="ignore", invalid="ignore"):  # far out, where nothing is kept
        for turn in range(NEWTON_STEPS):
            slope, bend = slope_and_bend(z)
            low = np.where(slope < 0, z, low)
            high = np.where(slope > 0, z, high)
            step = z - slope / bend
            middle = 0.5 * (low + high)
            inside = (step >= low) & (step <= high)
            if turn % 3 == 2 and 2 * turn < NEWTON_STEPS:  # an exponential is slow to come down
                inside &= ~np.isfinite(middle)
            z = np.where(inside, step, middle)
    return z
