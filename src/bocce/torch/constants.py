"""What a schedule needs to know of a model: curvature and gradient noise, from one batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .. import _checks
from .closure import Closure, Loss, flat


@dataclass(frozen=True)
class Estimate:
    """Curvature and noise of a model on one batch.

    Attributes
    ----------
    L : float
        The largest Hessian eigenvalue, an upper estimate (Ritz value plus its residual).
    mu : float or None
        The smallest Hessian eigenvalue (Ritz value, so from above; negative where the loss is not
        convex); None if not requested.
    L_max : float or None
        The largest L of single rows among the rows looked at, at least L; None if no row was.
    gradient2, variance : float
        ||gradient||^2 of all data, without the share of the noise (may be negative by chance
        when noise dominates); the trace of the covariance of one row's gradient.
    """

    L: float
    mu: float | None
    L_max: float | None
    gradient2: float
    variance: float

    @property
    def noise_scale(self) -> float:
        """variance/||gradient||^2: the batch size at which noise and gradient weigh the same."""
        if self.gradient2 > 0.0:
            return self.variance / self.gradient2
        return float("inf")


def estimate_constants(
    model: torch.nn.Module,
    loss_fn: Loss,
    batch: tuple[torch.Tensor, torch.Tensor],
    *,
    steps: int = 20,
    smallest: bool = False,
    rows: int = 0,
    small_batch: int | None = None,
    seed: int = 0,
) -> Estimate:
    """Estimate L, mu, L_max and the gradient noise of ``loss_fn(model(inputs), targets)``.

    L by Lanczos on Hessian-vector products from a random start: the largest Ritz value plus the
    norm of its residual. The noise from two batch sizes, B and s = ``small_batch``::

        variance = (mean ||g_s||^2 - ||g_B||^2)/(1/s - 1/B),
        ||gradient||^2 = (B ||g_B||^2 - s mean ||g_s||^2)/(B - s)

    Guarantee: L is never below the Ritz value, itself a lower bound; equal to the largest
    eigenvalue once ``steps`` reaches the number of distinct ones. Both noise formulas are
    unbiased for independent rows.

    Parameters, buffers and ``.grad`` of the model stay as they are. Attention is computed by
    PyTorch's plain kernel, the only one with second derivatives. Put the model into ``eval()``
    first if it has dropout: a random loss has no Hessian.

    Source: Lanczos (1950); McCandlish et al. (2018) for the two batch sizes.

    Parameters
    ----------
    model : torch.nn.Module
        The model.
    loss_fn : callable
        The *mean* loss over the rows it is given, a function of (outputs, targets).
    batch : tuple of (Tensor, Tensor)
        Inputs and targets, one row an example.
    steps : int, default 20
        The number of Lanczos steps; each costs about two gradients.
    smallest : bool, default False
        Whether to estimate mu as well, which needs more steps than L.
    rows : int, default 0
        The number of single rows to look at for L_max.
    small_batch : int, optional
        The small batch size s; by default B // 8. Rows beyond a multiple of s are left out.
    seed : int, default 0
        The seed of the random start.

    Returns
    -------
    Estimate
        Curvature and noise.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(2, 1, bias=False).double()
    >>> X = torch.tensor([[2.0, 0.0], [0.0, 1.0]]).double()
    >>> loss_fn = lambda z, y: 0.5 * ((z - y) ** 2).mean()
    >>> found = estimate_constants(model, loss_fn, (X, torch.ones(2, 1).double()), smallest=True)
    >>> round(found.L, 9), round(found.mu, 9)
    (2.0, 0.5)
    """
    where = "estimate_constants"
    steps = _checks.integer(where, "steps", steps)
    inputs, targets = batch
    B = _checks.integer(where, "rows of batch", len(inputs), least=2, remedy="noise needs two rows")
    rows = _checks.integer(where, "rows", rows, least=0, most=B)
    if small_batch is None:
        s = max(1, B // 8)
    else:
        s = small_batch
    s = _checks.integer(where, "small_batch", s, most=B // 2, remedy="two must fit into the batch")
    loss_of = Closure(where, model, loss_fn)
    low, L = _extremes(loss_of, inputs, targets, steps, seed)
    L_max = None
    if rows:
        single = (
            _extremes(loss_of, inputs[i : i + 1], targets[i : i + 1], steps, seed)[1]
            for i in range(rows)
        )
        L_max = max(L, *single)
    gradient2, variance = _noise(loss_of, inputs, targets, s)
    return Estimate(L, low if smallest else None, L_max, gradient2, variance)


def _extremes(
    loss_of: Closure, inputs: Any, targets: Any, steps: int, seed: int
) -> tuple[float, float]:
    """(smallest Ritz value, largest Ritz value plus residual) of the Hessian, by Lanczos."""
    first = flat([p.detach() for p in loss_of.parameters])
    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(first.numel(), generator=generator, dtype=torch.float64).to(first)
    gradient = loss_of.gradient(inputs, targets, graph=True)
    basis = [start / start.norm()]
    alphas = []
    betas = []
    while True:
        u = loss_of.product(gradient, basis[-1])
        alphas.append(float(u @ basis[-1]))
        for q in basis + basis:  # orthogonalised twice, which is enough
            u = u - (u @ q) * q
        betas.append(float(u.norm()))
        least = 100 * torch.finfo(u.dtype).eps * (max(map(abs, alphas)) + max(betas))
        if len(alphas) == min(steps, first.numel()) or betas[-1] <= least:
            break
        basis.append(u / betas[-1])
    beside = np.diag(betas[:-1], 1)
    values, vectors = np.linalg.eigh(np.diag(alphas) + beside + beside.T)
    return float(values[0]), float(values[-1] + abs(betas[-1] * vectors[-1, -1]))


def _noise(loss_of: Closure, inputs: Any, targets: Any, s: int) -> tuple[float, float]:
    """(||gradient||^2, variance of one row) from gradients of batches of s rows."""
    count = len(inputs) // s
    total = torch.zeros(())
    squares = 0.0
    for j in range(count):
        part = slice(j * s, (j + 1) * s)
        gradient = loss_of.gradient(inputs[part], targets[part]).double()
        squares += float(gradient.square().sum())
        total = total.to(gradient) + gradient
    B = count * s
    small = squares / count
    big = float((total / count).square().sum())
    return (B * big - s * small) / (B - s), (small - big) / (1.0 / s - 1.0 / B)
