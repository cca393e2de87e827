"""How a loss is written: three functions and a few facts, in one file.

A loss is a named tuple (its fields are its parameters) under the decorator ``loss``:

    @loss("log-cosh")
    class LogCosh(NamedTuple):
        curvature = 1.0                           # an upper bound on ``bend``, or None

        def value(loss, z, y): ...                # what a row costs whose prediction is z
        def slope(loss, z, y): ...                # its derivative in z
        def bend(loss, z, y): ...                 # the second derivative

The functions are made of NumPy's element-wise functions (``np.exp``, ``np.maximum``, ...): those
mean the same on an array and on one number, so the same lines are the readable form and the body of
the compiled kernels. The first argument is the loss itself, for its parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from .. import _checks, _renamed
from .._types import Array, Vector
from .offset import class_with_offset
from .targets import real_targets

Body: TypeAlias = Callable[..., Any]
# Value, slope and bend; a bend may be one number for all rows, or None with several outputs.
Three: TypeAlias = tuple[Array, Array, Any]


class Loss(Protocol):
    """What the rest of the package may ask of a loss."""

    name: ClassVar[str]
    problem_name: ClassVar[str]  # what a problem with this loss calls itself in messages
    description: ClassVar[str]  # the model, for a sentence
    quadratic: ClassVar[bool]  # is slope = z - y, so that second moments close?
    margin: ClassVar[bool]  # is value a function of y z alone, with y = -1 or 1?
    multi_output: ClassVar[bool]  # has a row a score for each class (z is a matrix)? See Softmax
    shift_invariant: ClassVar[bool]  # do only the differences of a row's scores count?
    attains_minimum: ClassVar[bool]  # is every row's loss least at a finite score?
    curvature: ClassVar[float | None]  # bend is at most this; None where it has no bound
    # What standard errors may assume: "likelihood" (slopes vary as the bend says), "scaled" (the
    # expected bend is 1, slopes have one unknown variance), "residuals" (slopes and bends depend on
    # residuals that have the same law at every row), or "none".
    model: ClassVar[str]
    log_link: ClassVar[bool]  # are predictions exp(z)?
    Plain: ClassVar[type[Loss]]  # this loss for scores that are complete ...
    WithOffset: ClassVar[type[Loss]]  # ... and for targets that carry offsets (losses/offset.py)
    self_concordance: ClassVar[float | None]  # |third derivative| <= this times bend; or None

    def __init__(self, *parameters: float) -> None: ...

    def __iter__(self) -> Iterator[float]:
        """The parameters, for a loss is a named tuple."""

    def value(self, z: Array, y: Array) -> Array:
        """The loss of each row.

        Parameters
        ----------
        z, y : ndarray
            The scores x_i . w (with several outputs, a column for each class), and the targets.

        Returns
        -------
        ndarray
            One number a row.
        """

    def slope(self, z: Array, y: Array) -> Array:
        """The derivative of the loss in z.

        Parameters
        ----------
        z, y : ndarray
            The scores and the targets, as for ``value``.

        Returns
        -------
        ndarray
        """

    def bend(self, z: Array, y: Array) -> Array:
        """The second derivative of the loss in z; with several outputs, its diagonal.

        Parameters
        ----------
        z, y : ndarray
            The scores and the targets, as for ``value``.

        Returns
        -------
        ndarray
        """

    def value_slope_bend(self, z: Array, y: Array) -> Three:
        """Value, slope and bend at once, where they share work.

        Parameters
        ----------
        z, y : ndarray
            The scores and the targets, as for ``value``.

        Returns
        -------
        tuple of (ndarray, ndarray, ndarray)
        """

    def bend_times(self, z: Array, y: Array, u: Array) -> Array:
        """The second derivative times u, for each row.

        Parameters
        ----------
        z, y, u : ndarray
            The scores and the targets, as for ``value``, and the directions.

        Returns
        -------
        ndarray
        """

    def bend_products(self, z: Array, y: Array, c: Array | None, U: Array, V: Array) -> Array:
        """sum_i c_i u_i^T bend_i v_i, for all pairs of directions of U and V; of several outputs.

        Parameters
        ----------
        z, y : ndarray
            The scores and the targets, as for ``value``.
        c : ndarray or None
            The weights of the rows (None: 1).
        U, V : ndarray
            The directions, one behind the other.

        Returns
        -------
        ndarray
        """

    def bender(self, z: Array, y: Array, dtype: npt.DTypeLike) -> Body:
        """u -> bend u for each row, prepared at z; of several outputs.

        Parameters
        ----------
        z, y, dtype : ndarray, ndarray, dtype
            The scores and the targets, as for ``value``, and the type of u.

        Returns
        -------
        callable
        """

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

    def best_constant(self, mean: Any) -> Any:
        """The best constant prediction for all rows; 0 where it is not known in closed form.

        Parameters
        ----------
        mean : float or ndarray
            The mean of y; with classes, their shares.

        Returns
        -------
        float or ndarray
        """

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

    @staticmethod
    def compiled() -> dict[str, Body]:
        """Functions that compiled kernels use in place of the ones above; called only with Numba.

        Returns
        -------
        dict of callables
        """


REGISTRY: dict[str, type[Loss]] = {}
_KINDS: list[type] = []  # every class that ``loss`` has made a loss
ALIASES = {"log_loss": "logistic"}  # scikit-learn's names
NEEDED = ("value", "slope", "bend", "curvature")
RENAMED = {  # names of 0.2
    "words": "description",
    "floor": "infimum",
    "constant": "best_constant",
    "together": "value_slope_bend",
    "outputs": "multi_output",
    "differences": "shift_invariant",
    "title": "problem_name",
}
L = TypeVar("L", bound=type)


def _infimum(loss: Loss, y: Array) -> Array:
    return np.zeros(np.shape(y))


def _best_constant(loss: Loss, mean: float) -> float:
    return 0.0


def _value_slope_bend(loss: Loss, z: Array, y: Array) -> Three:
    return loss.value(z, y), loss.slope(z, y), loss.bend(z, y)


def _bend_times(loss: Loss, z: Array, y: Array, u: Array) -> Array:
    return loss.bend(z, y) * u


def _bend_products(loss: Loss, z: Array, y: Array, c: Array | None, U: Array, V: Array) -> Array:
    bent = loss.bend_times(z, y, V)
    bent = bent if c is None else bent * c[:, None]
    return U.reshape(len(U), -1) @ bent.reshape(len(V), -1).T


def _bender(loss: Loss, z: Array, y: Array, dtype: npt.DTypeLike) -> Body:
    return lambda u: np.asarray(loss.bend_times(z, y, u), dtype=dtype)


def _by_old_name(loss: Loss, name: str) -> object:
    if name not in RENAMED:
        raise AttributeError(f"{type(loss).__name__} has no attribute {name!r}.")
    _renamed.warn(type(loss).__name__, name, RENAMED[name])
    return getattr(loss, RENAMED[name])


def _nothing_of_its_own() -> dict[str, Body]:
    return {}


def _defaults() -> dict[str, object]:
    return {
        "problem_name": "Problem",
        "quadratic": False,
        "margin": False,
        "multi_output": False,
        "shift_invariant": False,
        "model": "none",
        "log_link": False,
        "self_concordance": None,
        "attains_minimum": False,
        "infimum": _infimum,
        "best_constant": _best_constant,
        "value_slope_bend": _value_slope_bend,
        "bend_times": _bend_times,
        "bend_products": _bend_products,
        "bender": _bender,
        "targets": staticmethod(real_targets),
        "compiled": staticmethod(_nothing_of_its_own),
    }


def loss(name: str) -> Callable[[L], L]:
    """A decorator that makes a loss of a named tuple.

    The decorator checks the functions that a loss must have, fills in the facts that it may leave
    out, and registers the loss under ``name``. See docs/extend for an example that runs on every
    engine.

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
        needed = (*NEEDED, "bend_times") if "multi_output" in vars(kind) else NEEDED
        missing = [need for need in needed if not hasattr(kind, need)]
        if missing or not hasattr(kind, "_fields"):
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
        named.name = name
        for old in RENAMED.keys() & vars(kind).keys():
            _renamed.warn(kind.__name__, old, RENAMED[old])
            setattr(kind, RENAMED[old], vars(kind)[old])
        named.__getattr__ = _by_old_name
        for fact, usual in {**_defaults(), "description": f"the {name} loss"}.items():
            if fact not in vars(kind):
                setattr(kind, fact, usual)
        named.Plain, named.WithOffset = kind, class_with_offset(kind)
        REGISTRY[name] = named
        _KINDS.append(kind)
        return kind

    return register


def loss_of(where: str, given: Loss | str) -> Loss:
    """A loss, from an instance or a registered name.

    Parameters
    ----------
    where, given : str, Loss or str
        The function that was called, for messages; a loss, or a name of ``bocce.losses.REGISTRY``.

    Returns
    -------
    Loss

    Raises
    ------
    TypeError, ValueError
        It is neither a loss nor a known name.
    """
    if isinstance(given, str):
        given = ALIASES.get(given, given)
        return REGISTRY[_checks.choice(where, "loss", given, REGISTRY)]()
    if not isinstance(given, tuple(_KINDS)):
        raise TypeError(
            f"{where}: loss={given!r} must be a loss such as bocce.losses.Huber(1.0), or a name: "
            f"{', '.join(REGISTRY)}."
        )
    return given
