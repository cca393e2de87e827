"""Results made by hand, in which claims hold, and ways to break them."""

import numpy as np

from bocce.paper import paper
from bocce.paper.compute import Outcome
from bocce.paper.ours import AUTO_METHODS, AUTO_SHARES, DESIGNS, MIS_L, MIS_MU
from bocce.paper.paper import SHARES, SWEEP_KAPPAS, panel_name
from bocce.paper.results import Results

K = np.arange(0, 7001, 10)


def outcome(values, k=K, status="finished", **notes):
    values = np.asarray(values, dtype=float)
    numbers = {"k": k, "grad_norm": values, "error": values}
    numbers["gradient_evaluations"] = k * 10
    return Outcome(numbers, {"status": status, **notes})


def falling(rate, floor, k=K, start=1.0):
    """start exp(-rate k) + floor."""
    return start * np.exp(-rate * k) + floor


def quad(figure="shb_quad", **changes):
    """rate and floor (as a multiple of r) of each method; a change is a function of (kappa, r)."""
    shape = {
        "SGD": lambda kappa, r: (0.01, r),
        "SHB": lambda kappa, r: (0.1, 3 * r),
        "Multi-SHB": lambda kappa, r: (0.1, 0.2 * r),
        "Multi-SHB-CNST": lambda kappa, r: (0.1, 0.1 * r),
        "2P-SHB": lambda kappa, r: (0.1, 0.09 * r),
        "Nesterov-EXP": lambda kappa, r: (0.1, 0.1 * r),
        "Multi-SHB-PAN-2": lambda kappa, r: (0.1, 0.08 * r),
        "Multi-SHB-PAN-T-KAP": lambda kappa, r: (0.1, 0.5 * r),
    }
    shape |= {name.replace("_", "-"): change for name, change in changes.items()}
    methods = paper.QUAD_METHODS if figure == "shb_quad" else paper.PAN_METHODS
    made = {}
    for kappa in (1000, 500, 200):
        for r in (1e-2, 1e-4, 1e-6):
            for method in methods:
                rate, floor = shape[method](kappa, r)
                key = (figure, "paper", panel_name(kappa, r), method, "exact")
                made[key] = outcome(falling(rate, floor))
    return Results(made)


def sweep(shb=None, sgd=None, averaged=None):
    """Curves with given speeds: of (kappa, xi) for SHB, of kappa for the others."""

    def threshold(kappa):
        return 0.1 + 0.07 * np.log2(kappa)  # 0.31 at kappa = 8, 0.87 at 2048

    def default(kappa, xi):
        if xi < threshold(kappa):
            return -1e-3 + 1e-3 * xi
        return (0.4 + 0.2 * xi) / np.sqrt(kappa)

    shb = shb or default
    sgd, averaged = sgd or (lambda kappa: 1.0 / kappa), averaged or (lambda kappa: 0.5 / kappa)
    k = np.arange(0, 2001, 2)
    made = {}
    for kappa in SWEEP_KAPPAS:
        speeds = {f"SHB-{xi}": shb(kappa, xi) for xi in SHARES}
        speeds |= {"SGD": sgd(kappa), "NON-ACC-SHB": averaged(kappa)}
        for method, speed in speeds.items():
            key = ("shb_batch_sizes", "paper", f"kappa={kappa}", method, "exact")
            made[key] = outcome(np.exp(-speed * k), k)
    return Results(made)


def real(figure="squared_loss", **lasts):
    """Last values by method, with a spread of 10 % over five seeds, on three data sets."""
    finals = {
        "K_CNST": 1e-1,
        "K_EXP": 1e-3,
        "SLS_EXP": 1e-3,
        "SHB_CNST": 1e-1,
        "SHB_EXP": 2e-3,
        "SHB_SLS_EXP": 3e-3,
    } | lasts
    made = {}
    for panel in paper.LIBSVM_SETS:
        for name, last in finals.items():
            for seed in range(5):
                values = np.linspace(1.0, last * (1 + 0.05 * (seed - 2)), K.size)
                key = (figure, "paper", panel, name.replace("_", "-"), str(seed))
                made[key] = outcome(values, data=panel)
    return Results(made)


def table(figure, panel, method, numbers, setting="paper"):
    arrays = {name: np.asarray(values) for name, values in numbers.items()}
    return Results({(figure, setting, panel, method, "table"): Outcome(arrays, {})})


def joined(*parts):
    return Results({key: value for part in parts for key, value in part.outcomes.items()})


def bounds(theorem, exact, printed, corrected):
    columns = {"T": [10, 100], "exact": exact, "printed": printed, "corrected": corrected}
    return joined(
        *(table("bounds", f"{theorem}, mu={mu}", "bounds", columns) for mu in ("0.01", "1"))
    )


def misestimation(L=None, mu=None):
    """L and mu: error curve as a function of nu."""
    k = np.arange(0, 1000.0)

    def wrong_L(nu):
        bump = nu * k * np.exp(-k / 5) if nu > 1 else 0.0
        return np.exp(-0.05 * min(nu, 1.0) * k) + 1e-3 + bump * 0.1

    L, mu = L or wrong_L, mu or (lambda nu: np.exp(-0.02 * nu * k) + 1e-3)
    made = {
        ("misestimation", "paper", "L", f"nu={nu:g}", "exact"): outcome(L(nu), k) for nu in MIS_L
    }
    made |= {
        ("misestimation", "paper", "mu", f"nu={nu:g}", "exact"): outcome(mu(nu), k) for nu in MIS_MU
    }
    return Results(made)


def thresholds(certified=2.0, paper=2.5):
    made = []
    for design in DESIGNS:
        for kappa in (10, 100):
            numbers = {"n": [100], "kappa": [kappa], "exact": [20.0]}
            numbers |= {"certified": [20.0 * certified], "paper": [20.0 * paper]}
            panel = f"{design}, kappa={kappa}"
            made.append(table("thresholds", panel, "rules", numbers))
            key = ("thresholds", "paper", panel, "observed", "0")
            made.append(Results({key: Outcome({"observed": np.array([19])}, {})}))
    lower = {"kappa": [1.0, 10.0], "paper": [50.0, 90.0], "exact": [40.0, 60.0]}
    made.append(table("thresholds", "diagonal, n=20000", "rules", lower))
    return joined(*made)


def auto(factor=2.0):
    made = {}
    for method in AUTO_METHODS:
        for share in AUTO_SHARES:
            last = factor if method == "auto" else 1.0
            key = ("auto", "paper", "haar, kappa=100", f"{method}, b={share:g} n", "exact")
            made[key] = outcome(np.array([100.0, last]), np.array([0, 7000]))
    return Results(made)
