"""MaSS and its constants: closed forms that know the batch."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

import numpy as np

from . import _rules
from .schedule import FloatArray, Schedule

Number = TypeVar("Number", float, FloatArray)


class Averaging(NamedTuple):
    """When and how lookahead averages the noise out; found by exact dynamics, see docs/auto.md."""

    after: float = 3.5  # The first part takes so many time constants,
    latest: float = 0.5  # but at most this share of T.
    growth: float = 1.0 / 3.0  # The memory grows by so much a step.
    forgetting: float = 1.5  # The slowest direction forgets as this power of the time.
    shortest: float = 0.25  # The least effective step is this over L_m.

    def start(self, tau: float, T: int) -> float:
        """K, the first step that is not of the constant part, for the time constant tau."""
        return min(self.after * tau, self.latest * T)


AVERAGING = Averaging()


def sampling_noise(where: str, n: object, b: object) -> float:
    """zeta0^2 = (n - b)/((n - 1) b), the variance factor of a batch without replacement."""
    n_, b_ = _rules.given(where, n=n, b=b)
    if b_ == n_:
        return 0.0
    return float((n_ - b_) / ((n_ - 1) * b_))


def expected_smoothness(L: float, L_max: float, zeta2: float) -> float:
    """The curvature of a batch, (1 - zeta0^2) L + zeta0^2 L_max: the constant of SGD's safe step.

    >>> expected_smoothness(2.0, 10.0, 0.5)
    6.0
    """
    return (1.0 - zeta2) * L + zeta2 * L_max


def batch_constants(
    L: float, mu: float, L_max: float, kappa_tilde: float, zeta2: float
) -> tuple[float, float, float]:
    """L_m, kappa_m and c = sqrt(kappa_m L_m/mu) of a batch: MaSS has the rate 1 - 1/(2c).

    kappa_m = (1 - zeta0^2) + zeta0^2 kappa~, and at least 1.

    >>> batch_constants(4.0, 1.0, 8.0, 3.0, zeta2=0.5)
    (6.0, 2.0, 3.4641016151377544)
    """
    L_m = expected_smoothness(L, L_max, zeta2)
    kappa_m = max(1.0, (1.0 - zeta2) + zeta2 * kappa_tilde)
    return L_m, kappa_m, max(1.0, math.sqrt(kappa_m * L_m / mu))  # L_m >= mu, but for rounding


def heavy_ball_rule(L: float, mu: float, L_max: float, zeta2: float) -> tuple[float, float]:
    """Heavy ball: limit the effective step alpha/(1 - beta) to 1/(zeta0^2 L_max + sqrt(mu L)).

    >>> alpha, beta = heavy_ball_rule(L=100.0, mu=1.0, L_max=100.0, zeta2=0.0)
    >>> alpha, round(beta, 12)
    (0.01, 0.9)
    """
    effective = 1.0 / (zeta2 * L_max + math.sqrt(mu * L))
    alpha = min(1.0 / L, effective)
    return alpha, max(0.0, 1.0 - alpha / effective)


def lookahead_rule(
    L: float, mu: float, L_max: float, kappa_tilde: float, zeta2: float
) -> tuple[float, float, float]:
    """MaSS with 1/m replaced by zeta0^2; b = n gives Nesterov's constant scheme.

    >>> alpha, beta, theta = lookahead_rule(4.0, 1.0, 8.0, 3.0, zeta2=0.0)
    >>> alpha, round(beta, 12) == round(theta, 12) == round(1 / 3, 12)
    (0.25, True)
    """
    L_m, kappa_m, c = batch_constants(L, mu, L_max, kappa_tilde, zeta2)
    return _with_memory(c, L_m, kappa_m)


def _with_memory(c: Number, L_m: float, kappa_m: float) -> tuple[Number, Number, Number]:
    """(alpha, beta, theta) of MaSS that remembers about c steps."""
    beta = (c - 1.0) / (c + 1.0)
    e1 = 1.0 / L_m
    alpha = e1 * (1.0 + c / kappa_m) / (c + 1.0)  # e1 - e2, without cancellation
    return alpha, beta, beta * e1 / alpha


def mass(T: int, L: float, mu: float, L_max: float, kappa_tilde: float, n: int, b: int) -> Schedule:
    """MaSS (momentum-added stochastic solver), constant, for a batch without replacement.

    With L_m = (1 - z) L + z L_max, kappa_m = max(1, (1 - z) + z kappa~), z = zeta0^2 and
    c = sqrt(kappa_m L_m/mu):  e1 = 1/L_m,  e2 = e1 c/(c+1) (1 - 1/kappa_m),
    alpha = e1 - e2,  beta = (c-1)/(c+1),  theta = beta e1/alpha.

    Guarantee: the rate 1 - 1/c a step under interpolation, proved for z = 1/b
    (``mass_published``). Source: Liu and Belkin (2020); at b = n this is Nesterov's scheme.

    Parameters
    ----------
    T, n, b : int
        Numbers of steps, of rows and of rows in a batch: T >= 1, 1 <= b <= n.
    L, mu, L_max, kappa_tilde : float
        Extreme eigenvalues of the Hessian A, 0 < mu <= L; largest curvature L_max >= L of one row's
        loss; largest x_i^T A^-1 x_i over the rows.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = mass(1, L=4.0, mu=1.0, L_max=8.0, kappa_tilde=3.0, n=10, b=10)
    >>> round(float(s.beta[0]), 4) == round(float(s.theta[0]), 4) == 0.3333
    True
    """
    known = {"T": T, "L": L, "mu": mu, "L_max": L_max, "kappa_tilde": kappa_tilde}
    T, L, mu, L_max, tilde = _rules.given("mass", **known)
    three = lookahead_rule(L, mu, L_max, tilde, sampling_noise("mass", n, b))
    return Schedule(*three, "mass", T=T)


def mass_averaged(
    T: int, L: float, mu: float, L_max: float, kappa_tilde: float, n: int, b: int
) -> Schedule:
    """MaSS while the start is forgotten, then an average over a memory that grows: a closed form.

    The memory of ``mass`` grows as c_k = min(c, k + 2). If b < n, then t steps after
    K = min(7 c, T/2),

        c_k = c_K + t/3,   s_k = max(1/(4 L_m), s_K/(1 + mu_T s_K t/1.5)),
        alpha = 2 s/(c + 1),   beta = (c - 1)/(c + 1),   alpha theta = beta/L_m,

    where s = alpha/(1 - beta) and mu_T = max(mu, kappa_m L_m (7/T)^2).

    Guarantee: on least squares every step from c_k = c on is inside
    ``theory.lookahead_certificate``. Source: ``mass``; the shape of the average was found by exact
    dynamics. The explorer draws this table; ``auto`` ends lower.

    Parameters
    ----------
    T, L, mu, L_max, kappa_tilde, n, b : number
        As for ``mass``.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = mass_averaged(100, 4.0, 1.0, 8.0, 3.0, n=1000, b=10)
    >>> (s.alpha / (1 - s.beta)).round(3)[[5, 17, 50, 99]].tolist()  # the effective step
    [0.332, 0.275, 0.057, 0.057]
    """
    known = {"T": T, "L": L, "mu": mu, "L_max": L_max, "kappa_tilde": kappa_tilde}
    T, L, mu, L_max, tilde = _rules.given("mass_averaged", **known)
    zeta2 = sampling_noise("mass_averaged", n, b)
    return Schedule(*lookahead_table(T, L, mu, L_max, tilde, zeta2), "mass-avg")


def lookahead_table(
    T: int,
    L: float,
    mu: float,
    L_max: float,
    kappa_tilde: float,
    zeta2: float,
    how: Averaging = AVERAGING,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The three columns of ``mass_averaged``: MaSS, then averages.

    >>> alpha, beta, theta = lookahead_table(100, 4.0, 1.0, 8.0, 3.0, zeta2=0.1)
    >>> (alpha / (1 - beta)).round(3)[[5, 17, 50, 99]].tolist()  # the effective step
    [0.331, 0.276, 0.057, 0.057]
    """
    k = np.arange(T, dtype=np.float64)
    L_m, kappa_m, full = batch_constants(L, mu, L_max, kappa_tilde, zeta2)
    alpha, beta, theta = _with_memory(np.minimum(full, k + 2.0), L_m, kappa_m)
    if zeta2 > 0.0:  # the full batch has no noise to average out
        K = how.start(2.0 * full, T)
        c = min(full, K + 2.0)
        effective = 0.5 * (1.0 + c / kappa_m) / L_m
        t = np.maximum(k - K, 0.0)
        # a curvature that needs a longer first part than T has the effect of a smaller one
        visible = kappa_m * L_m / min(full, max(1.0, 0.5 * T / how.after)) ** 2
        slowing = 1.0 + visible * effective * t / how.forgetting
        steps = np.maximum(how.shortest / L_m, effective / slowing)
        later = with_step(c + how.growth * t, steps, 1.0 / L_m)
        alpha, beta, theta = (
            np.where(t > 0.0, new, old) for new, old in zip(later, (alpha, beta, theta))
        )
    return np.minimum(alpha, _longest(theta, L_max, zeta2)), beta, theta


def with_step(c: Number, effective: Number, short: float) -> tuple[Number, Number, Number]:
    """(alpha, beta, theta) with memory c, alpha = (1 - beta) effective, alpha theta = beta short.

    ``effective`` is how far a gradient moves w in the long run.

    >>> with_step(3.0, 0.5, 0.25)
    (0.25, 0.5, 0.5)
    """
    alpha = 2.0 * effective / (c + 1.0)
    beta = (c - 1.0) / (c + 1.0)
    return alpha, beta, beta * short / alpha


def _longest(theta: Number, L_max: float, zeta2: float) -> Number | float:
    """The longest alpha that the certificate allows to MaSS.

    MaSS moves y by alpha (1 + theta), which at b = 1 (the only batch with zeta0^2 > 1/2) is up
    to (1 + 1/kappa~)/L_max: longer than the certificate allows where kappa~ is small (at
    kappa~ = 1 it holds for 0.66 of the noise). From b = 2 on MaSS is certified as it is.
    """
    if zeta2 > 0.5:
        return 1.0 / ((1.0 + theta) * L_max)
    return math.inf


def design(
    L: float, mu: float, L_max: float, kappa_tilde: float | None, zeta2: float
) -> tuple[float, float, float]:
    """Constant (alpha, beta, theta) inside a certificate, for streams and for plans.

    Where kappa~ is known this is MaSS, with the shorter step that its certificate asks for at
    b = 1. Elsewhere it is heavy ball, smooth in its arguments, with at least a quarter of
    the best certified 1 - rate.

    >>> design(4.0, 1.0, 8.0, None, zeta2=0.0)
    (0.25, 0.5, 0.0)
    >>> alpha, beta, theta = design(4.0, 1.0, 8.0, 3.0, zeta2=1.0)
    >>> round(alpha * (1 + theta) * 8.0, 12)
    1.0
    """
    if kappa_tilde is None:
        return (*heavy_ball_rule(L, mu, L_max, zeta2), 0.0)
    alpha, beta, theta = lookahead_rule(L, mu, L_max, kappa_tilde, zeta2)
    return min(alpha, _longest(theta, L_max, zeta2)), beta, theta


def accelerating_batch(n: int, L: float, mu: float, L_max: float) -> int:
    """The smallest batch with zeta0^2 L_max <= sqrt(mu L): full acceleration, certified.

    >>> accelerating_batch(10_000, L=100.0, mu=1.0, L_max=400.0)
    40
    """
    ratio = L_max / math.sqrt(mu * L)
    return min(n, max(1, math.ceil(n / (1.0 + (n - 1) / ratio))))
