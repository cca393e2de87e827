"""Experiments that the paper does not have: thresholds, auto, mis-estimation, bounds, reference."""

from __future__ import annotations

from .paper import runs, steps
from .specs import EXACT, SETTINGS, TABLE, Cell, Data, Figure, Profile, Run, Table

DESIGNS = ("haar", "gaussian", "heavy")
THRESHOLD_KAPPAS = (10, 30, 100, 300, 1000, 2000)
AUTO_METHODS = (
    "sgd",
    "sgd-exp",
    "shb",
    "shb-exp",
    "2p-shb",
    "nesterov-exp",
    "multi-shb-pan",
    "mass",
    "auto-shb",
    "auto",
)
AUTO_SHARES = (0.0005, 0.01, 0.1, 0.5, 0.9)
MIS_L = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0)  # nu: L is under-estimated by it
MIS_MU = (0.01, 0.1, 0.3, 1.0)
REFERENCE_METHODS = (
    "SGD",
    "SHB",
    "Multi-SHB (fit)",
    "Multi-SHB (authors' stages)",
    "Multi-SHB-CNST (authors' stages)",
    "2P-SHB",
    "Nesterov-EXP",
)
REFERENCE_KAPPAS = (1000, 500, 200)


def _thresholds(setting: str, profile: Profile) -> list[Cell]:
    cells = []
    for design in DESIGNS:
        for kappa in THRESHOLD_KAPPAS:
            place = (("n", profile.rows), ("kappa", float(kappa)), ("design", design))
            panel = f"{design}, kappa={kappa}"
            rules = Table("critical_batches", place)
            cells.append(Cell("thresholds", "paper", panel, "rules", TABLE, rules))
            for seed in range(min(3, profile.seeds)):
                more = (*place, ("T", steps(profile, 2000)), ("seed", seed))
                job = Table("observed_batch", more)
                cells.append(Cell("thresholds", "paper", panel, "observed", str(seed), job))
    lower = Table("diagonal_thresholds", (("n", 20_000),))
    return [*cells, Cell("thresholds", "paper", "diagonal, n=20000", "rules", TABLE, lower)]


def _auto(setting: str, profile: Profile) -> list[Cell]:
    T, n = steps(profile, 7000), min(2000, profile.rows)
    cells = []
    for design in ("haar", "heavy"):
        for kappa in (100, 1000):
            data = Data("regression", n=n, d=10, kappa=kappa, noise_var=0.1, design=design, mu=1.0)
            for method in AUTO_METHODS:
                for share in AUTO_SHARES:
                    run = Run(data, method, "paper", max(1, round(share * n)), T=T)
                    panel = f"{design}, kappa={kappa}"
                    name = f"{method}, b={share:g} n"
                    cells.append(Cell("auto", "paper", panel, name, EXACT, run))
    return cells


def _misestimation(setting: str, profile: Profile) -> list[Cell]:
    data = Data("regression", n=profile.rows, d=profile.columns, kappa=100, noise_var=1e-2)
    T = steps(profile, 7000)
    cells = []
    for nu in MIS_L:
        run = Run(data, "SHB-EXP", "paper", 0.1, T=T, wrong_L=1.0 / nu)
        cells += runs("misestimation", "paper", "L", f"nu={nu:g}", run, 0, True)
    for nu in MIS_MU:
        run = Run(data, "SHB-EXP", "paper", 0.1, T=T, wrong_mu=nu)
        cells += runs("misestimation", "paper", "mu", f"nu={nu:g}", run, 0, True)
    return cells


def _bounds(setting: str, profile: Profile) -> list[Cell]:
    horizons = tuple(steps(profile, T) for T in (200, 1000, 4000, 16_000))
    cells = []
    for theorem in ("thm1", "thm2", "thm4", "two_phase", "mis_L", "mis_mu"):
        for mu in (0.01, 1.0):
            place = (("theorem", theorem), ("horizons", horizons), ("n", 10_000), ("mu", mu))
            panel = f"{theorem}, mu={mu:g}"
            cells.append(Cell("bounds", "paper", panel, "bounds", TABLE, Table("bounds", place)))
    return cells


def _reference(setting: str, profile: Profile) -> list[Cell]:
    T = steps(profile, 7000)
    cells = []
    for design in ("haar", "heavy"):
        for kappa in REFERENCE_KAPPAS:
            data = Data(
                "regression",
                n=profile.rows,
                d=profile.columns,
                kappa=kappa,
                noise_var=1e-2,
                design=design,
            )
            for method in REFERENCE_METHODS:
                run = Run(data, method, "paper", 0.9, T=T)
                panel = f"{design}, kappa={kappa}"
                cells.append(Cell("reference", "paper", panel, method, EXACT, run))
    return cells


FIGURES = (
    Figure(
        "thresholds",
        "thresholds",
        "Which batch size does accelerated heavy ball need?",
        "The paper's b*, the certified and the exact critical batch size, and what runs show, "
        "against kappa, for three designs.",
        _thresholds,
        "thresholds",
        3,
        SETTINGS[:1],
        ours=True,
    ),
    Figure(
        "auto",
        "auto",
        "auto against all methods, over batch sizes",
        "Exact root mean square error at T; what diverges is not drawn. n = 2000, d = 10, noise "
        "of variance 0.1.",
        _auto,
        "auto",
        2,
        SETTINGS[:1],
        ours=True,
    ),
    Figure(
        "misestimation",
        "misestimation",
        "SHB-EXP with L or mu estimated badly",
        "Exact root mean square error; L is under-estimated by nu (over-estimated if nu < 1), mu "
        "is told as nu mu. kappa = 100, b = 0.1 n, r = 1e-2.",
        _misestimation,
        "errors",
        2,
        SETTINGS[:1],
        ours=True,
    ),
    Figure(
        "bounds",
        "bounds",
        "The theorems' bounds beside the exact error",
        "L = L_max, a batch that the theorem allows, n = 10,000, d = 2. The same problem in two "
        "units: mu = 0.01 and mu = 1.",
        _bounds,
        "bounds",
        4,
        SETTINGS[:1],
        ours=True,
    ),
    Figure(
        "reference",
        "reference",
        "Exact gradient norms at T, against independently computed ones",
        "Root mean square of the full gradient's norm: n = 10,000, d = 20, b = 0.9 n, T = 7000, "
        "r = 1e-2, L = lambda_max.",
        _reference,
        "reference",
        1,
        SETTINGS[:1],
        ours=True,
    ),
)
