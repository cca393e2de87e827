"""Psi as an expression, as the paper derived it (needs the extra ``symbolic``)."""

from __future__ import annotations

from typing import Any

from .. import _checks
from .._extras import install


def psi_expression(steps: int = 6, n: int | None = None, b: int | None = None) -> Any:
    """Psi as a SymPy expression in n, b, beta and theta; ``n`` and ``b`` may be fixed.

    Psi = phi^T M_steps phi, M_{j+1} = E[H^T M_j H], as ``psi`` computes it in numbers.

    Source: ``fig:psi_function``.

    Parameters
    ----------
    steps : int, default 6
        The number of steps that the criterion looks at.
    n, b : int, optional
        Rows of the data and of a batch; by default symbols.

    Returns
    -------
    sympy.Expr

    Raises
    ------
    ImportError
        If SymPy is not installed.

    Examples
    --------
    >>> expression = psi_expression(steps=1, n=2, b=1)
    >>> print(expression.subs("theta", 0))
    beta**2
    """
    steps = _checks.integer("psi_expression", "steps", steps, least=0, remedy="6 in the paper")
    try:
        import sympy  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(f"psi_expression: needs SymPy; run {install('symbolic')}.") from error
    beta, theta = sympy.symbols("beta theta")
    size = sympy.Symbol("n") if n is None else sympy.Integer(n)
    batch = sympy.Symbol("b") if b is None else sympy.Integer(b)
    share = batch / size
    outcomes = [(1 + beta, 1 - share), (1 + beta - 1 / share, share)]
    moment = sympy.eye(2)
    for _ in range(steps):
        total = sympy.zeros(2, 2)
        for t, probability in outcomes:
            H = sympy.Matrix([[t, -beta], [1, 0]])
            total += probability * H.T * moment * H
        moment = total.applyfunc(sympy.expand)
    phi = sympy.Matrix([sympy.sin(theta), sympy.cos(theta)])
    return sympy.expand((phi.T * moment * phi)[0])
