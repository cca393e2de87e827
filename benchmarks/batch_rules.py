"""Which batch size? The usual rules against the exact number of steps at each batch size.

    python benchmarks/batch_rules.py [--seed N] [--models N] [--out DIR]

A setting is a Gaussian model drawn by the seed (three spectra, three starts, with and without noise
of the targets), or a data set with its own labels, and a target. ``exact.batch_curve`` finds the
steps S(b) of the best constant SGD and of the best constant heavy ball, and fits
S = S_min (1 + B zeta0^2). A rule says a number for B; its error is the factor between the two, at
least 1. The table has the median and the largest error of each rule, with SGD and with momentum.

- noise scale: tr(Sigma)/|g|^2 (arXiv 1812.06162), where Sigma is the covariance of one row's
  gradient: at the start, and half-way and at the end of the best runs with the smallest batch of
  the curve, the batch nearest to B, and the largest; and the same weighted with the Hessian,
  tr(H Sigma)/(g^T H g);
- 20 % more rows: 5 times the batch that needs 1.2 times the rows of the smallest one (arXiv
  2410.21676, whose definition gives B/5 where the form holds);
- branches: half-way through a run with the smallest batch, the largest batch which over a tenth of
  the run's rows ends within 5 %, its step growing as the root of the batch (arXiv 2505.23971);
- 2 R2/L and the formula of ``theory.useful_batch``, times the measured S_sgd/S_hb with momentum;
- the law: B of SGD times S_sgd/S_hb, against B of heavy ball.

A second table has the steps that a scaled step costs at the batch nearest to B: the step of the
smallest batch times the ratio of the batches, or its root, over the best step.

Settings are kept where S_min is at least 2 steps. Results: DIR/batch-rules.json.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
from collections.abc import Callable
from multiprocessing import Pool
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from _batch_cells import Setting, models, real  # noqa: E402

from bocce.exact import BatchCurve, Gaussian, batch_curve, batch_facts  # noqa: E402
from bocce.exact.adjoint import Dynamics  # noqa: E402
from bocce.exact.arrival import FewestSteps  # noqa: E402
from bocce.exact.best import Case  # noqa: E402
from bocce.exact.moments import Triangle  # noqa: E402
from bocce.exact.search import coordinates  # noqa: E402
from bocce.theory import useful_batch  # noqa: E402

FEWEST = 2.0  # steps on all rows: below, a run has no middle
LONG = 8.0  # steps on all rows of the settings that are reported by themselves
SHARE = 0.1  # of a run's rows that a branch takes
WORSE = 1.05  # how much higher a branch may end
LOST = 10.0  # times the best steps: a scaled step that takes more does not arrive
FACTORS = 2.0 ** np.arange(1, 15)  # of the batches of branches


class Run:
    """A constant table on a model: its moments after any number of steps, at any batch."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.dynamics: Dynamics = Case("batch_rules", model, 1, None, "gap").dynamics

    def state(self, legs: list[tuple[int, float, float, float]]) -> np.ndarray:
        """The moments after legs of (steps, alpha, beta, zeta0^2)."""
        state = self.dynamics.start.copy()
        for steps, alpha, beta, zeta0_2 in legs:
            columns = (alpha, beta, 0.0, zeta0_2)
            table = tuple(np.full(max(steps, 0), x) for x in columns)
            if steps > 0:
                self.dynamics.forward(table, state, np.empty((0, *state.shape)))
        return state

    def gap(self, legs: list[tuple[int, float, float, float]]) -> float:
        with np.errstate(all="ignore"):
            found = self.dynamics.value(self.state(legs))
        return found if math.isfinite(found) else math.inf

    def noise_scales(self, state: np.ndarray) -> tuple[float, float]:
        """tr(Sigma)/|g|^2 and tr(H Sigma)/(g^T H g), expectations above and below."""
        lam, second, sigma = self._second(state)
        return (
            float(sigma.sum() / (lam**2 @ second)),
            float(lam @ sigma / (lam**3 @ second)),
        )

    def _second(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Eigenvalues, E e_j^2, and the variance of one row's gradient along each."""
        if isinstance(self.model, Gaussian):
            lam = self.model.spectrum
            p = state[0]
            return lam, p, lam**2 * p + (lam @ p + self.model.noise) * lam
        lam, quartic, cubic, constant = self.dynamics.constants
        r = cubic.shape[1]
        triangle = Triangle(r)
        m = state[-2 * lam.size : -lam.size][:r]
        packed = state[: triangle.D] * triangle.scale + triangle.pack(np.outer(m, m))
        own = triangle.rows == triangle.columns
        return lam[:r], packed[own], (quartic @ packed + cubic @ m + constant)[own]


def error(said: float, truth: float) -> float:
    if not said > 0.0 or not math.isfinite(said):
        return math.inf
    return max(said / truth, truth / said)


def along_the_run(run: Run, curve: BatchCurve) -> dict[str, float]:
    """Noise scales at the start, and half-way and at the end of runs with three batches."""
    near = int(np.argmin(np.abs(np.log(curve.batch_sizes / curve.B))))
    last = curve.batch_sizes.size - 1
    simple, weighted = run.noise_scales(run.dynamics.start)
    found = {"noise scale, start": simple, "noise scale with the Hessian, start": weighted}
    for batch, at in (("smallest batch", 0), ("batch B", near), ("largest batch", last)):
        s = curve.schedules[at]
        for when, k in (("half-way", s.T // 2), ("end", s.T)):
            leg = (k, float(s.alpha[0]), float(s.beta[0]), float(curve.zeta0_2[at]))
            simple, weighted = run.noise_scales(run.state([leg]))
            found[f"noise scale, {when}, {batch}"] = simple
            if batch == "batch B":
                found[f"noise scale with the Hessian, {when}, {batch}"] = weighted
    return found


def overhead(curve: BatchCurve) -> float:
    """5 b, b the batch at which the rows are 1.2 times those of the smallest batch."""
    rows = np.log(curve.batch_sizes * curve.steps)
    rising = np.maximum.accumulate(rows)
    wanted = rows[0] + math.log(1.2)
    if rising[-1] < wanted:
        return math.nan
    return 5.0 * math.exp(float(np.interp(wanted, rising, np.log(curve.batch_sizes))))


def branches(run: Run, curve: BatchCurve) -> float:
    b = int(curve.batch_sizes[0])
    s = curve.schedules[0]
    alpha = float(s.alpha[0])
    beta = float(s.beta[0])
    half = (s.T // 2, alpha, beta, float(curve.zeta0_2[0]))
    length = max(round(SHARE * s.T), 1)
    base = run.gap([half, (length, alpha, beta, float(curve.zeta0_2[0]))])
    largest = float(b)
    for factor in FACTORS[length >= FACTORS]:
        noise = noise_at(run.model, factor * b)
        leg = (round(length / factor), alpha * math.sqrt(factor), beta, noise)
        if run.gap([half, leg]) > WORSE * base:
            break
        largest = factor * b
    return largest


def noise_at(model: Any, b: float) -> float:
    if model.n is None:
        return 1.0 / b
    return max((model.n - b) / ((model.n - 1.0) * b), 0.0)


def scaled_steps(setting: Setting, curve: BatchCurve, power: float) -> float:
    """Steps at the batch nearest to B with the smallest batch's step scaled, over the best."""
    at = int(np.argmin(np.abs(np.log(curve.batch_sizes / curve.B))))
    first = curve.schedules[0]
    factor = float(curve.batch_sizes[at] / curve.batch_sizes[0]) ** power
    u = coordinates((first.alpha[:1] * factor, first.beta[:1], np.zeros(1)))
    search = FewestSteps(setting.model, setting.target, "gap", batch_facts(setting.model), free=2)
    most = math.ceil(LOST * float(curve.steps[at]))
    return search.arrival(float(curve.zeta0_2[at]), u, most) / float(curve.steps[at])


def judged(setting: Setting) -> dict[str, Any] | None:
    facts = batch_facts(setting.model)
    known = {"L": facts.L, "R2": facts.R2}
    run = Run(setting.model)
    sgd, momentum = (
        batch_curve(setting.model, setting.target, method=name) for name in ("sgd", "heavy-ball")
    )
    if min(sgd.S_min, momentum.S_min) < FEWEST:
        return None
    found: dict[str, Any] = {"name": setting.name, "real": setting.real, "errors": {}}
    gain = sgd.S_min / momentum.S_min
    noisy = {"gradient_noise": facts.gradient_noise, "gap": setting.target * facts.gap}
    for curve, factor in ((sgd, 1.0), (momentum, gain)):
        said = along_the_run(run, curve)
        said["20 % more rows"] = overhead(curve)
        said["branches"] = branches(run, curve)
        said["2 R2/L"] = useful_batch(**known, momentum_gain=factor)
        said["formula: R2 and noise"] = useful_batch(**known, **noisy, momentum_gain=factor)
        if curve is momentum:
            said["law: B of SGD times S_sgd/S_hb"] = sgd.B * gain
        errors = {rule: error(value, curve.B) for rule, value in said.items()}
        found["errors"][curve.method] = errors
        found[curve.method] = {
            "S_min": curve.S_min,
            "B": curve.B,
            "fit_error": curve.fit_error,
            "said": said,
            "linear": scaled_steps(setting, curve, 1.0),
            "root": scaled_steps(setting, curve, 0.5),
        }
    found["law"] = momentum.rows / sgd.rows
    return found


def quantiles(values: list[float]) -> str:
    kept = np.array([x for x in values if not math.isnan(x)])
    if kept.size == 0:
        return f"{'-':>24s}"
    near = 100.0 * np.mean(kept <= 1.5)
    return f"{np.median(kept):8.2f} {kept.max():8.3g} {near:5.0f} %"


def table(found: list[dict[str, Any]], title: str) -> str:
    if not found:
        return ""
    lines = [f"\n{title}: {len(found)} settings; error factor: median, worst, within 1.5"]
    lines.append(f"{'rule':40s} {'SGD':>24s}   {'heavy ball':>24s}")
    for rule in found[0]["errors"]["heavy-ball"]:
        row = f"{rule:40s} "
        for method in ("sgd", "heavy-ball"):
            row += quantiles([f["errors"][method].get(rule, math.nan) for f in found]) + "   "
        lines.append(row)
    for method in ("sgd", "heavy-ball"):
        fits = np.array([f[method]["fit_error"] for f in found])
        lines.append(
            f"form, rms of log S, {method}: median {np.median(fits):.3f}, worst {fits.max():.3f}"
        )
        for rule in ("linear", "root"):
            costs = np.array([f[method][rule] for f in found])
            lost = int(np.isinf(costs).sum())
            lines.append(
                f"step scaled by the {rule:6s} rule, {method}: {np.median(costs):.2f} times the "
                f"steps in the median; never arrives in {lost}"
            )
    law = np.array([f["law"] for f in found])
    gains = np.array([f["sgd"]["S_min"] / f["heavy-ball"]["S_min"] for f in found])
    lines.append(
        f"rows S_min B, heavy ball over SGD: median {np.median(law):.2f}, "
        f"from {law.min():.2f} to {law.max():.2f}"
    )
    lines.append(
        f"steps S_min, SGD over heavy ball: median {np.median(gains):.2f}, most {gains.max():.1f}"
    )
    return "\n".join(lines)


def report(found: list[dict[str, Any]]) -> str:
    def long(f: dict[str, Any]) -> bool:
        return f["heavy-ball"]["S_min"] >= LONG

    parts: list[tuple[str, Callable[[dict[str, Any]], bool]]] = [
        ("Gaussian models", lambda f: not f["real"]),
        (f"Gaussian models, at least {LONG:.0f} steps", lambda f: not f["real"] and long(f)),
        ("data sets and rows that are not Gaussian", lambda f: f["real"]),
    ]
    return "\n".join(table([f for f in found if keep(f)], title) for title, keep in parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=int, default=240, help="Gaussian settings")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("results"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    drawn = itertools.islice(models(given.seed), given.models)
    found: list[dict[str, Any]] = []
    short = 0
    with Pool(given.jobs) as pool:
        for one in pool.imap(judged, itertools.chain(drawn, real(given.seed))):
            if one is None:
                short += 1
                continue
            found.append(one)
            (given.out / "batch-rules.json").write_text(json.dumps(found, indent=1))
    print(f"left out, fewer than {FEWEST:.0f} steps on all rows: {short} settings")
    print(report(found))


if __name__ == "__main__":
    main()
