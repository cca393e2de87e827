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
    ratio_interval,
)
from .ranks import Ranks

PARTS = 8  # The parts of a batch: the jackknife has 7 degrees of freedom.
CURVATURE_EVERY = 10  # Curvature is measured at every tenth measurement: it costs the most.
CURVATURE_ROWS = 4  # Second derivatives are taken of one row in four, for the sake of time.
MOST_HESSIAN_PRODUCTS = 12  # Products with the Hessian until its largest eigenvalue is found.
RESIDUAL = 0.05  # The residual of an eigenvector, relative to its eigenvalue, that is enough.
NEAR = 0.1  # A relative gap between eigenvalues below this one counts as this one.


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
    """Everything that one batch tells, and its curvature, which the next measurements use."""
    n = count_rows(batch)
    inputs, targets = batch
    size = n // PARTS
    parts = [slice(j * size, (j + 1) * size) for j in range(PARTS)]
    gradients = [loss_of.gradient(_take(inputs, part), _take(targets, part)) for part in parts]
    noise_products, mean = _products(gradients, size, ranks)
    gradient2, noise = moments(noise_products)
    if last is not None and call < last.valid_until:
        bent = last
    else:
        few = max(2, size // CURVATURE_ROWS)  # BatchNorm needs two
        parts = [slice(part.start, part.start + few) for part in parts]
        direction = None if last is None else last.direction
        bent = _curvature(loss_of, ranks, (inputs, targets), parts, mean, direction)
        bent.valid_until = call + CURVATURE_EVERY * every
    b = batch_size or n * ranks.count
    useful = np.array(
        [_useful(*map(float, numbers), gap) for numbers in zip(bent.largest, bent.R2, noise)]
    )
    share = None
    if row is not None:
        shares = [_share(L, R2, b, row) for L, R2 in zip(bent.largest, bent.R2)]
        share = jackknife(np.array(shares))
    found = Measurement(
        call=call,
        batch_size=b,
        gradient_noise=jackknife(noise),
        noise_scale=ratio_interval(noise, gradient2),
        curvature=jackknife(bent.largest),
        R2=jackknife(bent.R2),
        trace=bent.trace,
        batch_sharpness=bent.sharpness,
        useful_batch=jackknife(useful),
        edge=share,
        row=row,
    )
    return found, bent


def count_rows(batch: Any) -> int:
    """The rows of a batch, which must fill every part twice."""
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        rule = "a pair (inputs, targets)"
        raise _checks.refused(TypeError, "Gauge.step", "batch", type(batch).__name__, rule)
    inputs = batch[0]
    if isinstance(inputs, Mapping):
        inputs = next(iter(inputs.values()))
    remedy = f"each of {PARTS} parts needs two rows"
    return _checks.integer(
        "Gauge.step", "rows of batch", len(inputs), least=2 * PARTS, remedy=remedy
    )


def _take(tree: Any, rows: slice | torch.Tensor) -> Any:
    if isinstance(tree, Mapping):
        return {name: _take(value, rows) for name, value in tree.items()}
    return tree[rows]


def _products(vectors: list[Vector], rows: int, ranks: Ranks) -> tuple[Products, Vector]:
    """Inner products of the parts' vectors on all ranks, and their mean."""
    mean = ranks.mean(torch.stack(vectors).mean(0))
    squares = ranks.gather([_dot(x, x) for x in vectors])
    dots = ranks.gather([_dot(x, mean) for x in vectors])
    return Products(squares, dots, _dot(mean, mean), rows), mean


def _dot(x: Vector, y: Vector) -> float:
    return float(torch.dot(x.double(), y.double()))


def _curvature(
    loss_of: Closure,
    ranks: Ranks,
    batch: tuple[Any, Any],
    parts: list[slice],
    gradient: Vector,
    last: Vector | None,
) -> Curvature:
    inputs, targets = batch
    rows = parts[0].stop - parts[0].start
    graphs = [
        loss_of.gradient(_take(inputs, part), _take(targets, part), graph=True) for part in parts
    ]

    together = torch.cat([torch.arange(part.start, part.stop) for part in parts])
    whole = loss_of.gradient(_take(inputs, together), _take(targets, together), graph=True)

    def product(v: Vector) -> Vector:
        return ranks.mean(loss_of.product(whole, v))

    generator = torch.Generator().manual_seed(0)
    if last is None:
        last = torch.randn(gradient.numel(), generator=generator).to(gradient)
    ritz = RitzPairs(product)
    ritz.add(gradient)
    sharpness = float(ritz.values[0]) if ritz.basis else math.nan
    ritz.add(last)
    ritz.refine()
    v = ritz.vector(-1)
    images = [loss_of.product(graph, v) for graph in graphs]
    along, mean = _products(images, rows, ranks)
    slopes = ranks.gather([_dot(v, image) for image in images])
    bias = ritz.bias(images, mean, ranks)
    K = len(slopes)
    without = (slopes.sum() - slopes) / (K - 1)
    largest = np.concatenate([[slopes.mean()], without]) - bias
    _, variance = moments(along)
    with np.errstate(divide="ignore", invalid="ignore"):
        R2 = largest + variance / largest
    generator.manual_seed(1 + ranks.rank)
    signs = [torch.randint(0, 2, v.shape, generator=generator) * 2 - 1 for _ in graphs]
    probes = [_dot(z.to(v), loss_of.product(graph, z.to(v))) for z, graph in zip(signs, graphs)]
    return Curvature(largest, R2, mean_interval(ranks.gather(probes)), sharpness, v)


class RitzPairs:
    """Eigenpairs of a symmetric matrix within a subspace that grows by residuals (Lanczos)."""

    def __init__(self, product: Any) -> None:
        self.product = product
        self.basis: list[Vector] = []
        self.images: list[Vector] = []
        self.values: FloatArray = np.zeros(0)
        self.vectors: FloatArray = np.zeros((0, 0))

    def add(self, direction: Vector) -> bool:
        """One more direction; False if it lies in the subspace already."""
        norm = float(direction.norm())
        if not norm > 0.0:
            return False
        q = direction / norm
        for basis in (self.basis, self.basis):  # orthogonalised twice, which is enough
            for other in basis:
                q = q - torch.dot(q, other) * other
        left = float(q.norm())
        if not left > 100.0 * torch.finfo(q.dtype).eps:
            return False
        q = q / left
        self.basis.append(q)
        self.images.append(self.product(q))
        T = np.array([[_dot(x, y) for y in self.images] for x in self.basis])
        self.values, self.vectors = np.linalg.eigh(0.5 * (T + T.T))
        return True

    def vector(self, i: int, of: list[Vector] | None = None) -> Vector:
        """The i-th Ritz vector, or its image under the matrix (``of=self.images``)."""
        weights = self.vectors[:, i]
        return sum(float(c) * q for c, q in zip(weights, self.basis if of is None else of))

    def refine(self) -> None:
        """Grow until the largest pair is accurate."""
        while 0 < len(self.basis) < MOST_HESSIAN_PRODUCTS:
            largest = float(self.values[-1])
            residual = self.vector(-1, self.images) - largest * self.vector(-1)
            if float(residual.norm()) <= RESIDUAL * abs(largest) or not self.add(residual):
                break

    def bias(self, images: list[Vector], mean: Vector, ranks: Ranks) -> float:
        """By how much sampling raises the largest eigenvalue of a mean of parts.

        By second-order perturbation: the sum over other eigenpairs of E(u_i . E v)^2 over their
        gaps, E the error of the mean. Directions outside the subspace count as eigenvalue 0.
        """
        largest = float(self.values[-1])
        if largest <= 0.0:
            return 0.0
        others = [self.vector(i) for i in range(len(self.values) - 1)]
        gaps = np.maximum(1.0 - self.values[:-1] / largest, NEAR)
        v = self.vector(-1)
        shifts = []
        for image in images:
            error = image - mean
            error = error - torch.dot(error, v) * v
            inside = np.array([_dot(u, error) ** 2 for u in others])
            outside = max(_dot(error, error) - float(inside.sum()), 0.0)
            shifts.append((float((inside / gaps).sum()) + outside) / largest)
        found = ranks.gather(shifts)
        return float(found.sum()) / (len(found) * (len(found) - 1))


def _useful(L: float, R2: float, noise: float, gap: float | None) -> float:
    if not (L > 0.0 and R2 >= L):
        return math.nan
    if gap is None:
        return useful_batch(L=L, R2=R2)
    return useful_batch(L=L, R2=R2, gradient_noise=max(noise, 0.0), gap=gap)


def _share(L: float, R2: float, b: int, row: tuple[float, float, float]) -> float:
    """The present step over the largest stable one."""
    if not (L > 0.0 and R2 >= L):
        return math.nan
    alpha, beta, theta = row
    return alpha / edge(beta=beta, theta=theta, lam=L, zeta2=1.0 / b, L_max=R2)
