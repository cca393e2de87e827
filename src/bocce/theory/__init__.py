"""Batch-size thresholds, error bounds, the lower bound and certificates."""

from ..schedules.stages import stage_count
from ._lmi import Multipliers
from .accelerated import bound_bounded_noise, bound_shb
from .batch import Target, batch_threshold, epsilon_target, useful_batch, zeta2
from .best import BestHeavyBall, best_heavy_ball, none_better
from .certificate import bound_stationary, certificate, certified_batch_size, certified_rate
from .convex import ConvexCertificate, certify_convex, convex_words
from .edge import edge
from .exponential import (
    bound_exponential,
    bound_misestimated_L,
    bound_misestimated_mu,
    bound_two_phase,
    two_phase_exponent,
)
from .finite import certify, certify_run, certify_words
from .lookahead import lookahead_certificate, lookahead_gain, lookahead_phi, lookahead_rate
from .lower_bound import (
    best_fit_line,
    kappa_star,
    lower_bound_threshold,
    psi,
    psi_derivative,
    psi_derivative_table,
    psi_expression,
    psi_minimum,
    psi_two_samples,
)
from .multistage import (
    Horizons,
    bound_multistage,
    bound_multistage_constant,
    multistage_horizon,
    multistage_range,
)
from .result import Bound

__all__ = [
    "BestHeavyBall",
    "Bound",
    "ConvexCertificate",
    "Horizons",
    "Multipliers",
    "Target",
    "batch_threshold",
    "best_fit_line",
    "best_heavy_ball",
    "bound_bounded_noise",
    "bound_exponential",
    "bound_misestimated_L",
    "bound_misestimated_mu",
    "bound_multistage",
    "bound_multistage_constant",
    "bound_shb",
    "bound_stationary",
    "bound_two_phase",
    "certificate",
    "certified_batch_size",
    "certified_rate",
    "certify",
    "certify_convex",
    "certify_run",
    "certify_words",
    "convex_words",
    "edge",
    "epsilon_target",
    "kappa_star",
    "lookahead_certificate",
    "lookahead_gain",
    "lookahead_phi",
    "lookahead_rate",
    "lower_bound_threshold",
    "multistage_horizon",
    "multistage_range",
    "none_better",
    "psi",
    "psi_derivative",
    "psi_derivative_table",
    "psi_expression",
    "psi_minimum",
    "psi_two_samples",
    "stage_count",
    "two_phase_exponent",
    "useful_batch",
    "zeta2",
]
