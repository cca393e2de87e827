"""A page of sentences about measurements."""

from __future__ import annotations

import math

import numpy as np

from ..theory import edge
from .intervals import Interval
from .measure import Measurement


def page(measurements: list[Measurement], gap: float | None, calls: int) -> str:
    """Five sentences about the last measurement, with the range of all of them."""
    if not measurements:
        return "Nothing was measured yet: call step(batch)."
    last = measurements[-1]
    made = _count(len(measurements), "measurement")
    title = f"Gauge after {_count(calls, 'call')}, {made}, 95 % intervals"
    sentences = [
        _useful(measurements, gap),
        _momentum(last),
        _edge(last),
        _noise_scale(measurements),
        _curvature(last),
    ]
    return "\n".join([title, "=" * len(title), *sentences])


def said(interval: Interval) -> str:
    """Value and interval; an interval without an upper end says so.

    >>> said(Interval(123.456, 90.0, 160.0))
    '123 (90 to 160)'
    >>> said(Interval(123.456, 90.0, math.inf))
    '123 (at least 90)'
    >>> said(Interval(math.inf, 90.0, math.inf)), said(Interval(math.nan, 0.0, math.inf))
    ('at least 90', 'an unknown number of')
    """
    low = _short(interval.low)
    if math.isfinite(interval.high):
        return f"{_short(interval.value)} ({low} to {_short(interval.high)})"
    if not interval.low > 0.0:
        return "an unknown number of"
    if math.isinf(interval.value):
        return f"at least {low}"
    return f"{_short(interval.value)} (at least {low})"


def _number(interval: Interval) -> str:
    """As ``said``, for what is no number of rows."""
    text = said(interval)
    return "unknown" if text.startswith("an unknown") else text


def _trace(interval: Interval) -> str:
    """The trace may be negative, and always has both ends."""
    value, low, high = map(_short, interval)
    return f"{value} ({low} to {high})"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _short(value: float) -> str:
    if math.isfinite(value) and abs(value) >= 1000.0:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _useful(measurements: list[Measurement], gap: float | None) -> str:
    m = measurements[-1]
    if math.isnan(m.gradient_noise.value):
        return "1. Useful batch: unknown, as the loss or its gradient is not a finite number."
    if not m.useful_batch.low > 0.0:
        return (
            "1. Useful batch: this batch cannot tell the largest curvature from 0; give step() "
            "more rows."
        )
    if gap is None:
        aim = "by curvature alone, as no gap was given"
    else:
        aim = f"for a gap of {gap:g}"
    text = f"1. Useful batch without momentum: {said(m.useful_batch)} rows, {aim}"
    if math.isinf(m.useful_batch.high):
        text += " (give step() more rows for an upper end)"
    known = [m.useful_batch.value for m in measurements if math.isfinite(m.useful_batch.value)]
    if len(known) > 1:
        text += f"; the median of {len(known)} measurements is {_short(float(np.median(known)))}"
    return f"{text}; {m.batch_size:,} are in use. At the useful batch half of the speed is reached."


def _momentum(m: Measurement) -> str:
    start = "2. With momentum multiply by the steps that momentum saves (SGD's over momentum's)"
    if m.row is None or m.row[1] == 0.0 or not math.isfinite(m.useful_batch.high):
        return f"{start}; two short runs show them."
    beta = m.row[1]
    most = (1.0 + beta) / (1.0 - beta)
    low = _short(m.useful_batch.low)
    high = _short(most * m.useful_batch.high)
    return (
        f"{start}: with momentum {beta:.3g} at most {most:.3g}, so between {low} and {high} rows; "
        "two short runs show the factor."
    )


def _edge(m: Measurement) -> str:
    if m.edge is None or m.row is None:
        return (
            "3. Edge of stability: not known for this optimizer; it is known for SHB and "
            "torch.optim.SGD."
        )
    if not m.edge.low > 0.0:
        return (
            "3. Edge of stability: this batch cannot tell the largest curvature from 0; give "
            "step() more rows."
        )
    alpha, beta, _ = m.row
    text = (
        f"3. Edge of stability of the quadratic model: step {alpha:.3g} with momentum {beta:.3g} "
        f"uses {_number(m.edge)} of the stable range"
    )
    largest = _largest_momentum(m)
    if largest is None:
        return f"{text}; no momentum is stable with this step."
    return f"{text}; with this step momentum is stable up to {largest:.3f}."


def _largest_momentum(m: Measurement) -> float | None:
    """The largest stable momentum for the present step, to a thousandth."""
    if m.row is None or not (m.curvature.value > 0.0 and m.R2.value >= m.curvature.value):
        return None
    alpha, _, theta = m.row
    known = {"lam": m.curvature.value, "zeta2": 1.0 / m.batch_size, "L_max": m.R2.value}
    stable = [
        beta
        for beta in np.arange(1000) / 1000.0
        if edge(beta=float(beta), theta=float(beta) if theta else 0.0, **known) >= alpha
    ]
    return float(stable[-1]) if stable else None


def _noise_scale(measurements: list[Measurement]) -> str:
    last = measurements[-1]
    text = f"4. A noise scale would have said {said(last.noise_scale)} rows"
    scales = [m.noise_scale.value for m in measurements if math.isfinite(m.noise_scale.value)]
    if len(scales) < 2:
        return f"{text}."
    return f"{text}; along the run between {_short(min(scales))} and {_short(max(scales))}."


def _curvature(m: Measurement) -> str:
    return (
        f"5. Measured: largest curvature {_number(m.curvature)}, trace {_trace(m.trace)}, R2 "
        f"{_number(m.R2)}, gradient noise {_number(m.gradient_noise)}, batch sharpness "
        f"{_short(m.batch_sharpness)}."
    )
