"""How a loss is written: three functions and a few facts, in one file.

A loss is a named tuple (its fields are its parameters) under the decorator ``loss``:

    @loss("log-cosh")
    class LogCosh(NamedTuple):
        curvature = 1.0                           # an upper bound on ``bend``, or None

        def value(loss, z, y): ...                # the loss of a row whose score is z
        def slope(loss, z, y): ...                # the derivative of value in z
        def bend(loss, z, y): ...                 # the second derivative

The functions use NumPy's element-wise functions (``np.exp``, ``np.maximum``, ...) only. Such
functions take an array or one number, so the same lines are the readable form and the body of the
compiled kernels. The first argument is the loss itself, for its parameters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from .. import _checks
from .._types import Array, Vector
from .residuals import Residuals
from .targets import real_targets

Body: TypeAlias = Callable[..., Any]
# Value, slope and bend; a bend may be one number for all rows, or None with several outputs.
Three: TypeAlias = tuple[Array, Array, Any]


class LossFunctions(ABC):
    """The functions of a loss, and what follows from them unless a loss knows a quicker way.

    z are the scores x_i . w (with several outputs, a column for each class), y are the targets.
    """

    __slots__ = ()

    @abstractmethod
    def value(self, z: Array, y: Array) -> Array:
        """The loss of each row."""

    @abstractmethod
    def slope(self, z: Array, y: Array) -> Array:
        """The derivative of the loss in z."""

    @abstractmethod
    def bend(self, z: Array, y: Array) -> Array:
        """The second derivative of the loss in z; with several outputs, its diagonal."""

    def value_slope_bend(self, z: Array, y: Array) -> Three:
        """Value, slope and bend at once, where they share work."""
        return self.value(z, y), self.slope(z, y), self.bend(z, y)

    def bend_times(self, z: Array, y: Array, u: Array) -> Array:
        """The second derivative times u, for each row."""
        return self.bend(z, y) * u

    def bend_products(self, z: Array, y: Array, c: Array | None, U: Array, V: Array) -> Array:
        """sum_i c_i u_i^T bend_i v_i for all pairs of directions of U and V, of several outputs."""
        bent = self.bend_times(z, y, V)
        bent = bent if c is None else bent * c[:, None]
        return U.reshape(len(U), -1) @ bent.reshape(len(V), -1).T

    def bender(self, z: Array, y: Array, dtype: npt.DTypeLike) -> Body:
        """u -> bend u for each row, prepared at z, in ``dtype``; of several outputs."""
        return lambda u: np.asarray(self.bend_times(z, y, u), dtype=dtype)


class Loss(LossFunctions):
    """The facts of a loss, with the values that hold unless a loss says otherwise."""

    __slots__ = ()

    name: ClassVar[str]
    description: ClassVar[str]  # the model, for a sentence
    problem_name: ClassVar[str] = "Problem"  # the name of a problem with this loss in messages
    quadratic: ClassVar[bool] = False  # is slope = z - y, so that second moments close?
    margin: ClassVar[bool] = False  # is value a function of y z alone, with y = -1 or 1?
    multi_output: ClassVar[bool] = False  # has a row a score for each class (z is a matrix)?
    shift_invariant: ClassVar[bool] = False  # do only the differences of a row's scores count?
    any_library: ClassVar[bool] = False  # does value_slope_bend take arrays of any library?
    attains_minimum: ClassVar[bool] = False  # is every row's loss least at a finite score?
    curvature: ClassVar[float | None]  # an upper bound on bend; None where bend has no bound
    # What standard errors may assume: "likelihood" (slopes vary as the bend says), "scaled" (the
    # expected bend is 1, slopes have one unknown variance), "residuals" (slopes and bends depend on
    # residuals that have the same law at every row), or "none".
    model: ClassVar[str] = "none"
    log_link: ClassVar[bool] = False  # are predictions exp(z)?
    self_concordance: ClassVar[float | None] = None  # |third derivative| <= this times bend
    is_complete: ClassVar[bool] = True  # is no parameter left to the residuals of the fit?

    def check(self) -> None:
        """Raise if a parameter is out of its range.

        Raises
        ------
        TypeError, ValueError
            A parameter is no number, or out of its range.
        """
        return

    def infimum(self, y: Array) -> Array:
        """The infimum of ``value`` over z.

        Parameters
        ----------
        y : ndarray
            The targets, as ``targets`` gives them.

        Returns
        -------
        ndarray
            One number a row.
        """
        return np.zeros(np.shape(y))

    def best_constant(self, mean: Any) -> Any:
        """The best constant prediction for all rows; 0 where there is no closed form.

        Parameters
        ----------
        mean : float or ndarray
            The mean of y; with classes, their shares.

        Returns
        -------
        float or ndarray
        """
        return 0.0

    def suited_to(self, residuals: Residuals) -> Loss:
        """The loss whose parameters suit the residuals of a fit with this one.

        Called only where a parameter was left to the residuals (``is_complete`` was False).

        Parameters
        ----------
        residuals : Residuals
            Of the fit; of constant predictions, where a parameter is still None.

        Returns
        -------
        Loss
            The loss itself where it suits them.
        """
        return self

    @staticmethod
    def targets(where: str, y: Array, labels: Vector | None = None) -> tuple[Array, Array | None]:
        """The targets in the form that the loss needs, checked, and the classes.

        Parameters
        ----------
        where : str
            The function that was called, for messages.
        y, labels : array-like
            The targets of the user; the labels of all the data, where ``y`` is a part of them.

        Returns
        -------
        tuple of (ndarray, ndarray or None)
            The targets and the sorted labels.
        """
        return real_targets(where, y)

    @staticmethod
    def compiled() -> dict[str, Body]:
        """Functions that compiled kernels use in place of the readable ones; needs Numba.

        Returns
        -------
        dict of callables
        """
        return {}


REGISTRY: dict[str, type[Loss]] = {}
ALIASES = {"log_loss": "logistic"}  # scikit-learn's names
NEEDED = ("value", "slope", "bend", "curvature")
L = TypeVar("L", bound=type)


def loss(name: str) -> Callable[[L], L]:
    """A decorator that makes a loss of a named tuple.

    The decorator checks the functions that a loss must have, adds the usual facts that the class
    leaves out, and registers the loss under ``name``. See docs/extend for an example that runs on
    every engine.

    Parameters
    ----------
    name : str
        The name in ``bocce.losses.REGISTRY``.

    Returns
    -------
    callable
        The decorator of the class.

    Raises
    ------
    TypeError
        The class is no named tuple with value, slope and bend, or has a field without a default.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> @loss("quartic")
    ... class Quartic(NamedTuple):
    ...     curvature = None
    ...     def value(loss, z, y):
    ...         return 0.25 * (z - y) ** 4
    ...     def slope(loss, z, y):
    ...         return (z - y) ** 3
    ...     def bend(loss, z, y):
    ...         return 3.0 * (z - y) ** 2
    >>> Quartic().slope(np.array([1.0, 3.0]), 1.0).tolist(), Quartic.description
    ([0.0, 8.0], 'the quartic loss')
    >>> del REGISTRY["quartic"]
    """

    def register(kind: L) -> L:
        own = vars(kind)
        needed = (*NEEDED, "bend_times") if "multi_output" in own else NEEDED
        missing = [need for need in needed if not hasattr(kind, need)]
        if missing or not issubclass(kind, tuple):
            raise TypeError(
                f"loss: {kind.__name__} must be a NamedTuple with {', '.join(needed)}; add "
                f"{', '.join(missing) or 'NamedTuple as its base'}."
            )
        named: Any = kind
        bare = [field for field in named._fields if field not in named._field_defaults]
        if bare:
            raise TypeError(
                f"loss: {kind.__name__} has the field {bare[0]} without a default, must have one, "
                f"for a loss may be asked for by name; write {bare[0]}: float = 1.0, for example."
            )
        facts = {"name": name, "description": own.get("description", f"the {name} loss")}
        facts |= {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
        facts |= {"__doc__": kind.__doc__, "__slots__": ()}
        made: Any = type(kind.__name__, (kind, Loss), facts)
        REGISTRY[name] = made
        return made

    return register


def loss_of(where: str, given: Loss | str, complete: bool = True) -> Loss:
    """A loss, from an instance or a registered name.

    Parameters
    ----------
    where, given : str, Loss or str
        The function that was called, for messages; a loss, or a name of ``bocce.losses.REGISTRY``.
    complete : bool, default True
        Whether every parameter must be a number.

    Returns
    -------
    Loss

    Raises
    ------
    TypeError, ValueError
        The argument is neither a loss nor a known name, or a parameter is out of its range.
    """
    if isinstance(given, str):
        given = ALIASES.get(given, given)
        return REGISTRY[_checks.choice(where, "loss", given, REGISTRY)]()
    if not isinstance(given, Loss):
        raise TypeError(
            f"{where}: loss={given!r} must be a loss such as bocce.losses.Huber(1.0), or a name: "
            f"{', '.join(REGISTRY)}."
        )
    given.check()
    if complete and not given.is_complete:
        raise ValueError(
            f"{where}: loss={given!r} has a parameter that is None, must have numbers where rows "
            "are not in memory; minimize a sample of the rows, and take the loss of its result."
        )
    return given
