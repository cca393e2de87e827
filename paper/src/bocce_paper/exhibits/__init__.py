"""Every figure and table of the paper, and ours: one file each, found by its place in this folder.

A module of this folder whose name does not begin with an underscore has a list ``EXHIBITS``. The
texts and the order of the exhibits stand in claims.toml.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from bocce.cli.commands import choice

from ..exhibit import Exhibit
from ..texts import read

_names = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
_modules = [import_module(f"{__name__}.{name}") for name in _names]
_found: dict[str, Exhibit] = {e.label: e for module in _modules for e in module.EXHIBITS}
EXHIBITS = {label: _found[label] for label in read("claims.toml")["exhibits"]}
ALIASES = {exhibit.alias: label for label, exhibit in EXHIBITS.items()}


def chosen(names: list[str]) -> list[Exhibit]:
    """The exhibits of these names, in the paper's order.

    Parameters
    ----------
    names : list of str
        Labels, aliases or "all".

    Returns
    -------
    list of Exhibit

    Examples
    --------
    >>> [exhibit.label for exhibit in chosen(["fig3", "der_beta"])]
    ['shb_quad', 'der_beta']
    """
    known = ["all", *EXHIBITS, *ALIASES]
    labels = {choice("reproduce", "NAMES", name, known) for name in names}
    if "all" in labels:
        wanted = set(EXHIBITS)
    else:
        wanted = {ALIASES.get(name, name) for name in labels}
    return [exhibit for label, exhibit in EXHIBITS.items() if label in wanted]
