"""The same runs of ``plane`` on NumPy's arrays and on PyTorch's tensors, held and in blocks.

CPU seconds of one thread, the faster of ``--rounds`` interleaved runs, and how far the coefficients
are apart; with ``--device cuda`` wall-clock seconds. About a minute.

    python benchmarks/torch_arrays.py
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

import bocce

CASES = [  # rows, columns, classes, type
    (100_000, 100, 2, np.float64),
    (100_000, 100, 2, np.float32),
    (20_000, 256, 50, np.float64),
    (20_000, 256, 50, np.float32),
]


def data(n: int, d: int, classes: int, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((n, d)) * np.geomspace(1.0, 0.05, d)).astype(dtype)
    scores = X @ rng.standard_normal((d, classes)) + 2.0 * rng.gumbel(size=(n, classes))
    return X, scores.argmax(axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    clock = time.process_time if options.device == "cpu" else time.perf_counter
    print("rows x columns, classes, type: seconds on numpy, torch, torch in blocks; steps; apart")
    for n, d, classes, dtype in CASES:
        X, y = data(n, d, classes, dtype)
        like = torch.empty(0, device=options.device)
        kinds = [X, torch.asarray(X, device=options.device), bocce.data.stream_to_device(X, like)]
        loss = "logistic" if classes == 2 else "softmax"
        problems = [bocce.Problem(rows, y, loss, 1e-4, intercept=True) for rows in kinds]
        best, results = [np.inf] * 3, [None] * 3
        for _ in range(options.rounds):
            for j, p in enumerate(problems):
                start = clock()
                results[j] = bocce.minimize(p, "plane", tol=1e-4)
                best[j] = min(best[j], clock() - start)
        apart = max(float(np.abs(r.w - results[0].w).max()) for r in results[1:])
        shown = ", ".join(f"{seconds:.3f}" for seconds in best)
        steps = ", ".join(str(r.n_iter) for r in results)
        print(f"{n} x {d}, {classes}, {np.dtype(dtype)}: {shown}; {steps}; {apart:.1e}")


if __name__ == "__main__":
    main()
