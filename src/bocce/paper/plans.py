"""The picture of a plan: steps and gradient evaluations against the batch size."""

from __future__ import annotations

from typing import Any

from .figures import blank


def picture(plan: Any) -> Any:
    """A matplotlib figure of ``plan.sweep``, with the three regimes shaded.

    Small batches: steps fall as fast as the batch grows, so evaluations stay flat. In between,
    acceleration is partial. From the knee on a larger batch saves few steps.
    """
    figure, axes = blank(f"{plan.problem}: to {plan.accuracy:g}", "batch size", "number")
    sizes = [point.batch_size for point in plan.sweep]
    axes.loglog(sizes, [point.steps for point in plan.sweep], "o-", label="steps")
    axes.loglog(sizes, [x.evaluations for x in plan.sweep], "s-", label="gradient evaluations")
    flat = min(plan.recommended, plan.knee)
    for left, right, name, shade in (
        (1, flat, "batch for steps, one for one", "0.93"),
        (flat, plan.knee, "partial acceleration", "0.86"),
        (plan.knee, plan.n, "full acceleration", "0.79"),
    ):
        if right > left:
            axes.axvspan(left, right, color=shade, zorder=0, label=name)
    axes.axvline(plan.batch_size, color="k", linestyle=":", label="planned")
    axes.legend(fontsize="small")
    return figure
