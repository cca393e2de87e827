"""Mean-square stability: the exact rate, the critical batch size and the stationary noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from ..problems import Problem
from ..sampling import batch_rows
from ..schedules import _rules
from ..theory.batch import zeta2
from .gaussian import Gaussian, batch_at, critical_strength, loop_gain
from .moments import Eigenframe, FloatArray, RowNoise, frame_of, noise_of
from .response import injected, perron, response

LANCZOS_PRODUCTS = 60  # products that one eigenvalue or one solve takes, for the cost model
ROOT_EVALUATIONS = 12  # eigenvalues that one rate takes, for the cost model
LARGEST_STEP = 1e60  # of alpha lambda_max (1 + theta): its fourth power is still a float
NEAREST = 1e-10  # how near the noise-free radius a rate is told apart from it


@dataclass(frozen=True)
class Stationary:
    """The limits of a run with constant parameters as k grows.

    Attributes
    ----------
    error2, grad2, gap : float
        The limits of E||w_k - w*||^2, of E||grad f(w_k)||^2 and of E f(w_k) - f*.
    """

    error2: float
    grad2: float
    gap: float


@dataclass(frozen=True)
class _Update:
    """Constant parameters of the three-parameter update, along Hessian eigenvalues."""

    alpha: float
    beta: float
    theta: float

    def radius(self, lam: FloatArray) -> float:
        """Largest |root| of z^2 - c1 z - c2 without noise, c1 + c2 = 1 - alpha lambda."""
        c2 = self.theta * self.alpha * lam - self.beta
        c1 = 1.0 - self.alpha * lam - c2
        spread = c1**2 + 4.0 * c2
        real = 0.5 * (np.abs(c1) + np.sqrt(np.maximum(spread, 0.0)))
        return float(np.max(np.where(spread < 0.0, np.sqrt(np.maximum(-c2, 0.0)), real)))

    def step_limit(self, lam_max: float) -> float:
        """Without noise the update is stable iff alpha is below this."""
        return 2.0 * (1.0 + self.beta) / ((1.0 + 2.0 * self.theta) * lam_max)

    def __str__(self) -> str:
        return f"alpha={self.alpha:.6g}, beta={self.beta:.6g}, theta={self.theta:.6g}"


def mean_square_rate(
    p: Problem | Gaussian, alpha: float, beta: float, batch_size: int | float, theta: float = 0.0
) -> float:
    """The factor a step of the root mean square error: sqrt of the operator's spectral radius.

    The update is house-wide: ``y = w + theta (w - w_prev)``, ``w_next = w + beta (w - w_prev) -
    alpha g(y)``. The operator is ``Sigma -> H Sigma H^T + alpha^2 zeta0^2 N_h(P_y)`` on second
    moments of (w_k - w*, w_{k-1} - w*), without the data's noise.

    The formula: the operator is positive, so its radius is the rate^2 at which
    ``alpha^2 zeta0^2 radius(Q -> N_h(G_rate o Q)) = 1`` (`response`), or that of the noise-free
    update where the left side stays below 1. Below 1 the noise-free part of E||w_k - w*||^2 decays
    as rate^(2k); above 1 it grows without limit. Directions that no update moves are left out.

    Source: docs/theory/critical-batch.md; the paper's ``thm:SHB_quad`` bounds it from above.

    Parameters
    ----------
    p : Problem or exact.Gaussian
        A least-squares problem, or a model that is known by its spectrum.
    alpha, beta, theta : float
        Step size > 0; momentum 0 <= beta < 1; lookahead >= 0 (0 is heavy ball, beta is Nesterov).
    batch_size : int or float
        The batch: rows (int), or a share of n (float in (0, 1]).

    Returns
    -------
    float
        The factor a step; below 1 the parameters are stable in mean square.

    Examples
    --------
    >>> import numpy as np, bocce
    >>> from bocce.exact import mean_square_rate
    >>> p = bocce.LeastSquares(np.array([[1.0], [3.0]]), np.zeros(2))
    >>> round(mean_square_rate(p, alpha=0.2, beta=0.0, batch_size=1), 12)
    0.8
    """
    where = "mean_square_rate"
    update = _update(where, alpha, beta, theta)
    if isinstance(p, Gaussian):
        _require_moderate_step(where, update, p.spectrum)
        lam = p.spectrum
        u = p.sampling(where, batch_size)[1] * alpha**2 * lam**2
        return _rate(update, lam, lam, lambda G: loop_gain(u * G), pairs=False)
    frame = _prepared(where, p, update)
    b = batch_rows(where, batch_size, p.n)
    if b == p.n or frame.rank == 0:
        return update.radius(frame.all_eigenvalues)
    noise = noise_of(where, frame, ROOT_EVALUATIONS * LANCZOS_PRODUCTS)
    strength = zeta2(p.n, b) * alpha**2
    return _rate(update, frame.all_eigenvalues, frame.lam, lambda G: strength * perron(noise, G))


def _rate(
    update: _Update,
    every: FloatArray,
    lam: FloatArray,
    gain_of: Callable[[FloatArray], float],
    pairs: bool = True,
) -> float:
    """The rate at which what the noise adds, ``gain_of`` its response, is just 1."""
    still = update.radius(every)

    def excess(rate: float) -> float:
        """Positive above the rate sought; -1 where the noise-free sum diverges already."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            G, _ = response(lam, update.alpha, update.beta, update.theta, rate, pairs=pairs)
        if not (np.isfinite(G).all() and (G > 0.0).all()):
            return -1.0
        return 1.0 / max(gain_of(G), 0.5) - 1.0

    low = max(still, NEAREST) * (1.0 + NEAREST)
    if excess(low) >= 0.0:
        return still
    high = low
    while excess(high) <= 0.0:
        high = 2.0 * high
    return float(brentq(excess, low, high, xtol=1e-15, rtol=1e-14))


def critical_batch_size(
    p: Problem | Gaussian, alpha: float, beta: float, theta: float = 0.0
) -> float:
    """The real number b_c above which constant parameters are stable in mean square.

    The update as in `mean_square_rate`. The formula::

        1 / zeta_c^2 = alpha^2 radius(Q -> N_h(G o Q)),      b_c = n / (1 + (n - 1) zeta_c^2)

    Stable for b > b_c, unstable for b < b_c; the smallest stable batch is floor(b_c) + 1. A value
    below 1 (0 where the rows' curvatures do not differ) says that every batch is stable. For
    least squares it is exact; the data's noise plays no part.

    Source: ``thm:divergence-n-case`` made exact, for any data; docs/theory/critical-batch.md.

    Parameters
    ----------
    p, alpha, beta, theta : Problem or exact.Gaussian, float, float, float
        As for ``mean_square_rate``.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np, bocce
    >>> from bocce.exact import critical_batch_size
    >>> n, beta = 100, 0.25                              # sample i touches coordinate i only
    >>> p = bocce.LeastSquares(np.sqrt(n) * np.eye(n), np.zeros(n))
    >>> bool(np.isclose(critical_batch_size(p, 1.0, beta), n / (1 + 0.75 * 1.5 / 1.25)))
    True
    """
    where = "critical_batch_size"
    update = _update(where, alpha, beta, theta)
    if isinstance(p, Gaussian):
        _require_moderate_step(where, update, p.spectrum)
        return _gaussian_critical(where, update, p)
    frame = _prepared(where, p, update)
    _require_noise_free_stability(where, update, frame.all_eigenvalues)
    if p.n == 1 or frame.rank == 0:
        return 0.0
    noise = noise_of(where, frame, LANCZOS_PRODUCTS)
    return _critical(update, frame, noise)


def _returned(update: _Update, model: Gaussian) -> tuple[FloatArray, FloatArray]:
    """alpha^2 lam^2 G and R along each eigenvalue: how noise returns, and what it leaves in w."""
    lam = model.spectrum
    G, R = response(lam, update.alpha, update.beta, update.theta, pairs=False)
    return update.alpha**2 * lam**2 * G, R


def _gaussian_critical(where: str, update: _Update, model: Gaussian) -> float:
    _require_noise_free_stability(where, update, model.spectrum)
    return batch_at(model, critical_strength(_returned(update, model)[0]))


def _critical(update: _Update, frame: Eigenframe, noise: RowNoise) -> float:
    G, _ = response(frame.lam, update.alpha, update.beta, update.theta)
    gain = max(update.alpha**2 * perron(noise, G), 0.0)  # 1 / zeta_c^2; rounding may give -1e-17
    return float(frame.p.n * gain / (gain + frame.p.n - 1.0))


def stationary(
    p: Problem | Gaussian, alpha: float, beta: float, batch_size: int | float, theta: float = 0.0
) -> Stationary:
    """What constant parameters leave: the limits of E||w - w*||^2, E||grad f||^2 and E f - f*.

    The update as in `mean_square_rate`. The formula: the injected covariance q solves ``q = alpha^2
    zeta0^2 (N_h(G o q) + S)``, ``S = E[r^2 x x^T] - c c^T``, and the covariance of w is ``R o q``
    (`response`). Exists when b > b_c; proportional to sqrt(alpha) for heavy ball with the paper's
    momentum. Where the Hessian is singular, the distance is to the nearest minimiser.

    Source: replaces the noise term of ``thm:SHB_quad``; docs/theory/critical-batch.md.

    Parameters
    ----------
    p, alpha, beta, batch_size, theta : Problem or exact.Gaussian, numbers
        As for ``mean_square_rate``.

    Returns
    -------
    Stationary

    Examples
    --------
    >>> import numpy as np, bocce
    >>> from bocce.exact import stationary
    >>> p = bocce.LeastSquares(np.ones((2, 1)), np.array([-1.0, 1.0]))
    >>> stationary(p, alpha=0.5, beta=0.0, batch_size=1).error2  # 1/4 (e^2 + 1) at rest
    0.3333333333333333
    """
    where = "stationary"
    update = _update(where, alpha, beta, theta)
    if isinstance(p, Gaussian):
        _require_moderate_step(where, update, p.spectrum)
        return _gaussian_stationary(where, update, p, batch_size)
    frame = _prepared(where, p, update)
    _require_noise_free_stability(where, update, frame.all_eigenvalues)
    b = batch_rows(where, batch_size, p.n)
    if b == p.n or frame.rank == 0:
        return Stationary(0.0, 0.0, 0.0)
    noise = noise_of(where, frame, 2 * LANCZOS_PRODUCTS)
    _require_batch(where, b, _critical(update, frame, noise), update)
    G, R = response(frame.lam, alpha, beta, theta)
    covariance = injected(noise, G, alpha**2 * zeta2(p.n, b))
    return _left(frame.lam, np.maximum(R.diagonal() * covariance, 0.0))


def _left(lam: FloatArray, variance: FloatArray) -> Stationary:
    return Stationary(
        float(variance.sum()), float(lam**2 @ variance), float(0.5 * (lam @ variance))
    )


def _require_batch(where: str, b: int, critical: float, update: _Update) -> None:
    if b <= critical:
        raise ValueError(
            f"{where}: batch_size={b} must be above the critical batch size {critical:.6g} of "
            f"{update}: the error grows without limit; take at least "
            f"{int(critical) + 1} rows, or lower alpha or beta."
        )


def _gaussian_stationary(
    where: str, update: _Update, model: Gaussian, batch_size: int | float
) -> Stationary:
    b, zeta0_2 = model.sampling(where, batch_size)
    _require_batch(where, b, _gaussian_critical(where, update, model), update)
    returned, R = _returned(update, model)
    u = zeta0_2 * returned
    trace = model.noise / (1.0 - loop_gain(u))  # tr(A P_y) + noise, at rest
    injected = update.alpha**2 * zeta0_2 * model.spectrum * trace / (1.0 - u)
    return _left(model.spectrum, R * injected)


def _update(where: str, alpha: float, beta: float, theta: float) -> _Update:
    return _Update(*_rules.given(where, alpha=alpha, beta=beta, theta=theta))


def _prepared(where: str, p: Problem, update: _Update) -> Eigenframe:
    """The problem in its eigenbasis, if the update can be judged on it."""
    frame = frame_of(where, p)
    if frame.all_eigenvalues.size == 0:
        raise ValueError(
            f"{where}: X is zero and l2={p.l2}, nothing moves; give data with a nonzero row."
        )
    _require_moderate_step(where, update, frame.all_eigenvalues)
    return frame


def _require_moderate_step(where: str, update: _Update, lam: FloatArray) -> None:
    lam_max = float(lam.max())
    if update.alpha * lam_max * (1.0 + update.theta) > LARGEST_STEP:
        raise ValueError(
            f"{where}: {update} times lambda_max={lam_max:.6g} is beyond {LARGEST_STEP:g}, squares "
            f"would overflow; take alpha near 1/lambda_max = {1.0 / lam_max:.6g}."
        )


def _require_noise_free_stability(where: str, update: _Update, lam: FloatArray) -> None:
    lam_max = float(lam.max())
    limit = update.step_limit(lam_max)
    if update.alpha >= limit:
        raise ValueError(
            f"{where}: {update} is unstable at every batch size, b = n too (lambda_max="
            f"{lam_max:.6g}); take alpha < 2 (1 + beta)/((1 + 2 theta) lambda_max) = {limit:.6g}."
        )
