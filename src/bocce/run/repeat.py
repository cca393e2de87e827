"""``repeat``: the same run with several seeds, and the mean of their histories."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import sampling
from ..control import Given
from ..problems import Problem
from ..rows import Array
from .minimize import minimize
from .result import Result

MEASURED = ("value", "grad_norm", "grad2")


@dataclass(frozen=True)
class Repeated:
    """Runs that differ by their seed, and the mean of their histories.

    Attributes
    ----------
    results : list of Result
        The runs, in the order of the seeds.
    mean : dict
        Arrays by name, one entry for each step at which every run has a record: ``k``,
        ``gradient_evaluations``, ``value``, ``grad_norm`` and ``grad2`` (the mean of the squared
        norm, which ``exact.expected`` computes).
    standard_error : dict
        The standard errors of ``value``, ``grad_norm`` and ``grad2``; NaN for one seed.
    """

    results: list[Result]
    mean: dict[str, Array]
    standard_error: dict[str, Array]


def repeat(
    p: Problem, method: Given = "auto", *, seeds: Iterable[int] = range(5), **options: Any
) -> Repeated:
    """Run ``minimize`` once for each seed and average the histories.

    Parameters
    ----------
    p : Problem
        A problem of ``Problem``, ``LeastSquares`` or ``Logistic``.
    method : str, Schedule or Policy, default "auto"
        The name of a method (``bocce methods`` lists them), a schedule or a policy.
    seeds : iterable of int, default range(5)
        The seeds, all different.
    **options : object
        Further arguments of ``minimize``, except ``seed`` and ``checkpoint``.

    Returns
    -------
    Repeated
        The results, the mean of their histories and its standard error.

    Raises
    ------
    TypeError, ValueError
        If the seeds are not integers, are none or are not all different, or if ``seed`` or
        ``checkpoint`` is given.

    Examples
    --------
    >>> import bocce
    >>> X, y, _ = bocce.data.regression(n=100, d=3, kappa=10.0, noise_var=0.1)
    >>> p = bocce.LeastSquares(X, y)
    >>> runs = bocce.repeat(p, "shb", T=20, batch_size=60, seeds=range(50))
    >>> truth = p.value(p.minimiser()) + bocce.exact.expected(p, "shb", 60, T=20).gap[-1]
    >>> bool(abs(runs.mean["value"][-1] - truth) < 4 * runs.standard_error["value"][-1])
    True
    """
    chosen = _checked(seeds, options)
    results = [minimize(p, method, seed=seed, **options) for seed in chosen]
    steps = results[0].history["k"]
    for result in results[1:]:
        steps = np.intersect1d(steps, result.history["k"])
    tables = [_at(result, steps) for result in results]
    columns = {name: np.array([table[name] for table in tables]) for name in tables[0]}
    mean = {name: column.mean(axis=0) for name, column in columns.items()}
    errors = {name: _standard_error(columns[name]) for name in MEASURED}
    return Repeated(results, {"k": steps, **mean}, errors)


def _checked(seeds: Iterable[int], options: dict[str, Any]) -> list[int]:
    if not isinstance(seeds, Iterable):
        raise TypeError(
            f"repeat: seeds={seeds!r} must be several integers; give range({seeds!r}), for example."
        )
    chosen = [sampling.check_seed("repeat", seed) for seed in seeds]
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(
            f"repeat: seeds={chosen} must be at least one, and all must differ; give range(5)."
        )
    if "seed" in options:
        raise TypeError(f"repeat: seed={options['seed']!r} must be left out; seeds= decides.")
    if options.get("checkpoint") is not None:
        raise ValueError(
            f"repeat: checkpoint={options['checkpoint']!r} must be left out, because the runs "
            "would share it; call minimize with each seed and a checkpoint of its own."
        )
    return chosen


def _at(result: Result, steps: Array) -> dict[str, Array]:
    """What a run recorded at these steps; of two records of one step, the last."""
    history = result.history
    last = np.searchsorted(history["k"], steps, side="right") - 1
    table = {n: history[n][last] for n in ("gradient_evaluations", "value", "grad_norm")}
    return {**table, "grad2": table["grad_norm"] ** 2}


def _standard_error(values: Array) -> Array:
    if len(values) == 1:
        return np.full(values.shape[1], np.nan)
    error: Array = values.std(axis=0, ddof=1) / math.sqrt(len(values))
    return error
