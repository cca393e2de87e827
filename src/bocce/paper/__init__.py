"""The paper's figures, tables and claims: experiments, judgements and the report."""

from __future__ import annotations

from .. import _checks
from .exhibit import Exhibit
from .exhibits import EXHIBITS

__all__ = ["ALIASES", "EXHIBITS", "chosen"]

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
    labels = {_checks.choice("reproduce", "NAMES", name, known) for name in names}
    wanted = set(EXHIBITS) if "all" in labels else {ALIASES.get(name, name) for name in labels}
    return [exhibit for label, exhibit in EXHIBITS.items() if label in wanted]
