"""The one update on lists of tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

Tensors = list[torch.Tensor]
SMALLEST_FUSED = 1e-7  # Below this step 1 - (1 - alpha) has fewer digits than a float32.


def buckets(tensors: Iterable[tuple[Any, ...]]) -> list[tuple[Tensors, ...]]:
    """Lists of one class, device and dtype each, as the multi-tensor kernels want them.

    The class, since a shard of a parameter (DTensor) and a plain one do not go into one call.
    """
    found: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row in tensors:
        found.setdefault((type(row[0]), row[0].device, row[0].dtype), []).append(row)
    return [tuple(list(column) for column in zip(*rows)) for rows in found.values()]


def has_kernels(point: torch.Tensor) -> bool:
    """Do multi-tensor kernels give the numbers of one tensor at a time?

    Not for half precision on the CPU: there ``torch._foreach_mul_`` rounds beta to half before it
    multiplies, and 0.999 becomes 1.
    """
    return not (point.device.type == "cpu" and point.dtype in (torch.float16, torch.bfloat16))


def is_fusable(point: torch.Tensor, row: tuple[float, float, float, float]) -> bool:
    """Can torch's fused kernel of SGD take the step? It has no lookahead, and ignores beta = 0.

    The kernel is given 1 - alpha, which keeps the digits of a float32 alpha and not of a double
    one; shards (DTensor) are of another class.
    """
    step, beta, back, forth = row
    return (
        back == 0.0
        and forth == 1.0
        and beta > 0.0
        and abs(step) >= SMALLEST_FUSED
        and point.dtype == torch.float32
        and point.device.type in ("cpu", "cuda")
        and type(point) in (torch.Tensor, torch.nn.Parameter)
    )


def move_fused(
    points: Tensors,
    gradients: Tensors,
    velocities: Tensors,
    row: tuple[float, float, float, float],
    weight_decay: float,
) -> None:
    """v <- beta v + step (g + weight_decay w) and w <- w + v, in one pass over memory.

    The kernel's buffer is m <- momentum m + (1 - dampening) g', then w <- w - lr m, where g' is g
    (or -g) plus a multiple of w. With lr = -1 and 1 - dampening = alpha the buffer is v itself.
    """
    step, beta, _, _ = row
    torch._fused_sgd_(
        points,
        gradients,
        velocities,
        weight_decay=-weight_decay,
        momentum=beta,
        lr=-1.0,
        dampening=1.0 - abs(step),
        nesterov=False,
        maximize=step < 0.0,
        is_first_step=False,
    )


def penalised(gradients: Tensors, points: Tensors, weight: float, together: bool) -> Tensors:
    """The gradients of f + weight |y|^2/2, as new tensors: ``.grad`` is the caller's."""
    if together:
        return list(torch._foreach_add(gradients, points, alpha=weight))
    return [g.add(y, alpha=weight) for g, y in zip(gradients, points)]


def move(
    points: Tensors,
    gradients: Tensors,
    velocities: Tensors,
    row: tuple[float, float, float, float],
    together: bool,
) -> None:
    """v <- beta v + step g and y <- (y - back v_old) + forth v_new.

    ``row`` is (step, beta, back, forth): -alpha (+alpha to maximise), beta, theta_k and
    1 + theta_{k+1}. The point y holds w + theta v before and after. ``together``: one call a term
    for the whole lists; the same numbers, bit for bit.
    """
    step, beta, back, forth = row
    add = _add_each
    multiply = _multiply_each
    if together:
        add = torch._foreach_add_
        multiply = torch._foreach_mul_
    if back:
        add(points, velocities, alpha=-back)
    multiply(velocities, beta)
    add(velocities, gradients, alpha=step)
    add(points, velocities, alpha=forth)


def _add_each(to: Tensors, others: Tensors, *, alpha: float) -> None:
    for x, y in zip(to, others):
        x.add_(y, alpha=alpha)


def _multiply_each(tensors: Tensors, factor: float) -> None:
    for x in tensors:
        x.mul_(factor)
