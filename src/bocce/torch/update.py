"""The one update on lists of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch


def buckets(
    tensors: Iterable[tuple[torch.Tensor, ...]],
) -> list[tuple[list[torch.Tensor], ...]]:
    """Lists of one class, device and dtype each, as the multi-tensor kernels want them.

    The class, since a shard of a parameter (DTensor) and a plain one do not go into one call.
    """
    found: dict[tuple[type, torch.device, torch.dtype], list[tuple[torch.Tensor, ...]]] = {}
    for row in tensors:
        found.setdefault((type(row[0]), row[0].device, row[0].dtype), []).append(row)
    return [tuple(list(column) for column in zip(*rows)) for rows in found.values()]


def velocity_of(state: dict[str, Any], p: torch.Tensor) -> torch.Tensor:
    """w_k - w_{k-1} of a parameter, 0 at the start."""
    if "velocity" not in state:
        state["velocity"] = torch.zeros_like(p, memory_format=torch.preserve_format)
    velocity: torch.Tensor = state["velocity"]
    return velocity


def refuse_sparse(where: str, points: Iterable[torch.Tensor]) -> None:
    for p in points:
        if p.grad is not None and p.grad.layout != torch.strided:
            raise RuntimeError(
                f"{where}.step: a gradient of shape {tuple(p.shape)} has layout {p.grad.layout}, "
                "must be dense, as momentum moves every entry; use sparse=False in the "
                "embedding, or another optimizer for it."
            )


def has_kernels(point: torch.Tensor) -> bool:
    """Does ``move_together`` give the numbers of ``move_each``?

    Not for half precision on the CPU: there ``torch._foreach_mul_`` rounds beta to half before it
    multiplies, and 0.999 becomes 1.
    """
    return not (point.device.type == "cpu" and point.dtype in (torch.float16, torch.bfloat16))


def penalised(
    gradients: list[torch.Tensor], points: list[torch.Tensor], weight: float, together: bool
) -> list[torch.Tensor]:
    """The gradients of f + weight |y|^2/2, as new tensors: ``.grad`` is the caller's."""
    if together:
        return list(torch._foreach_add(gradients, points, alpha=weight))
    return [g.add(y, alpha=weight) for g, y in zip(gradients, points)]


def move_each(
    points: Sequence[torch.Tensor],
    gradients: Sequence[torch.Tensor],
    velocities: Sequence[torch.Tensor],
    step: float,
    beta: float,
    back: float,
    forth: float,
) -> None:
    """v <- beta v + step g and y <- (y - back v_old) + forth v_new, a tensor at a time.

    ``step`` is -alpha (+alpha to maximise), ``back`` is theta_k and ``forth`` 1 + theta_{k+1}:
    the point y holds w + theta v before and after.
    """
    for y, g, v in zip(points, gradients, velocities):
        if back:
            y.add_(v, alpha=-back)
        v.mul_(beta).add_(g, alpha=step)
        y.add_(v, alpha=forth)


def move_together(
    points: list[torch.Tensor],
    gradients: list[torch.Tensor],
    velocities: list[torch.Tensor],
    step: float,
    beta: float,
    back: float,
    forth: float,
) -> None:
    """``move_each`` with one call a term for the whole list; the same numbers, bit for bit."""
    if back:
        torch._foreach_add_(points, velocities, alpha=-back)
    torch._foreach_mul_(velocities, beta)
    torch._foreach_add_(velocities, gradients, alpha=step)
    torch._foreach_add_(points, velocities, alpha=forth)
