"""The loss of a model as a function of its trainable parameters, to be derived twice."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

Vector = torch.Tensor
Loss = Callable[[Any, Any], torch.Tensor]


class Closure:
    """``loss_fn(model(inputs), targets)`` of the trainable parameters; the model stays as it is.

    Buffers are given as copies, and ``.grad`` is never written. Inputs are a tensor, or a mapping
    of keyword arguments.
    """

    def __init__(self, where: str, model: torch.nn.Module, loss_fn: Loss) -> None:
        self.model = model
        self.loss_fn = loss_fn
        trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.trained = trained
        self.parameters = list(trained.values())
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
        buffers = {name: b.clone() for name, b in self.model.named_buffers()}
        arguments: tuple[Any, ...] = (inputs,)
        keywords: dict[str, Any] = {}
        if isinstance(inputs, Mapping):
            arguments = ()
            keywords = dict(inputs)
        # Only the plain kernel of attention has second derivatives.
        kernels = sdpa_kernel(SDPBackend.MATH) if graph else contextlib.nullcontext()
        with torch.enable_grad(), kernels:
            everything = {**self.trained, **buffers}
            output = torch.func.functional_call(self.model, everything, arguments, keywords)
            loss = self.loss_fn(output, targets)
            parts = torch.autograd.grad(
                loss, self.parameters, create_graph=graph, materialize_grads=True
            )
            return flat(parts)

    def product(self, gradient: Vector, v: Vector) -> Vector:
        """H v, of a gradient that was taken with ``graph``; the graph is kept for more products."""
        if not gradient.requires_grad:  # the loss is linear
            return torch.zeros_like(v)
        parts = torch.autograd.grad(
            gradient, self.parameters, v, retain_graph=True, materialize_grads=True
        )
        return flat(parts)


def flat(tensors: tuple[Vector, ...] | list[Vector]) -> Vector:
    """All entries in one vector."""
    return torch.cat([tensor.reshape(-1) for tensor in tensors])
