"""Stochastic heavy ball, and every other table of (alpha, beta, theta), as an optimizer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import torch

from .. import _checks
from ..schedules import REGISTRY, Schedule
from . import guard as guarding
from .update import (
    buckets,
    has_kernels,
    lookahead,
    move_each,
    move_together,
    refuse_sparse,
    row,
    velocity_of,
)

EXTEND = ("error", "hold", "restart")
COLUMNS = ("alpha", "beta", "theta")
Closure = Callable[[], Any]


class SHB(torch.optim.Optimizer):
    """A schedule as a ``torch.optim.Optimizer``.

    With g_k the gradient that backward() left in ``.grad`` and v_k = w_k - w_{k-1}, v_0 = 0::

        v_{k+1} = beta_k v_k - scale alpha_k g_k,    w_{k+1} = w_k + v_{k+1}

    ``torch.optim.SGD(momentum=...)`` keeps m <- beta m + g instead, which is the same method
    only while alpha stays constant. Where theta > 0 (Nesterov, MaSS, auto) the parameters hold
    y_k = w_k + theta_k v_k between steps, the point where the gradient is taken;
    ``eval_params`` moves them to the iterate w_k and ``train_params`` back, bit for bit. After
    the last step of a schedule the parameters hold w_T.

    Guarantee: on least squares with independent batches, that of the schedule
    (``bocce.theory``); for networks none.

    Parameters
    ----------
    params : parameters, named parameters or groups. A group may set any option but ``guard``.
    schedule : the table; every group has its own clock, which starts when the group is added.
    scale : multiplies alpha, such as a smaller step for one group.
    extend : beyond step T ``"error"`` raises, ``"hold"`` repeats the last row for ever,
        ``"restart"`` starts the table again from rest.
    maximize : go up instead of down.
    foreach : multi-tensor kernels (the same numbers as the plain loop, faster).
    guard : when a loss is not finite or beyond 4 times the first one, or the running mean of the
        losses rises above its lowest by a quarter of the first loss (and by 4 times the mean
        deviation of one batch), restore the parameters of the lowest running mean, zero the
        velocity, halve ``scale`` in every group, warn, and count it in ``restores``. Needs the
        loss: ``step(closure)`` or ``step(loss=loss)``.

    Source: ``eq:shb``.

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
        scale: float = 1.0,
        extend: str = "error",
        maximize: bool = False,
        foreach: bool = True,
        guard: bool = False,
    ) -> None:
        defaults = {
            "schedule": schedule,
            "scale": scale,
            "extend": extend,
            "maximize": maximize,
            "foreach": foreach,
            "k": 0,
            "evaluating": False,
        }
        super().__init__(params, defaults)
        if guard:
            if any(group["maximize"] for group in self.param_groups):
                raise ValueError(
                    "SHB: guard=True must go with maximize=False, as it watches for a loss that "
                    "grows; minimise the negative instead."
                )
            self._named["guard"] = guarding.fresh()

    @classmethod
    def from_lr(
        cls,
        params: Iterable[Any],
        lr: float,
        kappa: float,
        T: int,
        method: str = "2p-shb",
        **options: Any,
    ) -> Self:
        """The method for L = 1/lr and mu = 1/(lr kappa): two numbers a network's user can try.

        kappa sets how far the momentum reaches: about sqrt(kappa) steps. ``options`` are those
        of ``SHB``.

        >>> import torch
        >>> w = torch.nn.Parameter(torch.ones(2))
        >>> optimizer = SHB.from_lr([w], lr=0.1, kappa=100.0, T=50)
        >>> schedule = optimizer.param_groups[0]["schedule"]
        >>> float(schedule.alpha[0]), round(float(schedule.beta[0]), 4)
        (0.1, 0.9025)
        """
        where = "SHB.from_lr"
        lr = _checks.real(where, "lr", lr, above=0.0, remedy="lr plays 1/L")
        kappa = _checks.real(where, "kappa", kappa, least=1.0, remedy="100 is a start for networks")
        constants = {"L": 1.0 / lr, "mu": 1.0 / (lr * kappa)}
        name = _checks.choice(where, "method", method, REGISTRY)
        missing = [need for need in REGISTRY[name].needs if need not in constants]
        if missing:
            raise ValueError(
                f"{where}: method={name!r} also needs {', '.join(missing)}, which lr and kappa do "
                "not give; build the schedule with bocce.schedules and call SHB(params, schedule)."
            )
        return cls(params, REGISTRY[name].build(T, constants), **options)

    # -- groups and state ------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group; its clock starts at step 0."""
        if isinstance(param_group, dict):  # torch itself refuses anything else
            if self.param_groups:
                param_group.setdefault("evaluating", self.param_groups[0]["evaluating"])
            _check_group({**self.defaults, **param_group})
        super().add_param_group(param_group)

    def state_dict(self) -> dict[str, Any]:
        """Everything a resumed run needs, the schedules as tensors (``weights_only`` loads it)."""
        packed = super().state_dict()
        for group in packed["param_groups"]:
            schedule = group["schedule"]
            columns = {c: torch.tensor(getattr(schedule, c), dtype=torch.float64) for c in COLUMNS}
            group["schedule"] = {**columns, "name": schedule.name}
        if "guard" in packed["state"]:
            packed["state"]["guard"] = dict(self._named["guard"])
        return packed

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume: schedules, clocks, velocities, mode and guard, as saved."""
        if not all("schedule" in group for group in state_dict["param_groups"]):
            raise ValueError(
                "SHB.load_state_dict: a group of state_dict has no schedule, so another optimizer "
                "wrote it; load what SHB.state_dict() returned."
            )
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            packed = group["schedule"]
            alpha, beta, theta = (packed[c].cpu().numpy() for c in COLUMNS)
            group["schedule"] = Schedule(alpha, beta, theta, packed["name"])
        if "guard" in self._named:  # torch hands over the caller's own dictionary
            self._named["guard"] = dict(self._named["guard"])

    @property
    def _named(self) -> dict[Any, Any]:
        """State that belongs to no parameter, by name; torch saves, loads and copies it too."""
        return self.state

    @property
    def restores(self) -> int:
        """How often the guard went back to the best parameters."""
        return int(self._named["guard"]["restores"]) if "guard" in self._named else 0

    # -- the step --------------------------------------------------------------------------------

    @torch.compiler.disable  # k indexes the table: traced, every step would be a new graph
    @torch.no_grad()
    def step(self, closure: Closure | None = None, *, loss: Any = None) -> Any:
        """One step of every group; returns the closure's loss, or ``loss`` as given.

        A parameter whose ``.grad`` is None stays where it is.
        """
        for group in self.param_groups:
            _check_ready(group)
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        refuse_sparse("SHB", self._parameters())
        if "guard" in self._named and self._restored(guarding.check_loss(loss)):
            return loss
        for group in self.param_groups:
            self._advance(group)
        return loss

    def _advance(self, group: dict[str, Any]) -> None:
        k, schedule, extend = group["k"], group["schedule"], group["extend"]
        alpha, beta, theta = row(schedule, k, extend)
        ahead = lookahead(schedule, k + 1, extend)
        step = group["scale"] * alpha * (1.0 if group["maximize"] else -1.0)
        moved = [p for p in group["params"] if p.grad is not None]
        tensors = ((p, p.grad, velocity_of(self.state[p], p)) for p in moved)
        for points, gradients, velocities in buckets(tensors):
            move = move_together if group["foreach"] and has_kernels(points[0]) else move_each
            move(points, gradients, velocities, step, beta, theta, 1.0 + ahead)
        if theta != ahead:
            for p in group["params"]:
                if p.grad is None and "velocity" in self.state[p]:
                    p.add_(self.state[p]["velocity"], alpha=ahead - theta)  # its w stays
        group["k"] = k + 1

    def _parameters(self) -> Iterator[torch.Tensor]:
        for group in self.param_groups:
            yield from group["params"]

    def _restored(self, loss: float) -> bool:
        """Let the guard see the loss; if it blew up, go back instead of stepping."""
        memory = self._named["guard"]
        points = {p: self.state[p] for p in self._parameters()}
        if not guarding.blown_up(memory, loss):
            guarding.remember(memory, points)
            return False
        guarding.restore(memory, loss, points)
        for group in self.param_groups:
            group["scale"] *= 0.5
            group["k"] += 1  # a call is a step: T calls end the schedule, whatever happened
        return True

    # -- where the gradient is taken, and the iterate --------------------------------------------

    @torch.no_grad()
    def eval_params(self) -> contextlib.AbstractContextManager[Any]:
        """Move the parameters to the iterate w_k (a second call changes nothing).

        Use it as ``with optimizer.eval_params(): ...`` to come back at the end. What is written
        into the parameters meanwhile is dropped by ``train_params``.
        """
        if self.param_groups[0]["evaluating"]:
            return contextlib.nullcontext()
        for group in self.param_groups:
            group["evaluating"] = True
            theta = lookahead(group["schedule"], group["k"], group["extend"])
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


def _check_group(group: dict[str, Any]) -> None:
    if not isinstance(group["schedule"], Schedule):
        raise TypeError(
            f"SHB: schedule={group['schedule']!r} must be a bocce Schedule; make one with "
            "bocce.schedules, or use SHB.from_lr."
        )
    _checks.real("SHB", "scale", group["scale"], above=0.0, remedy="it multiplies alpha")
    _checks.choice("SHB", "extend", group["extend"], EXTEND)


def _check_ready(group: dict[str, Any]) -> None:
    if group["evaluating"]:
        raise RuntimeError(
            "SHB.step: the parameters hold the iterate since eval_params(), but the gradient "
            "belongs at the training point; call train_params() before computing it."
        )
    T = group["schedule"].T
    if group["extend"] == "error" and group["k"] >= T:
        raise RuntimeError(
            f"SHB.step: the schedule {group['schedule'].name!r} ended at T={T}; give a longer one, "
            "or pass extend='hold' or extend='restart'."
        )
