"""The loss of a model as a function of its trainable parameters, to be derived twice."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

Vector = torch.Tensor
Loss = Callable[[Any, Any], torch.Tensor]


class Closure:
    """``loss_fn(model(inputs), targets)`` of the trainable parameters; the model stays as it is.

    The model is given copies of its buffers, and ``.grad`` is never written. Inputs are a tensor,
    or a mapping of keyword arguments. Of a compiled model the module inside is called, as compiled
    code has no second derivatives.
    """

    def __init__(self, where: str, model: torch.nn.Module, loss_fn: Loss) -> None:
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"{where}: model={type(model).__name__} must be a torch.nn.Module.")
        if not callable(loss_fn):
            raise TypeError(
                f"{where}: loss_fn={loss_fn!r} must be a function of outputs and targets, such as "
                "torch.nn.functional.mse_loss."
            )
        self.where = where
        self.model = getattr(model, "_orig_mod", model)
        self.loss_fn = loss_fn
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        if not self.parameters:
            raise ValueError(
                f"{where}: the model has no parameter with requires_grad=True; "
                "unfreeze what is to be trained."
            )
        if any(p.is_complex() for p in self.parameters):
            raise TypeError(
                f"{where}: a parameter is complex, must be real; give the model real "
                "and imaginary parts as two parameters."
            )

    def gradient(self, inputs: Any, targets: Any, graph: bool = False) -> Vector:
        """The gradient as one vector; with ``graph`` it can be differentiated again."""
        # Only the plain kernel of attention has second derivatives.
        kernels = sdpa_kernel(SDPBackend.MATH) if graph else contextlib.nullcontext()
        with torch.enable_grad(), kernels, self.kept_buffers():
            parts = torch.autograd.grad(
                self.loss(inputs, targets),
                self.parameters,
                create_graph=graph,
                materialize_grads=True,
            )
            return flat(parts)

    def loss(self, inputs: Any, targets: Any) -> Vector:
        """The loss, which must be one number."""
        if isinstance(inputs, Mapping):
            output = self.model(**inputs)
        else:
            output = self.model(inputs)
        loss = self.loss_fn(output, targets)
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            got = f"shape {tuple(loss.shape)}" if isinstance(loss, torch.Tensor) else repr(loss)
            raise TypeError(
                f"{self.where}: loss_fn returned {got}, must return one number as a tensor, the "
                'mean loss over rows; use reduction="mean", or loss.mean().'
            )
        return loss

    @contextlib.contextmanager
    def kept_buffers(self) -> Iterator[None]:
        """Give the model copies of its buffers to change; a graph may go on using them."""
        others = []
        copies: dict[int, Vector] = {}  # a buffer that two modules share stays shared
        for module in self.model.modules():
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    others.append((module, name, buffer))
                    module._buffers[name] = copies.setdefault(id(buffer), buffer.clone())
        try:
            yield
        finally:
            for module, name, buffer in others:
                module._buffers[name] = buffer

    def product(self, gradient: Vector, v: Vector) -> Vector:
        """H v, of a gradient that was taken with ``graph``; the graph stays for more products."""
        if not gradient.requires_grad:  # the loss is linear
            return torch.zeros_like(v)
        parts = torch.autograd.grad(
            gradient, self.parameters, v, retain_graph=True, materialize_grads=True
        )
        return flat(parts)


def flat(tensors: tuple[Vector, ...] | list[Vector]) -> Vector:
    """All entries in one vector."""
    return torch.cat([tensor.reshape(-1) for tensor in tensors])
