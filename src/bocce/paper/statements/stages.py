"""Statements about the lower bound, stages and two phases."""

from __future__ import annotations

from ..verdicts import Change
from ._model import C_L, C_L_RIGHT, LOWER, PHASES, STAGES, Statement

ROWS = (
    Statement(
        "theorem_3",
        "thm:divergence-n-case",
        "Theorem 3",
        280,
        "On the diagonal problem, n = 100, SHB diverges below a batch size that grows with kappa.",
        "margin",
        "Divergence holds for every b up to 98. At b = 99 it does not for kappa from 18,345 to "
        "21,928. Growth by c^T from the first six steps on holds for b <= 85; for b = 86 to 98, "
        "just above the printed kappa, E||Delta||^2 first shrinks (to 0.942 in six steps at b = "
        "94, "
        "kappa = 850). The line that the proof concludes from is a fit, not a bound: its exponent "
        "0.6 comes from 39 batches whose kappa* is clipped at 1, and the exact exponent is 1/2.",
        LOWER,
        r"If $b < \frac{1}{1 + \frac{n-1}{e^{3.3} \kappa^{0.6}}} n$",
        (
            Change(
                280,
                r"If $b < \frac{1}{1 + \frac{n-1}{e^{3.3} \kappa^{0.6}}} n$",
                r"If $b < \frac{n}{1 + \varphi}$, $\varphi = \frac{(1-\beta)(1+2\beta)}{1+\beta} "
                r"\approx \frac{3}{2\sqrt{\kappa}}$ (and only if; for any $n$)",
                "This is the exact threshold of divergence in mean square. A dependence on kappa "
                "is "
                "necessary, as the paper concludes; the share of n does not depend on n.",
                True,
                LOWER,
            ),
            Change(
                1312,
                r"\log \left( \frac{n-b}{(n-1)b} \right) &< -0.6 \log(\kappa^*(b)) -3.3",
                "an inequality that the points satisfy, or the exact threshold above",
                "A regression line is used as a bound; from b = 84 on the points are on the other "
                "side. Lines 1311, 1312 and 1318 have the intercepts 3.8, 3.3 and 4.",
                True,
                LOWER,
            ),
        ),
    ),
    Statement(
        "theorem_4",
        "thm:SHB_multistage",
        "Theorem 4",
        339,
        "Multi-stage SHB converges to the minimiser at exp(-T/sqrt(kappa)) + chi/sqrt(T).",
        "proof-gap",
        "Proved, with L = max_i L_i. The printed proof takes the rate 1/4, for which the stages "
        "would have to be twice as long; Theorem 2 gives 3/8, and with 3/8 the printed lengths are "
        "enough.",
        STAGES,
        changes=(
            Change(
                1405,
                r"\exp \left(- \frac{\sqrt{a_i}}{4} \frac{T_i}{\sqrt{\kappa}} \right)",
                r"\exp \left(- \frac{3\sqrt{a_i}}{8} \frac{T_i}{\sqrt{\kappa}} \right)",
                "With 1/4 the condition of line 1409 needs T_i with 8/(2-sqrt 2), not 4/(2-sqrt "
                "2). "
                "With Theorem 2's own 3/8 the bias factor of stage i is at most "
                "exp(-(i/2+5)) kappa^(-0.78), which is enough.",
                True,
                STAGES,
            ),
            Change(
                1419,
                r"- i \ln{\kappa}",
                r"- (I-i) \ln{\kappa}",
                "The product over j = i+1 .. I has I - i factors 1/kappa; the sum stays below "
                "kappa/(kappa-1).",
                True,
                STAGES,
            ),
            Change(
                372,
                r"$a_I = 2^{-I} = O(\nicefrac{1}{T})$",
                r"$a_I = 2^{-I} = O(\nicefrac{\ln^2 T}{T^2})$",
                "Line 1462 gives 2^(-I/2) <= C_1/T. With T = psi n, kappa = 10 and psi = 1 the "
                "second part of b* is 0.012 n at n = 10^6 and 0.62 n at n = 10^9, not 0.8 n.",
                True,
                STAGES,
            ),
        ),
    ),
    Statement(
        "multistage_T_range",
        "col:multi_stage_T_crit",
        "Corollary (range of T)",
        378,
        "At a given b the rate of Theorem 4 is attained for T up to C_1/zeta.",
        "proof-gap",
        "Proved. The printed proof uses a_I <= (C_1/T)^2 in the wrong direction, so that b >= "
        "b*(a_I) does not follow at the end of the range. It is not needed: without the second "
        "part of b* the noise of Theorem 2 is 12 zeta chi/mu, and zeta <= C_1/T.",
        STAGES,
        changes=(
            Change(
                1505,
                r"From \cref{thm:SHB_multistage}, $a_I = 2^{-I} \leq \frac{C_1^2}{T^2}$ hence",
                r"By the induction of \cref{thm:SHB_quad} every stage has the noise "
                r"$\frac{12\zeta\chi}{\mu}$, together at most "
                r"$\frac{12\zeta\chi\kappa}{\mu(\kappa-1)} "
                r"\leq \frac{12 C_1\chi\kappa}{T\mu(\kappa-1)} \leq C_8\frac{\chi}{\sqrt{T}}$, "
                r"since "
                r"$\zeta \leq C_1/T$ and $C_1 \leq 4T$ for $T \geq \bar{T}$",
                "The upper bound on a_I cannot give the lower bound that the batch size needs.",
                True,
                STAGES,
            ),
        ),
    ),
    Statement(
        "two_phase_c",
        "col:two-phase-c2",
        "Corollary (two phases, c = 1/2)",
        392,
        "For kappa > 4 and c = 1/2 the bias falls as exp(-T/kappa^0.7).",
        "rounding",
        "0.7075 was rounded to 0.7; exact for kappa >= 5.2.",
        PHASES,
        r"\approx 0.7",
        (
            Change(
                1640,
                r"\approx 0.7",
                r"\approx 0.7075",
                "q(4) = 0.7075, and q <= 0.7 from kappa = 5.2 on.",
                True,
                PHASES,
            ),
        ),
    ),
    Statement(
        "two_samples",
        "thm:divergence-2-case",
        "Theorem (two samples)",
        1164,
        "With two samples, batch size 1 and kappa > 6, E||Delta_3T||^2 > 1.1^T ||Delta_0||^2.",
        "rounding",
        "No violation for 150 kappa and 119 T (started along the coordinate of L, as in the "
        "proof). The minimum of Psi is 1.0986 at kappa = 6 (1.0843 at beta = 0.63), printed as "
        "1.1.",
        LOWER,
        r"minimize $\Psi$ w.r.t $\theta$, finding the minimum to be $1.1$.",
        (
            Change(
                1231,
                r"finding the minimum to be $1.1$. Since $\min (\Psi) = 1.1 > 1$",
                r"finding the minimum to be $1.08$ at $\beta = 0.63$ ($1.0986$ at $\kappa = 6$). "
                r"Since $\min (\Psi) > 1$",
                "With c = 1.08 the induction over arbitrary Delta_k is complete; from (w_0, w_0) "
                "1.1^T held in every test.",
                True,
                LOWER,
            ),
        ),
    ),
    Statement(
        "two_phase",
        "thm:shb_mix",
        "Theorem (two phases)",
        1575,
        "Two-phase SHB converges at exp(-T/kappa^q) + sigma/sqrt(T) in the norm.",
        "constants",
        "The rate is right; the constants inherit c_L of lemma:Et_bound.",
        PHASES,
        changes=(
            Change(
                1580,
                rf"$c_L = {C_L}$",
                rf"$c_L = {C_L_RIGHT}$ with $\tau = 1$ and $T_1 = (1-c)T$ for $T$; the last term "
                r"becomes $\sqrt{\frac{c_2}{c_L}}\sqrt{\frac{8}{L}}\frac{\kappa\ln "
                r"T_1}{e\gamma\sqrt{"
                r"T_1}}\sqrt{\frac{c_B}{2L}}\zeta\chi$",
                "As in Theorem 1, c_B too.",
                True,
                PHASES,
            ),
        ),
        root="lemma:Et_bound",
    ),
)
