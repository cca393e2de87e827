"""A page of sentences about measurements."""

from __future__ import annotations

import math

import numpy as np

from ..theory import edge
from .intervals import Interval
from .measure import Measurement


def page(measurements: list[Measurement], gap: float | None) -> str:
    """Five sentences about the last measurement, with the range of all of them."""
    if not measurements:
        return "Nothing was measured yet: call step(batch)."
    last = measurements[-1]
    title = f"Gauge after {last.call + 1} calls, {len(measurements)} measurements, 95 % intervals"
    sentences = [
        _useful(last, gap),
        _momentum(last),
        _edge(last),
        _noise_scale(measurements),
        _curvature(last),
    ]
    return "\n".join([title, "=" * len(title), *sentences])


def said(interval: Interval) -> str:
    """Value and interval: "120 (90 to 160)".

    >>> said(Interval(123.456, 90.0, math.inf))
    '123 (90 to inf)'
    """
    return f"{_short(interval.value)} ({_short(interval.low)} to {_short(interval.high)})"


def _short(value: float) -> str:
    if math.isfinite(value) and abs(value) >= 1000.0:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _useful(m: Measurement, gap: float | None) -> str:
    if not math.isfinite(m.useful_batch.high):
        return (
            "1. Useful batch: this batch cannot tell the largest curvature from 0; give step() "
            "more rows."
        )
    if gap is None:
        aim = "by curvature alone, as no gap was given"
    else:
        aim = f"for a gap of {gap:g}"
    return (
        f"1. Useful batch without momentum: {said(m.useful_batch)} rows, {aim}; "
        f"{m.batch_size:,} are in use. At the useful batch half of the possible speed is reached."
    )


def _momentum(m: Measurement) -> str:
    start = "2. With momentum multiply by the steps that momentum saves (SGD's over momentum's)"
    if m.row is None or m.row[1] == 0.0:
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
    alpha, beta, _ = m.row
    text = (
        f"3. Edge of stability of the quadratic model: step {alpha:.3g} with momentum {beta:.3g} "
        f"uses {said(m.edge)} of the stable range"
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
    seen = [m.noise_scale.value for m in measurements if math.isfinite(m.noise_scale.value)]
    if len(seen) < 2:
        return f"{text}."
    return f"{text}; along the run it went from {_short(min(seen))} to {_short(max(seen))}."


def _curvature(m: Measurement) -> str:
    return (
        f"5. Measured: largest curvature {said(m.curvature)}, trace {said(m.trace)}, R2 "
        f"{said(m.R2)}, gradient noise {said(m.gradient_noise)}, batch sharpness "
        f"{_short(m.batch_sharpness)}."
    )
