"""The picture of a plan: what batch sizes cost, and where the run itself lies."""

from __future__ import annotations

from typing import Any

from .figures import blank


def picture(plan: Any) -> Any:
    """A matplotlib figure of ``plan.sweep``: steps on the left, passes over the data on the right.

    Marked are the batch that is recommended, the one from which on larger batches save few steps,
    and what a run with the plan's own arguments is expected to spend.
    """
    figure, only = blank("", "", "")
    figure.set_size_inches(8.4, 4.2)
    figure.delaxes(only)
    axes = figure.subplots(1, 2, sharex=True)
    sizes = [point.batch_size for point in plan.sweep]
    steps = [point.steps for point in plan.sweep]
    passes = [point.evaluations / plan.n for point in plan.sweep]
    for place, (ax, values, label) in enumerate(
        zip(axes, (steps, passes), ("steps", "passes over the data"))
    ):
        if sizes:
            ax.loglog(sizes, values, "o-", color="tab:blue", ms=3.5, label="a batch you give")
        _mark(ax, plan, "recommended", "tab:green", sizes, values)
        _mark(ax, plan, "knee", "tab:orange", sizes, values)
        _mark_run(ax, plan, place)
        ax.set(xlabel=f"batch size, of {plan.n:,} rows", ylabel=label, xscale="log", yscale="log")
        ax.grid(alpha=0.3)
    axes[0].legend(fontsize="small", frameon=False)
    figure.suptitle(plan.problem, fontsize="medium")
    return figure


NAMES = {"recommended": ("recommended", 13), "knee": ("larger ones save few steps", 8)}


def _mark(ax: Any, plan: Any, name: str, colour: str, sizes: list[int], values: list[Any]) -> None:
    b = getattr(plan, name)
    if b is not None:
        y = values[sizes.index(b)]
        label, size = NAMES[name]
        style = {"mfc": "none", "mew": 2, "color": colour, "ms": size}
        ax.plot([b], [y], "o", label=f"{b:,}: {label}", **style)


def _mark_run(ax: Any, plan: Any, place: int) -> None:
    """The run with the plan's own arguments, at its last batch."""
    last = plan.stages[-1]
    value = last.steps if place == 0 else plan.passes
    if value:
        words = f"this run: {last.method}, {last.batch:,} rows"
        ax.plot([last.batch], [value], "*", ms=13, color="tab:red", label=words)
