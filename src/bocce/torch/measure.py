"""What the gauge measures on one batch: noise and curvature, from parts of the batch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .. import _checks
from .._types import FloatArray
from ..theory import edge, useful_batch
from .closure import Closure, Vector
from .intervals import (
    Interval,
    Products,
    jackknife,
    mean_interval,
    moments,
    positive,
)
from .ranks import Ranks
from .ritz import RitzPairs, dot

PARTS = 8  # Gradients are taken of eight parts of a batch: 7 degrees of freedom.
CURVATURE_PARTS = 16  # Products with the Hessian, of sixteen, as their spread is more skewed.
LIKE_A_SUM = 0.8  # A mean over rows is 0.5 of the sum of both halves' means, a sum is 1 of it.
CURVATURE_EVERY = 20  # Curvature is measured at every 20th measurement: it costs the most.


@dataclass(frozen=True)
class Measurement:
    """One measurement of a ``Gauge``. Intervals are 95 % intervals.

    Attributes
    ----------
    call, batch_size : int
        The call of ``Gauge.step``, from 0; the rows of a training step.
    gradient_noise, noise_scale : Interval
        The trace of the covariance of one row's gradient; that over |gradient|^2.
    curvature, R2, trace : Interval
        The largest eigenvalue of the Hessian, with eigenvector v; E|H_i v|^2 over that eigenvalue,
        H_i the Hessian of one row; the trace of the Hessian.
    batch_sharpness : float
        g^T H g/|g|^2 of the batch.
    useful_batch : Interval
        2 (R2 + gradient_noise/(2 gap))/curvature; without a gap 2 R2/curvature.
    edge : Interval or None
        The share of the largest stable step that is in use; None where the optimizer is not known.
    row : tuple of (float, float, float) or None
        Step, momentum and lookahead of the optimizer.
    """

    call: int
    batch_size: int
    gradient_noise: Interval
    noise_scale: Interval
    curvature: Interval
    R2: Interval
    trace: Interval
    batch_sharpness: float
    useful_batch: Interval
    edge: Interval | None
    row: tuple[float, float, float] | None


@dataclass
class Curvature:
    """The largest eigenvalue of the Hessian, and what rows do along its eigenvector.

    The arrays have an entry for all parts, and one without each part.
    """

    largest: FloatArray
    R2: FloatArray
    trace: Interval
    sharpness: float
    direction: Vector
    valid_until: int = 0  # the call at which curvature is measured again


def measure(
    loss_of: Closure,
    ranks: Ranks,
    batch: tuple[Any, Any],
    *,
    call: int,
    every: int,
    batch_size: int | None,
    gap: float | None,
    row: tuple[float, float, float] | None,
    last: Curvature | None,
) -> tuple[Measurement, Curvature]:
    """Noise and curvature from one batch, and its curvature, which the next measurements use."""
    n = count_rows(batch)
    if last is None:
        _check_mean(loss_of, batch, n)
    parts = _parts(n, PARTS)
    gradients = [loss_of.gradient(*_take(batch, part)) for part in parts]
    noise_products, mean = _products(gradients, parts[0].stop, ranks)
    gradient2, noise = moments(noise_products)
    curvature = last
    if curvature is None or call >= curvature.valid_until:
        direction = None if last is None else last.direction
        curvature = _curvature(loss_of, ranks, batch, mean, direction)
        curvature.valid_until = call + CURVATURE_EVERY * every
    b = batch_size or n * ranks.count
    found = Measurement(
        call=call,
        batch_size=b,
        gradient_noise=positive(noise),
        noise_scale=_noise_scale(noise, gradient2),
        curvature=positive(curvature.largest),
        R2=positive(curvature.R2),
        trace=curvature.trace,
        batch_sharpness=curvature.sharpness,
        useful_batch=_useful_interval(curvature, noise, gap),
        edge=_edge_interval(curvature, b, row),
        row=row,
    )
    return found, curvature


def count_rows(batch: Any) -> int:
    """The rows of a batch, which must fill every part twice."""
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        rule = "a pair (inputs, targets)"
        raise _checks.refused(TypeError, "Gauge.step", "batch", type(batch).__name__, rule)
    inputs = batch[0]
    if isinstance(inputs, Mapping):
        inputs = next(iter(inputs.values()))
    remedy = f"each of {PARTS} parts needs two rows"
    rows = _checks.integer(
        "Gauge.step", "rows of batch", len(inputs), least=2 * PARTS, remedy=remedy
    )
    targets = batch[1]
    if isinstance(targets, torch.Tensor) and len(targets) != rows:
        rule = f"{rows}, the rows of inputs"
        raise _checks.refused(ValueError, "Gauge.step", "rows of targets", len(targets), rule)
    return rows


def _check_mean(loss_of: Closure, batch: tuple[Any, Any], n: int) -> None:
    """The loss of all rows must be near the mean of those of both halves, not near their sum."""
    half = n // 2
    with torch.no_grad(), loss_of.kept_buffers():
        first, second, both = (
            float(loss_of.loss(*_take(batch, rows)))
            for rows in (slice(half), slice(half, 2 * half), slice(2 * half))
        )
    if first * second > 0.0 and both / (first + second) > LIKE_A_SUM:
        raise ValueError(
            f"Gauge: loss_fn of {2 * half} rows is {both:.4g}, of their halves {first:.4g} and "
            f"{second:.4g}, so it is a sum over rows, must be the mean; use "
            'reduction="mean", or divide by the number of rows.'
        )


def _parts(n: int, count: int) -> list[slice]:
    """Parts of equal and even size; eight where more would have fewer than four rows."""
    if n < 4 * count:
        count = PARTS
    size = n // (2 * count) * 2
    return [slice(j * size, (j + 1) * size) for j in range(count)]


def _take(tree: Any, rows: slice | torch.Tensor) -> Any:
    if isinstance(tree, Mapping):
        return {name: _take(value, rows) for name, value in tree.items()}
    if isinstance(tree, (tuple, list)):
        return tuple(_take(value, rows) for value in tree)
    return tree[rows]


def _products(vectors: list[Vector], rows: int, ranks: Ranks) -> tuple[Products, Vector]:
    """Inner products of the parts' vectors on all ranks, and their mean."""
    mean = ranks.mean(torch.stack(vectors).mean(0))
    squares = ranks.gather([dot(x, x) for x in vectors])
    dots = ranks.gather([dot(x, mean) for x in vectors])
    return Products(squares, dots, dot(mean, mean), rows), mean


def _curvature(
    loss_of: Closure,
    ranks: Ranks,
    batch: tuple[Any, Any],
    gradient: Vector,
    last: Vector | None,
) -> Curvature:
    """The largest eigenvalue L with its eigenvector v, and the images H_j v of the parts.

    v is found on the first half of each part's rows, and H_j v taken on all rows. So sampling does
    not bias v^T H v, to second order: with E the error of the Hessian of all rows and s the sum
    over the other eigenpairs (u_i, l_i) of E(u_i . E v)^2/(L - l_i), the error of the half turns v,
    which costs 2 s, and the rows of the half agree with the turn, which brings 2 s.
    """
    parts = _parts(count_rows(batch), CURVATURE_PARTS)
    size = parts[0].stop
    half = size // 2
    indices = torch.cat([torch.arange(part.start, part.start + half) for part in parts])
    halves = loss_of.gradient(*_take(batch, indices), graph=True)

    generator = torch.Generator().manual_seed(0)
    if last is None:
        last = torch.randn(gradient.numel(), generator=generator).to(gradient)
    ritz = RitzPairs(lambda v: ranks.mean(loss_of.product(halves, v)))
    ritz.add(gradient)
    sharpness = float(ritz.values[0]) if ritz.basis else math.nan
    ritz.add(last)
    ritz.refine()
    v = ritz.vector(-1)

    generator.manual_seed(1 + ranks.rank)
    images = []
    traces = []
    for part in parts:  # one graph at a time, for the sake of memory
        graph = loss_of.gradient(*_take(batch, part), graph=True)
        images.append(loss_of.product(graph, v))
        signs = torch.randint(0, 2, v.shape, generator=generator) * 2 - 1
        traces.append(dot(signs.to(v), loss_of.product(graph, signs.to(v))))
    along, _ = _products(images, size, ranks)
    slopes = ranks.gather([dot(v, image) for image in images])
    without = (slopes.sum() - slopes) / (len(slopes) - 1)
    largest = np.concatenate([[slopes.mean()], without])
    _, variance = moments(along)
    with np.errstate(divide="ignore", invalid="ignore"):
        R2 = largest + variance / largest
    return Curvature(largest, R2, mean_interval(ranks.gather(traces)), sharpness, v)


def _noise_scale(noise: FloatArray, gradient2: FloatArray) -> Interval:
    """noise/|gradient|^2 by its inverse, as the estimate of |gradient|^2 may be 0 or less."""
    if noise.min() <= 0.0:
        return Interval(0.0, 0.0, math.inf)
    return jackknife(gradient2 / noise)


def _useful_interval(curvature: Curvature, noise: FloatArray, gap: float | None) -> Interval:
    """Parts of the curvature and parts of the gradient noise err independently."""
    groups = [[_useful(L, R2, noise[0], gap) for L, R2 in zip(curvature.largest, curvature.R2)]]
    if gap is not None:
        groups.append([_useful(curvature.largest[0], curvature.R2[0], part, gap) for part in noise])
    return positive(*map(np.array, groups))


def _useful(L: float, R2: float, noise: float, gap: float | None) -> float:
    if not (L > 0.0 and R2 >= L):
        return math.nan
    if gap is None:
        return useful_batch(L=L, R2=R2)
    return useful_batch(L=L, R2=R2, gradient_noise=max(noise, 0.0), gap=gap)


def _edge_interval(
    curvature: Curvature, b: int, row: tuple[float, float, float] | None
) -> Interval | None:
    if row is None:
        return None
    shares = [_share(L, R2, b, row) for L, R2 in zip(curvature.largest, curvature.R2)]
    return positive(np.array(shares))


def _share(L: float, R2: float, b: int, row: tuple[float, float, float]) -> float:
    """The present step over the largest stable one."""
    if not (L > 0.0 and R2 >= L):
        return math.nan
    alpha, beta, theta = row
    return alpha / edge(beta=beta, theta=theta, lam=L, zeta2=1.0 / b, L_max=R2)
