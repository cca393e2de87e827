"""A gauge for training: which batch is useful, and how near the edge of stability a step is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import torch

from .. import _checks
from .._adapters import row
from .._pictures import Axes, axes_for
from .._types import FloatArray
from .branches import Branches, run_branches
from .closure import Closure, Loss
from .intervals import Interval
from .measure import Curvature, Measurement, measure
from .ranks import Ranks
from .sentences import page


class Gauge:
    """Measure gradient noise and curvature while a model trains; never steer.

    Every ``every``-th call of ``step`` takes the batch that it is given, cuts it into eight parts,
    and computes the gradient g_j of each part. At every 20th measurement it also takes products
    with the Hessians H_j of sixteen parts. With v the eigenvector of the largest eigenvalue L::

        gradient_noise = trace of the covariance of one row's gradient        (from the g_j)
        R2             = E|H_i v|^2/L, H_i the Hessian of one row             (from the H_j v)
        useful batch   = 2 (R2 + gradient_noise/(2 gap))/L                    (no momentum)
        edge           = step/(largest stable step of ``theory.edge``)

    Each number has a 95 % interval by the jackknife over the parts, taken of its inverse.
    Parameters, gradients, buffers and random state stay as they are. Dropout and BatchNorm act as
    the model's mode says: a part is then a small batch of its own.

    Guarantee: on least squares the intervals cover the truth (docs/gauge.md has the shares). For
    networks none: the useful batch and the edge are those of the quadratic that the batch shows.
    Source: not in the paper; jackknife (Quenouille, Tukey), Welch (1947), Hutchinson (1989).

    Parameters
    ----------
    model : torch.nn.Module
        The model, on one device; under DistributedDataParallel each rank's rows are parts of one
        batch, and all ranks must call ``step`` alike.
    loss_fn : callable
        The *mean* loss over rows, a function of (outputs, targets).
    optimizer : torch.optim.Optimizer, optional
        ``SHB`` or ``torch.optim.SGD``, for the edge. Of other optimizers the edge is not known.
    every : int, default 100
        Measure at calls 0, every, 2 every, ...
    gap : float, optional
        The f - f* that is aimed at. Without it the useful batch is its curvature part, 2 R2/L.

    Raises
    ------
    TypeError, ValueError
        If the model has no trainable parameter, a complex or sharded one, or several devices.

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Linear(3, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    >>> gauge = Gauge(model, torch.nn.functional.mse_loss, optimizer)
    >>> gauge.step((torch.randn(256, 3), torch.randn(256, 1)))
    >>> gauge.useful_batch.low < gauge.useful_batch.value < gauge.useful_batch.high
    True
    >>> 0.0 < gauge.edge.value < 1.0
    True
    """

    def __init__(
        self,
        model: torch.nn.Module,
        loss_fn: Loss,
        optimizer: torch.optim.Optimizer | None = None,
        *,
        every: int = 100,
        gap: float | None = None,
    ) -> None:
        self.every = _checks.integer("Gauge", "every", every)
        self.gap = gap
        if gap is not None:
            remedy = "the f - f* that is aimed at"
            self.gap = _checks.real("Gauge", "gap", gap, above=0.0, remedy=remedy)
        self.model = model
        self.optimizer = optimizer
        bare = getattr(model, "module", model) if _is_parallel(model) else model
        self._loss_of = Closure("Gauge", bare, loss_fn)
        _check_place(self._loss_of.parameters)
        self._ranks = Ranks(model)
        self._curvature: Curvature | None = None
        self._calls = 0
        self.measurements: list[Measurement] = []

    def step(self, batch: Any, *, batch_size: int | None = None) -> None:
        """Count a call, and measure at every ``every``-th one.

        Parameters
        ----------
        batch : tuple of (inputs, targets)
            Inputs are a tensor or a mapping of keyword arguments; at least 16 rows.
        batch_size : int, optional
            The rows of one training step where they are not those of ``batch``: with gradient
            accumulation the rows of all its parts. Without it, ``batch`` on all ranks.

        Raises
        ------
        TypeError, ValueError
            If batch is no pair, or has too few rows.
        """
        if batch_size is not None:
            batch_size = _checks.integer("Gauge.step", "batch_size", batch_size)
        call = self._calls
        self._calls += 1
        if call % self.every:
            return
        devices = [self._ranks.device] if self._ranks.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            found, self._curvature = measure(
                self._loss_of,
                self._ranks,
                batch,
                call=call,
                every=self.every,
                batch_size=batch_size,
                gap=self.gap,
                row=present_row(self.optimizer),
                last=self._curvature,
            )
        self.measurements.append(found)

    @property
    def last(self) -> Measurement:
        """The last measurement."""
        if not self.measurements:
            raise RuntimeError("Gauge: nothing was measured yet; call step(batch) first.")
        return self.measurements[-1]

    @property
    def useful_batch(self) -> Interval:
        """The useful batch without momentum, as (value, low, high)."""
        return self.last.useful_batch

    @property
    def noise_scale(self) -> Interval:
        """Gradient noise over |gradient|^2, as (value, low, high); McCandlish et al. (2018)."""
        return self.last.noise_scale

    @property
    def edge(self) -> Interval | None:
        """The share of the largest stable step in use, as (value, low, high)."""
        return self.last.edge

    @property
    def history(self) -> dict[str, FloatArray]:
        """All measurements as a mapping of arrays; ``name_low`` and ``name_high`` are the ends."""
        columns: dict[str, list[float]] = {}
        for found in self.measurements:
            for field in fields(found):
                value = getattr(found, field.name)
                if isinstance(value, (int, float)):
                    columns.setdefault(field.name, []).append(value)
                elif isinstance(value, Interval):
                    columns.setdefault(field.name, []).append(value.value)
                    columns.setdefault(f"{field.name}_low", []).append(value.low)
                    columns.setdefault(f"{field.name}_high", []).append(value.high)
        return {name: np.array(column) for name, column in columns.items()}

    def predict(self, factor: float) -> Interval:
        """S(factor b)/S(b): the share of steps that a run with ``factor`` times the rows needs.

        S(b) = S_min (1 + B/b), B the useful batch without momentum, the step tuned for each batch.

        Parameters
        ----------
        factor : float
            The larger batch over the present one.

        Returns
        -------
        Interval
            The share; its interval is that of the useful batch alone.

        Raises
        ------
        ValueError
            If factor is not positive.
        """
        factor = _checks.real("Gauge.predict", "factor", factor, above=0.0)
        b = self.last.batch_size
        ends = [_share_of_steps(B, b, factor) for B in self.useful_batch]
        return Interval(ends[0], min(ends[1:]), max(ends[1:]))

    def branch(
        self,
        train_step: Callable[[float], Any],
        factors: tuple[float, float] = (1, 4),
        steps: int = 50,
    ) -> Branches:
        """Train from here with two batch sizes, compare the progress, and go back.

        Model, optimizer, gradients and random state are those of now at the start of each branch,
        and again at the end. What else ``train_step`` changes (a scheduler, a loader) is its own.

        Parameters
        ----------
        train_step : callable
            ``train_step(factor)`` takes one training step with ``factor`` times the rows and
            returns the loss of its batch before the step.
        factors : tuple of (float, float), default (1, 4)
            The two branches.
        steps : int, default 50
            The steps of each.

        Returns
        -------
        Branches
            The progress of both, their ratio with a 95 % interval, and what the gauge predicts.

        Raises
        ------
        ValueError
            If there is no optimizer, or steps are too few.
        """
        if self.optimizer is None:
            rule = "the optimizer that train_step moves"
            raise _checks.refused(ValueError, "Gauge.branch", "optimizer", None, rule)
        predicted = None
        if self.measurements:
            share = self.predict(factors[1] / factors[0])
            predicted = 1.0 / share.value
        return run_branches(self.model, self.optimizer, train_step, factors, steps, predicted)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the useful batch and the noise scale along the run, with their intervals.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        matplotlib axes
            The axes.
        """
        ax = axes_for("Gauge.plot", ax)
        table = self.history
        drawn = [table["batch_size"]]
        for name, label in (("useful_batch", "useful batch"), ("noise_scale", "noise scale")):
            (line,) = ax.plot(table["call"], table[name], marker="o", ms=3, label=label)
            low = np.maximum(table[f"{name}_low"], 1.0)
            high = np.minimum(table[f"{name}_high"], 1e9)
            ax.fill_between(table["call"], low, high, alpha=0.2, color=line.get_color(), lw=0)
            drawn += [low, table[name][np.isfinite(table[name])]]
        ax.plot(table["call"], table["batch_size"], "k--", lw=1, label="batch in use")
        everything = np.maximum(np.concatenate(drawn), 1.0)
        ax.set_ylim(everything.min() / 2.0, everything.max() * 4.0)  # bands without end go on
        ax.set_yscale("log")
        ax.set_xlabel("call")
        ax.set_ylabel("rows")
        ax.legend()
        return ax

    def __str__(self) -> str:
        return page(self.measurements, self.gap, self._calls)


def present_row(optimizer: torch.optim.Optimizer | None) -> tuple[float, float, float] | None:
    """Step, momentum and lookahead of the next step, of the group with the longest step."""
    if optimizer is None:
        return None
    rows = []
    for group in optimizer.param_groups:
        if "schedule" in group:
            alpha, beta, theta = row(group["schedule"], group["k"], group["after"])
            rows.append((float(group["lr"]) * alpha, beta, theta))
        elif isinstance(optimizer, torch.optim.SGD):
            beta = float(group["momentum"])
            alpha = float(group["lr"]) * (1.0 - float(group["dampening"]))
            rows.append((alpha, beta, beta if group["nesterov"] else 0.0))
    rows = [found for found in rows if found[0] > 0.0]
    return max(rows) if rows else None


def _share_of_steps(B: float, b: int, factor: float) -> float:
    if np.isinf(B):
        return 1.0 / factor
    return (1.0 + B / (factor * b)) / (1.0 + B / b)


def _is_parallel(model: torch.nn.Module) -> bool:
    return isinstance(model, (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel))


def _check_place(parameters: list[torch.nn.Parameter]) -> None:
    devices = sorted({str(p.device) for p in parameters})
    if len(devices) > 1:
        rule = "on one device"
        remedy = "measure a copy of the model on one device, or use DistributedDataParallel"
        raise _checks.refused(ValueError, "Gauge", "model", devices, rule, remedy)
    if any(hasattr(p, "full_tensor") for p in parameters):
        raise TypeError(
            "Gauge: a parameter of model is sharded (DTensor), must be whole; use "
            "DistributedDataParallel, or measure a copy of the whole model."
        )
