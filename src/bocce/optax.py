"""The package's schedules as an Optax gradient transformation (extra ``optax``)."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from . import _checks
from ._adapters import AFTER, KAPPA, from_rate, held, refused, row
from ._extras import extra
from .schedules import Schedule

with extra("optax", "optax", "jax", "jaxlib"):
    import jax
    import jax.numpy as jnp
    import optax  # type: ignore[import-untyped]


class HeavyBallState(NamedTuple):
    """The state of ``heavy_ball``.

    Attributes
    ----------
    count, velocity, theta : jax.Array, pytree and jax.Array
        The number of steps taken, w_k - w_{k-1}, and the lookahead that the parameters hold.
    """

    count: jax.Array  # type: ignore[assignment]  # Optax's word, though tuples have a count too
    velocity: Any
    theta: jax.Array


def heavy_ball(
    schedule: Schedule, lr: float = 1.0, after: str = "hold"
) -> optax.GradientTransformationExtraArgs:
    """A schedule as a gradient transformation.

    With g_k the incoming updates and v_k = w_k - w_{k-1}, v_0 = 0::

        v_{k+1} = beta_k v_k - lr alpha_k g_k,    w_{k+1} = w_k + v_{k+1}

    ``optax.sgd(momentum=...)`` keeps m <- beta m + g instead, which is the same method only while
    alpha stays constant. The sign is included: apply the result with ``optax.apply_updates``. Where
    theta > 0 (Nesterov, MaSS, auto) the parameters hold y_k = w_k + theta_k v_k, the point where
    the gradient is taken, and ``eval_params`` gives w_k; after step T they hold w_T.

    Guarantee: on least squares with independent batches, that of the schedule
    (``bocce.theory``); for networks none. Source: ``eq:shb``.

    Parameters
    ----------
    schedule : Schedule
        The table of steps.
    lr : float, default 1.0
        Multiplies alpha; ``optax.inject_hyperparams`` may take it over.
    after : {"hold", "restart", "stop", "raise"}, default "hold"
        What to do beyond step T: ``"hold"`` repeats the last row, with one warning where the step
        is not compiled (compiled, it holds in silence, as Optax's own schedules do); ``"restart"``
        starts the table again from rest; ``"stop"`` leaves the parameters at w_T; ``"raise"`` is an
        error, in compiled code too, where it costs a call from the device to Python.

    Returns
    -------
    optax.GradientTransformationExtraArgs
        The transformation.

    Raises
    ------
    TypeError, ValueError
        If an argument is of another kind or out of its range.

    Examples
    --------
    >>> import bocce, jax, jax.numpy as jnp, optax
    >>> tx = heavy_ball(bocce.schedules.shb(T=100, L=4.0, mu=1.0))
    >>> w = jnp.ones(2)
    >>> state = tx.init(w)
    >>> for _ in range(100):
    ...     updates, state = tx.update(jnp.array([4.0, 1.0]) * w, state)
    ...     w = optax.apply_updates(w, updates)
    >>> bool(jnp.abs(w).max() < 1e-8)
    True
    """
    _check(schedule, lr, after)
    steps = _Steps(schedule, after)

    def init(params: optax.Params) -> HeavyBallState:
        velocity = jax.tree.map(jnp.zeros_like, params)
        return HeavyBallState(jnp.zeros([], jnp.int32), velocity, steps.table[0, 2])

    def update(
        updates: optax.Updates,
        state: HeavyBallState,
        params: optax.Params | None = None,
        **extra_args: Any,
    ) -> tuple[optax.Updates, HeavyBallState]:
        del params, extra_args
        _warn_at_the_end(schedule, after, state.count)
        alpha, beta, _ = steps.row(state.count)
        count = state.count + (state.count < np.iinfo(np.int32).max).astype(jnp.int32)
        velocity = _sum(beta, state.velocity, -lr * alpha, updates)
        if not schedule.theta.any():
            return velocity, HeavyBallState(count, velocity, state.theta)
        ahead = steps.row(count)[2]
        moves = _sum(1.0 + ahead, velocity, -state.theta, state.velocity)
        return moves, HeavyBallState(count, velocity, ahead)

    return optax.GradientTransformationExtraArgs(init, update)


def _check(schedule: Schedule, lr: float, after: str) -> None:
    where = "heavy_ball"
    if not isinstance(schedule, Schedule):
        remedy = "make one with bocce.schedules"
        raise _checks.refused(TypeError, where, "schedule", schedule, "a bocce Schedule", remedy)
    if isinstance(lr, numbers.Number):  # inject_hyperparams gives a traced array
        _checks.real(where, "lr", lr, least=0.0, remedy="it multiplies the schedule's alpha")
    _checks.choice(where, "after", after, AFTER)


class _Steps:
    """The rows of a schedule and what follows after them; ``row(k)`` takes a traced k, too."""

    def __init__(self, schedule: Schedule, after: str) -> None:
        rows, self.period = _unrolled(schedule, after)
        self.table = jnp.asarray(rows)
        self.start = len(rows) - self.period  # from here on rows repeat

    def row(self, k: jax.Array) -> jax.Array:
        if self.period == 1:
            return self.table[jnp.minimum(k, self.start)]
        repeated = self.start + (k - self.start) % self.period
        return self.table[jnp.where(k < self.start, k, repeated)]


def from_lr(
    lr: float,
    kappa: float = KAPPA,
    T: int | None = None,
    method: str = "shb",
    after: str = "hold",
    *,
    decay: str | None = "cosine",
) -> optax.GradientTransformationExtraArgs:
    """Heavy ball for a network: momentum from kappa, and a step that falls from lr to 0.

    The twin of ``bocce.torch.SHB.from_lr``. To drive lr, use
    ``optax.inject_hyperparams(heavy_ball)``.

    Parameters
    ----------
    lr, kappa : float
        The first step, 1/L in the theory; how far momentum reaches, about sqrt(kappa) steps (100 is
        momentum 0.9025).
    T : int, optional
        The number of steps of the whole run; it must be given.
    method : str, default "shb"
        The name of a method that needs L and mu only. "2p-shb" was the default up to 0.2.
    after : {"hold", "restart", "stop", "raise"}, default "hold"
        As in ``heavy_ball``.
    decay : {"cosine", None}, default "cosine"
        "cosine" multiplies constant steps by (1 + cos(pi k/T))/2; None leaves them constant.

    Returns
    -------
    optax.GradientTransformationExtraArgs
        The transformation.

    Raises
    ------
    ValueError
        If T is missing, or the method needs more than lr and kappa.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> tx = from_lr(lr=0.1, T=50)
    >>> updates, state = tx.update(jnp.ones(1), tx.init(jnp.zeros(1)))
    >>> round(float(updates[0]), 6)
    -0.1
    """
    return heavy_ball(from_rate("from_lr", lr, kappa, T, method, decay), lr, after)


def eval_params(state: Any, params: optax.Params) -> optax.Params:
    """The iterate w_k = y_k - theta_k v_k, for parameters that hold y_k.

    Parameters
    ----------
    state : pytree
        The state of ``heavy_ball``. It may be nested (chain, MultiSteps, inject_hyperparams,
        masked): every heavy ball in it is found.
    params : pytree
        The parameters, which hold y_k; those that no heavy ball moves come back as they are.

    Returns
    -------
    pytree
        The parameters w_k.

    Raises
    ------
    ValueError
        If there is no state of ``heavy_ball`` in ``state``.

    Examples
    --------
    >>> import bocce, jax.numpy as jnp
    >>> tx = heavy_ball(bocce.schedules.nesterov(T=10, L=4.0, mu=1.0))
    >>> w = jnp.ones(2)
    >>> eval_params(tx.init(w), w)
    Array([1., 1.], dtype=float32)
    """
    found = [
        leaf for leaf in jax.tree.leaves(state, is_leaf=_is_heavy_ball) if _is_heavy_ball(leaf)
    ]
    if not found:
        raise ValueError(
            f"eval_params: state={type(state).__name__} must contain the state of heavy_ball; "
            "give what its init or update returned."
        )
    for heavy in found:
        params = jax.tree.map(
            lambda v, p, theta=heavy.theta: (
                p if isinstance(v, optax.MaskedNode) else _combine(1.0, p, -theta, v)
            ),
            heavy.velocity,
            params,
            is_leaf=lambda x: isinstance(x, optax.MaskedNode),
        )
    return params


def _is_heavy_ball(x: Any) -> TypeGuard[HeavyBallState]:
    return isinstance(x, HeavyBallState)


def _sum(a: Any, x: Any, b: Any, y: Any) -> Any:
    """a x + b y, for trees of arrays."""
    return jax.tree.map(lambda one, other: _combine(a, one, b, other), x, y)


def _combine(a: Any, x: jax.Array, b: Any, y: jax.Array) -> jax.Array:
    """a x + b y in the dtype of x, with coefficients of at least float32."""
    wide = jnp.promote_types(jnp.float32, jnp.finfo(x.dtype).dtype)  # type: ignore[no-untyped-call]
    return (jnp.asarray(a, wide) * x + jnp.asarray(b, wide) * y).astype(x.dtype)


def _unrolled(schedule: Schedule, after: str) -> tuple[np.ndarray[Any, Any], int]:
    """The rows up to where they repeat, and how many of the last ones do, for ever."""
    table = np.column_stack([schedule.alpha, schedule.beta, schedule.theta])
    rest = {"hold": table[-1:], "restart": table[1:]}.get(after, table[:0])
    period = schedule.T if after == "restart" else 1
    return np.vstack([table, row(schedule, schedule.T, after), rest]), period


def _warn_at_the_end(schedule: Schedule, after: str, k: jax.Array) -> None:
    """Warn or raise at a step beyond T, as far as a traced step can."""

    def refuse(k: Any) -> None:
        if int(k) >= schedule.T:
            raise RuntimeError(refused("heavy_ball", schedule))

    traced = isinstance(k, jax.core.Tracer)
    if after == "raise":
        jax.debug.callback(refuse, k) if traced else refuse(k)
    elif after == "hold" and not traced and int(k) == schedule.T:
        warnings.warn(held("heavy_ball", schedule), RuntimeWarning, stacklevel=3)
