"""The one table of methods that tests, command line and docs loop over."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from .. import _checks
from . import _rules, accelerated, baselines, constant, exponential, stages, twin
from .schedule import Schedule


@dataclass(frozen=True)
class Method:
    """A registry entry: what a method is called, how it is built, and facts about it.

    Parameters
    ----------
    name, summary : str
        The name of the method, such as ``"shb"``; one line for lists of methods.
    factory, preset : callable, mapping
        The function that builds the schedule or policy; keyword arguments that every call gets.
    guarded, needs_T, looks_at_batch, all_rows : bool
        Whether ``minimize`` runs it under the divergence guard; T must be known before the run; it
        looks at a batch before it decides a step; each step uses all rows.
    """

    name: str
    factory: Callable[..., Any]
    summary: str
    preset: Mapping[str, Any] = field(default_factory=dict)
    guarded: bool = False
    needs_T: bool = True
    looks_at_batch: bool = False
    all_rows: bool = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.factory(*args, **{**self.preset, **kwargs})

    @cached_property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.factory).parameters

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """The constants without a default, T aside."""
        parameters = self._parameters.values()
        return tuple(p.name for p in parameters if p.default is p.empty and p.name != "T")

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """The constants with a default."""
        parameters = self._parameters.values()
        return tuple(p.name for p in parameters if p.default is not p.empty)

    def build(self, T: int, constants: Any, **more: Any) -> Any:
        """The schedule or policy for T steps.

        Parameters
        ----------
        T, constants, **more : int, Constants or mapping, float
            Number of steps; ``problem.constants()``, or names and numbers; numbers that
            ``constants`` does not hold, such as n and b. The factory takes what it has a name for.

        Returns
        -------
        Schedule or Policy

        Raises
        ------
        TypeError
            A number that the factory needs is not given.

        Examples
        --------
        >>> REGISTRY["shb"].build(10, {"L": 4.0, "mu": 1.0, "n": 7}).T
        10
        """
        if isinstance(constants, Mapping):
            fields = constants
        else:
            fields = asdict(constants)
        given = {**fields, **more}
        if missing := [name for name in self.needs if name not in given]:
            raise TypeError(
                f"{self.name}: {', '.join(missing)} must be given; "
                f"build(T, constants, {', '.join(f'{name}=...' for name in missing)})."
            )
        taken = {key: value for key, value in given.items() if key in self._parameters}
        return self(T, **taken)

    def values(
        self,
        constants: Any,
        *,
        n: int,
        b: int,
        T: int,
        quadratic: bool = True,
        pilot: Callable[[], Any] | None = None,
    ) -> dict[str, Any]:
        """The numbers that ``minimize`` builds the method from.

        Parameters
        ----------
        constants, n, b, T, quadratic : Constants, int, int, int, bool
            ``problem.constants()``; rows of the data and of a batch; number of steps; whether the
            loss is quadratic.
        pilot : callable, optional
            Finds the noise and the local spectrum; called only for a method that takes them.

        Returns
        -------
        dict
        """
        mu = constants.mu
        L_max = constants.L_max
        tilde = constants.kappa_tilde
        if self.guarded:
            mu = max(mu, constants.L / T**2)  # T steps do not see a smaller curvature
            if quadratic:
                L_max, tilde = constants.sharpest  # certificates hold for these; steps are longer
            else:
                tilde = None  # lookahead is certified for quadratics
        known = {"L": constants.L, "mu": mu, "L_max": L_max, "n": n, "b": b}
        known |= {"kappa_tilde": tilde or None}
        if "spectrum" in self.optional:
            known |= {"spectrum": constants.spectrum, "noise": None}
            if pilot is not None:
                known["noise"], local = pilot()
                known["spectrum"] = constants.spectrum if local is None else local
        return known


AUTO = "self-tuning: accelerates as the batch allows"
_METHODS = (
    Method("sgd", constant.sgd, "SGD, constant step 1/L"),
    Method("sgd-exp", exponential.sgd_exponential, "SGD, exponential steps"),
    Method("shb", constant.shb, "accelerated heavy ball, constant (Theorem 2)"),
    Method("shb-avg", constant.shb_averaged, "heavy ball in averaging form, constant"),
    Method("shb-exp", exponential.shb_exponential, "noise-adaptive heavy ball (Theorem 1)"),
    Method("multi-shb", stages.multistage, "multi-stage heavy ball (Theorem 4)"),
    Method(
        "multi-shb-cnst",
        stages.multistage,
        "multi-stage, constant momentum",
        {"momentum": "constant"},
    ),
    Method("2p-shb", exponential.two_phase, "two-phase: accelerate, then average noise out"),
    Method("nesterov-exp", exponential.nesterov_exponential, "Nesterov with exponential steps"),
    Method("multi-shb-pan", stages.pan, "multi-stage heavy ball of Pan et al."),
    Method("hb", constant.polyak, "Polyak's heavy ball, full-batch constants"),
    Method("nesterov", constant.nesterov, "Nesterov's constant scheme"),
    Method("mass", accelerated.mass, "MaSS for batches without replacement, constant"),
    Method("mass-avg", accelerated.mass_averaged, "MaSS, then an average: a closed form"),
    Method("mass-published", baselines.mass_published, "MaSS as published, constant"),
    Method("asgd", baselines.asgd, "accelerated SGD of Jain et al., constant"),
    Method("triple-momentum", baselines.triple_momentum, "triple momentum, full-batch constants"),
    Method(
        "robust-hb",
        baselines.robust_heavy_ball,
        "heavy ball slowed for less noise (Van Scoy and Lessard)",
    ),
    Method(
        "robust-accelerated",
        baselines.robust_accelerated,
        "triple momentum slowed for less noise (Van Scoy and Lessard)",
    ),
    Method("sgd-safe", baselines.sgd_safe, "SGD, expected-smoothness step"),
    Method("schedule-free", baselines.schedule_free, "schedule-free SGD, no horizon"),
    Method("auto", twin.auto, AUTO, guarded=True, needs_T=False),
    Method(
        "auto-shb",
        twin.auto,
        "self-tuning, heavy ball only",
        {"family": "shb"},
        guarded=True,
        needs_T=False,
    ),
)
REGISTRY: dict[str, Method] = {method.name: method for method in _METHODS}


def table_of(
    where: str,
    schedule: Schedule | str,
    T: int | None,
    values: Callable[[Method, int], Mapping[str, Any]],
) -> Schedule:
    """A given schedule as it is, or the table of T steps of the method of that name.

    ``values`` gives, for a method and T, the numbers that the method is built from.
    """
    if isinstance(schedule, Schedule):
        if T is not None and T != schedule.T:
            raise ValueError(
                f"{where}: T={T!r} must equal the schedule's T={schedule.T}; leave T out."
            )
        return schedule
    if not isinstance(schedule, str):
        raise TypeError(
            f"{where}: schedule={schedule!r} must be a Schedule or a name of "
            "bocce.schedules.REGISTRY; a policy that looks at the batch has no table."
        )
    method = REGISTRY[_checks.choice(where, "schedule", schedule, REGISTRY)]
    if T is None:
        raise ValueError(
            f"{where}: T=None must be the number of steps where schedule={schedule!r} is a name; "
            "give T, such as T=1000."
        )
    (steps,) = _rules.given(where, T=T)
    table: Schedule = method.build(steps, values(method, steps))
    return table
