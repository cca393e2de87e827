"""Statements about constant step and momentum on quadratics: Theorem 2 and its lemmas."""

from __future__ import annotations

from ..verdicts import Change
from ._model import ACCELERATED, BOUNDED, Statement

ROWS = (
    Statement(
        "theorem_2",
        "thm:SHB_quad",
        "Theorem 2",
        252,
        "On quadratics SHB with a batch of at least b* converges at exp(-T/sqrt(kappa)) to a "
        "neighbourhood of the minimiser.",
        "restate",
        "Proved with L = max_i L_i, which is what the proof uses. With L = lambda_max(A), which "
        "the problem formulation sets for quadratics, n = 20,000 rows, kappa = 1 and b = 9000 > b* "
        "give a mean of 3.1 of the start after 10 steps, where the bound is 0.18.",
        ACCELERATED,
        r"Here, $L\ = \lambda_{\max}[A]$ and $\mu = \lambda_{\min}[A] > 0$",
        (
            Change(
                203,
                r"Here, $L\ = \lambda_{\max}[A]$ and $\mu = \lambda_{\min}[A] > 0$",
                r"Here, $L = \max_i \lambda_{\max}[A_i]$ and $\mu = \lambda_{\min}[A] > 0$",
                "The proof uses that every f_i is L-smooth (line 944). The same sentence settles "
                "Theorem 4, the two-phase theorem and their corollaries.",
                True,
                ACCELERATED,
            ),
            Change(
                258,
                r"$\exp \left(- \frac{T}{\sqrt{\kappa}} \frac{\sqrt{a}}{2} \max \left\{ "
                r"\frac{3}{4}, "
                r"1 - 2\sqrt{\kappa} \sqrt{\zeta}\right\} \right) \leq "
                r"\frac{6\sqrt{2\kappa}}{\sqrt{a}}$",
                r"$\frac{6\sqrt{2\kappa}}{\sqrt{a}} \exp \left(- \frac{T}{\sqrt{\kappa}} "
                r"\frac{\sqrt{a}}{2} \max \left\{ \frac{3}{4}, 1 - 2\sqrt{\kappa} "
                r"\sqrt{\zeta}\right\} "
                r"\right) \leq 1$",
                "The warm-up condition is printed the other way round: as printed it always holds.",
                True,
                ACCELERATED,
            ),
        ),
    ),
    Statement(
        "interpolation",
        "thm:shb-interpolation",
        "Corollary (interpolation)",
        265,
        "Under interpolation SHB with a batch of at least b* converges to the minimiser at "
        "exp(-T/sqrt(kappa)).",
        "proved",
        "Theorem 2 with chi = 0 (L = max_i L_i as there).",
        ACCELERATED,
        root="thm:SHB_quad",
    ),
    Statement(
        "lemma_recurrence",
        "lemma:quadratic-recurrence",
        "Lemma (recurrence)",
        903,
        "E||Delta_T|| obeys a recurrence with the constant C_0.",
        "proved",
        "As printed, with 2 a C_0 zeta (its proof has the smaller sqrt(2) a C_0 zeta); zeta has "
        "room for the 1.143 that thm:wang_5 lacks.",
        ACCELERATED,
        root="thm:SHB_quad",
    ),
    Statement(
        "epsilon_target",
        "thm:shb_q_noise",
        "Corollary (target error)",
        1049,
        "With chi known, the given a and T bring the error to sqrt(epsilon).",
        "restate",
        "The expectation is missing in the statement (its proof has it). b must be at least b*(a), "
        "which tends to n as epsilon falls.",
        ACCELERATED,
        r"ensures that $\norm{w_T - \xopt} \leq \sqrt{\epsilon}$.",
        (
            Change(
                1049,
                r"ensures that $\norm{w_T - \xopt} \leq \sqrt{\epsilon}$",
                r"and $b \geq b^*(a)$ ensures that $\E\norm{w_T - \xopt} \leq \sqrt{\epsilon}$",
                "Theorem 2 bounds the expectation.",
                True,
                ACCELERATED,
            ),
        ),
    ),
    Statement(
        "wang_power_bound",
        "thm:wang_5",
        "Theorem (Wang et al., cited)",
        1070,
        "||H^k v|| <= C_0 sqrt(beta)^k ||v|| for every v.",
        "constants",
        "C_0 is too small for general v, by up to 1.414, and for v = (delta, 0), to which the "
        "proof of Theorem 2 applies it, by up to 1.143. Nothing else changes: 3 sqrt(kappa/a), "
        "which is what the paper goes on with, covers every v.",
        ACCELERATED,
        changes=(
            Change(
                1070,
                r"\begin{bmatrix} (1 + \beta) I_d - \alpha A  & \beta I_d \\ I_d & 0 \end{bmatrix}",
                r"\begin{bmatrix} (1 + \beta) I_d - \alpha A  & -\beta I_d \\ I_d & 0 \end{bmatrix}"
                r" \text{, and } \sqrt{2}\,C_0 \text{ for general } v_0",
                "The sign is the one of line 920. For v_0 = (u, u) the printed C_0 is right.",
                True,
                ACCELERATED,
            ),
        ),
    ),
    Statement(
        "lemma_wang_constant",
        "col:wang_1",
        "Lemma (C_0)",
        1081,
        "C_0 <= 3 sqrt(kappa/a).",
        "proved",
        "The printed proof is right.",
        ACCELERATED,
    ),
    Statement(
        "lemma_batch_factor",
        "lem:batch-factor",
        "Lemma (batch factor)",
        1121,
        "A batch drawn without replacement has the variance (n-b)/((n-1)b) times that of a row.",
        "proved",
        "The printed proof is right (line 1153 should have the square of the mean).",
        ACCELERATED,
    ),
    Statement(
        "bounded_noise",
        "thm:shb-quad-bounded-noise",
        "Theorem (bounded noise)",
        1518,
        "With bounded gradient noise SHB converges for any batch size, up to 6 zeta sigma/mu.",
        "proof-gap",
        "Proved as printed, even with n in zeta: orthogonality of the noise gives 3.47 zeta_0 "
        "sigma/mu. The printed proof has n where lem:batch-factor has n - 1. The remark after the "
        "theorem promises sigma/T; sigma/sqrt(T) is what can be proved, and no method can do "
        "better.",
        BOUNDED,
        r"yielding a similar $O\left(\exp\left(-\frac{T}{\sqrt{\kappa}}\right) + "
        r"\frac{\tilde{\sigma}}{T} \right)$ rate without any $\kappa$ dependence on the "
        r"batch-size.",
        (
            Change(
                1548,
                r"\frac{n - b}{n \, b}",
                r"\frac{n - b}{(n-1) \, b}",
                "As in lem:batch-factor (sampling without replacement).",
                True,
                BOUNDED,
            ),
            Change(
                1566,
                r"\frac{\tilde{\sigma}}{T}",
                r"\frac{\tilde{\sigma}}{\sqrt{T}}",
                "A typing slip, we believe: the text has sigma/sqrt(T) for the norm everywhere "
                "else. The noise of the theorem does not depend on a, so that repeating the proof "
                "of Theorem 4 needs the sharper form, whose noise falls as a^(1/4).",
                True,
                BOUNDED,
            ),
        ),
    ),
)
