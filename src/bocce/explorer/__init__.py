"""The explorer: a page that shows which batch size momentum needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..problems import Problem

__all__ = ["describe", "page"]

HERE = Path(__file__).parent
MOST_EIGENVALUES = 1500  # eigenvalues in the page: each is two numbers of text
# The functions whose numbers the tests compare with Python's, and the page around them.
CORE = ("theory", "schedules", "averaged", "exact")
PAGE = (
    *("sample", "state", "model", "words", "chart", "curves", "batches"),
    *("phases", "plane", "story", "main"),
)


def script(names: tuple[str, ...]) -> str:
    """The JavaScript of these modules, one after another."""
    return "\n".join((HERE / f"{name}.js").read_text("utf-8") for name in names)


def page(data: dict[str, Any] | None = None) -> str:
    """The page as one HTML text.

    Parameters
    ----------
    data : dict, optional
        The result of ``explorer.describe`` for a data set; the page starts with it.

    Returns
    -------
    str
        A self-contained page: it opens from a file and asks the network for nothing.

    Examples
    --------
    >>> from bocce import explorer
    >>> len(explorer.page().encode()) < 200_000
    True
    """
    found = json.dumps(data).replace("<", "\\u003c")  # a name cannot end the script
    parts = {
        "/*style*/": (HERE / "style.css").read_text("utf-8"),
        "/*data*/": f"const DATA = {found}, GALLERY = {(HERE / 'gallery.json').read_text()};",
        "/*script*/": script(CORE + PAGE),
    }
    text = (HERE / "page.html").read_text("utf-8")
    for place, part in parts.items():
        text = text.replace(place, part)
    return text


def describe(p: Problem, name: str = "data", source: str = "problem") -> dict[str, Any]:
    """The Gaussian twin of a problem, in the units of the explorer.

    The twin has the Hessian's eigenvalues at the minimiser, divided by the largest; the squared
    error of w = 0 along each eigenvector, divided by their sum; and the noise variance that gives
    the mean squared row gradient at the minimiser. Directions that no row touches are left out.

    Parameters
    ----------
    p : Problem
        A loss with one score a row, of at most 1,500 columns; an intercept is one more variable.
    name : str
        What the page calls the data.
    source : str
        The Python expression that gives the problem, for the lines that the page copies.

    Returns
    -------
    dict
        ``n``, ``spectrum``, ``start``, ``noise``, ``R`` (the sharpest L_max/L), ``kappa_tilde``,
        ``name``, ``source``.

    Raises
    ------
    ValueError
        If the problem has several scores a row, or too many columns.

    Examples
    --------
    >>> import bocce
    >>> from bocce import explorer
    >>> X, y, _ = bocce.data.regression(n=1000, d=3, kappa=100.0, noise_var=1.0)
    >>> found = explorer.describe(bocce.LeastSquares(X, y))
    >>> np.round(found["spectrum"], 6).tolist(), round(sum(found["start"]), 12)
    ([0.01, 0.505, 1.0], 1.0)
    """
    if p.d > MOST_EIGENVALUES:
        raise ValueError(
            f"explore: d={p.d} must be <= {MOST_EIGENVALUES}, the eigenvalues are part of the "
            "page; choose columns, or project the data first."
        )
    if p.loss.multi_output:
        raise ValueError(
            f"explore: the {p.loss.name} loss has several scores a row, must have one score a row; "
            "make one class against the rest first."
        )
    w = p.minimiser()
    noise = p.row_gradient_mean2(w)
    spectrum, basis = np.linalg.eigh(p.hessian(w) + np.diag(p.ridges))
    nonzero = spectrum > p.width * np.finfo(float).eps * spectrum[-1]
    spectrum, L = spectrum[nonzero], float(spectrum[-1])
    error2 = (basis[:, nonzero].T @ w) ** 2
    distance2 = float(error2.sum())
    if distance2 > 0.0:
        start = error2 / distance2
    else:
        start = np.full(spectrum.size, 1.0 / spectrum.size)
    constants = p.constants()
    L_max, kappa_tilde = constants.sharpest
    return {
        "name": name,
        "source": source,
        "n": p.n,
        "spectrum": (spectrum / L).tolist(),
        "start": start.tolist(),
        "noise": noise / (float(spectrum.sum()) * L * (distance2 or 1.0)),
        "R": L_max / constants.L,
        "kappa_tilde": kappa_tilde if kappa_tilde is not None else L_max / float(spectrum[0]),
    }
