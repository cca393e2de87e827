"""A schedule is data: three read-only arrays that every engine, adapter and analysis reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def _column(
    name: str, values: npt.ArrayLike, low: float, low_open: bool, high: float
) -> FloatArray:
    array = np.array(values, dtype=np.float64)  # a copy: the caller's array stays his
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"Schedule: {name} has shape {array.shape}, must be one row of T >= 1 numbers; "
            "use np.full(T, value) for a constant."
        )
    wrong = ~np.isfinite(array) | (array <= low if low_open else array < low) | (array >= high)
    if wrong.any():
        k = int(np.argmax(wrong))
        rule = f"{'>' if low_open else '>='} {low:g}" + (
            f" and < {high:g}" if high < np.inf else ""
        )
        raise ValueError(
            f"Schedule: {name}[{k}]={array[k]!r} must be finite and {rule}; "
            "check the factory's L, mu and T."
        )
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class Schedule:
    """Three numbers a step, put into one update.

    With g_k the gradient of batch k::

        y_k     = w_k + theta_k (w_k - w_{k-1})
        w_{k+1} = w_k + beta_k (w_k - w_{k-1}) - alpha_k g_k(y_k),      w_{-1} = w_0

    Parameters
    ----------
    alpha : step sizes, > 0, length T.
    beta : momenta, 0 <= beta < 1; a zero restarts.
    theta : lookahead, >= 0; 0 is heavy ball, beta is Nesterov.
    name : what tables and plots call it.

    Examples
    --------
    >>> import numpy as np
    >>> s = Schedule(np.full(3, 0.1), np.full(3, 0.9), np.zeros(3), "mine")
    >>> s.T, s.then(s).T, float(s.then(s).beta[3])
    (3, 6, 0.0)
    """

    alpha: FloatArray
    beta: FloatArray
    theta: FloatArray
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", _column("alpha", self.alpha, 0.0, True, np.inf))
        object.__setattr__(self, "beta", _column("beta", self.beta, 0.0, False, 1.0))
        object.__setattr__(self, "theta", _column("theta", self.theta, 0.0, False, np.inf))
        lengths = {"alpha": self.alpha.size, "beta": self.beta.size, "theta": self.theta.size}
        if len(set(lengths.values())) > 1:
            raise ValueError(
                f"Schedule: alpha, beta and theta have lengths {tuple(lengths.values())}, must be "
                "equal; give one number a step for each."
            )

    @property
    def T(self) -> int:
        """The number of steps."""
        return int(self.alpha.size)

    def __len__(self) -> int:
        return self.T

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        return self.name == other.name and all(
            np.array_equal(getattr(self, c), getattr(other, c)) for c in ("alpha", "beta", "theta")
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """Through the constructor: copies and unpickled schedules are read-only too."""
        return type(self), (self.alpha, self.beta, self.theta, self.name)

    def __repr__(self) -> str:
        return f"Schedule({self.name or 'unnamed'!r}, T={self.T})"

    def then(self, other: Schedule, name: str | None = None) -> Schedule:
        """This schedule, then ``other`` from rest: its first beta and theta become 0."""
        beta, theta = other.beta.copy(), other.theta.copy()
        beta[0] = theta[0] = 0.0
        return Schedule(
            np.concatenate([self.alpha, other.alpha]),
            np.concatenate([self.beta, beta]),
            np.concatenate([self.theta, theta]),
            f"{self.name} + {other.name}" if name is None else name,
        )
