"""Claims about the LIBSVM experiments, on runs: paired by seed, with 95 % intervals."""

from __future__ import annotations

import math

import numpy as np

from ..results import Results, interval
from .base import SIMILAR, Claim, Finding, counted

FIGURES = ("squared_loss", "logistic_loss")
NOT_RUN = "Not run in this setting, or without data."


def _log_ratios(
    results: Results, figure: str, setting: str, panel: str, a: str, b: str
) -> np.ndarray:
    """ln(last value of a / last value of b), seed by seed."""
    first, second = (results.curve(figure, setting, panel, m).runs[:, -1] for m in (a, b))
    with np.errstate(invalid="ignore"):
        return np.log(first) - np.log(second)


def _pairs(figure: str, setting: str, results: Results, pairs) -> dict[str, np.ndarray]:
    """The ratios of each pair on each data set that is there."""
    found = {}
    for panel in results.panels(figure, setting):
        methods = results.methods(figure, setting, panel)
        if results.missing(figure, setting, panel):
            continue
        for a, b in pairs:
            if a in methods and b in methods:
                name = f"{a} / {b}, {panel}"
                found[name] = _log_ratios(results, figure, setting, panel, a, b)
    return found


def _numbers(ratios: dict[str, np.ndarray]) -> dict[str, float]:
    numbers = {}
    for name, values in ratios.items():
        low, high = interval(values)
        numbers[name] = float(np.exp(values.mean()))
        numbers[f"{name}, low"], numbers[f"{name}, high"] = math.exp(low), math.exp(min(high, 700))
    return numbers


def _close(figure: str, pairs):
    def judge(results: Results, setting: str) -> Finding:
        ratios = _pairs(figure, setting, results, pairs)
        if not ratios:
            return Finding({}, {}, NOT_RUN)
        cases = {n: bool(abs(v.mean()) <= math.log(SIMILAR)) for n, v in ratios.items()}
        return Finding(
            cases, _numbers(ratios), f"Final gradient norms within a factor 3 in {counted(cases)}."
        )

    return judge


def _better(figure: str, pairs):
    def judge(results: Results, setting: str) -> Finding:
        ratios = _pairs(figure, setting, results, pairs)
        if not ratios:
            return Finding({}, {}, NOT_RUN)
        cases = {}
        for name, values in ratios.items():
            single = values.size == 1  # one seed has no interval: its sign decides
            cases[name] = bool((values[0] if single else interval(values)[1]) < 0.0)
        return Finding(
            cases, _numbers(ratios), f"The final gradient norm is smaller in {counted(cases)}."
        )

    return judge


def _claims(figure: str) -> tuple[Claim, ...]:
    source = f"fig:{figure}"
    return (
        Claim(
            f"{figure}_close",
            figure,
            source,
            "Exponentially decreasing step-sizes for both SHB and SGD have close performance.",
            "Final gradient norms of SHB-EXP and K-EXP within a factor 3, in the geometric mean "
            "over seeds.",
            _close(figure, (("SHB-EXP", "K-EXP"),)),
        ),
        Claim(
            f"{figure}_better",
            figure,
            source,
            "They both outperform their constant step-sizes variants.",
            "K-EXP below K-CNST and SHB-EXP below SHB-CNST at the end: the 95 % interval of the "
            "mean log ratio over seeds is below 0.",
            _better(figure, (("K-EXP", "K-CNST"), ("SHB-EXP", "SHB-CNST"))),
        ),
        Claim(
            f"{figure}_search",
            figure,
            source,
            "Using stochastic line-search, SHB-SLS-EXP matches the performance of the variant with "
            "known smoothness.",
            "Final gradient norms of SHB-SLS-EXP and SHB-EXP within a factor 3, in the geometric "
            "mean over seeds.",
            _close(figure, (("SHB-SLS-EXP", "SHB-EXP"),)),
        ),
    )


CLAIMS = tuple(claim for figure in FIGURES for claim in _claims(figure))
