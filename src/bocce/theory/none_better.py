"""A proof that no step and momentum beats the minimax heavy ball: cubics in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

from .. import _checks
from ..schedules import _rules
from ._arguments import batch_share

MOST_PIECES = 20_000  # of the interval of momenta
Cubic = tuple[Fraction, Fraction, Fraction, Fraction]


def none_better(rate: float, kappa: float, R: float, zeta2: float) -> bool:
    """Is it proved that Theorem S certifies no rate <= ``rate``, whatever alpha and beta are?

    At an eigenvalue lam a step alpha is certified if a concave quadratic Q_lam(alpha) >= 0. None
    serves both mu and lambda_max = 1 if, for some weight u, u Q_mu + (1-u) Q_1 has no real root:
    if its discriminant, a cubic in beta, is negative. The momenta 0 <= beta < rate^2 (no other
    can have this rate) are cut into pieces, each with a weight of its own, until the Bernstein
    coefficients of every cubic are negative. All of that in fractions: the arguments are taken as
    the rational numbers that floats are.

    Guarantee: True is a proof. False says only that none was found (as when ``rate`` is certified,
    or within rounding of it). Source: not in the paper; docs/theory/minimax.md.

    Parameters
    ----------
    rate, kappa, R, zeta2 : float
        Rate to exclude, 0 < rate < 1; condition number >= 1; ratio L_max/lambda_max >= 1; variance
        factor of a batch, ``theory.zeta2(n, b)``.

    Returns
    -------
    bool

    Examples
    --------
    >>> from bocce import theory
    >>> best = theory.best_heavy_ball(kappa=100.0, R=2.0, zeta2=0.01)
    >>> faster = 1 - (1 - best.rate) * (1 + 1e-6)  # a millionth better than what was found
    >>> [theory.none_better(rate, 100.0, 2.0, 0.01) for rate in (faster, best.rate)]
    [True, False]
    """
    where = "none_better"
    rate = _checks.real(where, "rate", rate, above=0.0, below=1.0, remedy="a factor a step")
    kappa = _rules.condition_number(where, kappa)
    R = _checks.real(where, "R", R, least=1.0, remedy="R is L_max/lambda_max")
    zeta2 = batch_share(where, zeta2)
    if zeta2 == 0.0:
        # without noise the rate of a quadratic is known: (sqrt(kappa) - 1)/(sqrt(kappa) + 1)
        r, k = Fraction(rate), Fraction(kappa)
        return (1 + r) ** 2 < k * (1 - r) ** 2
    problem = _Problem(rate, kappa, R, zeta2)
    pieces = [(Fraction(0), problem.r2)]
    for _ in range(MOST_PIECES):
        if not pieces:
            return True
        low, high = pieces.pop()
        middle = (low + high) / 2
        if not _negative(problem.cubic(problem.weight(float(middle))), low, high):
            if high - low < Fraction(1, 10**15):
                return False
            pieces += [(low, middle), (middle, high)]
    return False


class _Problem:
    """The discriminants for one rate and one set of constants, lambda_max = 1."""

    def __init__(self, rate: float, kappa: float, R: float, zeta2: float) -> None:
        self.r2 = Fraction(rate) ** 2
        self.mu = 1 / Fraction(kappa)
        noise, L_max = Fraction(zeta2), Fraction(R)
        # (r2 - beta) + nu (r2 + beta), times lam^2, nu = zeta0^2 (L_max - lam)/lam: const, slope
        self.bends = []
        for lam in (self.mu, Fraction(1)):
            nu = noise * (L_max - lam) / lam
            self.bends.append((lam**2 * self.r2 * (1 + nu), lam**2 * (nu - 1)))

    def cubic(self, u: Fraction) -> Cubic:
        """(1+beta)^2 (r2-beta) (u mu + 1-u)^2 - (1-r2)(1-beta^2/r2)(p0 + p1 beta), by powers."""
        g, q, r2 = (u * self.mu + 1 - u) ** 2, 1 - self.r2, self.r2
        (a0, a1), (b0, b1) = self.bends
        p0, p1 = u * a0 + (1 - u) * b0, u * a1 + (1 - u) * b1
        return (
            g * r2 - q * p0,
            g * (2 * r2 - 1) - q * p1,
            g * (r2 - 2) + q * p0 / r2,
            -g + q * p1 / r2,
        )

    def weight(self, beta: float) -> Fraction:
        """The u with the smallest discriminant at beta, a convex quadratic in u; to rounding."""
        mu, r2 = float(self.mu), float(self.r2)
        (a0, a1), (b0, b1) = ((float(x), float(y)) for x, y in self.bends)
        slope = -(1 - r2) * (1 - beta * beta / r2) * (a0 + a1 * beta - b0 - b1 * beta)
        bend = 2 * (1 + beta) ** 2 * (r2 - beta) * (1 - mu)
        if bend <= 0.0:
            return Fraction(1 if slope < 0.0 else 0)
        return Fraction(min(1.0, max(0.0, (1.0 - slope / bend) / (1.0 - mu))))


def _negative(cubic: Cubic, low: Fraction, high: Fraction) -> bool:
    """Are the Bernstein coefficients on [low, high] negative? Then so is the cubic."""
    d0, d1, d2, d3 = cubic
    w = high - low
    # powers of s = (beta - low)/w
    c0 = d0 + low * (d1 + low * (d2 + low * d3))
    c1 = w * (d1 + low * (2 * d2 + 3 * low * d3))
    c2 = w * w * (d2 + 3 * low * d3)
    c3 = w**3 * d3
    values = (c0, c0 + c1 / 3, c0 + (2 * c1 + c2) / 3, c0 + c1 + c2 + c3)
    return all(value < 0 for value in values)
