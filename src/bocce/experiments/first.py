"""The paper's main experiment in small: a few methods on one synthetic problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import exact
from ..data import regression
from ..problems import LeastSquares
from ..solve import minimize
from .figures import blank

METHODS = ("sgd", "shb", "multi-shb", "2p-shb", "nesterov-exp")
STEPS = {"quick": 1000, "full": 7000}  # full is the paper's T
PROBLEM = {
    "n": 10_000,
    "d": 20,
    "kappa": 200.0,
    "noise_var": 1e-2,
    "design": "haar",
    "mu": 10.0,
    "spectrum": "sqrt",
    "seed": 0,
}
BATCH = 0.9
POINTS = 401  # kept of each curve


def run(profile: str, progress: Callable[[str], None] = lambda name: None) -> dict[str, Any]:
    """Run every method of `METHODS`, and compute its exact expectation; plain lists and numbers.

    ``progress`` is told the name of each method when it begins.
    """
    T = STEPS[profile]
    X, y, _ = regression(**PROBLEM)
    problem = LeastSquares(X, y)
    curves = {}
    for method in METHODS:
        progress(method)
        result = minimize(problem, method, T=T, batch_size=BATCH)
        mean_square = exact.expected(problem, result.schedule, result.batch_size).grad2
        shown = np.linspace(0, T, POINTS).astype(int)
        curves[method] = {
            "status": result.status,
            "k": shown.tolist(),
            "grad_norm": result.history["grad_norm"][shown].tolist(),
            "expected": np.sqrt(mean_square[shown]).tolist(),
            "last_grad_norm": float(result.history["grad_norm"][-1]),
            "last_expected": float(np.sqrt(mean_square[-1])),
        }
    return {"profile": profile, "T": T, "batch_size": BATCH, "problem": PROBLEM, "methods": curves}


def picture(results: dict[str, Any]) -> Any:
    """Sampled curves, and over them, dashed, the exact root mean square of the gradient norm."""
    kappa, share = results["problem"]["kappa"], results["batch_size"]
    title = f"Squared loss, kappa = {kappa:g}, b = {share:g} n (dashed: exact expectation)"
    figure, axes = blank(title, "step k", "norm of the full gradient at w_k")
    for place, (method, curve) in enumerate(results["methods"].items()):
        style = {"color": f"C{place}", "lw": 4.0 - 0.7 * place}  # equal curves stay visible
        axes.semilogy(curve["k"], curve["grad_norm"], alpha=0.5, label=method, **style)
        axes.semilogy(curve["k"], curve["expected"], ls="--", **style)
    axes.legend(fontsize="small")
    return figure
