"""heavy_ball follows the reference engine, and works inside everything Optax offers."""

from __future__ import annotations

import warnings
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import quadratic
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce import schedules
from bocce.optax import eval_params, from_lr, heavy_ball

NAMES = sorted(quadratic.all_schedules())
HEAVY = schedules.two_phase(40, L=4.0, mu=0.5)
AHEAD = schedules.nesterov_exponential(40, L=4.0, mu=0.5)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def slope(w: jax.Array, X: jax.Array, y: jax.Array) -> jax.Array:
    return X.T @ (X @ w - y) / y.size + quadratic.problem().l2 * w


def run(tx: optax.GradientTransformation, steps: int, compiled: bool = True) -> np.ndarray:
    """The iterate after each step on the reference engine's batches."""
    w = jnp.asarray(quadratic.start())
    state = tx.init(w)

    def step(w, state, X, y):
        updates, state = tx.update(slope(w, X, y), state, w)
        return optax.apply_updates(w, updates), state

    step = jax.jit(step) if compiled else step
    path = []
    for k in range(steps):
        w, state = step(w, state, *quadratic.batch(k))
        path.append(np.asarray(eval_params(state, w)))
    return np.array(path)


@pytest.mark.parametrize("name", NAMES)
def test_every_schedule_follows_the_reference(name: str) -> None:
    schedule = quadratic.all_schedules()[name]
    expected = quadratic.reference(schedule)[1:]
    assert np.abs(run(heavy_ball(schedule), schedule.T) - expected).max() <= 1e-12


@settings(max_examples=10, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.floats(1e-3, 0.3), st.floats(0, 0.95), st.floats(0, 3)), min_size=1, max_size=5
    )
)
def test_any_table_follows_the_reference(rows: list[tuple[float, float, float]]) -> None:
    schedule = schedules.Schedule(*np.array(rows).T)
    expected = quadratic.reference(schedule)[1:]
    path = run(heavy_ball(schedule), schedule.T, compiled=False)
    assert np.abs(path - expected).max() <= 1e-12 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("after", ["hold", "restart", "stop"])
@pytest.mark.parametrize("name", ["shb", "nesterov-exp", "random"])
def test_beyond_T_a_schedule_is_a_longer_table(name: str, after: str) -> None:
    schedule = quadratic.all_schedules()[name]
    path = run(heavy_ball(schedule, after=after), 2 * schedule.T)
    assert np.abs(path - quadratic.extended(schedule, after)[1:]).max() <= 1e-12


def one_by_one(tx: optax.GradientTransformation, steps: int) -> None:
    params, state = tree(), tx.init(tree())
    for _ in range(steps):
        params, state = _step(tx, params, state)


def test_holding_warns_once_where_the_step_was_called() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        one_by_one(heavy_ball(HEAVY), 45)
    (warning,) = seen
    assert warning.category is RuntimeWarning
    assert "'2p-shb' ended at T=40; its last row is repeated" in str(warning.message)
    assert warning.filename == __file__


def test_raising_ends_a_run_compiled_or_not() -> None:
    tx = heavy_ball(HEAVY, after="raise")
    one_by_one(tx, 40)
    with pytest.raises(RuntimeError, match=r"'2p-shb' ended at T=40; .*after='hold'"):
        one_by_one(tx, 41)
    jax.block_until_ready(descend(tx, tree(), 40))
    with pytest.raises(RuntimeError, match="ended at T=40"):
        jax.block_until_ready(descend(tx, tree(), 41))


# -- lr and kappa --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["2p-shb", "shb", "nesterov-exp"])
def test_from_lr_is_the_schedule_of_two_numbers(name: str) -> None:
    """L = 1/lr and mu = 1/(lr kappa), and the same end."""
    expected = schedules.REGISTRY[name].build(30, {"L": 8.0, "mu": 0.125})
    for after in ("hold", "stop"):
        params, _ = descend(from_lr(0.125, 64.0, 30, name, after, decay=None), tree(), 35)
        assert same(params, descend(heavy_ball(expected, after=after), tree(), 35)[0], 1e-12)


def test_from_lr_is_heavy_ball_with_a_cosine_by_default() -> None:
    """The twin of bocce.torch.SHB.from_lr."""
    plain = schedules.REGISTRY["shb"].build(30, {"L": 8.0, "mu": 0.08})
    falls = 0.5 * (1.0 + np.cos(np.pi * np.arange(30) / 30))
    expected = schedules.Schedule(falls * plain.alpha, plain.beta, plain.theta)
    params, _ = descend(from_lr(0.125, T=30), tree(), 30)
    assert same(params, descend(heavy_ball(expected), tree(), 30)[0], 1e-12)
    with pytest.raises(ValueError, match=r"from_lr: T=None must be the number of steps"):
        from_lr(0.125)


def test_from_lr_names_what_two_numbers_do_not_give() -> None:
    with pytest.raises(ValueError, match=r"from_lr: method='auto' also needs L_max, n, b, which"):
        from_lr(0.125, 64.0, 30, method="auto")


def test_from_lr_refuses_bad_numbers() -> None:
    with pytest.raises(ValueError, match=r"from_lr: lr=0\.0 must be a finite number > 0; lr plays"):
        from_lr(0.0, 10.0, 5)
    with pytest.raises(ValueError, match=r"from_lr: kappa=0\.5 must be a finite number >= 1"):
        from_lr(1.0, 0.5, 5)
    with pytest.raises(ValueError, match=r"after='error' must be one of 'hold', 'restart'"):
        from_lr(1.0, 2.0, 5, after="error")


# -- a small tree, for Optax's own machinery -----------------------------------------------------


def tree(dtype=jnp.float64):
    return {"a": jnp.ones(3, dtype), "b": (jnp.full((2, 2), 2.0, dtype),)}


def descend(tx: optax.GradientTransformation, params, steps: int, curvature: float = 1.0):
    """Gradient steps on curvature |w|^2/2, in one compiled scan."""

    def one(carry, _):
        params, state = carry
        gradient = jax.tree.map(lambda w: (curvature * w).astype(w.dtype), params)
        updates, state = tx.update(gradient, state, params)
        return (optax.apply_updates(params, updates), state), None

    (params, state), _ = jax.lax.scan(one, (params, tx.init(params)), length=steps)
    return params, state


def same(x, y, atol: float = 0.0) -> bool:
    pairs = zip(jax.tree.leaves(x), jax.tree.leaves(y), strict=True)
    return all(np.allclose(a, b, rtol=0, atol=atol) for a, b in pairs)


def test_one_trace_serves_every_step() -> None:
    tx = heavy_ball(AHEAD)
    traces = []

    @jax.jit
    def step(params, state):
        traces.append(1)
        updates, state = tx.update(params, state, params)
        return optax.apply_updates(params, updates), state

    params, state = tree(), tx.init(tree())
    for _ in range(45):
        params, state = step(params, state)
    assert len(traces) == 1
    assert state.count.dtype == jnp.int32
    assert int(state.count) == 45
    assert same(params, descend(tx, tree(), 45)[0], 1e-15)


def test_vmap_runs_many_starts_at_once() -> None:
    tx = heavy_ball(AHEAD)
    starts = jnp.linspace(-1.0, 2.0, 4)[:, None] * jnp.ones((4, 3))
    together = jax.vmap(lambda w: descend(tx, w, 15)[0])(starts)
    alone = jnp.stack([descend(tx, w, 15)[0] for w in starts])
    assert same(together, alone, 1e-15)
    counts = jax.vmap(tx.init)(starts).count
    assert counts.shape == (4,)


@pytest.mark.parametrize(
    "dtype", [jnp.bfloat16, jnp.float16, jnp.float32, jnp.float64, jnp.complex64, jnp.complex128]
)
def test_dtypes_are_preserved(dtype) -> None:
    for schedule in (HEAVY, AHEAD):
        params, state = descend(heavy_ball(schedule), tree(dtype), 40)
        exact, _ = descend(heavy_ball(schedule), tree(), 40)
        for leaf in jax.tree.leaves((params, state.velocity, eval_params(state, params))):
            assert leaf.dtype == dtype
        # an error of one rounding a step, of numbers up to 2
        assert same(
            jax.tree.map(lambda x: np.asarray(x, np.complex128).real, params),
            exact,
            40 * 2 * float(jnp.finfo(dtype).eps),
        )


def test_half_precision_rounds_only_the_result() -> None:
    """A beta of 0.997 would be 1 in bfloat16; the coefficients are kept in float32."""
    v = jnp.linspace(1.0, 2.0, 100).astype(jnp.bfloat16)
    tx = heavy_ball(schedules.Schedule([0.1], [0.997], [0.0]))
    _, state = tx.update(jnp.zeros_like(v), tx.init(v)._replace(velocity=v))
    expected = (np.float32(0.997) * np.asarray(v, np.float32)).astype(jnp.bfloat16)
    assert np.array_equal(np.asarray(state.velocity), expected)
    assert not np.array_equal(np.asarray(v), expected)


def test_after_T_steps_the_parameters_hold_the_iterate() -> None:
    params, state = descend(heavy_ball(AHEAD), tree(), AHEAD.T)
    assert same(eval_params(state, params), params)
    params, state = descend(heavy_ball(AHEAD), tree(), AHEAD.T - 1)
    assert not same(eval_params(state, params), params, 1e-9)


def test_chain_with_clipping() -> None:
    """As if written out by hand."""
    tx = optax.chain(optax.clip(0.5), heavy_ball(HEAVY))
    params, _ = descend(tx, tree(), 40)
    w = {k: np.asarray(v, float) for k, v in (("a", np.ones(3)), ("b", np.full((2, 2), 2.0)))}
    v = {k: np.zeros_like(x) for k, x in w.items()}
    for k in range(40):
        for name in w:
            g = np.clip(w[name], -0.5, 0.5)
            v[name] = HEAVY.beta[k] * v[name] - HEAVY.alpha[k] * g
            w[name] = w[name] + v[name]
    assert same([params["a"], params["b"][0]], [w["a"], w["b"]], 1e-12)


def test_inject_hyperparams_moves_lr() -> None:
    tx = optax.inject_hyperparams(heavy_ball)(schedule=HEAVY, lr=0.5)
    half = schedules.Schedule(0.5 * HEAVY.alpha, HEAVY.beta, HEAVY.theta)
    params, state = descend(tx, tree(), 40)
    assert same(params, descend(heavy_ball(half), tree(), 40)[0], 1e-6)  # it injects float32
    assert float(state.hyperparams["lr"]) == 0.5
    assert same(eval_params(state, params), params)


def test_a_schedule_of_optax_drives_lr() -> None:
    """The run with lr_k is that of the table (lr_k alpha_k, beta_k, theta_k)."""
    cosine = optax.cosine_decay_schedule(1.0, decay_steps=50)
    tx = optax.inject_hyperparams(heavy_ball)(schedule=AHEAD, lr=cosine)
    rates = np.array([float(cosine(k)) for k in range(AHEAD.T)])
    driven = schedules.Schedule(rates * AHEAD.alpha, AHEAD.beta, AHEAD.theta)
    params, _ = descend(tx, tree(), 40)
    assert same(params, descend(heavy_ball(driven), tree(), 40)[0], 1e-6)  # it injects float32
    assert not same(params, descend(heavy_ball(AHEAD), tree(), 40)[0], 1e-3)


def test_multi_steps_accumulates_gradients() -> None:
    tx = optax.MultiSteps(heavy_ball(AHEAD), every_k_schedule=3)

    @jax.jit
    def step(params, state, factor):
        gradient = jax.tree.map(lambda w: w * factor, params)
        updates, state = tx.update(gradient, state, params)
        return optax.apply_updates(params, updates), state

    params, state = tree(), tx.init(tree())
    for factor in [0.0, 1.0, 2.0] * 10:  # their mean is 1
        params, state = step(params, state, factor)
    plain, plain_state = descend(heavy_ball(AHEAD), tree(), 10)
    assert same(params, plain, 1e-6)  # MultiSteps accumulates in float32
    assert same(eval_params(state, params), eval_params(plain_state, plain), 1e-6)
    assert not same(params, eval_params(state, params), 1e-3)


def test_tree_map_params_finds_the_velocity() -> None:
    tx = optax.chain(optax.scale(1.0), heavy_ball(HEAVY))
    _, state = descend(tx, tree(), 3)
    marked = optax.tree_utils.tree_map_params(tx, lambda v: jnp.full_like(v, 7.0), state)
    assert all((leaf == 7.0).all() for leaf in jax.tree.leaves(marked[1].velocity))
    assert int(marked[1].count) == 3


def test_eval_params_through_masks_and_partitions() -> None:
    tx = optax.partition(
        {"ahead": heavy_ball(AHEAD), "heavy": heavy_ball(HEAVY)}, {"a": "ahead", "b": ("heavy",)}
    )
    params, state = descend(tx, tree(), 9)
    iterate = eval_params(state, params)
    ahead, ahead_state = descend(heavy_ball(AHEAD), tree()["a"], 9)
    assert same(params["a"], ahead, 1e-15)
    assert same(iterate["a"], eval_params(ahead_state, ahead), 1e-15)
    assert same(iterate["b"], params["b"])
    assert not same(iterate["a"], params["a"], 1e-3)


def test_a_saved_state_goes_on_bit_for_bit() -> None:
    tx = heavy_ball(AHEAD)
    step = jax.jit(partial(_step, tx))
    params, state = tree(), tx.init(tree())
    for _ in range(12):
        params, state = step(params, state)
    leaves, structure = jax.tree.flatten((params, state))
    copied = jax.tree.unflatten(structure, [jnp.asarray(np.asarray(leaf)) for leaf in leaves])
    for _ in range(28):
        params, state = step(params, state)
        copied = step(*copied)
    assert same(copied, (params, state))


def _step(tx, params, state):
    updates, state = tx.update(params, state, params)
    return optax.apply_updates(params, updates), state


def test_optax_sgd_is_another_method_when_alpha_varies() -> None:
    """Why bocce keeps v = w - w_prev: optax's trace with the same numbers goes elsewhere."""
    schedule = schedules.shb_exponential(40, L=4.0, mu=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tx = optax.inject_hyperparams(optax.sgd)(
            learning_rate=lambda k: jnp.asarray(schedule.alpha)[k],
            momentum=lambda k: jnp.asarray(schedule.beta)[k],
        )
    assert not same(descend(tx, tree(), 40)[0], descend(heavy_ball(schedule), tree(), 40)[0], 1e-2)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match=r"heavy_ball: schedule=0\.1 must be a bocce Schedule"):
        heavy_ball(0.1)
    with pytest.raises(ValueError, match=r"heavy_ball: lr=-1\.0 must be a finite number >= 0"):
        heavy_ball(HEAVY, lr=-1.0)
    with pytest.raises(ValueError, match=r"after='error' must be one of 'hold', 'restart'"):
        heavy_ball(HEAVY, after="error")
    with pytest.raises(ValueError, match=r"eval_params: state=.* must contain the state of heavy"):
        eval_params(optax.sgd(0.1).init(tree()), tree())
