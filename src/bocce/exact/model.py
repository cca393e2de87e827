"""What exact analysis asks of a model: of rows of data, or of a spectrum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _checks
from ..problems import Problem
from ..sampling import batch_rows
from ..schedules import Method, Schedule
from ..theory.batch import zeta2
from . import gaussian, row_walk
from .adjoint import Dynamics, GaussianMoments, Means, RowMoments
from .gaussian import Gaussian
from .moments import Eigenframe, FloatArray, Tabulated, frame_of, noise_of, require_plain
from .row_walk import Batches

Model: TypeAlias = Problem | Gaussian


@dataclass(frozen=True)
class BatchFacts:
    """What `theory.useful_batch` needs of a model.

    Attributes
    ----------
    L, R2 : float
        The largest eigenvalue of the Hessian A; the least rho with E[|x|^2 x x^T] <= rho A.
    gradient_noise : float
        The trace of the covariance of one row's gradient at the minimiser.
    gap : float
        f - f* at the start.
    noise_scale : float
        McCandlish's noise scale at the start: the same trace there over the squared gradient.
    """

    L: float
    R2: float
    gradient_noise: float
    gap: float
    noise_scale: float


class ExactModel(ABC):
    """A least-squares model and its start. ``where`` is the function that was called.

    Attributes
    ----------
    n : int or None
        The number of rows; None where each batch has fresh rows.
    """

    n: int | None

    @abstractmethod
    def start_at(self, w0: npt.ArrayLike | None) -> None:
        """Start at these coefficients."""

    @abstractmethod
    def start_with(self, start: npt.ArrayLike | None) -> None:
        """The start of ``best_schedule``: coefficients, or squared errors by eigenvalue."""

    @abstractmethod
    def sampling(self, batch_size: int | float) -> tuple[int, float]:
        """The batch in rows, and zeta0^2."""

    @abstractmethod
    def values(self, batch_size: int | float, method: Method, T: int) -> Mapping[str, Any]:
        """The numbers that the table of a method is built from, as ``minimize`` has them."""

    @abstractmethod
    def known(self, batch_size: int | float) -> dict[str, Any]:
        """All numbers that any method is built from."""

    @abstractmethod
    def facts(self) -> BatchFacts:
        """What rules for the batch size take."""

    @abstractmethod
    def without_noise(self) -> Gaussian:
        """The directions that move, and nothing else."""

    @abstractmethod
    def dynamics(self, batch_size: int | float, of: str) -> Dynamics:
        """The moments at a batch, whose value is the gap or the squared error."""

    @abstractmethod
    def totals(self, schedule: Schedule, zeta0_2: Batches) -> tuple[FloatArray, FloatArray]:
        """bias2 (T + 1,) and [error2, grad2, gap] (T + 1, 3)."""


def exact_model(where: str, model: Model) -> ExactModel:
    """The model as the functions of this room see it."""
    if isinstance(model, Gaussian):
        return OfSpectrum(where, model)
    return OfRows(where, model)


class OfSpectrum(ExactModel):
    """Gaussian rows, known by their spectrum."""

    def __init__(self, where: str, model: Gaussian) -> None:
        self.where = where
        self.model = model
        self.n = model.n

    def start_at(self, w0: npt.ArrayLike | None) -> None:
        if w0 is not None:
            raise ValueError(
                f"{self.where}: w0 must be left out for a Gaussian model, which has no basis of "
                "its own; give Gaussian(spectrum, start=...) the squared error along each "
                "eigenvalue."
            )

    def start_with(self, start: npt.ArrayLike | None) -> None:
        if start is not None:
            self.model = replace(self.model, start=np.array(start, dtype=np.float64))

    def sampling(self, batch_size: int | float) -> tuple[int, float]:
        return gaussian.sampling(self.where, self.model, batch_size)

    def values(self, batch_size: int | float, method: Method, T: int) -> Mapping[str, Any]:
        return self.known(batch_size)

    def known(self, batch_size: int | float) -> dict[str, Any]:
        return self.model.known(batch_size)

    def facts(self) -> BatchFacts:
        model = self.model
        lam = model.spectrum
        L = float(lam.max())
        trace = float(lam.sum())
        gap2 = float(lam @ model.start)
        square = _squared(float(lam**2 @ model.start))
        return BatchFacts(
            L=L,
            R2=trace + 2.0 * L,
            gradient_noise=model.noise * trace,
            gap=0.5 * gap2,
            noise_scale=(square + (gap2 + model.noise) * trace) / square,
        )

    def without_noise(self) -> Gaussian:
        return Gaussian(self.model.spectrum, start=self.model.start)

    def dynamics(self, batch_size: int | float, of: str) -> Dynamics:
        model = self.model
        zeta0_2 = self.sampling(batch_size)[1]
        about = (model.spectrum, model.start, _weights(model.spectrum, of))
        if zeta0_2 == 0.0:
            return Means(*about)
        return GaussianMoments(*about, zeta0_2, model.noise)

    def totals(self, schedule: Schedule, zeta0_2: Batches) -> tuple[FloatArray, FloatArray]:
        return gaussian.curves(self.model, schedule, zeta0_2)


class OfRows(ExactModel):
    """A least-squares problem; it starts at 0 unless w0 is given."""

    def __init__(self, where: str, model: Problem) -> None:
        require_plain(where, model)
        self.where = where
        self.model = model
        self.n: int = model.n
        self.w0 = np.zeros(model.d)

    def start_at(self, w0: npt.ArrayLike | None) -> None:
        self.w0 = _checks.start(self.where, w0, self.model.d)

    def start_with(self, start: npt.ArrayLike | None) -> None:
        self.start_at(start)

    @cached_property
    def frame(self) -> Eigenframe:
        return frame_of(self.where, self.model)

    def sampling(self, batch_size: int | float) -> tuple[int, float]:
        b = batch_rows(self.where, batch_size, self.n)
        return b, zeta2(self.n, b)

    def values(self, batch_size: int | float, method: Method, T: int) -> Mapping[str, Any]:
        b = self.sampling(batch_size)[0]
        constants = self.model.constants()
        return method.values(constants, n=self.n, b=b, T=T, pilot=lambda: self.model.pilot(self.w0))

    def known(self, batch_size: int | float) -> dict[str, Any]:
        c = self.model.constants()
        L_max, kappa_tilde = c.sharpest
        return {
            "L": c.L,
            "mu": float(self.frame.lam.min()),  # the least curvature that moves
            "L_max": L_max,
            "kappa_tilde": kappa_tilde,
            "n": self.n,
            "b": self.sampling(batch_size)[0],
            "spectrum": c.spectrum,
            "noise": self.model.pilot(self.w0).noise,
        }

    def facts(self) -> BatchFacts:
        p = self.model
        c = p.constants()
        square = _squared(float(np.sum(p.gradient(self.w0) ** 2)))
        return BatchFacts(
            L=c.L,
            R2=c.sharpest[0],
            gradient_noise=p.noise().chi2,
            gap=p.value(self.w0) - p.value(p.minimiser()),
            noise_scale=p.noise_at(self.w0).chi2 / square - 1.0,
        )

    def without_noise(self) -> Gaussian:
        lam, error = self.frame.along(self.w0)
        moves = lam > 0.0
        return Gaussian(lam[moves], start=error[moves] ** 2)

    def dynamics(self, batch_size: int | float, of: str) -> Dynamics:
        b, zeta0_2 = self.sampling(batch_size)
        lam, error = self.frame.along(self.w0)
        weights = _weights(lam, of)
        if b == self.n:
            return Means(lam, error**2, weights)
        return RowMoments(lam, error, weights, Tabulated(self.frame), zeta0_2)

    def totals(self, schedule: Schedule, zeta0_2: Batches) -> tuple[FloatArray, FloatArray]:
        lam, start = self.frame.along(self.w0)
        noise = None
        if np.any(zeta0_2) and self.frame.rank > 0:
            noise = noise_of(self.where, self.frame, schedule.T)
        return row_walk.moments(lam, noise, zeta0_2, schedule, start)


def _weights(lam: FloatArray, of: str) -> FloatArray:
    """What the value weighs the squared error along each eigenvalue with."""
    if of == "gap":
        return 0.5 * lam
    return np.ones(lam.size)


def _squared(gradient2: float) -> float:
    """The squared gradient at the start, which must not be 0."""
    if not gradient2 > 0.0:
        raise ValueError(
            "batch_facts: the gradient at the start is 0, must not be; no step is needed from the "
            "minimiser, so start elsewhere."
        )
    return gradient2
