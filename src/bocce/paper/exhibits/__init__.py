"""Every figure and table of the paper, in its order, and ours: one file each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..exhibit import Exhibit
from . import (
    auto,
    bounds,
    fig01_alpha_beta,
    fig02_panetal,
    fig03_quad,
    fig04_batch_sizes,
    fig05_07_lower_bound,
    fig06_table1_psi,
    fig08_09_libsvm,
    fig10_pan,
    misestimation,
    published_panel,
    rates,
    reference,
    theorems,
    thresholds,
)

ALL: tuple[Exhibit, ...] = (
    fig01_alpha_beta.EXHIBIT,
    fig02_panetal.EXHIBIT,
    fig03_quad.EXHIBIT,
    fig04_batch_sizes.EXHIBIT,
    fig05_07_lower_bound.TWO_SAMPLES,
    fig06_table1_psi.FUNCTION,
    fig05_07_lower_bound.MANY_SAMPLES,
    fig06_table1_psi.TABLE,
    *fig08_09_libsvm.EXHIBITS,
    fig10_pan.EXHIBIT,
    bounds.EXHIBIT,
    theorems.EXHIBIT,
    rates.EXHIBIT,
    misestimation.EXHIBIT,
    thresholds.EXHIBIT,
    published_panel.EXHIBIT,
    fig08_09_libsvm.MUSHROOMS,
    auto.EXHIBIT,
    reference.EXHIBIT,
)

TABLES: dict[str, Callable[..., Any]] = {
    function.__name__: function for exhibit in ALL for function in exhibit.tables
}
