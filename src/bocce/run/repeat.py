"""``repeat``: the same run with several seeds, and the mean of their histories."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
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
    histories = [result.history for result in results]
    steps = reduce(np.intersect1d, (history["k"] for history in histories))
    # of two records of one step, the last
    last = [np.searchsorted(history["k"], steps, side="right") - 1 for history in histories]
    columns = {
        name: np.array([history[name][rows] for history, rows in zip(histories, last)])
        for name in ("gradient_evaluations", "value", "grad_norm")
    }
    columns["grad2"] = columns["grad_norm"] ** 2
    mean = {name: column.mean(axis=0) for name, column in columns.items()}
    errors = {name: np.full(steps.size, np.nan) for name in MEASURED}
    if len(results) > 1:
        root = math.sqrt(len(results))
        errors = {name: columns[name].std(axis=0, ddof=1) / root for name in MEASURED}
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
