"""Stochastic heavy ball, and every other table of (alpha, beta, theta), as an optimizer."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import torch

from .._adapters import KAPPA, from_rate, held, row
from ..schedules import Schedule
from . import groups
from .update import (
    buckets,
    has_kernels,
    move_each,
    move_together,
    penalised,
    refuse_sparse,
    velocity_of,
)

Closure = Callable[[], Any]


class SHB(torch.optim.Optimizer):
    """A schedule as a ``torch.optim.Optimizer``.

    With g_k the gradient that backward() left in ``.grad`` and v_k = w_k - w_{k-1}, v_0 = 0::

        v_{k+1} = beta_k v_k - lr alpha_k g_k,    w_{k+1} = w_k + v_{k+1}

    ``torch.optim.SGD(momentum=...)`` keeps m <- beta m + g instead, which is the same method
    only while alpha stays constant. Where theta > 0 (Nesterov, MaSS, auto) the parameters hold
    y_k = w_k + theta_k v_k between steps, the point where the gradient is taken;
    ``eval_params`` moves them to the iterate w_k and ``train_params`` back, bit for bit. After
    the last step of a schedule the parameters hold w_T.

    Guarantee: on least squares with independent batches, that of the schedule
    (``bocce.theory``); for networks none. Source: ``eq:shb``.

    Parameters
    ----------
    params : iterable
        Parameters, named parameters or groups. A group may set any option; a key that is not an
        option is refused.
    schedule : Schedule
        The table of steps; every group has its own clock, which starts when the group is added.
    lr : float, default 1.0
        Multiplies alpha. The schedulers of ``torch.optim.lr_scheduler`` drive it; a run with lr_k
        is the run of the table (lr_k alpha_k, beta_k, theta_k).
    weight_decay : float, default 0.0
        Adds weight_decay y to the gradient taken at y, which is the gradient of f + weight_decay
        |w|^2/2: coupled, as in ``torch.optim.SGD``. So the method stays heavy ball on that
        function, with its guarantee; AdamW decouples the decay because Adam would rescale it.
    after : {"hold", "restart", "stop", "raise"}, default "hold"
        What to do beyond step T: ``"hold"`` repeats the last row, with one warning; ``"restart"``
        starts the table again from rest; ``"stop"`` leaves the parameters at w_T; ``"raise"`` is an
        error.
    maximize : bool, default False
        Go up instead of down (``weight_decay`` still pulls towards 0).
    foreach : bool, default True
        Use multi-tensor kernels: the same numbers as the plain loop, faster.

    Raises
    ------
    TypeError, ValueError
        If an option is unknown or out of its range.

    Examples
    --------
    >>> import torch, bocce
    >>> w = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
    >>> optimizer = SHB([w], bocce.schedules.shb(T=100, L=4.0, mu=1.0))
    >>> for _ in range(100):
    ...     optimizer.zero_grad()
    ...     loss = 2.0 * w[0] ** 2 + 0.5 * w[1] ** 2
    ...     loss.backward()
    ...     _ = optimizer.step()
    >>> bool(loss < 1e-18)
    True
    """

    def __init__(
        self,
        params: Iterable[Any],
        schedule: Schedule,
        *,
        lr: float = 1.0,
        weight_decay: float = 0.0,
        after: str = "hold",
        maximize: bool = False,
        foreach: bool = True,
    ) -> None:
        defaults = {
            "schedule": schedule,
            "lr": lr,
            "weight_decay": weight_decay,
            "after": after,
            "maximize": maximize,
            "foreach": foreach,
            "k": 0,
            "evaluating": False,
        }
        super().__init__(params, defaults)

    @classmethod
    def from_lr(
        cls,
        params: Iterable[Any],
        lr: float,
        kappa: float = KAPPA,
        T: int | None = None,
        method: str = "shb",
        *,
        decay: str | None = "cosine",
        **options: Any,
    ) -> Self:
        """Heavy ball for a network: momentum from kappa, and a step that falls from lr to 0.

        The schedule is the method's for L = 1/lr and mu = 1/(lr kappa). It is made for L = 1, so
        that ``lr`` of the group is the given one.

        Guarantee: for networks none. Measured against SGD with momentum and a cosine:
        docs/torch.md.

        Parameters
        ----------
        params : iterable
            As in ``SHB``.
        lr : float
            The first step; 1/L in the theory. Try 0.03, 0.1 and 0.3: the largest at which the loss
            falls from the start is usually near the best.
        kappa : float, default 100.0
            How far momentum reaches, about sqrt(kappa) steps: beta = (1 - 1/(2 sqrt(kappa)))^2 with
            "shb". 100 is momentum 0.9025; larger batches and longer runs allow 400 (0.95), batches
            of a few rows need 10 (0.71).
        T : int, optional
            The number of steps of the whole run; it must be given.
        method : str, default "shb"
            The name of a method that needs L and mu only. "2p-shb" was the default up to 0.2.
        decay : {"cosine", None}, default "cosine"
            "cosine" multiplies the steps of a method whose own steps are constant by (1 + cos(pi
            k/T))/2; None leaves them constant.
        **options : object
            Options of ``SHB``.

        Returns
        -------
        SHB
            The optimizer.

        Raises
        ------
        ValueError
            If T is missing, or the method needs more than lr and kappa.

        Examples
        --------
        >>> import torch
        >>> w = torch.nn.Parameter(torch.ones(2))
        >>> group = SHB.from_lr([w], lr=0.1, T=50).param_groups[0]
        >>> group["lr"], float(group["schedule"].alpha[0])
        (0.1, 1.0)
        >>> round(float(group["schedule"].beta[0]), 4), round(float(group["schedule"].alpha[25]), 9)
        (0.9025, 0.5)
        """
        schedule = from_rate("SHB.from_lr", lr, kappa, T, method, decay)
        return cls(params, schedule, lr=lr, **options)

    # -- groups and state ------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group; its clock starts at step 0.

        Parameters
        ----------
        param_group : dict
            The parameters, under "params", and options.
        """
        if isinstance(param_group, dict):  # torch itself refuses anything else
            groups.refuse_unknown("SHB", param_group, self.defaults)
            if self.param_groups:
                param_group.setdefault("evaluating", self.param_groups[0]["evaluating"])
            groups.check({**self.defaults, **param_group})
        super().add_param_group(param_group)

    def state_dict(self) -> dict[str, Any]:
        """Everything a resumed run needs, the schedules as tensors (``weights_only`` loads it).

        What belongs to a parameter is a tensor of its shape, what belongs to the run is in the
        groups: so FSDP and ``torch.distributed.checkpoint`` can shard and gather it.

        Returns
        -------
        dict
            The state, as in ``torch.optim.Optimizer``.
        """
        packed = super().state_dict()
        for group in packed["param_groups"]:
            group["schedule"] = groups.pack(group["schedule"])
        return packed

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume: schedules, clocks, velocities and mode, as saved.

        Parameters
        ----------
        state_dict : dict
            The result of ``state_dict``.

        Raises
        ------
        ValueError
            If it is the state of another optimizer.
        """
        for group in state_dict["param_groups"]:
            absent = [key for key in self.defaults if key not in group]
            if absent:
                raise ValueError(
                    f"SHB.load_state_dict: a group of state_dict has no {', '.join(absent)}, so "
                    "another optimizer or an older bocce wrote it; load what SHB.state_dict() "
                    "returned."
                )
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            group["schedule"] = groups.unpack(group["schedule"])

    # -- the step --------------------------------------------------------------------------------

    # k indexes the table: traced, every step would be a new graph
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    @torch.no_grad()
    def step(self, closure: Closure | None = None, *, loss: Any = None) -> Any:
        """One step of every group; returns the closure's loss, or ``loss`` as given.

        A parameter whose ``.grad`` is None stays where it is.

        Parameters
        ----------
        closure, loss : callable and object, optional
            Computes the loss again; a loss to return where there is no closure.

        Returns
        -------
        object
            The loss.
        """
        for group in self.param_groups:
            groups.check_ready(group)
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        refuse_sparse("SHB", self._parameters())
        self._warn_at_the_end()
        for group in self.param_groups:
            self._advance(group)
        return loss

    def _advance(self, group: dict[str, Any]) -> None:
        k, schedule, after = group["k"], group["schedule"], group["after"]
        alpha, beta, theta = row(schedule, k, after)
        ahead = row(schedule, k + 1, after)[2]
        sign = 1.0 if group["maximize"] else -1.0
        step = sign * float(group["lr"]) * alpha
        moved = [p for p in group["params"] if p.grad is not None]
        tensors = ((p, p.grad, velocity_of(self.state[p], p)) for p in moved)
        for points, gradients, velocities in buckets(tensors):
            together = group["foreach"] and has_kernels(points[0])
            if group["weight_decay"]:
                weight = -sign * group["weight_decay"]
                gradients = penalised(gradients, points, weight, together)
            move = move_together if together else move_each
            move(points, gradients, velocities, step, beta, theta, 1.0 + ahead)
        if theta != ahead:
            for p in group["params"]:
                if p.grad is None and "velocity" in self.state[p]:
                    p.add_(self.state[p]["velocity"], alpha=ahead - theta)  # its w stays
        group["k"] = k + 1

    def _warn_at_the_end(self) -> None:
        """Once, at the first step beyond T of a schedule that is held."""
        for group in self.param_groups:
            if group["after"] == "hold" and group["k"] == group["schedule"].T:
                warnings.warn(held("SHB", group["schedule"]), RuntimeWarning, stacklevel=6)
                return

    def _parameters(self) -> Iterator[torch.Tensor]:
        for group in self.param_groups:
            yield from group["params"]

    # -- where the gradient is taken, and the iterate --------------------------------------------

    @torch.no_grad()
    def eval_params(self) -> contextlib.AbstractContextManager[Any]:
        """Move the parameters to the iterate w_k (a second call changes nothing).

        Use it as ``with optimizer.eval_params(): ...`` to come back at the end. What is written
        into the parameters meanwhile is dropped by ``train_params``.

        Returns
        -------
        context manager
            At its end ``train_params`` is called.
        """
        if self.param_groups[0]["evaluating"]:
            return contextlib.nullcontext()
        for group in self.param_groups:
            group["evaluating"] = True
            theta = row(group["schedule"], group["k"], group["after"])[2]
            for p in group["params"] if theta else ():
                if "velocity" in self.state[p]:
                    self.state[p]["training"] = p.detach().clone()
                    p.add_(self.state[p]["velocity"], alpha=-theta)
        stack = contextlib.ExitStack()
        stack.callback(self.train_params)
        return stack

    @torch.no_grad()
    def train_params(self) -> None:
        """Move the parameters back to where the next gradient is taken, bit for bit."""
        for group in self.param_groups:
            group["evaluating"] = False
            for p in group["params"]:
                if "training" in self.state[p]:
                    p.copy_(self.state[p].pop("training"))
