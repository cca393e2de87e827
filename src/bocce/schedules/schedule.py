"""A schedule is data: three read-only arrays that every engine, adapter and analysis reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _checks, _html, _pictures
from .._pictures import Axes

FloatArray = npt.NDArray[np.float64]
Table = tuple[FloatArray, FloatArray, FloatArray]  # alpha, beta, theta


LIMITS = {"alpha": (0.0, np.inf), "beta": (0.0, 1.0), "theta": (0.0, np.inf)}


def _filled(given: Iterable[npt.ArrayLike], T: int | None) -> list[FloatArray]:
    """Copies of the columns; a number is repeated T times, or as often as the others are long."""
    columns = [
        _checks.floats("Schedule", name, values, "give one number a step, or one for all")
        for name, values in zip(LIMITS, given)
    ]
    lengths = [column.size for column in columns if column.ndim]
    if T is not None:
        T = _checks.integer("Schedule", "T", T, remedy="give the number of steps")
    if not lengths and T is None:
        raise ValueError(
            "Schedule: alpha, beta and theta are all numbers, T must say how many steps there "
            "are; give T, such as T=100."
        )
    steps = lengths[0] if lengths else int(T or 0)
    if T is not None and steps != T:
        raise ValueError(
            f"Schedule: T={T} must equal the length of alpha, beta and theta, {steps}; "
            "leave T out where one of them is an array."
        )
    filled = [np.full(steps, column) if column.ndim == 0 else column for column in columns]
    if len({column.size for column in filled}) > 1:
        raise ValueError(
            f"Schedule: alpha, beta and theta have lengths {tuple(c.size for c in filled)}, must "
            "be equal; give one number a step for each."
        )
    return filled


def _checked(name: str, array: FloatArray) -> FloatArray:
    (low, high), is_open = LIMITS[name], name == "alpha"
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"Schedule: {name} has shape {array.shape}, must be one row of T >= 1 numbers; "
            "give one number and T for a constant."
        )
    wrong = ~np.isfinite(array) | (array <= low if is_open else array < low) | (array >= high)
    if wrong.any():
        k = int(np.argmax(wrong))
        rule = f"{'>' if is_open else '>='} 0" + (f" and < {high:g}" if high < np.inf else "")
        raise ValueError(
            f"Schedule: {name}[{k}]={float(array[k])!r} must be finite and {rule}; "
            "check the factory's L, mu and T."
        )
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False, init=False)
class Schedule:
    """Three numbers a step, put into one update.

    With g_k the gradient of batch k::

        y_k     = w_k + theta_k (w_k - w_{k-1})
        w_{k+1} = w_k + beta_k (w_k - w_{k-1}) - alpha_k g_k(y_k),      w_{-1} = w_0

    Parameters
    ----------
    alpha, beta, theta : array-like
        Step sizes, > 0; momenta, 0 <= beta < 1 (a zero restarts); lookahead, >= 0 (0 is heavy ball,
        beta is Nesterov). One number a step; a single number is the same at every step.
    name, T : str, int
        The name that tables and plots show; the number of steps, needed where alpha, beta and theta
        are all numbers.

    Raises
    ------
    ValueError
        A number is out of its range, or the lengths differ.

    Examples
    --------
    >>> s = Schedule(0.1, 0.9, T=3, name="mine")
    >>> s.T, s.then(s).T, float(s.then(s).beta[3])
    (3, 6, 0.0)
    """

    alpha: FloatArray
    beta: FloatArray
    theta: FloatArray
    name: str

    def __init__(
        self,
        alpha: npt.ArrayLike,
        beta: npt.ArrayLike,
        theta: npt.ArrayLike = 0.0,
        name: str = "",
        *,
        T: int | None = None,
    ) -> None:
        object.__setattr__(self, "name", name)
        for column, values in zip(LIMITS, _filled((alpha, beta, theta), T)):
            object.__setattr__(self, column, _checked(column, values))

    @property
    def T(self) -> int:
        """The number of steps."""
        return int(self.alpha.size)

    @property
    def table(self) -> Table:
        """alpha, beta and theta, as the kernels take them."""
        return self.alpha, self.beta, self.theta

    def __len__(self) -> int:
        return self.T

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        return self.name == other.name and np.array_equal(self.table, other.table)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """Through the constructor: copies and unpickled schedules are read-only too."""
        return type(self), (self.alpha, self.beta, self.theta, self.name)

    def __repr__(self) -> str:
        return f"Schedule({self.name or 'unnamed'!r}, T={self.T})"

    def _repr_html_(self) -> str:
        return _html.schedule(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the table: steps on a logarithmic axis, momentum and lookahead on the right.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None makes a figure.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> from bocce.schedules import two_phase
        >>> two_phase(100, L=4.0, mu=1.0).plot().get_yscale()
        'log'
        """
        return _pictures.schedule(self, ax)

    def then(self, other: Schedule, name: str | None = None) -> Schedule:
        """This schedule, then ``other`` from rest: the first beta and theta of ``other`` become 0.

        Parameters
        ----------
        other, name : Schedule, str
            The schedule of the second stage; the name of the whole, by default both names.

        Returns
        -------
        Schedule

        Raises
        ------
        TypeError
            ``other`` is no schedule.
        """
        if not isinstance(other, Schedule):
            remedy = "make one with bocce.schedules"
            raise _checks.refused(TypeError, "then", "other", other, "a Schedule", remedy)
        beta = other.beta.copy()
        theta = other.theta.copy()
        beta[0] = theta[0] = 0.0
        pairs = zip(self.table, (other.alpha, beta, theta))
        alpha, beta, theta = (np.concatenate(pair) for pair in pairs)
        if name is None:
            name = f"{self.name} + {other.name}"
        return Schedule(alpha, beta, theta, name)
