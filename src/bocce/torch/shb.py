"""Stochastic heavy ball, and every other table of (alpha, beta, theta), as an optimizer."""

from __future__ import annotations

import contextlib
import difflib
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Self

import torch

from .. import _checks
from .._adapters import AFTER, KAPPA, from_rate, held, refused, row
from ..schedules import Schedule
from .update import buckets, has_kernels, is_fusable, move, move_fused, penalised

COLUMNS = ("alpha", "beta", "theta")
# torch writes these itself: names of parameters, and what its schedulers and SWA remember
TORCHS = ("params", "param_names", "initial_lr", "max_lr", "min_lr", "swa_lr")
OURS = ("k", "evaluating")  # known, but nobody's option
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
    fused : bool, default True
        Use torch's fused kernel where it can take the step (float32, momentum, no lookahead): the
        numbers of the plain loop to rounding, faster still.
    **unknown : object
        Refused, with what to write instead; ``momentum`` is one.

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
        fused: bool = True,
        **unknown: Any,
    ) -> None:
        defaults = {
            "schedule": schedule,
            "lr": lr,
            "weight_decay": weight_decay,
            "after": after,
            "maximize": maximize,
            "foreach": foreach,
            "fused": fused,
            "k": 0,
            "evaluating": False,
        }
        _check_keys(unknown, [o for o in defaults if o not in OURS])
        super().__init__(params, defaults)

    @classmethod
    def from_lr(
        cls,
        params: Iterable[Any],
        lr: float,
        T: int | None = None,
        kappa: float = KAPPA,
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
        T : int
            The number of steps of the whole run.
        kappa : float, default 100.0
            How far momentum reaches, about sqrt(kappa) steps: beta = (1 - 1/(2 sqrt(kappa)))^2 with
            "shb". 100 is momentum 0.9025; larger batches and longer runs allow 400 (0.95), batches
            of a few rows need 10 (0.71).
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
            _check({**self.defaults, **param_group}, [o for o in self.defaults if o not in OURS])
            if self.param_groups:
                param_group.setdefault("evaluating", self.param_groups[0]["evaluating"])
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
            schedule = group["schedule"]
            columns = {c: torch.tensor(getattr(schedule, c), dtype=torch.float64) for c in COLUMNS}
            group["schedule"] = {**columns, "name": schedule.name}
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
            columns = [group["schedule"][c].cpu().numpy() for c in COLUMNS]
            group["schedule"] = Schedule(*columns, group["schedule"]["name"])

    # -- the step --------------------------------------------------------------------------------

    # k indexes the table: traced, every step would be a new graph. torch.compiler.disable would
    # import torch's compiler with this module, and double its time.
    @torch._disable_dynamo  # type: ignore[untyped-decorator]
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
            _check_ready(group)
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        _check_gradients(p for group in self.param_groups for p in group["params"])
        for group in self.param_groups:
            if group["after"] == "hold" and group["k"] == group["schedule"].T:
                warnings.warn(held("SHB", group["schedule"]), RuntimeWarning, stacklevel=6)
                break
        for group in self.param_groups:
            self._advance(group)
        return loss

    def _advance(self, group: dict[str, Any]) -> None:
        k = group["k"]
        schedule = group["schedule"]
        after = group["after"]
        alpha, beta, theta = row(schedule, k, after)
        ahead = row(schedule, k + 1, after)[2]
        sign = 1.0 if group["maximize"] else -1.0
        step = sign * float(group["lr"]) * alpha
        moved = [p for p in group["params"] if p.grad is not None]
        for p in moved:
            if "velocity" not in self.state[p]:
                zero = torch.zeros_like(p, memory_format=torch.preserve_format)
                self.state[p]["velocity"] = zero
        tensors = ((p, p.grad, self.state[p]["velocity"]) for p in moved)
        numbers = (step, beta, theta, 1.0 + ahead)
        for points, gradients, velocities in buckets(tensors):
            together = group["foreach"] and has_kernels(points[0])
            if group["fused"] and is_fusable(points[0], numbers):
                move_fused(points, gradients, velocities, numbers, group["weight_decay"])
                continue
            if group["weight_decay"]:
                weight = -sign * group["weight_decay"]
                gradients = penalised(gradients, points, weight, together)
            move(points, gradients, velocities, numbers, together)
        if theta != ahead:
            for p in group["params"]:
                if p.grad is None and "velocity" in self.state[p]:
                    p.add_(self.state[p]["velocity"], alpha=ahead - theta)  # its w stays
        group["k"] = k + 1

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

    def train(self) -> None:
        """The same as ``train_params``: the name that accelerate and transformers call."""
        self.train_params()

    def eval(self) -> None:
        """The same as ``eval_params``: the name that accelerate and transformers call."""
        self.eval_params()

    @torch.no_grad()
    def train_params(self) -> None:
        """Move the parameters back to where the next gradient is taken, bit for bit."""
        for group in self.param_groups:
            group["evaluating"] = False
            for p in group["params"]:
                if "training" in self.state[p]:
                    p.copy_(self.state[p].pop("training"))


def _check_keys(keys: Iterable[str], options: list[str]) -> None:
    """A key that nobody reads, such as ``momentum``, is a mistake."""
    for key in keys:
        if key in (*options, *OURS, *TORCHS):
            continue
        near = difflib.get_close_matches(str(key), options, n=1)
        if key == "momentum":
            hint = (
                "the schedule has the momentum: SHB.from_lr(params, lr, T, kappa=100.0) is "
                "momentum (1 - 1/(2 sqrt(kappa)))^2 = 0.9025."
            )
        elif near:
            hint = f"did you mean {near[0]!r}?"
        else:
            hint = "leave it out."
        raise ValueError(
            f"SHB: a group has the key {key!r}, must be one of "
            f"{', '.join(map(repr, options))}; {hint}"
        )


def _check(group: dict[str, Any], options: list[str]) -> None:
    """Every option of a new group."""
    _check_keys(group, options)
    if not isinstance(group["schedule"], Schedule):
        remedy = "make one with bocce.schedules, or use SHB.from_lr"
        trouble = ("schedule", group["schedule"], "a bocce Schedule", remedy)
        raise _checks.refused(TypeError, "SHB", *trouble)
    _checks.real("SHB", "lr", group["lr"], least=0.0, remedy="it multiplies the schedule's alpha")
    _checks.real("SHB", "weight_decay", group["weight_decay"], least=0.0)
    _checks.choice("SHB", "after", group["after"], AFTER)


def _check_ready(group: dict[str, Any]) -> None:
    """What must hold before a step, whoever changed the group meanwhile."""
    if group["evaluating"]:
        raise RuntimeError(
            "SHB.step: the parameters hold the iterate since eval_params(), but the gradient "
            "belongs at the training point; call train_params() before computing it."
        )
    lr = float(group["lr"])
    _checks.real("SHB.step", "lr", lr, least=0.0, remedy="check what the scheduler set")
    if group["after"] == "raise" and group["k"] >= group["schedule"].T:
        raise RuntimeError(refused("SHB.step", group["schedule"]))


def _check_gradients(points: Iterable[torch.Tensor]) -> None:
    for p in points:
        if p.grad is not None and p.grad.layout != torch.strided:
            raise RuntimeError(
                f"SHB.step: a gradient of shape {tuple(p.shape)} has layout {p.grad.layout}, must "
                "be dense, as momentum moves every entry; use sparse=False in the embedding, or "
                "another optimizer for it."
            )
