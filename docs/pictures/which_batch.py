"""Steps by batch size with and without momentum, the useful batch of each, and what rules say.

python docs/pictures/which_batch.py docs/_static/which-batch.png     (a few seconds)
"""

from __future__ import annotations

import sys

import matplotlib
import numpy as np

from bocce import exact, theory
from bocce._pictures import BLACK, BLUE, GREY, RED

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TARGET = 0.01
LAM = np.geomspace(0.003, 1.0, 60)
MODEL = exact.Gaussian(LAM, noise=0.02, start=2.0 / LAM / LAM.size)  # f(w_0) - f* = 1
LOGGED = ("noise scale half-way, batches of 4 and of 16,384", None)  # words of the legend, once
FORMULA = ("formula", None)
BATCHES = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 16384]


def noise_scale(curve: exact.BatchCurve, at: int) -> float:
    """tr(Sigma)/|g|^2 half-way through the best run with a batch of the curve."""
    s = curve.schedules[at]
    moments = exact.expected(MODEL, s, int(curve.batch_sizes[at]))
    k = s.T // 2
    trace = float(LAM.sum())
    gap2 = 2.0 * moments.gap[k] + MODEL.noise
    return float((moments.grad2[k] + gap2 * trace) / moments.grad2[k])


def main(path: str) -> None:
    curves = {
        name: exact.batch_curve(MODEL, TARGET, method=method, batches=BATCHES)
        for name, method in (("SGD", "sgd"), ("with momentum", "heavy-ball"))
    }
    figure, (ax, strip) = plt.subplots(
        2, 1, figsize=(7.4, 5.6), height_ratios=[4, 1.1], sharex=True, layout="constrained"
    )
    for (name, curve), colour in zip(curves.items(), (RED, BLUE)):
        b = np.geomspace(BATCHES[0], BATCHES[-1], 200)
        ax.plot(b, curve.S_min * (1.0 + curve.B / b), color=colour, lw=2.0, label=name)
        ax.plot(curve.batch_sizes, curve.steps, "o", color=colour, ms=5)
        ax.plot([curve.B], [2.0 * curve.S_min], "*", color=colour, ms=20, mec="white", zorder=5)
        words = f"useful batch\n{curve.B:.0f} rows"
        place = (curve.B * 1.15, 2.3 * curve.S_min)
        ax.annotate(words, place, color=colour, fontsize=10, ha="left", va="bottom")
    first = curves["SGD"]
    words = "left of a star:\ntwice the batch,\nhalf the steps"
    ax.text(4.2, 0.12 * first.steps[0], words, fontsize=9, va="top")
    last = curves["SGD"].steps[-1]
    words = "right of a star:\nmore rows, hardly fewer steps"
    ax.text(16000, 0.9 * last, words, fontsize=9, ha="right", va="top")
    ax.set(xscale="log", yscale="log", ylabel="steps to 1 % of the first gap")
    ax.set_title("Momentum saves steps, not rows: small batches cost the same", fontsize=11)
    ax.legend(frameon=False, loc="upper right", fontsize=10)
    ax.grid(alpha=0.3, lw=0.5)

    facts = exact.batch_facts(MODEL)
    known = {"L": facts.L, "R2": facts.R2, "gradient_noise": facts.gradient_noise}
    gain = curves["SGD"].S_min / curves["with momentum"].S_min
    for row, (curve, colour, factor) in enumerate(
        ((curves["SGD"], RED, 1.0), (curves["with momentum"], BLUE, gain))
    ):
        y = 1 - row
        strip.plot([curve.B], [y], "*", color=colour, ms=17, mec="white", zorder=5)
        said = theory.useful_batch(**known, gap=TARGET * facts.gap, momentum_gain=factor)
        strip.plot([said], [y], "D", color=BLACK, ms=6, label=FORMULA[row])
        logged = [noise_scale(curve, at) for at in (0, -1)]
        strip.plot(logged, [y, y], "|", color=GREY, ms=16, mew=2.5, label=LOGGED[row])
        strip.plot(logged, [y, y], color=GREY, lw=1.0, ls=":")
    strip.set(ylim=(-0.6, 1.6), xscale="log", xlabel="batch size")
    strip.set_yticks([1, 0], ["SGD", "momentum"])
    strip.legend(
        frameon=False, fontsize=8.5, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.32)
    )
    for side in ("top", "right", "left"):
        strip.spines[side].set_visible(False)
    figure.savefig(path, dpi=150)
    for name, curve in curves.items():
        print(f"{name}: S_min {curve.S_min:.1f}, B {curve.B:.0f}, rows {curve.rows:.0f}")


if __name__ == "__main__":
    main(sys.argv[1])
