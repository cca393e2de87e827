"""Functions of rows, called by loops that are compiled once for all kinds of rows and losses.

A loop that knows the type of its rows is compiled again for every kind of rows and every loss,
which takes seconds. So the rows, a named tuple, are stored in a piece of memory, and the functions
that read them (a sum of row gradients, for example) are known to a loop by their addresses:
``store`` and ``address_of`` are compiled for one type of rows, ``call`` for all of them.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ...rows import Array
from .entry import is_ours

ROOM_BYTES = 4096  # of rows and their loss, as LLVM lays them out; some 500 are used

ROOM = types.Array(types.uint8, 1, "C")
INDEX = types.Array(types.int64, 1, "C")
VECTOR = types.Array(types.float64, 1, "C")


class BoundRows(NamedTuple):
    """Stored rows, and the addresses of functions of them; the rows' arrays must be kept alive."""

    room: Array
    functions: tuple[int, ...]


def bound(bind: Any, rows: Any) -> BoundRows:
    """Rows with the functions whose addresses the kernel ``bind(rows, room)`` returns."""
    room = np.zeros(ROOM_BYTES, dtype=np.uint8)
    return BoundRows(room, bind(rows, room))


def _place(context: Any, builder: Any, kind: Any, array: Any, room: Any) -> Any:
    """A pointer to the value of type ``kind`` that is stored in a room."""
    value_type = context.get_value_type(kind)
    assert context.get_abi_sizeof(value_type) <= ROOM_BYTES
    data = context.make_array(array)(context, builder, room).data
    return builder.bitcast(data, value_type.as_pointer())


def _without_owners(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The value with arrays that own nothing: nobody has to count references to them."""
    if isinstance(kind, types.Array):
        for field in (0, 1):  # meminfo and parent
            owner = value.type.elements[field]
            value = builder.insert_value(value, owner(None), field)
    elif isinstance(kind, types.BaseTuple):
        for i, inner in enumerate(kind.types):  # type: ignore[attr-defined]
            element = builder.extract_value(value, i)
            element = _without_owners(context, builder, inner, element)
            value = builder.insert_value(value, element, i)
    return value


@intrinsic
def store(typingctx, rows, room):  # pragma: no cover - runs in the compiler
    """Write the rows into the room."""

    def codegen(context, builder, signature, args):
        kind, array = signature.args
        value = _without_owners(context, builder, kind, args[0])
        builder.store(value, _place(context, builder, kind, array, args[1]))
        return context.get_dummy_value()

    return types.void(rows, room), codegen


def loading(kind: Any) -> Any:
    """The function that reads rows of this type from a room."""

    @intrinsic
    def load(typingctx, room):  # pragma: no cover - runs in the compiler
        def codegen(context, builder, signature, args):
            return builder.load(_place(context, builder, kind, signature.args[0], args[0]))

        return kind(room), codegen

    return load


def _label(kind: Any) -> str:
    """A name for a type of rows: the classes, of losses too, with their modules.

    Two losses from outside the package may have one name; the class's id tells them apart.
    """
    if not isinstance(kind, (types.NamedTuple, types.NamedUniTuple)):
        return str(kind)
    held: Any = kind.instance_class
    own = f"{held.__module__}.{held.__qualname__}" + ("" if is_ours(held) else str(id(held)))
    return own + "".join(map(_label, kind.types))


def addressed(name: str, made: Any, signature: Any) -> Any:
    """The function of rows that returns the address of a compiled function.

    ``made(load)`` is the Python function to compile, whose first argument is a room that ``load``
    reads; ``signature`` is its signature. The function's name holds the type of the rows, for two
    functions of one name and signature, kept on disk by two processes, would be taken for one.
    """

    @intrinsic
    def address_of(typingctx, rows):  # pragma: no cover - runs in the compiler
        def codegen(context, builder, own, args):
            body = made(loading(own.args[0]))
            label = hashlib.sha256(_label(own.args[0]).encode()).hexdigest()
            body.__qualname__ = f"{name}_{label}"
            compiled = context.compile_subroutine(builder, body, signature, caching=False)
            function = context.declare_function(builder.module, compiled.fndesc)
            return builder.ptrtoint(function, cgutils.intp_t)

        return types.intp(rows), codegen

    return address_of


def caller(signature: Any) -> Any:
    """What calls a function of that signature: its code for ``intrinsic``."""

    def codegen(context, builder, own, args):  # pragma: no cover - runs in the compiler
        convention, returned, kinds = context.call_conv, signature.return_type, signature.args
        shape = convention.get_function_type(returned, kinds)
        function = builder.inttoptr(args[0], shape.as_pointer())
        _, result = convention.call_function(builder, function, returned, kinds, args[1:])
        return result

    return codegen


SUM = types.float64(
    ROOM, INDEX, types.intp, types.intp, types.boolean, VECTOR, VECTOR, types.boolean
)
LISTED = types.void(ROOM, INDEX, VECTOR, VECTOR)


@intrinsic
def call_sum(typingctx, address, room, source, start, count, listed, w, g, want_loss):
    """``rows.accumulate`` by its address."""
    return SUM.return_type(types.intp, *SUM.args), caller(SUM)


@intrinsic
def call_listed(typingctx, address, room, batch, given, made):
    """A function of ``products.py`` by its address."""
    return LISTED.return_type(types.intp, *LISTED.args), caller(LISTED)
