"""Messages of the package in the words of the command line: options instead of parameters."""

from __future__ import annotations

import re

# parameters of bocce.minimize, plan, theory, ... and the options that set them
OPTIONS = {
    "T": "--steps",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            "accuracy",
            "batch_size",
            "checkpoint",
            "columns",
            "kappa",
            "l2",
            "loss",
            "method",
            "passes",
            "ratio",
            "sampling",
            "seed",
            "target",
            "tol",
        )
    },
}
# what only Python can do, and what can be done instead
REMEDIES = {
    ", a larger batch, or a schedule with L = constants().L_max": " or a larger batch",
    "raise passes, tol or l2, or go on from w0=result.w": "raise --passes, --tol or --l2",
    "raise tol, or scale the data": "raise --tol, or scale the data",
    "; to go on, start from w0=result.w": "",
    " as an int, or a share of n in (0, 1] as a float": ", or a share of n in (0, 1]",
    "add l2 regularisation, or use a method without mu (sgd)": "give --l2 and --no-intercept, or "
    "use a method that needs no mu (auto, sgd)",
    'with missing="drop"': "with --missing drop",
    "out with columns=.": "out with --columns.",
    'method "auto"': "--method auto",
    'the method "plane"': "--method plane",
    "set l2 > 0, for example 1e-4": "give --l2 1e-4, for example",
}
SHORT = {"b=": "--batch-size ", "n=": "-n "}  # letters: options where a message begins with them
WHOSE = re.compile(r"^([A-Za-z_]\w*): (?=\S)")
EXTRA = re.compile(r"pip install '(bocce\[\w+\])'")
PARAMETER = re.compile(rf"(?<![\w.])({'|'.join(OPTIONS)})=(?=[\w'\"+-])")


def in_options(text: str) -> str:
    """A message without the function that raised it, and with options for its parameters.

    >>> in_options("minimize: batch_size=61 must be an integer from 1 to 60.")
    '--batch-size 61 must be an integer from 1 to 60.'
    >>> in_options("bad.svm, line 2: '1:x' is not index:value.")
    "bad.svm, line 2: '1:x' is not index:value."
    """
    found = WHOSE.match(text)
    if found and found[1] in _functions():
        text = text[found.end() :]
        text = SHORT.get(text[:2], text[:2]) + text[2:]
    for theirs, ours in REMEDIES.items():
        text = text.replace(theirs, ours)
    text = EXTRA.sub(r'pip install "\1"', text)
    return PARAMETER.sub(lambda match: f"{OPTIONS[match[1]]} ", text)


def _functions() -> set[str]:
    """The names that messages of the package begin with."""
    from .. import __all__, data, losses, schedules, theory

    titles = {loss.title for loss in losses.REGISTRY.values()}
    own = {"solve", "theory", "reproduce", "anytime", "split", "bocce"}
    return own | titles | {*__all__, *data.__all__, *schedules.__all__, *theory.__all__}
