"""Those who watch a fit: lines for ``verbose``, tasks for scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""


__all__ = ["CallbackSupportMixin", "Reporter"]
WATCHED = ("_skl_callbacks", "_parent_callback_ctx")  # what a fit has that somebody follows
TICKS = 20  # leaf tasks of a run: how far it is on the way to tol, in twentieths


class Reporter:
    """Tells of one fit of ``outputs`` runs.

    The tree of tasks is fit > progress, or with several outputs fit > output > progress.
    """

    def __init__(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any, labels: list[str]
    ) -> None:
        self.estimator = estimator
        self.labels = labels
        if sample_weight is None:
            metadata = None
        else:
            metadata = {"sample_weight": sample_weight}
        self.context = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self.root = self.task = None
        if any(hasattr(estimator, name) for name in WATCHED):
            tasks = TICKS if len(labels) == 1 else len(labels)
            self.root = self.task = estimator._init_callback_context(max_subtasks=tasks)
            self.root.call_on_fit_task_begin(**self.context)

    @property
    def listened_to(self) -> bool:
        return bool(self.estimator.verbose) or hasattr(self.estimator, "_skl_callbacks")

    def begin(self, output: int) -> None:
        """The run for an output starts."""
        self.label = self.labels[output]
        self.ticks = 0
        if self.root is not None and len(self.labels) > 1:
            self.task = self.root.subcontext(task_name=self.label, max_subtasks=TICKS)
            self.task.call_on_fit_task_begin(**self.context)

    def step(
        self,
        k: int,
        value: float,
        ratio: float,
        share: float,
        attributes: Callable[[], dict[str, Any]],
    ) -> bool:
        """The run is at step k, ``share`` of the way; returns True if somebody says stop."""
        estimator = self.estimator
        if estimator.verbose:
            print(
                f"[{type(estimator).__name__}] {self.label}: step {k}, objective {value:.6g}, "
                f"gradient {ratio:.2e} of the first"
            )
        stop = False
        due = min(TICKS, int(share * TICKS))
        while self.task is not None and self.ticks < due:
            self.ticks += 1
            leaf = self.task.subcontext(task_name="progress")
            leaf.call_on_fit_task_begin(**self.context)
            reached = attributes if self.ticks == due else None
            stop |= leaf.call_on_fit_task_end(**self.context, reconstruction_attributes=reached)
        return stop

    def end(self) -> None:
        """The run for the output is over."""
        if self.task is not self.root:
            self.task.call_on_fit_task_end(**self.context)
            self.task = self.root

    def close(self) -> None:
        """The estimator is fitted."""
        if self.root is not None:
            self.root.call_on_fit_task_end(**self.context, reconstruction_attributes={})
