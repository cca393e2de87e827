"""Schedules whose batch may change from step to step, at a given number of rows in all.

The batch of step k is ``b_k = 1 + (budget - T) s_k`` with ``s = softmax(v)``: at least one row, and
the budget is spent exactly. The value falls with every row, so that no row is left over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..schedules.schedule import FloatArray, Table
from .adjoint import Dynamics, value_and_gradient
from .search import gradient_of_coordinates, table_of

LOST = 700.0  # stands for the logarithm of a value that has overflown
RAMP = 1.5  # v of the ramp that a search begins from runs from -RAMP to RAMP


@dataclass(frozen=True)
class Budget:
    """The search over (alpha, beta, theta, batch) of T steps that take ``rows`` rows in all."""

    dynamics: Dynamics
    T: int
    rows: int
    n: int | None

    def starts(self, table_coordinates: FloatArray) -> list[FloatArray]:
        """A table with equal batches, and with batches that grow."""
        ramps = (np.zeros(self.T), np.linspace(-RAMP, RAMP, self.T))
        return [np.concatenate([table_coordinates, ramp]) for ramp in ramps]

    def batches(self, v: FloatArray) -> FloatArray:
        """Rows of each step, real numbers."""
        return 1.0 + (self.rows - self.T) * _softmax(v)

    def zeta0_2(self, b: FloatArray) -> FloatArray:
        if self.n is None:
            return 1.0 / b
        return np.maximum((self.n - b) / ((self.n - 1.0) * b), 0.0)

    def _slope(self, b: FloatArray) -> FloatArray:
        """The derivative of zeta0^2 in b: 0 where a batch has all rows."""
        if self.n is None:
            return -1.0 / b**2
        return np.where(b < self.n, -self.n / ((self.n - 1.0) * b**2), 0.0)

    def at(self, u: FloatArray) -> tuple[float, FloatArray]:
        """log(value) and its derivatives in the 4 T coordinates."""
        table = table_of(u[: 3 * self.T])
        share = _softmax(u[3 * self.T :])
        b = self.batches(u[3 * self.T :])
        value, gradient = self._value(table, self.zeta0_2(b))
        slope = gradient[3] * self._slope(b) * (self.rows - self.T)
        along = share * (slope - share @ slope)
        return value, np.concatenate([gradient_of_coordinates(table, gradient[:3]), along])

    def at_batches(self, b: npt.NDArray[np.int64], u: FloatArray) -> tuple[float, FloatArray]:
        """The same in the 3 T coordinates of the table, the batches being given."""
        table = table_of(u)
        value, gradient = self._value(table, self.zeta0_2(b.astype(np.float64)))
        return value, gradient_of_coordinates(table, gradient[:3])

    def _value(self, table: Table, zeta0_2: FloatArray) -> tuple[float, FloatArray]:
        with np.errstate(all="ignore"):
            value, gradient = value_and_gradient(self.dynamics, (*table, zeta0_2))
        if not 0.0 < value < math.inf or not np.isfinite(gradient).all():
            return LOST, np.zeros_like(gradient)
        return math.log(value), gradient / value

    def rounded(self, v: FloatArray) -> npt.NDArray[np.int64]:
        """The batches as integers, at most n, that take no more than the budget."""
        most = np.inf if self.n is None else float(self.n)
        real = np.minimum(self.batches(v), most)
        found = np.floor(real).astype(np.int64)
        left = self.rows - int(found.sum())
        by_rest = np.argsort(found - real, kind="stable")
        for k in by_rest[: max(left, 0)]:
            if found[k] < most:
                found[k] += 1
        return found


def _softmax(v: FloatArray) -> FloatArray:
    raised = np.exp(v - v.max())
    share: FloatArray = raised / raised.sum()
    return share
