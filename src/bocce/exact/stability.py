"""Mean-square stability: the exact rate, the critical batch size and the stationary noise."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from ..problems import Problem
from ..sampling import batch_rows
from ..schedules import _rules
from ..theory.batch import zeta2
from ..theory.certificate import noise_free_rate
from .gaussian import Gaussian, batch_at, critical_strength, loop_gain, sampling
from .moments import FloatArray, RowNoise, frame_of, noise_of
from .response import injected, perron, response

Three = tuple[float, float, float]  # alpha, beta, theta

LANCZOS_PRODUCTS = 60  # products that one eigenvalue or one solve takes, for the cost model
ROOT_EVALUATIONS = 12  # eigenvalues that one rate takes, for the cost model
LARGEST_STEP = 1e60  # of alpha lambda_max (1 + theta): its fourth power is still a float
NEAREST = 1e-10  # a rate so near the noise-free radius counts as equal to it


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


def step_limit(beta: float, theta: float, lam_max: float) -> float:
    """Without noise the update is stable if and only if alpha is below this."""
    return 2.0 * (1.0 + beta) / ((1.0 + 2.0 * theta) * lam_max)


class _Update:
    """Constant parameters of the update, and the eigenvalues of the Hessian that they meet."""

    def __init__(self, where: str, lam: FloatArray, three: Three) -> None:
        self.where = where
        self.lam = lam
        self.lam_max = float(lam.max())
        self.three, (alpha, _, theta) = three, three
        self.push2 = alpha**2  # what a step multiplies the covariance of a gradient with
        if alpha * self.lam_max * (1.0 + theta) > LARGEST_STEP:
            raise ValueError(
                f"{where}: {self} times lambda_max={self.lam_max:.6g} is beyond {LARGEST_STEP:g}, "
                f"squares would overflow; take alpha near 1/lambda_max = {1.0 / self.lam_max:.6g}."
            )

    def __str__(self) -> str:
        return "alpha={:.6g}, beta={:.6g}, theta={:.6g}".format(*self.three)

    def require_noise_free_stability(self) -> None:
        alpha, beta, theta = self.three
        limit = step_limit(beta, theta, self.lam_max)
        if alpha >= limit:
            raise ValueError(
                f"{self.where}: {self} is unstable at every batch size, b = n too (lambda_max="
                f"{self.lam_max:.6g}); take alpha < 2 (1 + beta)/((1 + 2 theta) lambda_max) = "
                f"{limit:.6g}."
            )


class _RowFeedback:
    """How the noise of sampling a data set returns to itself, through pairs of directions."""

    pairs = True

    def __init__(self, where: str, p: Problem, products: int, three: Three) -> None:
        frame = frame_of(where, p)
        if frame.all_eigenvalues.size == 0:
            raise ValueError(
                f"{where}: X is zero and l2={p.l2}, nothing moves; give data with a nonzero row."
            )
        self.update = _Update(where, frame.all_eigenvalues, three)
        self.where = where
        self.frame = frame
        self.products = products
        self.lam = frame.lam
        self.noise_free = p.n == 1 or frame.rank == 0

    def sampling(self, batch_size: int | float) -> tuple[int, float]:
        n = self.frame.p.n
        b = batch_rows(self.where, batch_size, n)
        return b, 0.0 if self.noise_free else zeta2(n, b)

    @functools.cached_property
    def noise(self) -> RowNoise:
        return noise_of(self.where, self.frame, self.products)

    def gain(self, zeta0_2: float, G: FloatArray) -> float:
        """What a unit of noise comes back as; stable in mean square below 1."""
        return zeta0_2 * self.update.push2 * perron(self.noise, G)

    def critical(self, G: FloatArray) -> float:
        # rounding may give -1e-17
        n = self.frame.p.n
        most = max(self.gain(1.0, G), 0.0)
        return float(n * most / (most + n - 1.0))

    def variance(self, zeta0_2: float, G: FloatArray, R: FloatArray) -> FloatArray:
        covariance = injected(self.noise, G, zeta0_2 * self.update.push2)
        return np.maximum(R.diagonal() * covariance, 0.0)


class _GaussianFeedback:
    """The same for a Gaussian model, whose directions feed one another by a trace alone."""

    pairs = False
    noise_free = False

    def __init__(self, where: str, model: Gaussian, three: Three) -> None:
        self.where = where
        self.model = model
        self.lam = model.spectrum
        self.update = _Update(where, self.lam, three)

    def sampling(self, batch_size: int | float) -> tuple[int, float]:
        return sampling(self.where, self.model, batch_size)

    def _own(self, zeta0_2: float, G: FloatArray) -> FloatArray:
        return zeta0_2 * self.update.push2 * self.lam**2 * G

    def gain(self, zeta0_2: float, G: FloatArray) -> float:
        return loop_gain(self._own(zeta0_2, G))

    def critical(self, G: FloatArray) -> float:
        return batch_at(self.model, critical_strength(self._own(1.0, G)))

    def variance(self, zeta0_2: float, G: FloatArray, R: FloatArray) -> FloatArray:
        u = self._own(zeta0_2, G)
        trace = self.model.noise / (1.0 - loop_gain(u))  # tr(A P_y) + noise, at rest
        return R * (zeta0_2 * self.update.push2 * self.lam * trace / (1.0 - u))


def _feedback(
    where: str, p: Problem | Gaussian, products: int, alpha: float, beta: float, theta: float
) -> _RowFeedback | _GaussianFeedback:
    alpha, beta, theta = _rules.given(where, alpha=alpha, beta=beta, theta=theta)
    if isinstance(p, Gaussian):
        return _GaussianFeedback(where, p, (alpha, beta, theta))
    return _RowFeedback(where, p, products, (alpha, beta, theta))


def mean_square_rate(
    p: Problem | Gaussian, alpha: float, beta: float, batch_size: int | float, theta: float = 0.0
) -> float:
    """The factor a step of the root mean square error: sqrt of the operator's spectral radius.

    The update is ``y = w + theta (w - w_prev)``, ``w_next = w + beta (w - w_prev) - alpha g(y)``.
    The operator ``Sigma -> H Sigma H^T + alpha^2 zeta0^2 N_h(P_y)`` on second moments of the errors
    is positive. So its radius is the rate^2 at which ``alpha^2 zeta0^2 radius(Q -> N_h(G_rate o
    Q)) = 1`` (`response`), or that of the noise-free update where the left side stays below 1.

    Exact for least squares, without the noise at the minimiser; directions that no update moves are
    left out. Source: docs/theory/critical-batch.md; ``thm:SHB_quad`` bounds it from above.

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

    Examples
    --------
    >>> import bocce
    >>> p = bocce.LeastSquares(np.array([[1.0], [3.0]]), np.zeros(2))
    >>> round(mean_square_rate(p, alpha=0.2, beta=0.0, batch_size=1), 12)
    0.8
    """
    products = ROOT_EVALUATIONS * LANCZOS_PRODUCTS
    returns = _feedback("mean_square_rate", p, products, alpha, beta, theta)
    update, (_, zeta0_2) = returns.update, returns.sampling(batch_size)
    still = noise_free_rate(*update.three, update.lam)
    if zeta0_2 == 0.0:
        return still

    def excess(rate: float) -> float:
        """Positive above the rate sought; -1 where the noise-free sum diverges already."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            G, _ = response(returns.lam, *update.three, rate, pairs=returns.pairs)
        if not (np.isfinite(G).all() and (G > 0.0).all()):
            return -1.0
        return 1.0 / max(returns.gain(zeta0_2, G), 0.5) - 1.0

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

    With the update and the operator of `mean_square_rate`,

        1 / zeta_c^2 = alpha^2 radius(Q -> N_h(G o Q)),      b_c = n / (1 + (n - 1) zeta_c^2).

    Exact for least squares: the smallest stable batch is floor(b_c) + 1, and a value below 1 says
    that every batch is stable. Source: ``thm:divergence-n-case`` made exact, for any data;
    docs/theory/critical-batch.md.

    Parameters
    ----------
    p, alpha, beta, theta : Problem or exact.Gaussian, float, float, float
        As for ``mean_square_rate``.

    Returns
    -------
    float

    Examples
    --------
    >>> import bocce
    >>> n, beta = 100, 0.25                              # sample i touches coordinate i only
    >>> p = bocce.LeastSquares(np.sqrt(n) * np.eye(n), np.zeros(n))
    >>> bool(np.isclose(critical_batch_size(p, 1.0, beta), n / (1 + 0.75 * 1.5 / 1.25)))
    True
    """
    returns = _feedback("critical_batch_size", p, LANCZOS_PRODUCTS, alpha, beta, theta)
    returns.update.require_noise_free_stability()
    if returns.noise_free:
        return 0.0
    return returns.critical(response(returns.lam, *returns.update.three, pairs=returns.pairs)[0])


def stationary(
    p: Problem | Gaussian, alpha: float, beta: float, batch_size: int | float, theta: float = 0.0
) -> Stationary:
    """What constant parameters leave: the limits of E||w - w*||^2, E||grad f||^2 and E f - f*.

    The update is that of `mean_square_rate`. The injected covariance q solves ``q = alpha^2
    zeta0^2 (N_h(G o q) + S)``, ``S = E[r^2 x x^T] - c c^T``. The covariance of w is ``R o q``
    (`response`). Exact for least squares and b > b_c; where the Hessian is singular, the distance
    is to the nearest minimiser. Source: replaces the noise term of ``thm:SHB_quad``;
    docs/theory/critical-batch.md.

    Parameters
    ----------
    p, alpha, beta, batch_size, theta : Problem or exact.Gaussian, numbers
        As for ``mean_square_rate``.

    Returns
    -------
    Stationary

    Raises
    ------
    ValueError
        No such limit: b is not above the critical batch size.

    Examples
    --------
    >>> import bocce
    >>> p = bocce.LeastSquares(np.ones((2, 1)), np.array([-1.0, 1.0]))
    >>> stationary(p, alpha=0.5, beta=0.0, batch_size=1).error2  # 1/4 (e^2 + 1) at rest
    0.3333333333333333
    """
    returns = _feedback("stationary", p, 2 * LANCZOS_PRODUCTS, alpha, beta, theta)
    update, (b, zeta0_2) = returns.update, returns.sampling(batch_size)
    update.require_noise_free_stability()
    if zeta0_2 == 0.0:
        return Stationary(0.0, 0.0, 0.0)
    G, R = response(returns.lam, *update.three, pairs=returns.pairs)
    critical = returns.critical(G)
    lam = returns.lam
    if b <= critical:
        raise ValueError(
            f"stationary: batch_size={b} must be above the critical batch size {critical:.6g} of "
            f"{update}: the error grows without limit; take at least "
            f"{int(critical) + 1} rows, or lower alpha or beta."
        )
    variance = returns.variance(zeta0_2, G, R)
    return Stationary(
        float(variance.sum()), float(lam**2 @ variance), float(0.5 * (lam @ variance))
    )
