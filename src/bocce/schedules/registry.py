"""The one table of methods that tests, command line and docs loop over."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import adaptive, baselines, constant, exponential, rivals, stages
from .schedule import Schedule


@dataclass(frozen=True)
class Method:
    """A registry entry: calling it calls its factory with the presets filled in."""

    name: str
    factory: Callable[..., Any]
    summary: str
    preset: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.factory(*args, **{**self.preset, **kwargs})

    @property
    def needs(self) -> tuple[str, ...]:
        """The constants without a default, T aside."""
        parameters = inspect.signature(self.factory).parameters.values()
        return tuple(p.name for p in parameters if p.default is p.empty and p.name != "T")

    def build(self, T: int, constants: Mapping[str, Any]) -> Any:
        """The schedule or policy, taking from ``constants`` what the factory has a name for."""
        known = inspect.signature(self.factory).parameters
        given = {key: value for key, value in constants.items() if key in known}
        return self(T, **given)


def _method(name: str, factory: Callable[..., Schedule], summary: str, **preset: Any) -> Method:
    return Method(name, factory, summary, preset)


REGISTRY: dict[str, Method] = {
    method.name: method
    for method in (
        _method("sgd", constant.sgd, "SGD, constant step 1/L"),
        _method("sgd-exp", exponential.sgd_exponential, "SGD, exponential steps"),
        _method("shb", constant.shb, "accelerated heavy ball, constant (Theorem 2)"),
        _method("shb-avg", constant.shb_averaged, "heavy ball in averaging form, constant"),
        _method("shb-exp", exponential.shb_exponential, "noise-adaptive heavy ball (Theorem 1)"),
        _method("multi-shb", stages.multistage, "multi-stage heavy ball (Theorem 4)"),
        _method(
            "multi-shb-cnst",
            stages.multistage,
            "multi-stage, constant momentum",
            momentum="constant",
        ),
        _method("2p-shb", exponential.two_phase, "two-phase: accelerate, then average noise out"),
        _method(
            "nesterov-exp", exponential.nesterov_exponential, "Nesterov with exponential steps"
        ),
        _method("multi-shb-pan", stages.pan, "multi-stage heavy ball of Pan et al."),
        _method("hb", constant.polyak, "Polyak's heavy ball, full-batch constants"),
        _method("nesterov", constant.nesterov, "Nesterov's constant scheme"),
        _method("mass", adaptive.mass, "MaSS for batches without replacement, constant"),
        _method("mass-published", baselines.mass_published, "MaSS as published, constant"),
        _method("asgd", baselines.asgd, "accelerated SGD of Jain et al., constant"),
        _method(
            "triple-momentum", baselines.triple_momentum, "triple momentum, full-batch constants"
        ),
        _method("sgd-safe", baselines.sgd_safe, "SGD, expected-smoothness step"),
        _method("schedule-free", rivals.schedule_free, "schedule-free SGD, no horizon"),
        _method("auto", adaptive.auto, "self-tuning: accelerates as the batch allows"),
        _method("auto-shb", adaptive.auto, "self-tuning, heavy ball only", family="shb"),
    )
}
