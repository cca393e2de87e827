"""What ``plot`` methods draw. Matplotlib is an extra: it is imported when a picture is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np

from ._extras import install
from ._types import Array

Axes: TypeAlias = Any  # of matplotlib: one, or an array of several

# Okabe and Ito's palette; the luminances differ, and markers repeat what colour says
BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#B8A800"
BLUE = "#0072B2"
RED = "#D55E00"
PINK = "#CC79A7"
GREY = "#7F7F7F"
CYCLE = (BLUE, RED, GREEN, ORANGE, PINK, SKY, BLACK, GREY)
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.5)),
    (0, (6, 2, 1, 2)),
)


def axes_for(where: str, ax: Axes | None, columns: int = 1) -> Axes:
    """The axes that were given, or new ones of pyplot's: one, or an array of several."""
    if ax is not None:
        return ax
    size = (2.2 + 4.2 * columns, 4.0)
    return _pyplot(where).subplots(1, columns, figsize=size, layout="constrained")[1]


def _pyplot(where: str) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(f"{where} needs matplotlib; run {install('plots')}.") from None
    return plt


def _grid(ax: Axes) -> Axes:
    ax.grid(alpha=0.3, lw=0.5)
    return ax


def schedule(table: Any, ax: Axes | None) -> Axes:
    """Steps on a logarithmic axis; momentum and lookahead on an axis of their own, right."""
    ax = _grid(axes_for("Schedule.plot", ax))
    right = ax.twinx()
    lines = ax.semilogy(table.alpha, color=BLUE, lw=1.6, label="step alpha")
    lines += right.plot(table.beta, color=RED, lw=1.3, label="momentum beta")
    if table.theta.any():
        most = float(table.theta.max())  # far above 1 where memory grows: cut, and said
        name = "lookahead theta" + (f", up to {most:.3g}" if most > 1.0 else "")
        lines += right.plot(table.theta, color=GREEN, lw=1.6, ls=DASHES[1], label=name)
    right.set(ylim=(-0.03, 1.03))
    right.set_ylabel("momentum beta, lookahead theta")
    ax.set(xlabel="step k", ylabel="step alpha", title=table.name)
    ax.legend(handles=lines, fontsize="small", frameon=False)
    return ax


def result(run: Any, ax: Axes | None) -> Axes:
    """The gradient's norm over that of the start, by gradients of rows, stage by stage."""
    ax = _grid(axes_for("Result.plot", ax))
    norms = run.history["grad_norm"]
    spent = run.history["gradient_evaluations"]
    if norms.size and norms[0] > 0.0:
        first = norms[0]
    else:
        first = 1.0
    if norms.size < 40:
        style = {"marker": "o", "ms": 4}
    else:
        style = {}
    ax.plot(spent, _finite(norms) / first, color=BLUE, lw=1.6, **style)
    end = 0
    for stage in run.stages[:-1]:
        end += stage.steps
        at = np.searchsorted(run.history["k"], end)
        if at < spent.size:
            ax.axvline(spent[at], color=GREY, lw=1.0, ls=DASHES[1])
    methods = ", then ".join(f"{s.method} (batch {s.batch:,})" for s in run.stages if s.steps)
    ax.set(yscale="log", xlabel="gradients of rows", ylabel="gradient norm, over the first")
    ax.set_title(f"{run.status}: {methods}" if methods else run.status, fontsize="medium")
    return ax


def curves(found: Sequence[Any], labels: Sequence[str] | None, ax: Axes | None) -> Axes:
    """E||w_k - w*||^2 of each; dotted, the bias that is part of it."""
    ax = _grid(axes_for("Curve.plot", ax))
    if labels is None:
        names = [f"curve {i + 1}" for i in range(len(found))]
    else:
        names = list(labels)
    if len(names) != len(found):
        raise ValueError(
            f"Curve.plot: labels has {len(names)} names, must have one for each of "
            f"{len(found)} curves, this one first."
        )
    for i, (curve, name) in enumerate(zip(found, names)):
        colour = CYCLE[i % len(CYCLE)]
        dash = DASHES[i // len(CYCLE) % len(DASHES)]
        ax.plot(_finite(curve.error2), color=colour, ls=dash, lw=1.8, label=name)
        ax.plot(_finite(curve.bias2), color=colour, ls=DASHES[2], lw=1.0)
    ax.set(yscale="log", xlabel="step k", ylabel="E||w - w*||² (dotted: its bias)")
    lowest = min((np.nanmin(_finite(curve.error2)) for curve in found), default=0.0)
    ax.set_ylim(bottom=max(ax.get_ylim()[0], lowest / 30.0))  # a bias may fall much further
    if len(found) > 1 or labels is not None:
        ax.legend(fontsize="small", frameon=False)
    return ax


def batch_curves(found: Sequence[Any], labels: Sequence[str] | None, ax: Axes | None) -> Axes:
    """Steps by batch size, dots; the law S_min (1 + B zeta0^2), lines; B, where it is 2 S_min."""
    ax = _grid(axes_for("BatchCurve.plot", ax))
    names = [curve.method for curve in found] if labels is None else list(labels)
    if len(names) != len(found):
        raise ValueError(
            f"BatchCurve.plot: labels has {len(names)} names, must have one for each of "
            f"{len(found)} curves, this one first."
        )
    for i, (curve, name) in enumerate(zip(found, names)):
        colour = CYCLE[i % len(CYCLE)]
        b = curve.batch_sizes
        law = curve.S_min * (1.0 + curve.B * curve.zeta0_2)
        words = f"{name}: {curve.S_min:.3g} (1 + {curve.B:.3g}/b)"
        ax.plot(b, law, color=colour, lw=1.4, label=words)
        ax.plot(b, curve.steps, "os^v"[i % 4], color=colour, ms=4)
        if b[0] <= curve.B <= b[-1]:
            ax.plot([curve.B], [2.0 * curve.S_min], "*", color=colour, ms=15, mec="white")
    ax.set(xscale="log", yscale="log", xlabel="batch size b", ylabel="steps to the target")
    ax.legend(
        fontsize="small", frameon=False, title="star: the useful batch B, twice the least steps"
    )
    return ax


def _finite(values: Array) -> Array:
    """What a logarithmic axis can show: no zeros, and nothing near overflow."""
    return np.where((values > 0.0) & (values < 1e200), values, np.nan)


def plan(found: Any, axes: Axes | None) -> Axes:
    """``sweep``: steps on the left, passes over the data on the right, by batch size.

    Marked are the batch that is recommended, the one from which on larger batches save few steps,
    and what a run with the plan's own arguments is expected to spend.
    """
    alone = axes is None
    if alone and found.schedule is not None:
        axes = _plan_with_table()
    else:
        axes = axes_for("Plan.plot", axes, columns=2)
    sizes = [point.batch_size for point in found.sweep]
    steps = [point.steps for point in found.sweep]
    passes = [point.evaluations / found.n for point in found.sweep]
    last = found.stages[-1]
    panels = ((steps, "steps", last.steps), (passes, "passes over the data", found.passes))
    for ax, (values, label, spent) in zip(axes, panels):
        if sizes:
            ax.loglog(sizes, values, "o-", color=BLUE, ms=3.5, label="a batch you give")
        for b, words, colour, size in (
            (found.recommended, "recommended", GREEN, 13),
            (found.knee, "larger ones save few steps", ORANGE, 8),
        ):
            if b is not None:
                style = {"mfc": "none", "mew": 2, "color": colour, "ms": size}
                ax.plot([b], [values[sizes.index(b)]], "o", label=f"{b:,}: {words}", **style)
        if spent:
            words = f"this run: {last.method}, {last.batch:,} rows"
            ax.plot([last.batch], [spent], "*", ms=13, color=RED, label=words)
        ax.set(xlabel=f"batch size, of {found.n:,} rows", ylabel=label, xscale="log", yscale="log")
        _grid(ax)
    axes[0].legend(fontsize="small", frameon=False)
    if found.schedule is not None and len(axes) == 5:
        _three_columns(found.schedule, axes[2:])
    if alone:
        axes[0].figure.suptitle(found.problem, fontsize="medium")
    return axes


def _plan_with_table() -> Axes:
    """Two axes above, three below."""
    rows = [list("aaabbb"), list("ccddee")]
    size = (10.6, 7.0)
    axes = _pyplot("Plan.plot").subplot_mosaic(rows, figsize=size, layout="constrained")[1]
    return np.array([axes[name] for name in "abcde"])


def _three_columns(table: Any, axes: Axes) -> None:
    """alpha, beta and theta over k; an axis is logarithmic where values are of many sizes."""
    step, momentum, lookahead = axes
    step.semilogy(table.alpha, color=BLUE, lw=1.6)
    step.set_ylabel("step alpha")
    if table.beta.max() > 0.9:  # upwards is more momentum, as in a picture of beta
        momentum.semilogy(1.0 - table.beta, color=RED, lw=1.6)
        momentum.invert_yaxis()
        momentum.set_ylabel("1 - momentum beta (axis reversed)")
    else:
        momentum.plot(table.beta, color=RED, lw=1.6)
        momentum.set_ylabel("momentum beta")
    lookahead.plot(table.theta, color=GREEN, lw=1.6)
    lookahead.set_ylabel("lookahead theta")
    if table.theta.max() > 10.0:
        lookahead.set_yscale("symlog", linthresh=1.0)
    for ax in axes:
        ax.set_xlabel("step k")
        _grid(ax)


def require_matplotlib() -> None:
    """Raise, before any work, if pictures cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise ImportError(f"pictures need matplotlib; run {install('plots')}.")


QUANTITIES = {
    "iteration": "steps",
    "passes": "passes over the data",
    "value": "objective",
    "gradient_norm": "norm of the gradient (scaled variables)",
}


def history(table: Mapping[str, Array], name: str, x: str, y: str, ax: Axes | None) -> Axes:
    """The history of a fit, a line for each output."""
    ax = _grid(axes_for("plot_history", ax))
    outputs = np.unique(table["output"])
    for output in outputs:
        rows = table["output"] == output
        label = name if outputs.size == 1 else f"{name}, output {output}"
        ax.plot(table[x][rows], table[y][rows], label=label)
    ax.set(xlabel=QUANTITIES[x], ylabel=QUANTITIES[y])
    if y == "gradient_norm" and (table[y] > 0).any():
        ax.set_yscale("log")
    ax.legend()
    return ax


def penalties(l2s: Array, scores: Array, chosen: float, ax: Axes | None) -> Axes:
    """Scores of the folds against the penalties: their mean, and a standard deviation."""
    ax = _grid(axes_for("plot_path", ax))
    order = np.argsort(l2s)
    middle = scores.mean(axis=0)[order]
    spread = scores.std(axis=0)[order]
    ax.fill_between(l2s[order], middle - spread, middle + spread, color=BLUE, alpha=0.2)
    ax.plot(l2s[order], middle, color=BLUE, marker="o")
    ax.axvline(chosen, linestyle="--", color=GREY, label=f"l2 = {chosen:.3g}")
    ax.legend()
    if (l2s > 0.0).all():
        ax.set_xscale("log")
    ax.set(xlabel="l2", ylabel="score")
    return ax
