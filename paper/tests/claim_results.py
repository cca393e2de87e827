"""Results made by hand, in which claims hold, and ways to break them."""

import numpy as np

from bocce_paper.exhibits import (
    EXHIBITS,
    fig03_quad,
    fig04_batch_sizes,
    fig08_09_libsvm,
    fig10_pan,
    published_panel,
    theorems,
)
from bocce_paper.exhibits import auto as auto_exhibit
from bocce_paper.exhibits import (
    bounds as bounds_exhibit,
)
from bocce_paper.exhibits import misestimation as mis
from bocce_paper.exhibits import thresholds as thresholds_exhibit
from bocce_paper.exhibits._synthetic import panel_name
from bocce_paper.results import FigureView, Results
from bocce_paper.specs import Outcome
from bocce_paper.verdicts import Verdict

CLAIMS = [claim for exhibit in EXHIBITS.values() for claim in exhibit.claims]
BY_NAME = {claim.id: claim for claim in CLAIMS}
K = np.arange(0, 7001, 10)


FIGURE = {claim.id: label for label, exhibit in EXHIBITS.items() for claim in exhibit.claims}


def finding(name, results, setting="paper"):
    """What a claim finds in these results."""
    return BY_NAME[name].finding(FigureView(results, FIGURE[name], setting))


def word(name, results):
    """The verdict on a claim, of these results."""
    claim = BY_NAME[name]
    setting = claim.readings[0] if claim.readings else "paper"
    return Verdict(claim, "figure", {setting: finding(name, results, setting)}).word


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
    methods = fig03_quad.METHODS if figure == "shb_quad" else fig10_pan.METHODS
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
    for kappa in fig04_batch_sizes.KAPPAS:
        speeds = {f"SHB-{xi}": shb(kappa, xi) for xi in fig04_batch_sizes.SHARES}
        speeds |= {"SGD": sgd(kappa), "NON-ACC-SHB": averaged(kappa)}
        for method, speed in speeds.items():
            key = ("shb_batch_sizes", "paper", f"kappa={kappa}", method, "exact")
            made[key] = outcome(np.exp(-speed * k), k)
    return Results(made)


def real(figure="squared_loss", **lasts):
    """Last values by method, with a spread of 10 % over five seeds, on each data set."""
    finals = {
        "K_CNST": 1e-1,
        "K_EXP": 1e-3,
        "SLS_EXP": 1e-3,
        "SHB_CNST": 1e-1,
        "SHB_EXP": 2e-3,
        "SHB_SLS_EXP": 3e-3,
    } | lasts
    made = {}
    panels = ("squared", "logistic") if figure == "mushrooms" else fig08_09_libsvm.SETS
    for panel in panels:
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


def bounds(theorem, exact, corrected):
    columns = {"T": [10, 100], "exact": exact, "corrected": corrected}
    return joined(
        *(
            table("bounds", f"{theorem}, mu={mu:g}", "bounds", columns)
            for mu in bounds_exhibit.UNITS
        )
    )


def misestimation(L=None, mu=None):
    """L and mu: error curve as a function of nu."""
    k = np.arange(0, 1000.0)

    def wrong_L(nu):
        bump = nu * k * np.exp(-k / 5) if nu > 1 else 0.0
        return np.exp(-0.05 * min(nu, 1.0) * k) + 1e-3 + bump * 0.1

    L, mu = L or wrong_L, mu or (lambda nu: np.exp(-0.02 * nu * k) + 1e-3)
    made = {
        ("misestimation", "paper", "L", f"nu={nu:g}", "exact"): outcome(L(nu), k)
        for nu in mis.MIS_L
    }
    made |= {
        ("misestimation", "paper", panel, f"nu={nu:g}", "exact"): outcome(mu(nu), k)
        for panel in mis.REGIMES
        for nu in mis.MIS_MU
    }
    return Results(made)


def thresholds(certified=2.0, paper=4.0):
    made = []
    for design in thresholds_exhibit.DESIGNS:
        for kappa in (10, 100):
            numbers = {"n": [100], "kappa": [kappa], "exact": [20.0]}
            numbers |= {"certified": [20.0 * certified], "paper": [20.0 * paper]}
            panel = f"{design}, kappa={kappa}"
            made.append(table("thresholds", panel, "rules", numbers))
            key = ("thresholds", "paper", panel, "observed", "0")
            made.append(Results({key: Outcome({"observed": np.array([19])}, {})}))
    return joined(*made)


def auto(factor=2.0):
    made = {}
    for method in auto_exhibit.METHODS:
        for share in auto_exhibit.SHARES:
            last = factor if method == "auto" else 1.0
            key = ("auto", "paper", "haar, kappa=100", f"{method}, b={share:g} n", "exact")
            made[key] = outcome(np.array([100.0, last]), np.array([0, 7000]))
    return Results(made)


def speeds(shb, full=1.0, kappa=None, setting="paper"):
    """The exact speeds of SHB at 0.9 n and at n, and the kappa that methods know."""
    return joined(
        *(
            table(
                "shb_quad",
                f"kappa={nominal}",
                "speed",
                {"shb": [shb], "shb_full": [full], "sgd": [0.1], "kappa": [kappa or nominal]},
                setting,
            )
            for nominal in fig03_quad.KAPPAS
        )
    )


def statements(factor):
    """The evidence for every statement: two inequalities with left = factor right."""
    return Results(
        {
            ("theorems", "paper", row.id, "test", "table"): Outcome(
                {"left": np.array([factor, factor]), "right": np.ones(2)},
                {"cases": "first\nsecond"},
            )
            for row in theorems.CLAIMS
        }
    )


def rates(slope=-1.0, two_phase=0.5, pan=0.9):
    """Noise falling as T^slope; 2P-SHB's error over the others'; Pan's ln(error) as T^pan."""
    T = np.array([1000.0, 2000.0, 4000.0, 8000.0])
    tables = joined(
        table("rates", "noise", "SHB-EXP", {"T": T, "error2": T**slope}),
        table(
            "rates",
            "feasible",
            "errors",
            {"T": T, "Multi-SHB": np.exp(-T / 400), "Multi-SHB-PAN-2": np.exp(-(T**pan) / 400)},
        ),
    )
    curves = {
        ("rates", "paper", "kappa=1000, r=0", method, "exact"): outcome([1.0, last], np.arange(2))
        for method, last in {"2P-SHB": two_phase, "SGD": 1.0, "SHB-EXP": 1.0}.items()
    }
    return joined(tables, Results(curves))


def notebook(factor=1.0):
    """Runs that are the notebook's values, late ones times a factor for all but SHB."""
    made = {}
    k = np.arange(0, 7001, 10)
    for method, values in published_panel.READ.items():
        first = published_panel.REACHED_1.get(method, 500.0)
        read = np.where(np.isfinite(values), values, 1.0) * (1.0 if method == "SHB" else factor)
        curve = np.exp(np.interp(k, published_panel.READ_K, np.log(read)))
        if method == "SHB":
            curve[:] = np.exp(np.mean(np.log(values)))
        curve[k < first] = 100.0
        curve[np.searchsorted(k, first)] = 1.0
        key = ("published_panel", "paper", published_panel.PANEL, method, "0")
        made[key] = outcome(curve, k)
    return Results(made)
