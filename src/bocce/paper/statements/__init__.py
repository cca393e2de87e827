"""The paper's 22 statements (11 theorems, 4 corollaries, 7 lemmas): one row, one class each.

A row is data. The evidence that its class rests on is computed by the exhibit "theorems".
"""

from __future__ import annotations

from ..verdicts import Change
from . import constant, exponential, stages
from ._model import EXPONENTIAL, PHASES, STAGES, Statement

__all__ = ["HORIZON", "OTHER", "STATEMENTS", "Statement"]

STATEMENTS: tuple[Statement, ...] = tuple(
    sorted((*exponential.ROWS, *constant.ROWS, *stages.ROWS), key=lambda row: row.line)
)

# With T = psi n: the remark that the exhibit "theorems" judges.
HORIZON = Change(
    372,
    r"\frac{1}{1 + \frac{1}{4 \psi}}",
    r"\frac{1}{1 + \frac{(n-1)a_I}{3}}, \quad a_I = O\left(\frac{\ln^2 T}{T^2}\right)",
    "a_I = 2^(-I) is of the order (ln T/T)^2 (line 1462), not 1/T.",
    True,
    STAGES,
)

# Slips outside the statements.
OTHER = (
    Change(
        203,
        r"f(w) = \frac{1}{n} \sum^n_1 \fj(w) = \x^T A \x - \langle d, \x \rangle",
        r"f(w) = \frac{1}{n} \sum^n_1 \fj(w) = \frac{1}{2}\x^T A \x - \langle d, \x \rangle",
        "The factor 1/2 of f_i.",
    ),
    Change(
        214,
        r"Specifically, for $z_0 = w_0$,",
        r"Specifically, for $z_{-1} = w_0$,",
        "With z_0 = w_0 the first gradient has no effect on the average; then the update is not "
        "the SHB update of the next line.",
        True,
        EXPONENTIAL,
    ),
    Change(
        319,
        r"\For{$k = 0$; $k \leq T_0$; $k=k+1$}",
        r"\For{$k = 0$; $k < T_0$; $k=k+1$}",
        "As printed the two loops make T + 1 steps; the second would run from T_0 to T - 1.",
        True,
        PHASES,
    ),
    HORIZON,
    Change(
        457,
        r"$f(\x) = \frac{1}{2} \, \normsq{Xw - y}$. In this case, $A = X^T X$, $d = 2y^T X$ and "
        r"$A_i = X_i^T X_i$, $d_i = 2y_i^T X_i$.",
        r"$f(\x) = \frac{1}{2n} \, \normsq{Xw - y}$. In this case, $A = \frac{1}{n} X^T X$, $d = "
        r"\frac{1}{n} y^T X$ and $A_i = X_i^T X_i$, $d_i = y_i X_i$.",
        "So that f is the mean of the f_i. Gradient norms change by the factor n, kappa does not.",
    ),
    Change(
        941,
        r"Sampling with replacement",
        r"Sampling without replacement",
        "lem:batch-factor is about sampling without replacement (also at line 1548).",
    ),
    Change(
        947,
        r"\E_{k} [\normsq{\Delta_k}] & \leq",
        r"\E_{k} [\normsq{\delta_k}] & \leq",
        "Delta for delta, at lines 947 and 948.",
    ),
    Change(
        1153,
        r"\left(\E[\nabla_i^2] \right)^2",
        r"\left(\E[\nabla_i] \right)^2",
        "The square of the mean is meant.",
    ),
)
