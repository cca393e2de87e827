"""The engines against plain NumPy, a hardware floor, and each other.

    python benchmarks/engines.py [--rounds 7] [--only abcdefs]

Every line is a ratio of CPU times taken in turn in this same run, the best of all rounds of each;
one thread unless said. A: least squares, n = 10,000, d = 20, b = 0.9 n, full gradient recorded at
each step. B: logistic, n = 50,000, d = 22, b = 100, no recording. C: sparse least squares,
n = 20,000, d = 47,236, 74 nonzeros a row. D: policies, which look at each batch: the compiled
rule against its readable twin, dense rows as in B, and sparse ones. E: rows beyond the cache,
and batches of nearly all rows, without recording; and the constants of a problem beside a ridge fit
of the same rows. F: batches of sparse rows, n = 100,000, d = 20,000, 50 entries a row, without
recording. Start-up is measured in fresh processes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before NumPy is loaded

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from numba import njit  # noqa: E402

import bocce  # noqa: E402
from bocce.engines import Recorder, State, record_steps  # noqa: E402
from bocce.engines.numba import CompiledEngine, RuleEngine, stream  # noqa: E402
from bocce.engines.numba.entry import KERNEL  # noqa: E402
from bocce.engines.numba.pack import pack  # noqa: E402
from bocce.engines.reference import ReferenceEngine  # noqa: E402


def best_of(
    rounds: int,
    actions: dict[str, tuple[Callable[[], object], int]],
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """Microseconds a step of each action, taken in turn, the best of all rounds."""
    best = dict.fromkeys(actions, float("inf"))
    for action, _ in actions.values():
        action()  # compile, and fill the caches
    for _ in range(rounds):
        for name, (action, steps) in actions.items():
            start = clock()
            action()
            best[name] = min(best[name], (clock() - start) / steps * 1e6)
    return best


def naive_least_squares(X, y, b, schedule, steps) -> np.ndarray:
    rng = np.random.default_rng(0)
    w, v = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    norms = np.empty(steps)
    for k in range(steps):
        norms[k] = np.linalg.norm(X.T @ (X @ w - y) / len(y))
        batch = rng.choice(len(y), b, replace=False)
        Xb = X[batch]
        g = Xb.T @ (Xb @ w - y[batch]) / b
        v = schedule.beta[k] * v - schedule.alpha[k] * g
        w = w + v
    return w


def naive_logistic(X, s, b, l2, schedule, steps) -> np.ndarray:
    rng = np.random.default_rng(0)
    w, v = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for k in range(steps):
        batch = rng.choice(len(s), b, replace=False, shuffle=False)
        Xb, sb = X[batch], s[batch]
        slope = -sb / (1.0 + np.exp(sb * (Xb @ w)))
        g = Xb.T @ slope / b + l2 * w
        v = schedule.beta[k] * v - schedule.alpha[k] * g
        w = w + v
    return w


@njit(**KERNEL)
def gather_floor(X, batches, total):
    """Read every row of every batch once, as fast as it will come."""
    for i in range(batches.shape[0]):
        for j in range(0, batches.shape[1] - 3, 4):
            a, b = np.uint64(batches[i, j]), np.uint64(batches[i, j + 1])
            c, d = np.uint64(batches[i, j + 2]), np.uint64(batches[i, j + 3])
            for q in range(X.shape[1]):
                total[q] += X[a, q] + X[b, q] + X[c, q] + X[d, q]


@njit(**KERNEL)
def sampling_floor(source, steps):
    for k in range(steps):
        _, _, count = stream.draw(source, k)
        stream.forget(source, count)


def workload_a(rounds: int) -> None:
    n, d, b, T = 10_000, 20, 9_000, 3000
    X, y, _ = bocce.data.regression(n, d, 1000.0, noise_var=1e-2, mu=10.0, spectrum="sqrt")
    p = bocce.LeastSquares(X, y)
    c = p.constants()
    table = bocce.schedules.shb(T, c.L, c.mu)
    packed = pack(p)
    rng = np.random.default_rng(1)
    batches = np.array([rng.choice(n, n - b, replace=False) for _ in range(500)])
    total = np.zeros(packed.X.shape[1])
    source = stream.make_stream(0, n, b, "independent")

    def solve(seed=0):
        return bocce.minimize(p, table, batch_size=b, seed=seed)

    def sweep(threads):
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(solve, range(8)))

    us = best_of(
        rounds,
        {
            "naive": (lambda: naive_least_squares(X, y, b, table, 100), 100),
            "bocce": (solve, T),
            "gather": (lambda: gather_floor(packed.X, batches, total), 500),
            "sampling": (lambda: sampling_floor(source, 500), 500),
        },
    )
    threads = {"one": (lambda: sweep(1), 8 * T), "two": (lambda: sweep(2), 8 * T)}
    us |= best_of(rounds, threads, time.perf_counter)
    floor = us["gather"] + us["sampling"]
    line("A: naive NumPy loop / bocce", us["naive"] / us["bocce"], 50)
    line("A: floor (gather + sampling) / bocce", floor / us["bocce"], 0.45)
    line("A: sweep of 8 runs, one thread / two", us["one"] / us["two"], 1.7)
    print(
        f"   us a step: bocce {us['bocce']:.1f}, naive {us['naive']:.0f}, "
        f"gather {us['gather']:.1f}, sampling {us['sampling']:.1f}"
    )


def workload_b(rounds: int) -> None:
    n, d, b, T, l2 = 50_000, 22, 100, 10_000, 1e-4
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    labels = rng.random(n) < 1 / (1 + np.exp(-X @ rng.standard_normal(d)))
    p = bocce.Logistic(X, labels, l2=l2)
    c = p.constants()
    table = bocce.schedules.shb_exponential(T, c.L_max, c.L / 100)
    engine = CompiledEngine(p, b, 0, "independent")
    us = best_of(
        rounds,
        {
            "naive": (lambda: naive_logistic(X, p.y, b, l2, table, 500), 500),
            "bocce": (lambda: steps(engine, p, table, T), T),
        },
    )
    line("B: NumPy loop / bocce", us["naive"] / us["bocce"], 15)
    print(f"   us a step: bocce {us['bocce']:.2f}, NumPy {us['naive']:.1f}")


def workload_c(rounds: int) -> None:
    n, d, nonzeros = 20_000, 47_236, 74
    rng = np.random.default_rng(0)
    X = sp.random_array((n, d), density=nonzeros / d, format="csr", rng=rng)
    p = bocce.LeastSquares(X, rng.standard_normal(n), l2=1e-4)
    c = p.constants()
    for b, T, target in ((1, 4096, 20), (100, 512, 1.3)):
        table = bocce.schedules.shb(T, c.L_max, c.L_max / 1000)
        fast = CompiledEngine(p, b, 0, "independent")
        dense = CompiledEngine(p, b, 0, "independent")
        dense.use_dense_update()
        us = best_of(
            rounds,
            {
                "dense": (lambda e=dense, t=table, s=T: steps(e, p, t, s), T),
                "bocce": (lambda e=fast, t=table, s=T: steps(e, p, t, s), T),
            },
        )
        line(f"C: dense update / bocce, b = {b}", us["dense"] / us["bocce"], target)
        print(f"   us a step: bocce {us['bocce']:.2f}, dense {us['dense']:.1f}")


def workload_d(rounds: int) -> None:
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((50_000, 22))
    sparse = sp.random_array((6_400, 50_000), density=160 / 50_000, format="csr", rng=rng)
    for kind, X, target in (("dense", dense, 10), ("sparse", sparse, 4)):
        p = bocce.Logistic(X, rng.random(X.shape[0]) < 0.5, l2=1e-2)
        engines = {"twin": ReferenceEngine, "bocce": RuleEngine}
        made = {name: make(p, 100, 0, "independent") for name, make in engines.items()}
        for policy in (
            bocce.policies.sgd_sls_exponential(500),
            bocce.policies.shb_sls_exponential(500, mu=1e-2),
            bocce.policies.momsps(500),
        ):
            us = best_of(
                rounds,
                {
                    name: (lambda e=e, p=p, policy=policy: steps(e, p, policy, 500), 500)
                    for name, e in made.items()
                },
            )
            line(f"D: readable / bocce, {policy.name}, {kind}", us["twin"] / us["bocce"], target)
            print(f"   us a step: bocce {us['bocce']:.2f}, readable {us['twin']:.1f}")


def workload_e(rounds: int) -> None:
    """Batches beyond the cache, and of nearly all rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000_000, 50))
    y = X @ rng.standard_normal(50) + rng.standard_normal(len(X))
    batches = np.array([rng.choice(len(X), 1000, replace=False) for _ in range(200)])
    total, source = np.zeros(50), stream.make_stream(0, len(X), 1000, "independent")
    table = bocce.schedules.shb(200, 100.0, 0.5)
    squared, logistic = bocce.LeastSquares(X, y, l2=1e-4), bocce.Logistic(X, y > 0, l2=1e-4)
    loops = {
        "squared": lambda: naive_squared(X, y, 1000, 1e-4, table, 20),
        "logistic": lambda: naive_logistic(X, logistic.y, 1000, 1e-4, table, 20),
    }
    for name, p in (("squared", squared), ("logistic", logistic)):
        engine = CompiledEngine(p, 1000, 0, "independent")
        us = best_of(
            rounds,
            {
                "naive": (loops[name], 20),
                "bocce": (lambda e=engine, p=p: steps(e, p, table, 200), 200),
                "gather": (lambda: gather_floor(X, batches, total), 200),
                "sampling": (lambda: sampling_floor(source, 200), 200),
            },
        )
        floor = us["gather"] + us["sampling"]
        line(f"E: 1M x 50, b = 1,000, {name}: NumPy / bocce", us["naive"] / us["bocce"], 3)
        line(f"E: {name}: floor (gather + sampling) / bocce", floor / us["bocce"], 0.7)
    seconds = best_of(
        rounds,
        {
            "constants": (lambda: bocce.LeastSquares(X, y, l2=1e-4).constants(), 1),
            "fit": (lambda: bocce.minimize(bocce.LeastSquares(X, y, l2=1e-4), tol=1e-4), 1),
        },
    )
    ratio = seconds["constants"] / seconds["fit"]
    line("E: 1M x 50: constants() / ridge fit", ratio, 5, most=True)
    small = bocce.Logistic(X[:10_000, :20], y[:10_000] > 0, l2=1e-4)
    x = np.ascontiguousarray(X[:10_000, :20])
    engine = CompiledEngine(small, 9000, 0, "independent")
    us = best_of(
        rounds,
        {
            "naive": (lambda: naive_logistic(x, small.y, 9000, 1e-4, table, 50), 50),
            "bocce": (lambda: steps(engine, small, table, 200), 200),
        },
    )
    line("E: logistic 10,000 x 20, b = 9,000: NumPy / bocce", us["naive"] / us["bocce"], 3)


def workload_f(rounds: int) -> None:
    n, d, entries, T, l2 = 100_000, 20_000, 50, 300, 1e-4
    rng = np.random.default_rng(0)
    columns = rng.integers(0, d, n * entries)
    starts = np.arange(0, n * entries + 1, entries)
    X = sp.csr_array((rng.standard_normal(n * entries), columns, starts), shape=(n, d))
    X.sum_duplicates()
    y = rng.standard_normal(n)
    table = bocce.schedules.shb(T, 100.0, 0.5)
    squared = bocce.LeastSquares(X, y, l2=l2)
    logistic = bocce.Logistic(X, y > 0, l2=l2)
    for b in (100, 1000, 3000):
        for naive, p in ((naive_squared, squared), (naive_logistic, logistic)):
            engine = CompiledEngine(p, b, 0, "independent")
            us = best_of(
                rounds,
                {
                    "naive": (lambda b=b, naive=naive, p=p: naive(X, p.y, b, l2, table, 50), 50),
                    "bocce": (lambda engine=engine, p=p: steps(engine, p, table, T), T),
                },
            )
            name = f"F: CSR 100,000 x 20,000, b = {b:,}, {p.loss.description.lower()}"
            line(f"{name}: SciPy / bocce", us["naive"] / us["bocce"], 1.5)
            print(f"   us a step: bocce {us['bocce']:.1f}, SciPy {us['naive']:.1f}")


def naive_squared(X, y, b, l2, schedule, steps) -> np.ndarray:
    rng = np.random.default_rng(0)
    w, v = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for k in range(steps):
        batch = rng.choice(len(y), b, replace=False, shuffle=False)
        Xb = X[batch]
        g = Xb.T @ (Xb @ w - y[batch]) / b + l2 * w
        v = schedule.beta[k] * v - schedule.alpha[k] * g
        w = w + v
    return w


def steps(engine, p, table, T) -> None:
    """T steps from zero with nothing recorded."""
    recorder = Recorder(record_steps(T, T, 1))
    recorder.cursor[0] = 1
    engine.advance(State(np.zeros(p.d), np.zeros(p.d)), table, T, recorder)


FIRST = """
import time; start = time.perf_counter()
import bocce
loaded = time.perf_counter()
import numpy as np
X = np.random.default_rng(0).standard_normal((1000, 10))
p = bocce.LeastSquares(X, X @ np.ones(10))
begin = time.perf_counter()
bocce.minimize(p, "shb", T=100, batch_size=900)
print(loaded - start, time.perf_counter() - begin)
"""


def start_up(rounds: int) -> None:
    seen = []
    for _ in range(rounds + 1):
        out = subprocess.run(
            [sys.executable, "-c", FIRST], capture_output=True, text=True, check=True
        )
        seen.append([float(x) for x in out.stdout.split()])
    imported, solved = np.array(seen[1:]).min(axis=0)  # the first one may compile
    line("import bocce, seconds", imported, 0.3, most=True)
    line("first solve with a warm cache, seconds", solved, 1.0, most=True)


def line(what: str, measured: float, target: float, most: bool = False) -> None:
    met = measured <= target if most else measured >= target
    sign = "<=" if most else ">="
    print(f"{what:<42} {measured:8.2f}   target {sign} {target:<5g} {'met' if met else 'MISSED'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="abcdefs", help="workloads, s for start-up")
    asked = parser.parse_args()
    parts = {"a": workload_a, "b": workload_b, "c": workload_c, "d": workload_d}
    for name, part in {**parts, "e": workload_e, "f": workload_f, "s": start_up}.items():
        if name in asked.only:
            part(asked.rounds)


if __name__ == "__main__":
    main()
