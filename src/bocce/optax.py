"""The package's schedules as an Optax gradient transformation (extra ``optax``)."""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from . import _checks
from .schedules import Schedule

EXTEND = ("stop", "hold", "restart")


class HeavyBallState(NamedTuple):
    """count: steps taken; velocity: w_k - w_{k-1}; theta: the lookahead the parameters hold."""

    count: jax.Array
    velocity: Any
    theta: jax.Array


def heavy_ball(
    schedule: Schedule, scale: float = 1.0, extend: str = "stop"
) -> optax.GradientTransformationExtraArgs:
    """A schedule as a gradient transformation.

    With g_k the incoming updates and v_k = w_k - w_{k-1}, v_0 = 0::

        v_{k+1} = beta_k v_k - scale alpha_k g_k,    w_{k+1} = w_k + v_{k+1}

    ``optax.sgd(momentum=...)`` keeps m <- beta m + g instead, which is the same method only
    while alpha stays constant. The sign is included: apply the result with
    ``optax.apply_updates``. Where theta > 0 (Nesterov, MaSS, auto) the parameters hold
    y_k = w_k + theta_k v_k, the point where the gradient is taken, and ``eval_params`` gives
    w_k; after step T they hold w_T.

    Guarantee: on least squares with independent batches, that of the schedule
    (``bocce.theory``); for networks none.

    Parameters
    ----------
    schedule : the table.
    scale : multiplies alpha; a number that ``optax.inject_hyperparams`` may take over.
    extend : beyond step T ``"stop"`` leaves the parameters at w_T (compiled code cannot raise),
        ``"hold"`` repeats the last row for ever, ``"restart"`` starts again from rest.

    Source: ``eq:shb``.

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
    _check(schedule, scale, extend)
    table = tuple(jnp.asarray(column) for column in (schedule.alpha, schedule.beta, schedule.theta))
    T = schedule.T

    def row(k: jax.Array) -> tuple[jax.Array, ...]:
        at = k % T if extend == "restart" else jnp.minimum(k, T - 1)
        alpha, beta, theta = (column[at] for column in table)
        if extend == "stop":
            alpha, beta, theta = (jnp.where(k < T, x, 0.0) for x in (alpha, beta, theta))
        if extend == "restart":  # a new round starts from rest, as Schedule.then does
            beta, theta = (jnp.where((k >= T) & (at == 0), 0.0, x) for x in (beta, theta))
        return alpha, beta, theta

    def init(params: optax.Params) -> HeavyBallState:
        velocity = jax.tree.map(jnp.zeros_like, params)
        return HeavyBallState(jnp.zeros([], jnp.int32), velocity, row(jnp.zeros([], jnp.int32))[2])

    def update(
        updates: optax.Updates,
        state: HeavyBallState,
        params: optax.Params | None = None,
        **extra_args: Any,
    ) -> tuple[optax.Updates, HeavyBallState]:
        del params, extra_args
        alpha, beta, _ = row(state.count)
        count = state.count + (state.count < jnp.iinfo(jnp.int32).max).astype(jnp.int32)
        ahead = row(count)[2]
        velocity = jax.tree.map(
            lambda v, g: _combine(beta, v, -scale * alpha, g), state.velocity, updates
        )
        moves = jax.tree.map(
            lambda new, old: _combine(1.0 + ahead, new, -state.theta, old), velocity, state.velocity
        )
        return moves, HeavyBallState(count, velocity, ahead)

    return optax.GradientTransformationExtraArgs(init, update)


def eval_params(state: Any, params: optax.Params) -> optax.Params:
    """The iterate w_k = y_k - theta_k v_k, for parameters that hold y_k.

    ``state`` may be nested (chain, MultiSteps, inject_hyperparams, masked): every heavy ball in
    it is found, and parameters that none of them moves come back as they are.

    >>> import bocce, jax.numpy as jnp
    >>> tx = heavy_ball(bocce.schedules.nesterov(T=10, L=4.0, mu=1.0))
    >>> w = jnp.ones(2)
    >>> eval_params(tx.init(w), w)
    Array([1., 1.], dtype=float32)
    """
    found = [
        leaf
        for leaf in jax.tree.leaves(state, is_leaf=lambda x: isinstance(x, HeavyBallState))
        if isinstance(leaf, HeavyBallState)
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


def _combine(a: Any, x: jax.Array, b: Any, y: jax.Array) -> jax.Array:
    """a x + b y in the dtype of x, with coefficients of at least float32."""
    wide = jnp.promote_types(jnp.float32, jnp.finfo(x.dtype).dtype)
    return (jnp.asarray(a, wide) * x + jnp.asarray(b, wide) * y).astype(x.dtype)


def _check(schedule: Any, scale: Any, extend: Any) -> None:
    if not isinstance(schedule, Schedule):
        raise TypeError(
            f"heavy_ball: schedule={schedule!r} must be a bocce Schedule; make one with "
            "bocce.schedules."
        )
    if isinstance(scale, numbers.Number):  # inject_hyperparams gives a traced array
        _checks.real("heavy_ball", "scale", scale, above=0.0, remedy="it multiplies alpha")
    _checks.choice("heavy_ball", "extend", extend, EXTEND)
