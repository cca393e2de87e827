"""Step sizes by line search on the closure: the package's policies as an optimizer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import torch

from ..policies import LineSearchPolicy
from .groups import refuse_unknown
from .update import move_each, refuse_sparse, velocity_of

Closure = Callable[[], Any]


class SLS(torch.optim.Optimizer):
    """Armijo's line search on each batch, with an exponentially decaying step: no L needed.

    Before step k the policy finds the first s = shrink^j s_{k-1} with
    f_B(w - s g) <= f_B(w) - c s ||g||^2 (s never grows) and makes of it alpha_k and beta_k::

        v_{k+1} = beta_k v_k - alpha_k g_k,    w_{k+1} = w_k + v_{k+1}

    The formulas are those of ``bocce.policies``. A decrease below the rounding of the loss's
    dtype counts as made.

    Guarantee: none for heavy ball (s depends on the batch); on a quadratic with c = 1/2 the
    search accepts exactly s <= 1/(curvature along g).

    Parameters
    ----------
    params : parameters in one group; the search is over all of them together.
    policy : ``bocce.policies.sgd_sls_exponential(T)`` or ``shb_sls_exponential(T, mu)``. More
        than T steps raise an error.

    The closure must give the same loss for the same parameters: no dropout.

    Source: ``sec:experiments`` (SLS).

    >>> import torch, bocce
    >>> w = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
    >>> optimizer = SLS([w], bocce.policies.sgd_sls_exponential(T=100))
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = 2.0 * w[0] ** 2 + 0.5 * w[1] ** 2
    ...     loss.backward()
    ...     return loss
    >>> losses = [float(optimizer.step(closure).detach()) for _ in range(100)]
    >>> losses[-1] < 1e-3, round(optimizer.s, 4)
    (True, 0.2401)
    """

    def __init__(self, params: Iterable[Any], policy: LineSearchPolicy) -> None:
        _check_policy(policy)
        super().__init__(params, {"policy": policy, "k": 0, "memory": policy.begin()})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """One group only: a line search has one step size."""
        if self.param_groups:
            raise ValueError(
                "SLS: a second parameter group was given, must be one, as the search is over all "
                "parameters together; pass them in one list."
            )
        if isinstance(param_group, dict):
            refuse_unknown("SLS", param_group, self.defaults)
        super().add_param_group(param_group)

    def state_dict(self) -> dict[str, Any]:
        """Everything a resumed run needs, the policy as a dictionary of its numbers."""
        packed = super().state_dict()
        for group in packed["param_groups"]:
            group["policy"] = dataclasses.asdict(group["policy"])
        return packed

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume: policy, clock, step and velocities, as saved."""
        if not all("policy" in group for group in state_dict["param_groups"]):
            raise ValueError(
                "SLS.load_state_dict: a group of state_dict has no policy, so another optimizer "
                "wrote it; load what SLS.state_dict() returned."
            )
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            group["policy"] = LineSearchPolicy(**group["policy"])

    @property
    def s(self) -> float:
        """The last accepted step of the search."""
        return float(self.param_groups[0]["memory"][0])

    # how often the closure runs depends on its values: nothing to trace
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    @torch.no_grad()
    def step(self, closure: Closure, loss_only: Closure | None = None) -> Any:
        """Search, then step; returns the closure's loss at w_k.

        ``closure`` zeroes the gradients, calls backward and returns the loss, as torch's LBFGS
        wants it. ``loss_only``, if given, only returns the loss of the same batch, and spares
        the backward passes of the search.
        """
        group = self.param_groups[0]
        k, policy = group["k"], group["policy"]
        if k >= policy.T:
            raise RuntimeError(f"SLS.step: the policy ended at T={policy.T}; give a larger T.")
        with torch.enable_grad():
            loss = closure()
        if not (isinstance(loss, torch.Tensor) and bool(torch.isfinite(loss).all())):
            raise ValueError(
                f"SLS.step: the closure returned {loss!r}, must be a finite loss as a tensor; "
                "check the data and the starting parameters."
            )
        points = [p for p in group["params"] if p.grad is not None]
        refuse_sparse("SLS", points)
        # a closure with backward writes over the gradients while the search calls it
        gradients = [p.grad if loss_only else p.grad.clone() for p in points]
        line = _Line(loss_only or closure, loss, points, gradients)
        (alpha, beta, _), group["memory"] = policy.decide(k, group["memory"], lambda _: line)
        velocities = [velocity_of(self.state[p], p) for p in points]
        move_each(points, gradients, velocities, -alpha, beta, 0.0, 1.0)
        group["k"] = k + 1
        return loss


class _Line:
    """What a policy asks of a batch: f_B(w), ||g||^2 and f_B(w) - f_B(w - s g)."""

    def __init__(
        self,
        loss_at: Closure,
        loss: torch.Tensor,
        points: list[torch.Tensor],
        gradients: list[torch.Tensor],
    ) -> None:
        self.loss_at, self.points, self.gradients = loss_at, points, gradients
        self.start = [p.clone() for p in points]
        self.value = float(loss.detach())
        self.rounding = torch.finfo(loss.dtype).eps * abs(self.value)
        self.slope2 = sum(float(g.abs().double().square().sum()) for g in gradients)

    def decrease(self, s: float) -> float:
        """How far the loss falls, up to its rounding; the parameters are left as they were."""
        for p, g in zip(self.points, self.gradients):
            p.add_(g, alpha=-s)
        with torch.enable_grad():
            there = float(self.loss_at().detach())
        for p, start in zip(self.points, self.start):
            p.copy_(start)
        return self.value - there + self.rounding


def _check_policy(policy: Any) -> None:
    if not isinstance(policy, LineSearchPolicy):
        raise TypeError(
            f"SLS: policy={policy!r} must be a line search; make one with "
            "bocce.policies.sgd_sls_exponential(T) or shb_sls_exponential(T, mu)."
        )
    if policy.search != "same":
        raise ValueError(
            f"SLS: policy.search={policy.search!r} must be 'same', as a closure sees one batch; "
            "leave out search= when making the policy."
        )
