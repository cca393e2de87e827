"""``plan``: which batch, which parameters, how many steps, and why, before anything is run."""

from __future__ import annotations

import math
import textwrap
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import _checks, exact, sampling, theory
from ..control.anytime import Design, accelerating_batch
from ..problems import Constants, Problem
from ..schedules import shb
from ..schedules.adaptive import DECAY_START

EXACT_COLUMNS, EXACT_FLOPS = 40, 2e9  # beyond, no exact critical batch size
DECAY_LOSS = 4.0  # the decay's final error over the statistical limit
KNEE = 1.5  # steps, over those of the full batch
FLAT = 1.5  # gradient evaluations, over the fewest
WIDTH = 78


@dataclass(frozen=True)
class Point:
    """One batch size of the sweep: steps to the accuracy, and gradients of rows."""

    batch_size: int
    steps: int
    evaluations: int


@dataclass(frozen=True)
class Plan:
    """What ``plan`` found; ``str`` is a page for a terminal, ``to_dict`` for a program."""

    problem: str
    n: int
    d: int
    constants: Constants
    how: str  # how the constants were got
    mu: float  # the curvature planned for: mu, or where that is 0, accuracy L
    chi2: float | None  # the gradient noise at the minimiser
    paper_batch: float  # b* of Theorem 2, of n rows
    certified_batch: float  # from here on Theorem S certifies the paper's heavy ball
    exact_batch: float | None  # and this is where it is stable in truth
    accelerating: int  # from here on heavy ball is fully accelerated, certified
    knee: int  # a larger batch saves few steps
    cheapest: int  # the fewest gradient evaluations
    recommended: int
    batch_size: int  # the batch planned for
    method: str
    alpha: float
    beta: float
    theta: float
    steps: int  # expected to reach the accuracy
    T: int | None
    accuracy: float
    sweep: tuple[Point, ...]
    words: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        c = self.constants
        rows = [
            ("problem", self.problem),
            ("L, mu", f"{c.L:.4g}, {c.mu:.4g}  (kappa = {c.kappa:.4g})"),
            ("L_max, R = L_max/L", f"{c.L_max:.4g}, {_ratio(c):.4g}"),
            (
                "kappa~; R2, R2~",
                f"{_or_unknown(c.kappa_tilde)}; {_or_unknown(c.R2)}, {_or_unknown(c.R2_tilde)}",
            ),
            ("constants", self.how),
            ("noise chi^2 at w*", _or_unknown(self.chi2)),
            ("b*, the paper's", _batch(self.paper_batch, self.n)),
            ("  certified for its SHB", _batch(self.certified_batch, self.n)),
            ("  exact for its SHB", _batch(self.exact_batch, self.n)),
            ("full acceleration from", f"{self.accelerating}"),
            ("knee; cheapest batch", f"{self.knee}; {self.cheapest}"),
            ("recommended batch", f"{self.recommended}"),
            ("planned batch", f"{self.batch_size} of n = {self.n}"),
            ("method", f"{self.method}, with decay after {DECAY_START:g} T"),
            ("alpha, beta, theta", f"{self.alpha:.4g}, {self.beta:.6g}, {self.theta:.4g}"),
            ("steps expected", f"{self.steps} to {self.accuracy:g} of f(0) - f*"),
        ]
        gap = " " * 24
        lines = [
            textwrap.fill(f"{name:<24}{text}", WIDTH, subsequent_indent=gap) for name, text in rows
        ]
        return "\n".join([*lines, "", *textwrap.wrap(self.words, WIDTH)])


def _or_unknown(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


def _batch(b: float | None, n: int) -> str:
    if b is None:
        return "not computed (d or n too large, or not least squares)"
    return "no batch: even b = n is unstable" if math.isinf(b) else f"{b:.6g} rows of {n}"


def _ratio(c: Constants) -> float:
    return c.L_max / c.L if c.L > 0 else 1.0


def plan(
    p: Problem,
    batch_size: float | None = None,
    T: int | None = None,
    accuracy: float = 1e-6,
) -> Plan:
    """Constants, thresholds, the batch and parameters to take, and why, in words.

    For each batch size ``auto`` has a time constant tau(b), so the part before its decay needs
    tau ln(1/accuracy)/2 steps, and the noise (S its covariance at the minimiser) needs
    T = 4 zeta0^2 tr(A^-1 S)/(2 accuracy (f(0) - f*)): the larger of the first over 0.4 (the share
    of that part), and the second, is the number of steps expected. The *knee* is the smallest
    batch within 1.5 times the steps of b = n; the recommended batch is the largest within 1.5
    times the fewest gradient evaluations.

    Guarantee: for least squares the parameters are certified (``schedules.auto``) and the steps
    are an estimate; for logistic loss both are.

    Parameters
    ----------
    batch_size : plan for this one (rows, or a share of n); None is the recommended one.
    T : the steps you can afford; the plan says whether they are enough.
    accuracy : target for (f - f*)/(f(0) - f*).

    Examples
    --------
    >>> import bocce
    >>> X, y, _ = bocce.data.regression(n=1000, d=5, kappa=100.0)
    >>> plan = bocce.plan(bocce.LeastSquares(X, y))
    >>> plan.batch_size <= 100, plan.steps < 1000
    (True, True)
    """
    if not isinstance(p, Problem):
        raise TypeError(
            f"plan: p={type(p).__name__} must be a problem; build one with "
            "bocce.LeastSquares(X, y) or bocce.Logistic(X, y)."
        )
    accuracy = _checks.real("plan", "accuracy", accuracy, above=0.0, below=1.0, remedy="try 1e-6")
    if T is not None:
        T = _checks.integer("plan", "T", T, remedy="give the number of steps")
    wanted = None if batch_size is None else sampling.batch_rows("plan", batch_size, p.n)
    c = p.constants()
    L = c.L if c.L > 0 else 1.0
    mu = c.mu if c.mu > 0 else accuracy * L
    chi2, residual2, gap = _pilot(p)
    noise = 0.0 if residual2 is None else p.d * residual2 * (p.loss.curvature or 1.0)  # tr(A^-1 S)
    floor = DECAY_LOSS * noise / (2.0 * accuracy * gap) if gap > 0 else 0.0

    L_max = max(c.L_max, L)

    def course(b: int) -> Design:
        tilde = c.kappa_tilde if p.loss.quadratic else None
        return Design(p.n, L, L_max, tilde, mu, mu, b)

    def bias_steps(b: int) -> float:
        return course(b).time_constant() * math.log(1.0 / accuracy) / (2.0 * DECAY_START)

    def steps(b: int) -> int:
        return math.ceil(max(bias_steps(b), theory.zeta2(p.n, b) * floor, 1.0))

    grid = sorted({1, p.n, *np.geomspace(1, p.n, 25).round().astype(int).tolist()})
    sweep = tuple(Point(b, steps(b), b * steps(b)) for b in grid)
    sizes = _sizes(sweep)
    b = wanted or sizes["recommended"]
    table = shb(1, L, min(mu, L))
    step, momentum = float(table.alpha[0]), float(table.beta[0])
    alpha, beta, theta = course(b).parameters()
    found = {
        "problem": repr(p),
        "n": p.n,
        "d": p.d,
        "constants": c,
        "how": _how(c),
        "mu": mu,
        "chi2": chi2,
        "paper_batch": theory.batch_threshold(p.n, L_max / mu),
        "certified_batch": theory.certified_batch_size(p.n, step, momentum, L_max, mu, L),
        "exact_batch": _exact(p, step, momentum),
        "accelerating": accelerating_batch(p.n, L, mu, L_max),
        **sizes,
        "batch_size": b,
        "method": "auto (lookahead)" if theta > 0 else "auto (heavy ball)",
        **{"alpha": alpha, "beta": beta, "theta": theta, "steps": steps(b)},
        **{"T": T, "accuracy": accuracy, "sweep": sweep},
    }
    noisy = theory.zeta2(p.n, b) * floor > bias_steps(b)
    return Plan(**found, words=_words(p, found, noisy, chi2 is None))


def _sizes(sweep: tuple[Point, ...]) -> dict[str, int]:
    """The batch sizes of a sweep that stand out."""
    fewest = min(point.evaluations for point in sweep)
    return {
        "knee": next(x.batch_size for x in sweep if x.steps <= KNEE * sweep[-1].steps),
        "cheapest": next(x.batch_size for x in sweep if x.evaluations == fewest),
        "recommended": max(x.batch_size for x in sweep if x.evaluations <= FLAT * fewest),
    }


def _pilot(p: Problem) -> tuple[float | None, float | None, float]:
    """Gradient noise and mean squared residual at the minimiser, and f(0) - f*."""
    start = p.value(np.zeros(p.shape))
    if p.d > 4096:
        return None, None, start
    try:
        w = p.minimiser()
    except ValueError:  # logistic loss on separable data
        return None, None, start
    value = p.value(w)
    slopes2 = 2.0 * value if p.loss.quadratic else value  # of the loss, about
    chi2 = p.row_gradient_mean2(w)
    gap = start - value
    return chi2, (slopes2 if chi2 > 1e-20 * max(start, 1e-300) else 0.0), max(gap, 0.0)


def _exact(p: Problem, alpha: float, beta: float) -> float | None:
    small = p.d <= EXACT_COLUMNS and p.n * float(p.d) ** 4 <= 4 * EXACT_FLOPS
    if not p.loss.quadratic or p.in_parts or not small or p.constants().L <= 0:
        return None
    return exact.critical_batch_size(p, alpha, beta)


def _how(c: Constants) -> str:
    kind = "exact, from the Gram matrix" if c.exact else "L from Lanczos (upwards), mu = l2"
    return f"{kind}; the data were read {c.reads} times"


def _words(p: Problem, found: dict[str, Any], noisy: bool, unknown: bool) -> str:
    """The paragraph for a practitioner."""
    c, b, n, steps = found["constants"], found["batch_size"], p.n, found["steps"]
    if c.L <= 0.0:
        return "Every row is zero and l2 = 0: f does not depend on w, there is nothing to do."
    said = []
    if n == 1:
        said.append("There is one row only, so every batch is the full batch.")
    if c.mu == 0.0:
        said.append(
            "Some direction has no curvature (columns that depend on one another, fewer rows than "
            "columns, or logistic loss without l2), so kappa is infinite: the plan is for the "
            f"directions of curvature above {found['mu']:.3g}, and f converges, w perhaps not. "
            "A little l2 would help."
        )
    if _ratio(c) > 100.0:
        said.append(
            f"The largest row is {_ratio(c):.3g} times as curved as the mean: a few rows dominate, "
            "which small batches often miss. Scaling rows or columns would help more than any "
            "method."
        )
    said.append(_regime(found, n, noisy))
    if found["T"] is not None:
        said.append(_enough(found))
    if unknown:
        said.append(
            "The noise at the minimiser is unknown (no finite minimiser, or too many columns), "
            "so the steps count the bias alone."
        )
    said.append(_direct(p, b, steps))
    if not p.loss.quadratic:
        said.append(
            f"For the {p.loss.name} loss nothing is proved at b < n: the constants bound the "
            "curvature everywhere, the parameters are those of least squares with these "
            "constants, and the guard watches the run; near the minimiser it is usually faster "
            "than planned."
        )
    return " ".join(text for text in said if text)


def _regime(found: dict[str, Any], n: int, noisy: bool) -> str:
    b, knee = found["batch_size"], found["knee"]
    if b == n:
        return "With the full batch there is no sampling noise and acceleration is complete."
    if noisy:
        return (
            f"At b = {b} the noise of the data decides: the error falls as 1/T whatever the "
            "method, and a larger batch buys proportionally fewer steps."
        )
    if b >= knee:
        return (
            f"At b = {b} momentum accelerates as far as it can: beyond b = {knee} a larger batch "
            "saves few steps."
        )
    return (
        f"At b = {b} sampling noise limits the effective step, so momentum accelerates only in "
        f"part: up to b = {knee} a larger batch takes fewer steps."
    )


def _enough(found: dict[str, Any]) -> str:
    T, steps = found["T"], found["steps"]
    if steps <= T:
        return f"T = {T} is enough: about {steps} steps are needed."
    return (
        f"T = {T} is too small for this kappa: about {steps} steps are needed to reach "
        f"{found['accuracy']:g}; raise T, l2 or the batch, or expect less."
    )


def _direct(p: Problem, b: int, steps: int) -> str:
    """Would forming a d x d matrix and solving be cheaper?"""
    if p.d > 4096:
        return ""
    solves = 1.0 if p.loss.quadratic else 10.0
    matrix = solves * (p.n * p.d**2 + p.d**3 / 3.0)
    if matrix > 4.0 * steps * min(b, p.n) * p.d:
        return ""
    name = "the normal equations" if p.loss.quadratic else "Newton's method"
    return f"With d = {p.d} a direct solver would be faster: {name}."
