"""Results that were computed for a problem, by the aspects of the problem that they depend on.

A problem never changes. ``Problem.replace`` makes another one, and both share every result that
depends on nothing that was replaced, whichever of the two problems computes it first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")

# The aspect of a problem that each of its fields belongs to: where a field is replaced, results
# that depend on its aspect are computed again. Fields that are not listed change no result.
ASPECTS = {
    "given": "rows",
    "limits": "rows",
    "frame": "rows",
    "weight": "weights",
    "y": "targets",
    "offset": "targets",
    "classes": "targets",
    "loss": "loss",
    "l2": "penalty",
    "penalty": "penalty",
}
_known: set[frozenset[str]] = set()  # the sets of aspects that some result depends on


class Computed(Generic[T]):
    """A property of a problem that is computed once; made by ``depends_on``.

    The result is kept in the problem's ``cache``, and in the problem itself, where Python finds it
    at the next access without a call.
    """

    def __init__(self, compute: Callable[[Any], T], aspects: frozenset[str]) -> None:
        self.compute = compute
        self.aspects = aspects
        self.__doc__ = compute.__doc__
        _known.add(aspects)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, problem: None, owner: type) -> Computed[T]: ...
    @overload
    def __get__(self, problem: Immutable, owner: type) -> T: ...

    def __get__(self, problem: Immutable | None, owner: type) -> Computed[T] | T:
        if problem is None:
            return self
        table = problem.cache.setdefault(self.aspects, {})
        if self.name not in table:
            table[self.name] = self.compute(problem)
        result: T = table[self.name]
        problem.__dict__[self.name] = result
        return result


def depends_on(*aspects: str) -> Callable[[Callable[[Any], T]], Computed[T]]:
    """A property that is computed once for all problems in which these aspects are the same."""
    return lambda compute: Computed(compute, frozenset(aspects))


class Immutable:
    """Fields that are given once, and a cache of results that were computed from them."""

    cache: dict[frozenset[str], dict[str, Any]]  # results by their aspects, then by their names

    def _set(self, **fields: object) -> None:
        """Give an object that is being made its fields."""
        self.__dict__.update({"cache": {}, **fields})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"Problem: {name} cannot be set, because a problem does not change; make another "
            f"one with replace({name}=...)."
        )

    def with_fields(self, **fields: object) -> Self:
        """The same object with other fields, unchecked; other results are shared."""
        changed = {ASPECTS[name] for name in fields if name in ASPECTS}
        computed = {name for table in self.cache.values() for name in table}
        kept = {name: x for name, x in self.__dict__.items() if name not in computed}
        shared = {a: self.cache.setdefault(a, {}) for a in _known if not a & changed}
        other: Self = object.__new__(type(self))
        other._set(**{**kept, "cache": shared, **fields})
        return other

    def known(self, name: str) -> Any:
        """The result of that name, if it was computed; else None."""
        computed: Computed[Any] = getattr(type(self), name)
        return self.cache.get(computed.aspects, {}).get(name)
