"""Claims about shb_batch_sizes: observations (i) to (v) of the second experiment."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ..paper import SHARES
from ..results import Curve, Results
from .base import FAR_DOWN, LARGE_KAPPA, SIMILAR, SMALLER, Claim, Finding, counted, within
from .curves import all_curves, kappa_of

SWEEP = "shb_batch_sizes"


def speed(curve: Curve, on_runs: bool = False) -> float:
    """-ln(g_k/g_0)/k at the first k with g_k <= 1e-8 g_0, or at the end; negative if it grew."""
    k, values = (curve.k, curve.mean) if on_runs else curve.best
    hit = np.flatnonzero(values <= FAR_DOWN * values[0])
    at = int(hit[0]) if hit.size else len(k) - 1
    if not np.isfinite(values[at]):
        return -math.inf
    return float(-np.log(values[at] / values[0]) / k[at])


def _speeds(results: Results, setting: str) -> dict[float, dict[str, float]]:
    """Exact where every curve of a panel has an expectation; else on runs, like with like."""
    speeds = {}
    for panel, methods in all_curves(results, SWEEP, setting).items():
        on_runs = not all(curve.exact.size for curve in methods.values())
        speeds[kappa_of(panel)] = {name: speed(c, on_runs) for name, c in methods.items()}
    return speeds


def _shares(speeds: dict[str, float]) -> list[float]:
    """Of SHB-0.1 .. SHB-1.0."""
    return [speeds[f"SHB-{share}"] for share in SHARES]


def _shown(speeds: dict[float, dict[str, float]]) -> dict[str, float]:
    return {
        f"kappa={kappa:g}: {name}": value
        for kappa, methods in speeds.items()
        for name, value in methods.items()
    }


def small_batches_diverge(results: Results, setting: str) -> Finding:
    speeds = _speeds(results, setting)
    cases, numbers = {}, {}
    for kappa, methods in speeds.items():
        lost = [share for share, s in zip(SHARES, _shares(methods)) if s <= 0.0]
        numbers[f"kappa={kappa:g}: largest xi that diverges"] = max(lost, default=0.0)
        if kappa >= LARGE_KAPPA:
            cases[f"kappa={kappa:g}"] = bool(lost) and max(lost) < 1.0
    return Finding(cases, numbers, f"Some xi diverges in {counted(cases, 'large kappa')}.")


def threshold_grows(results: Results, setting: str) -> Finding:
    """The smallest xi from which on SHB has half the speed that it has with the full batch."""
    least = {}
    for kappa, methods in sorted(_speeds(results, setting).items()):
        values = _shares(methods)
        slow = [share for share, s in zip(SHARES, values) if not s >= 0.5 * values[-1]]
        least[kappa] = round(max(slow, default=0.0) + 0.1, 1)
    cases = {
        f"threshold, kappa={kappa:g}": xi > SHARES[0]
        for kappa, xi in least.items()
        if kappa >= LARGE_KAPPA
    }
    ordered = list(least.values())
    cases["grows with kappa"] = ordered == sorted(ordered) and ordered[0] < ordered[-1]
    return Finding(
        cases,
        {f"kappa={kappa:g}: threshold xi": xi for kappa, xi in least.items()},
        f"Half the full batch's speed needs xi = {min(ordered):g} to {max(ordered):g}.",
    )


def speed_grows_with_batch(results: Results, setting: str) -> Finding:
    speeds = _speeds(results, setting)
    cases, numbers = {}, {}
    for kappa, methods in speeds.items():
        values = _shares(methods)
        rising = all(b >= SMALLER * a or b >= a for a, b in itertools.pairwise(values))
        alive = [value for value in values if value > 0.0]
        gain = alive[-1] / alive[0] if alive else math.inf
        cases[f"kappa={kappa:g}"] = rising and (gain >= 1.1 or len(alive) < len(values))
        numbers[f"kappa={kappa:g}: fastest / slowest that converges"] = gain
    aside = ""
    if setting == "authors":
        aside = " Batches up to xi = 0.5, cut from epochs, beat those of 0.6, drawn afresh."
    said = f"Larger batches are faster, by 10 per cent or more in all, in {counted(cases)}."
    return Finding(cases, numbers, said + aside)


def sgd_and_averaged_are_slow(results: Results, setting: str) -> Finding:
    cases, numbers = {}, {}
    for kappa, methods in _speeds(results, setting).items():
        sgd, averaged, full = (methods[m] for m in ("SGD", "NON-ACC-SHB", "SHB-1.0"))
        cases[f"similar, kappa={kappa:g}"] = within(sgd, averaged)
        numbers[f"kappa={kappa:g}: SGD / NON-ACC-SHB"] = sgd / averaged
        if kappa >= LARGE_KAPPA:
            cases[f"slower, kappa={kappa:g}"] = max(sgd, averaged) < SMALLER * full
            numbers[f"kappa={kappa:g}: SHB-1.0 / SGD"] = full / sgd
    slower = {name: holds for name, holds in cases.items() if name.startswith("slower")}
    return Finding(
        cases,
        numbers,
        f"Speeds within a factor {SIMILAR:g} of one another, and below SHB's where kappa is large, "
        f"in {counted(cases)}; slower in {counted(slower)}.",
    )


def large_batches_follow_sqrt(results: Results, setting: str) -> Finding:
    cases, numbers = {}, {}
    for kappa, methods in _speeds(results, setting).items():
        for name in ("SHB-0.9", "SHB-1.0"):
            ratio = methods[name] * math.sqrt(kappa)
            cases[f"{name}, kappa={kappa:g}"] = within(ratio, 1.0)
            numbers[f"kappa={kappa:g}: {name} times sqrt(kappa)"] = ratio
    return Finding(
        cases, numbers, f"Within a factor {SIMILAR:g} of exp(-k/sqrt(kappa)) in {counted(cases)}."
    )


def sgd_follows_kappa(results: Results, setting: str) -> Finding:
    cases, numbers = {}, {}
    for kappa, methods in _speeds(results, setting).items():
        cases[f"kappa={kappa:g}"] = within(methods["SGD"] * kappa, 1.0)
        numbers[f"kappa={kappa:g}: SGD times kappa"] = methods["SGD"] * kappa
    return Finding(
        cases, numbers, f"Within a factor {SIMILAR:g} of exp(-k/kappa) in {counted(cases)}."
    )


CLAIMS = (
    Claim(
        "sweep_i_divergence",
        SWEEP,
        "sec:experiments (i)",
        "When kappa is large, using SHB with smaller batch-sizes can result in divergence.",
        "For kappa >= 512 some xi < 1 ends above its start.",
        small_batches_diverge,
    ),
    Claim(
        "sweep_ii_threshold",
        SWEEP,
        "sec:experiments (ii)",
        "SHB can only attain acceleration when the batch-size is larger than some kappa-dependent "
        "threshold.",
        "Accelerated means at least half the full batch's speed. For kappa >= 512 the smallest "
        "accelerated xi is above 0.1; over all kappa it grows and never falls.",
        threshold_grows,
    ),
    Claim(
        "sweep_ii_extent",
        SWEEP,
        "sec:experiments (ii)",
        "The extent of acceleration depends on the batch-size.",
        "The speed never falls by more than 5 % from one xi to the next, and rises by at least "
        "10 % over the sweep (or small xi diverge).",
        speed_grows_with_batch,
    ),
    Claim(
        "sweep_iii_slow",
        SWEEP,
        "sec:experiments (iii)",
        "Across problems, the performance of SGD and NON-ACC-SHB is similar and slower than SHB "
        "when kappa is large.",
        "Speeds of SGD and NON-ACC-SHB within a factor 3; for kappa >= 512 both below SHB-1.0's.",
        sgd_and_averaged_are_slow,
    ),
    Claim(
        "sweep_iv_sqrt",
        SWEEP,
        "sec:experiments (iv)",
        "With the larger batch-size, SHB converges at a rate similar to the SQRT-KAP baseline.",
        "The speeds of SHB-0.9 and SHB-1.0 are within a factor 3 of 1/sqrt(kappa).",
        large_batches_follow_sqrt,
    ),
    Claim(
        "sweep_v_kappa",
        SWEEP,
        "sec:experiments (v)",
        "Across problems, SGD converges at a rate similar to the KAP baseline.",
        "The speed of SGD is within a factor 3 of 1/kappa.",
        sgd_follows_kappa,
    ),
)
