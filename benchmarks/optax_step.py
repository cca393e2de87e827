"""What a compiled step costs: bocce.optax.heavy_ball against optax.sgd(momentum=0.9).

    python benchmarks/optax_step.py [--millions 4] [--rounds 15]

Float32 parameters in 60 arrays, one thread, the gradient given, parameters and state donated, as
training loops do. Rounds of both in turn; the ratio is of the fastest round of each in CPU time.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import jax
import jax.numpy as jnp
import optax

from bocce import schedules
from bocce.optax import heavy_ball

STEPS = 20  # a round
TARGET = 1.1


def stepper(tx: Any, params: Any, gradients: Any) -> Any:
    """A function that takes STEPS steps and returns the CPU seconds of one."""

    def grow(params: Any, state: Any) -> Any:
        updates, state = tx.update(gradients, state, params)
        return optax.apply_updates(params, updates), state

    compiled = jax.jit(grow, donate_argnums=(0, 1))
    carried = [jax.tree.map(jnp.copy, params), tx.init(params)]

    def seconds() -> float:
        start = time.process_time()
        for _ in range(STEPS):
            carried[:] = compiled(*carried)
        jax.block_until_ready(carried)
        return (time.process_time() - start) / STEPS

    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--millions", type=float, default=4.0, help="parameters, in millions")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    side = int((options.millions * 1e6 / 30) ** 0.5)
    shapes = [shape for _ in range(30) for shape in ((side, side), (side,))]
    keys = jax.random.split(jax.random.PRNGKey(0), len(shapes))
    params = [jax.random.normal(key, shape) for key, shape in zip(keys, shapes)]
    gradients = [1e-3 * p for p in params]
    T = (options.rounds + 1) * STEPS
    steppers = {
        "optax.sgd(momentum=0.9)": stepper(optax.sgd(0.01, 0.9), params, gradients),
        "heavy_ball": stepper(heavy_ball(schedules.shb(T, L=10.0, mu=0.1)), params, gradients),
        "optax.sgd, cosine": stepper(
            optax.sgd(optax.cosine_decay_schedule(0.01, T), 0.9), params, gradients
        ),
    }
    rounds: dict[str, list[float]] = {name: [] for name in steppers}
    for turn in range(options.rounds + 1):
        for name, seconds in steppers.items():
            spent = seconds()
            if turn:  # the first round compiles
                rounds[name].append(spent)
    best = {name: min(spent) for name, spent in rounds.items()}
    for name, spent in best.items():
        ratio = spent / best["optax.sgd(momentum=0.9)"]
        print(f"{name:26s} {1e3 * spent:8.2f} ms   ratio {ratio:5.2f}")
    ratio = best["heavy_ball"] / best["optax.sgd(momentum=0.9)"]
    verdict = "met" if ratio <= TARGET else "MISSED"
    print(f"heavy ball / SGD = {ratio:.2f}, target <= {TARGET}: {verdict}")


if __name__ == "__main__":
    main()
