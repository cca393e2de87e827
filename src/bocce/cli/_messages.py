"""Messages of the package in the words of the command line: options instead of parameters."""

from __future__ import annotations

import re

from .._checks import refusal_of

# parameters of bocce.minimize, plan, theory, ... and the options that set them
OPTIONS = {
    "T": "--steps",
    "kind": "--errors",
    "workers": "--workers",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            *("accuracy", "batch_size", "checkpoint", "columns", "kappa", "l2", "loss", "method"),
            *("exclude", "passes", "ratio", "sampling", "seed", "target", "tol"),
        )
    },
}
SHORT = {"b": "--batch-size", "n": "-n"}  # letters of the theory
WHOSE = re.compile(r"^([A-Za-z_]\w*): (?=\S)")
PARAMETER = re.compile(rf"(?<![\w.])({'|'.join(OPTIONS)})=(?=[\w'\"+.,;\[-]|$)")


def in_options(said: str | Exception) -> str:
    """What an error or a message says, with options for the parameters that it names.

    An argument that was refused has a ``refusal``, which knows the parameter. Other messages lose
    the name of the function that raised them, and ``name=`` becomes ``--name``.

    >>> from .._checks import refused
    >>> in_options(refused(ValueError, "minimize", "T", 0, "an integer >= 1"))
    '--steps 0 must be an integer >= 1.'
    >>> in_options("minimize: batch_size=61 must be an integer from 1 to 60.")
    '--batch-size 61 must be an integer from 1 to 60.'
    >>> in_options("open: 'x' must be a number; leave the column out with columns=.")
    "'x' must be a number; leave the column out with --columns."
    >>> in_options("bad.svm, line 2: '1:x' is not index:value.")
    "bad.svm, line 2: '1:x' is not index:value."
    """
    refusal = refusal_of(said)
    if refusal is not None:
        option = {**OPTIONS, **SHORT}.get(refusal.name)
        text = refusal.said(f"{refusal.name}=" if option is None else f"{option} ")
    else:
        text = str(said)
        found = WHOSE.match(text)
        if found and found[1] in _functions():
            text = text[found.end() :]
    return PARAMETER.sub(_option, text.replace("standardize=True", "--standardize"))


def _option(match: re.Match[str]) -> str:
    """``T=`` as ``--steps``, with a space before a value."""
    ends = match.end() == len(match.string) or match.string[match.end()] in ".,;"
    return OPTIONS[match[1]] + ("" if ends else " ")


def _functions() -> set[str]:
    """The names that messages of the package begin with."""
    from .. import __all__, data, losses, schedules, theory

    titles = {loss.problem_name for loss in losses.REGISTRY.values()}
    own = {"solve", "theory", "reproduce", "split", "bocce"}
    return own | titles | {*__all__, *data.__all__, *schedules.__all__, *theory.__all__}
