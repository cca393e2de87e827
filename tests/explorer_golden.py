"""Random settings of the explorer's functions, and what Python answers to each.

The page's own code answers the same questions (tests/explorer/answers.js), in Chromium or in node.
"""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import numpy as np

import bocce
from bocce import exact, theory

ANSWERS = (Path(__file__).parent / "explorer" / "answers.js").read_text()
NAMES = [
    "sgd",
    "sgd-exp",
    "shb",
    "shb-exp",
    "multi-shb",
    "2p-shb",
    "nesterov",
    "nesterov-exp",
    "multi-shb-pan",
    "hb",
]
AGREE = 1e-9  # relative
CURVES = ("error2", "grad2", "gap", "bias2")


def settings(count: int, seed: int = 0) -> list[dict]:
    """Settings that both families of rows can have: whole numbers of rows on each coordinate."""
    rng = np.random.default_rng(seed)
    return [_setting(rng, i) for i in range(count)]


def _setting(rng: np.random.Generator, i: int) -> dict:
    d = int(rng.integers(2, 7))
    counts = np.sort(
        np.rint(np.geomspace(2, 2 * 10 ** rng.uniform(0.3, 2), d))
    )  # rows by coordinate
    n = int(counts.sum() * 10 ** rng.uniform(0, 1)) + 1
    L_max = 10 ** rng.uniform(-1, 1)
    spectrum = L_max * counts / n
    L, mu = float(spectrum[-1]), float(spectrum[0])
    kappa, R = 10 ** rng.uniform(0, 4), 10 ** rng.uniform(0.01, 2)
    b = int(rng.integers(1, n + 1))
    if i % 10 in (3, 7):  # all rows, and one
        b = {3: n, 7: 1}[i % 10]
    elif rng.random() < 0.3:
        b = int(min(n, 1 + 10 ** rng.uniform(0, 2)))
    beta = float(1 - 10 ** rng.uniform(-2, 0)) if rng.random() < 0.9 else 0.0
    look = float(rng.choice([0.0, beta, rng.uniform(0, 1)]))
    # long horizons now and then: stages appear from T = 384 sqrt(2 kappa) on
    T = int(rng.integers(4, 120)) if i % 100 else 6000
    return {
        "n": n,
        "b": b,
        "kappa": kappa,
        "R": R,
        "a": rng.uniform(0.01, 1.0),
        "T": T,
        # where a stage of the theorem's rule just fits, and where several do
        "horizons": [math.ceil(384 * math.sqrt(2 * kappa)) + more for more in (-1, 0, 10**6)],
        "alpha": rng.uniform(0.05, 1.9) / L,
        "beta": beta,
        "theta": look,
        "spectrum": spectrum.tolist(),
        # without noise a long run ends at what rounding leaves, which no two programs share
        "noise": float(rng.choice([0.0 if i % 100 else 1.0, 10 ** rng.uniform(-4, 1)])),
        "start": rng.uniform(0.0, 4.0, d).tolist(),
        "constants": {"L": L, "mu": mu, "L_max": L_max, "kappa_tilde": rng.uniform(1, 3) * d},
        "methods": ["mass-avg", NAMES[i % len(NAMES)] if i % 100 else "multi-shb"],
        "counts": counts.tolist(),
    }


def models(given: dict) -> list:
    """Gaussian rows, and rows that touch one coordinate, with the same spectrum."""
    noise, n = given["noise"], given["n"]
    gaussian = exact.Gaussian(given["spectrum"], noise=noise, start=given["start"], n=n)
    counts = [int(count) for count in given["counts"]]
    X, y = np.zeros((n, len(counts))), np.zeros(n)
    first = 0
    for j, count in enumerate(counts):
        X[first : first + count, j] = math.sqrt(given["constants"]["L_max"])
        # residuals of mean 0 and mean square `noise` on the rows of this coordinate
        signs = np.resize([1.0, -1.0], count) if count % 2 == 0 else _odd_signs(count)
        y[first : first + count] = math.sqrt(noise) * signs
        first += count
    return [gaussian, bocce.LeastSquares(X, y)]


def _odd_signs(count: int) -> np.ndarray:
    signs = np.resize([1.0, -1.0], count)
    signs[-1] = 0.0
    return signs * math.sqrt(count / (count - 1))


def answers(given: dict) -> dict:
    """What Python says."""
    n, b, kappa, R, T = (given[name] for name in ("n", "b", "kappa", "R", "T"))
    alpha, beta, theta = given["alpha"], given["beta"], given["theta"]
    mu, z = 1 / kappa, theory.zeta2(n, b)
    best = theory.best_heavy_ball(kappa, R, z)
    found = {
        "zeta2": z,
        "batch_threshold": theory.batch_threshold(n, kappa, given["a"]),
        "lower_bound_threshold": theory.lower_bound_threshold(n, kappa),
        "stages": [theory.stage_count(T, kappa) for T in given["horizons"]],
        "certificate": theory.certificate(alpha, beta, R, mu, 1.0),
        "certified_rate": theory.certified_rate(alpha, beta, z, R, mu, 1.0),
        "certified_batch_size": theory.certified_batch_size(n, alpha, beta, R, mu, 1.0),
        "best": {"rate": best.rate, "sgd_rate": best.sgd_rate, "gain": best.gain},
        "useful": [
            theory.useful_batch(L=1.0, R2=R),
            theory.useful_batch(
                L=given["a"],
                R2=R,
                gradient_noise=given["noise"],
                gap=alpha,
                momentum_gain=kappa,
            ),
        ],
        "edge": [
            theory.edge(beta=beta, L_max=R, theta=look, **asked)
            for look in (0.0, theta)
            for asked in (
                {"lam": mu, "zeta2": z},
                {"alpha": alpha, "lam": mu},
                {"alpha": alpha, "zeta2": z},
            )
        ],
        "tables": {},
        "curves": {},
        "rates": [],
    }
    pair = models(given)
    fresh = exact.Gaussian(given["spectrum"], noise=given["noise"], start=given["start"])
    found["fresh"] = _rates(fresh, alpha, beta, theta, b, given)
    start = np.sqrt(given["start"])
    for name in given["methods"]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # multistage says when no stage fits
            constants = {**given["constants"], "n": n, "b": b}
            table = bocce.schedules.REGISTRY[name].build(T, constants)
        found["tables"][name] = [table.alpha, table.beta, table.theta]
        gaussian = exact.expected(pair[0], table, b)
        one = exact.expected(pair[1], table, b, w0=pair[1].minimiser() + start)
        found["curves"][name] = [
            [getattr(curve, column) for column in CURVES] for curve in (gaussian, one)
        ]
    for model in pair:
        found["rates"].append(_rates(model, alpha, beta, theta, b, given))
    return found


def _rates(model, alpha: float, beta: float, theta: float, b: int, given: dict) -> list[float]:
    rate = exact.mean_square_rate(model, alpha, beta, b, theta)
    if alpha >= 2 * (1 + beta) / ((1 + 2 * theta) * given["constants"]["L"]):
        return [rate, math.inf, math.inf]  # exact refuses these
    critical = exact.critical_batch_size(model, alpha, beta, theta)
    floor = math.inf
    if b > critical:
        floor = exact.stationary(model, alpha, beta, b, theta).error2
    return [rate, critical, floor]


def disagreement(given: dict, ours: dict, page: str) -> list[str]:
    """The answers of the page (JSON) that are not Python's, in words."""
    wrong, found = [], json.loads(page)
    for name, value in _flat(ours):
        theirs = found
        for key in name:
            theirs = theirs[key]
        value, theirs = np.atleast_1d(value), np.atleast_1d(np.array(theirs, dtype=float))
        if value.shape != theirs.shape:
            wrong.append(f"{name}: shapes {theirs.shape} and {value.shape}")
        elif not close(value, theirs):
            with np.errstate(invalid="ignore"):  # two infinities are equal
                worst = int(np.argmax(np.nan_to_num(np.abs(value - theirs), nan=0.0)))
            wrong.append(f"{name}: {theirs[worst]!r} is not {value[worst]!r}")
    return wrong


def _flat(value, path=()):
    if isinstance(value, dict | list) and not (
        isinstance(value, list) and all(isinstance(x, float | int) for x in value)
    ):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from _flat(inner, (*path, key))
    else:
        yield path, value


def close(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Equal to 1e-9 of the neighbouring values: a mean error may pass through 0 between steps."""
    infinite = np.isinf(ours) | np.isinf(theirs)
    if not np.array_equal(np.isinf(ours), np.isinf(theirs)) or np.isnan(theirs).any():
        return False
    ours, theirs = np.where(infinite, 0.0, ours), np.where(infinite, 0.0, theirs)
    scale = np.abs(ours)
    if scale.size > 2:
        scale[1:-1] = np.maximum(scale[1:-1], np.maximum(scale[2:], scale[:-2]))
        scale[-1] = max(scale[-1], scale[-2])
    return bool((np.abs(ours - theirs) <= AGREE * scale).all())
