"""Read numpydoc sections of the public names: which of them do not document their arguments."""

import importlib
import inspect
import re
from functools import partial

HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def sections(text):
    """The numpydoc sections of a docstring: a mapping of their titles to their text."""
    parts = HEADING.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def documented(section):
    """The names that a section of parameters or attributes describes with a type."""
    heads = re.findall(r"^([*\w][*\w, ]*) : \S.*\n +\S", section, re.MULTILINE)
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def arguments(thing, owned=False):
    """The names of the arguments that a caller gives: without the object that owns a method."""
    return list(inspect.signature(thing).parameters)[1 if owned else 0 :]


def returns_something(function):
    """Whether the annotation promises a value: ``None`` and a missing annotation promise none."""
    return inspect.signature(function).return_annotation not in (None, "None", inspect._empty)


def raises(function):
    """Whether a ``raise`` stands in the function itself."""
    return bool(re.search(r"^\s+raise \w", inspect.getsource(function), re.MULTILINE))


def faults_of_function(name, function, owned=False):
    text = inspect.getdoc(function) or ""
    found = sections(text)
    missing = set(arguments(function, owned)) - documented(found.get("Parameters", ""))
    faults = [f"{name}: no docstring"] if not text else []
    faults += [f"{name}: Parameters does not describe {arg}" for arg in sorted(missing)]
    if returns_something(function) and not {"Returns", "Yields"} & set(found):
        faults.append(f"{name}: no Returns")
    if raises(function) and "Raises" not in found:
        faults.append(f"{name}: no Raises")
    return faults


def is_protocol(thing):
    return getattr(thing, "_is_protocol", False)


def faults_of_class(name, cls, contracts=()):
    """A class describes its constructor's arguments, as Parameters or (records) as Attributes.

    Methods that a Protocol of ``contracts`` declares are described there.
    """
    text = inspect.cleandoc(cls.__doc__ or "")
    found = sections(text)
    shown = documented(found.get("Parameters", "")) | documented(found.get("Attributes", ""))
    built = not (issubclass(cls, Exception) or is_protocol(cls))
    owned = cls.__init__ is not object.__init__
    given = arguments(cls.__init__ if owned else cls, owned) if built else []
    missing = set(given) - shown
    faults = [f"{name}: no docstring"] if not text else []
    faults += [f"{name}: Parameters does not describe {arg}" for arg in sorted(missing)]
    for attribute, raw in vars(cls).items():
        declared = any(hasattr(other, attribute) for other in contracts if other is not cls)
        known = inspect.isfunction(raw) or isinstance(raw, (classmethod, staticmethod))
        if known and not attribute.startswith("_") and not declared:
            method = getattr(cls, attribute)  # getdoc of it finds the text of an overridden method
            owned = inspect.isfunction(raw)
            faults += faults_of_function(f"{name}.{attribute}", method, owned)
    return faults


def public_names(room):
    """``__all__``; without it, the functions and classes that the module itself defines."""
    own = [name for name, thing in vars(room).items() if _is_callable_of(thing, room.__name__)]
    return getattr(room, "__all__", [name for name in own if not name.startswith("_")])


def _is_callable_of(thing, module):
    known = inspect.isclass(thing) or inspect.isfunction(thing)
    return known and thing.__module__.startswith(module)


def faults_of(name):
    """What a public function or class leaves undocumented, given its whole name."""
    module, _, public = name.rpartition(".")
    room = importlib.import_module(module)
    thing = getattr(room, public)
    if inspect.isclass(thing) and thing.__module__.startswith("bocce"):
        contracts = [
            other for other in map(partial(getattr, room), public_names(room)) if is_protocol(other)
        ]
        return faults_of_class(name, thing, contracts)
    return faults_of_function(name, thing) if inspect.isfunction(thing) else []


def faults(module):
    """What the public names of a module leave undocumented."""
    names = public_names(importlib.import_module(module))
    return [fault for name in names for fault in faults_of(f"{module}.{name}")]
