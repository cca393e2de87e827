"""How many steps each batch size needs: exact curves, and the useful batch that they show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from .. import _checks, _pictures
from .._pictures import Axes
from ..schedules import REGISTRY, Schedule
from ..schedules.registry import table_of
from ..theory.batch import useful_batch
from .arrival import LONGEST_RUN, FewestSteps, batch_facts
from .curves import expected
from .model import BatchFacts, ExactModel, Model, exact_model
from .moments import FloatArray

GAIN_STEPS = 1 << 14  # the same for the gain of momentum on all rows alone
LEAST_GAIN = 1.05  # Momentum that saves fewer steps is said to save none.
SIZES = 8  # batches of a curve, unless they are given
BELOW = 8.0  # the smallest of them is the formula's useful batch over this
ABOVE = 32.0  # the largest is the useful batch times this
# Families of constant tables, the best of which is searched for each batch: their free constants.
SEARCHED = {"sgd": 1, "heavy-ball": 2}


@dataclass(frozen=True)
class UsefulBatches:
    """What the formula says for a model, with and without momentum, and what a noise scale says.

    Attributes
    ----------
    target : float
        The gap that is aimed at, as a share of the gap at the start.
    sgd, momentum : float
        The useful batch in rows, without momentum and with it.
    gain : float
        Steps of the best SGD over steps of the best heavy ball, on all rows.
    noise_scale : float
        McCandlish's noise scale at the start.
    """

    target: float
    sgd: float
    momentum: float
    gain: float
    noise_scale: float

    def __str__(self) -> str:
        if self.gain < LEAST_GAIN:
            rows = f"Useful batch: about {self.sgd:,.0f} rows, with momentum or without."
            gain = "On all rows momentum saves no steps here."
        else:
            rows = (
                f"Useful batch: about {self.sgd:,.0f} rows without momentum, about "
                f"{self.momentum:,.0f} with it."
            )
            gain = (
                f"On all rows momentum needs {self.gain:.2g} times fewer steps; at small batches "
                "it needs as many rows as SGD."
            )
        return (
            f"{rows} Such a batch reaches half of the possible speed; larger ones save ever fewer "
            f"steps. (With the best constant step, until f - f* is {self.target:g} of its first "
            f"value.) {gain} The noise scale at the start would say {_shown(self.noise_scale)}."
        )


def _shown(rows: float) -> str:
    return f"{rows:,.0f}" if rows >= 10.0 else f"{rows:.2g}"


def useful_batches(model: Model, target: float = 0.01) -> UsefulBatches:
    """The useful batch of a model by ``theory.useful_batch``, without momentum and with it.

    The gain of momentum is that of the best constants on all rows, which `batch_curve` searches;
    the batch itself comes from the formula, so that no batch is followed.

    Parameters
    ----------
    model : Problem or exact.Gaussian
        Least squares; a Problem starts at 0.
    target : float, default 0.01
        The gap to reach over the gap at the start, 0 < target < 1.

    Returns
    -------
    UsefulBatches

    Raises
    ------
    ValueError
        If the target is out of its range or not reached within 2^14 steps, or the start is the
        minimiser.

    Examples
    --------
    >>> from bocce.exact import Gaussian
    >>> found = useful_batches(Gaussian(np.geomspace(0.01, 1.0, 20)))
    >>> found.momentum > 2 * found.sgd
    True
    """
    where = "useful_batches"
    target = _checks.real(where, "target", target, above=0.0, below=1.0, remedy="0.01 is usual")
    facts = batch_facts(model)
    still = exact_model(where, model).without_noise()
    steps = [
        FewestSteps(still, target, "gap", facts, free, GAIN_STEPS).fewest(0.0)[0]
        for free in SEARCHED.values()
    ]
    gain = max(steps[0], 1.0) / max(steps[1], 1.0)  # a part of one step cannot be taken
    gain = max(gain, 1.0)
    n = np.inf if model.n is None else float(model.n)
    said = [
        useful_batch(
            L=facts.L,
            R2=facts.R2,
            gradient_noise=facts.gradient_noise,
            gap=target * facts.gap,
            momentum_gain=factor,
        )
        for factor in (1.0, gain)
    ]
    sgd, momentum = (B if math.isinf(n) else n / (1.0 + (n - 1.0) / B) for B in said)
    return UsefulBatches(target, sgd, momentum, gain, facts.noise_scale)


@dataclass(frozen=True)
class BatchCurve:
    """Steps to a target by batch size, and the law ``S = S_min (1 + B zeta0^2)`` fitted to them.

    Attributes
    ----------
    batch_sizes, steps : ndarray
        Rows of a batch; the steps that the batch needs on average, a real number (log(value) is
        interpolated between two steps), infinite where the method does not arrive.
    S_min, B : float
        The steps on all rows, and the useful batch, at which half of the possible speed is
        reached, of the least-squares fit in log(steps). zeta0^2 is 1/b for fresh rows and
        (n - b)/((n - 1) b) for batches of n rows.
    fit_error : float
        The root mean square of log(steps) around the fit.
    schedules : tuple of Schedule
        The table of each batch.
    zeta0_2 : ndarray
        zeta0^2 of each batch.
    method : str
        The method that was followed.
    """

    batch_sizes: npt.NDArray[np.int64]
    steps: FloatArray
    S_min: float
    B: float
    fit_error: float
    schedules: tuple[Schedule, ...]
    zeta0_2: FloatArray
    method: str

    @property
    def rows(self) -> float:
        """S_min B: the rows that a run needs at small batches."""
        return self.S_min * self.B

    def plot(
        self, *others: BatchCurve, ax: Axes | None = None, labels: Sequence[str] | None = None
    ) -> Axes:
        """Draw the steps by batch size, with the fitted law and B, of this curve and of others.

        Parameters
        ----------
        *others : BatchCurve
            Curves to draw beside this one.
        ax, labels : matplotlib Axes, sequence of str
            Where to draw, None makes a figure; a name for each curve, by default its method.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> from bocce.exact import Gaussian
        >>> model = Gaussian([0.1, 1.0])
        >>> curves = [batch_curve(model, 0.1, method=name) for name in ("sgd", "heavy-ball")]
        >>> curves[0].plot(curves[1]).get_xscale()
        'log'
        """
        return _pictures.batch_curves([self, *others], labels, ax)


def batch_curve(
    model: Model,
    target: float,
    *,
    method: str = "heavy-ball",
    batches: Sequence[int | float] | None = None,
    of: str = "gap",
) -> BatchCurve:
    """The steps that each batch size needs, on average, until E f - f* is ``target`` of the start.

    "sgd" and "heavy-ball" take the constant step (and momentum) with the fewest steps, batch by
    batch. L-BFGS lowers log E f(w_T) - f* by its exact derivatives; T then falls to the first step
    at which the target is met, until it falls no more. The result is an upper bound on the fewest
    steps, because the search is local. Another method runs with its own constants.

    The curve is close to ``S = S_min (1 + B zeta0^2)``: a few per cent, see docs/which-batch.md.
    Exact for least squares; nothing is sampled. Source: the form is that of McCandlish et al.,
    arXiv 1812.06162.

    Parameters
    ----------
    model : Problem or exact.Gaussian
        Least squares with up to a few dozen columns, or a model with any spectrum; a Problem starts
        at 0.
    target : float
        The value at the end over the value at the start, 0 < target < 1.
    method : str, default "heavy-ball"
        "sgd", "heavy-ball", or a name of ``bocce.schedules.REGISTRY``.
    batches : sequence of int or float, optional
        Rows of each batch, or shares of n; at least 3 sizes. By default 8 sizes around
        ``theory.useful_batch``.
    of : {"gap", "error"}, default "gap"
        The value: E f - f*, or E||w - w*||^2.

    Returns
    -------
    BatchCurve

    Raises
    ------
    ValueError
        If fewer than three batches arrive within 2^20 steps, or an argument is out of its range.

    Examples
    --------
    >>> from bocce.exact import Gaussian
    >>> lam = np.geomspace(0.01, 1.0, 20)
    >>> model = Gaussian(lam, start=1.0 / lam)
    >>> sgd, heavy_ball = (batch_curve(model, 0.05, method=m) for m in ("sgd", "heavy-ball"))
    >>> sgd.fit_error < 0.1 and heavy_ball.S_min < 0.5 * sgd.S_min
    True
    >>> 0.8 < heavy_ball.rows / sgd.rows < 1.25  # momentum saves steps, not rows
    True
    """
    where = "batch_curve"
    target = _checks.real(where, "target", target, above=0.0, below=1.0, remedy="0.01 is usual")
    _checks.choice(where, "of", of, ["gap", "error"])
    _checks.choice(where, "method", method, list({**SEARCHED, **REGISTRY}))
    facts = batch_facts(model)
    subject = exact_model(where, model)
    if batches is None:
        sizes = _sizes(facts, target, model.n)
    else:
        sizes = _in_rows(where, subject, batches)
    noises = np.array([subject.sampling(b)[1] for b in sizes])
    free = SEARCHED.get(method)
    if free is None:
        found = [_of_method(model, method, target, of, b) for b in sizes]
    else:
        search = FewestSteps(model, target, of, facts, free)
        found = [search.fewest(noise) for noise in noises]
    steps = np.array([S for S, _ in found])
    S_min, B, error = fit(noises, steps)
    order = np.argsort(sizes)
    return BatchCurve(
        np.array(sizes, dtype=np.int64)[order],
        steps[order],
        S_min,
        B,
        error,
        tuple(found[i][1] for i in order),
        noises[order],
        method,
    )


def _in_rows(where: str, model: ExactModel, batches: Sequence[int | float]) -> list[int]:
    """Given batches in rows, the largest first."""
    if np.ndim(batches) != 1:
        rule = "a list of at least three sizes, or None"
        raise _checks.refused(TypeError, where, "batches", batches, rule, "such as [10, 100, 1000]")
    sizes = sorted({model.sampling(b)[0] for b in batches}, reverse=True)
    if len(sizes) < 3:
        rule = "at least three sizes"
        raise _checks.refused(ValueError, where, "batches", batches, rule, "two numbers are fitted")
    return sizes


def _sizes(facts: BatchFacts, target: float, n: int | None) -> list[int]:
    """Batches from where rows are saved to where steps are, the largest first."""
    B = useful_batch(
        L=facts.L, R2=facts.R2, gradient_noise=facts.gradient_noise, gap=target * facts.gap
    )
    low = B / BELOW
    high = B * ABOVE
    if n is not None:
        high = min(high, float(n))
        low = min(low, n / (BELOW * ABOVE))
    rows = np.geomspace(max(low, 1.0), high, SIZES).round().astype(int)
    return [int(b) for b in np.unique(rows)[::-1]]


def fit(zeta0_2: FloatArray, steps: FloatArray) -> tuple[float, float, float]:
    """S_min, B and the error of ``steps = S_min (1 + B zeta0_2)``, by least squares in log(steps).

    >>> S_min, B, error = fit(np.array([0.0, 0.1, 1.0]), np.array([10.0, 20.0, 110.0]))
    >>> round(S_min, 3), round(B, 3), error < 1e-6
    (10.0, 10.0, True)
    """
    arrived = np.isfinite(steps)
    if arrived.sum() < 3:
        raise ValueError(
            f"batch_curve: {int(arrived.sum())} of {steps.size} batches arrive within "
            f"{LONGEST_RUN} steps, at least 3 must; raise target, or take larger batches or "
            "another method."
        )
    z = zeta0_2[arrived]
    logs = np.log(steps[arrived])

    def spread(log_B: float) -> float:
        return float(np.var(logs - np.log1p(math.exp(log_B) * z)))

    least = math.log(1e-3 / z.max())
    most = math.log(1e6 / z.max())
    log_B = float(minimize_scalar(spread, bounds=(least, most), options={"xatol": 1e-10}).x)
    S_min = math.exp(float(np.mean(logs - np.log1p(math.exp(log_B) * z))))
    return S_min, math.exp(log_B), math.sqrt(spread(log_B))


def _of_method(model: Model, method: str, target: float, of: str, b: int) -> tuple[float, Schedule]:
    """The least T at which the method's own table of T steps ends at the target."""
    subject = exact_model("batch_curve", model)

    def built(T: int) -> Schedule:
        return table_of("batch_curve", method, T, partial(subject.values, b))

    def end(T: int) -> float:
        try:
            table = built(T)
        except ValueError:  # the method refuses so short a run
            return math.inf
        curve = expected(model, table, b)
        values = curve.gap if of == "gap" else curve.error2
        return float(values[-1] / values[0])

    high = 1
    while end(high) > target:
        high *= 2
        if high > LONGEST_RUN // 8:
            return math.inf, built(high // 2)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if end(middle) > target:
            low = middle
        else:
            high = middle
    last = end(low) if low else 1.0
    if math.isinf(last):
        return float(high), built(high)
    share = math.log(last / target) / math.log(last / end(high))
    return low + share, built(high)
