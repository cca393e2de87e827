"""fig:shb_batch_sizes: SHB on feasible systems with batches of all sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..canvas import GRADIENT, ITERATION, Line, Panel, Picture, method_lines, words_of
from ..exhibit import exhibit, judges
from ..results import FigureView, Trajectory
from ..specs import Part, Profile, Run, curve
from ..verdicts import Finding, Found, all_of, below, span, within
from ._synthetic import SIMILAR, SMALLER, kappa_of, synthetic

KAPPAS = (2048, 1024, 512, 256, 128, 64, 32, 16, 8)
SHARES = tuple(round(0.1 * i, 1) for i in range(1, 11))
STEADY_SHARE = 0.3  # The batch of SGD and NON-ACC-SHB, as a share of n.
FAR_DOWN = 1e-8  # A speed is measured until the gradient norm has fallen by this, or to the end.
LARGE_KAPPA = 512  # "Kappa is large" means the three largest values.
LARGE_BATCHES = ("SHB-0.9", "SHB-1.0")
FLOOR = 1e-14  # Below this share of the first norm there is only rounding.


def _parts(setting: str, profile: Profile) -> Iterator[Part]:
    T = profile.steps(2000)
    curves = [(f"SHB-{share}", "SHB", share) for share in SHARES]
    curves += [(name, name, STEADY_SHARE) for name in ("NON-ACC-SHB", "SGD")]
    for kappa in KAPPAS:
        data = synthetic(setting, profile.rows, profile.columns, kappa, 0.0)
        for method, rule, share in curves:
            # The released code cuts an epoch into batches if two batches fit.
            cut = setting == "authors" and share <= 0.5
            sampling = "reshuffle" if cut else "independent"
            run = Run(data, rule, setting, share, T=T, every=profile.every(T), sampling=sampling)
            yield from curve(f"kappa={kappa}", method, run, profile.runs(5), exact=not cut)


def speed(curve: Trajectory, late: bool = False) -> float:
    """-ln(g_k/g_j)/(k - j) at the first k with g_k <= 1e-8 g_0, or at the end; -inf on overflow.

    j = 0, or k/2 if ``late``: then the transient is left out.
    """
    k, values = curve.best
    hit = np.flatnonzero(values <= FAR_DOWN * values[0])
    at = int(hit[0]) if hit.size else len(k) - 1
    if not np.isfinite(values[at]):
        return -math.inf
    if late:
        since = int(np.searchsorted(k, k[at] / 2.0))
    else:
        since = 0
    return float(-np.log(values[at] / values[since]) / (k[at] - k[since]))


def _speeds(view: FigureView, late: bool = False) -> dict[float, dict[str, float]]:
    """Speeds by kappa and method: exact on the paper's rows, measured on runs with heavy rows."""
    exact = view.setting == "paper"
    return {
        kappa_of(panel): {
            method: speed(curve if exact else curve.on_runs(), late)
            for method, curve in view.curves(panel).items()
        }
        for panel in view.panels
    }


def _shares(speeds: dict[str, float]) -> list[float]:
    """The speeds of SHB-0.1 .. SHB-1.0."""
    return [speeds[f"SHB-{share}"] for share in SHARES]


@judges("sweep_i_divergence")
def sweep_i_divergence(view: FigureView) -> Found:
    for kappa, methods in _speeds(view).items():
        lost = [share for share, s in zip(SHARES, _shares(methods)) if s <= 0.0]
        name = f"kappa={kappa:g}"
        shown = {f"{name}: largest xi that diverges": max(lost, default=0.0)}
        yield name * (kappa >= LARGE_KAPPA), bool(lost) and max(lost) < 1.0, shown


@judges("sweep_ii_threshold")
def sweep_ii_threshold(view: FigureView) -> Finding:
    """The smallest xi from which on SHB has half the speed that it has with the full batch."""
    found = Finding()
    for kappa, methods in sorted(_speeds(view).items()):
        values = _shares(methods)
        slow = [share for share, s in zip(SHARES, values) if not s >= 0.5 * values[-1]]
        least = round(max(slow, default=0.0) + 0.1, 1)
        found.numbers[f"kappa={kappa:g}: threshold xi"] = least
        if kappa >= LARGE_KAPPA:
            found.cases[f"threshold, kappa={kappa:g}"] = least > SHARES[0]
    ordered = list(found.numbers.values())
    found.cases["grows with kappa"] = ordered == sorted(ordered) and ordered[0] < ordered[-1]
    low = min(ordered)
    high = max(ordered)
    return found.said(f"Half the full batch's speed needs xi = {low:g} to {high:g}.")


@judges("sweep_ii_extent")
def sweep_ii_extent(view: FigureView) -> Finding:
    found = Finding()
    diverging = Finding()
    monotone = 0
    for kappa, methods in _speeds(view).items():
        values = _shares(methods)
        name = f"kappa={kappa:g}"
        alive = [value for value in values if value > 0.0]
        gain = max(alive) / min(alive) if alive else math.nan
        found.cases[name] = bool(gain >= 1.1)
        diverging.cases[name] = bool(gain >= 1.1) or len(alive) < len(values)
        found.numbers[f"{name}: fastest / slowest that converges"] = gain
        monotone += all(b >= SMALLER * a for a, b in itertools.pairwise(values))
    return found.said(
        f"Speeds that converge differ by 10 % or more at {found.score} kappa, and never fall as "
        f"the batch grows at {monotone}.",
        {"or some xi diverge": diverging},
    )


@judges("sweep_iii_slow")
def sweep_iii_slow(view: FigureView) -> Finding:
    """Similar "across problems", at every kappa; slower "when kappa is large"."""
    similar = Finding()
    slower = Finding()
    large = Finding()
    numbers = {}
    gaps = []
    for kappa, methods in _speeds(view).items():
        sgd, averaged, full = (methods[m] for m in ("SGD", "NON-ACC-SHB", "SHB-1.0"))
        name = f"kappa={kappa:g}"
        similar.cases[f"similar, {name}"] = near = within(sgd, averaged, SIMILAR)
        numbers[f"{name}: SGD / NON-ACC-SHB"] = sgd / averaged
        gaps += [sgd / averaged] * (sgd / averaged > 0.0)
        if kappa >= LARGE_KAPPA:
            slower.cases[f"slower, {name}"] = case = below(max(sgd, averaged), full, SMALLER)
            large.cases[f"slower, {name}"] = all_of(case, near)
            numbers[f"{name}: SHB-1.0 / SGD"] = full / sgd
    diverging = len(similar.cases) - len(gaps)
    lost = f" (and one of them diverges at {diverging})" * bool(diverging)
    return Finding(similar.cases | slower.cases, numbers).said(
        f"Similar at {similar.score} kappa: SGD has {span(gaps)} times the speed of NON-ACC-SHB"
        f"{lost}; slower than SHB-1.0 at {slower.score} large kappa.",
        {"both at large kappa only": large},
    )


def _follows(
    view: FigureView, methods: tuple[str, ...], root: float, baseline: str, late: bool = True
) -> Finding:
    """The rate is the slope past the transient; ``late = False`` measures from the start."""
    found = Finding()
    for kappa, speeds in _speeds(view, late).items():
        for name in methods:
            scaled = speeds[name] * kappa**root
            found.cases[f"{name}, kappa={kappa:g}"] = within(scaled, 1.0, SIMILAR)
            found.numbers[f"kappa={kappa:g}: {name} / {baseline}"] = scaled
    shown = [value for value in found.numbers.values() if value > 0.0]
    if not shown:
        return found.said("All diverge.")
    lost = f"; {len(found.numbers) - len(shown)} diverge" * (len(shown) < len(found.numbers))
    return found.said(f"The speeds are {span(shown)} times that of {baseline}{lost}.")


@judges("sweep_iv_sqrt")
def sweep_iv_sqrt(view: FigureView) -> Finding:
    """ "Larger" is not "largest": 0.9 n, the batch of the other figures, is judged beside n."""
    full = _follows(view, LARGE_BATCHES[-1:], 0.5, "SQRT-KAP")
    found = _follows(view, LARGE_BATCHES, 0.5, "SQRT-KAP")
    return replace(found, also={"the full batch alone": full})


@judges("sweep_v_kappa")
def sweep_v_kappa(view: FigureView) -> Finding:
    from_the_first = _follows(view, ("SGD",), 1.0, "KAP", late=False)
    found = _follows(view, ("SGD",), 1.0, "KAP")
    return replace(found, also={"from the first step on": from_the_first})


def _picture(view: FigureView) -> Picture:
    panels = []
    for panel in view.panels:
        lines = [x for m, curve in view.curves(panel).items() for x in method_lines(m, curve)]
        k = np.linspace(0, max(line.x[-1] for line in lines), 200)
        first = max(line.y[0] for line in lines)
        for name, slow in (("KAP", kappa_of(panel)), ("SQRT-KAP", math.sqrt(kappa_of(panel)))):
            lines.append(Line(name, k, first * np.exp(-k / slow), "guide"))
        visible = [_above(line, FLOOR * first) for line in lines]
        panels.append(Panel(words_of(panel), ITERATION, GRADIENT, visible))
    return Picture(columns=3, panels=panels, seeds=view.seed_count)


def _above(line: Line, floor: float) -> Line:
    """The part of a converged curve that is not only rounding."""
    under = line.y < floor
    if under.any():
        stop = int(np.argmax(under))
    else:
        stop = line.y.size
    if line.band is None:
        band = None
    else:
        band = line.band[:, :stop]
    return replace(line, x=line.x[:stop], y=line.y[:stop], band=band)


EXHIBITS = [exhibit("shb_batch_sizes", _parts, _picture)]
