"""Softmax regression on text: CPU seconds and memory to the same f as scikit-learn's lbfgs.

    python benchmarks/text.py [--data NAME ...] [--l2 1e-4 ...] [--cv]

The rows are pieces of 40 lines of the standard library's sources, the classes their folders.
"tf-idf" and "counts" (raw) are words hashed to 2^15 columns, "hashed" words and pairs of words
hashed to 2^18, "sector" the data set of 105 classes (it needs BOCCE_DATA). Each solver has its own
process, one thread, and an intercept. bocce runs to the tolerance 1e-5; lbfgs runs until f is as
low as bocce left it, to 1e-10 of itself. Memory is
the peak of the process less what the data and the imports took. --cv: three folds of six penalties
instead of one fit.
Ten minutes, most of them lbfgs's on "hashed" and "sector".
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import pathlib
import subprocess
import sys
import sysconfig
import time
import warnings
from resource import RUSAGE_SELF, getrusage
from typing import Any

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np  # noqa: E402
import sklearn.linear_model._logistic as scikit  # noqa: E402
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer  # noqa: E402

import bocce  # noqa: E402
from bocce.sklearn import HeavyBallClassifierCV  # noqa: E402

LINES, FEWEST, MOST = 40, 40, 1000  # lines of a piece; pieces of a class
DATA = ("tf-idf", "counts", "hashed", "sector")


def pieces(fewest: int = FEWEST, most: int = MOST) -> tuple[list[str], np.ndarray]:
    """Pieces of the standard library, and the folders that they are from."""
    root, found = pathlib.Path(sysconfig.get_path("stdlib")).resolve(), {}
    for file in sorted(root.rglob("*.py")):
        folder, *inside = file.relative_to(root).parts
        if inside and folder != "site-packages":
            lines = file.read_text(errors="ignore").splitlines()
            cut = ["\n".join(lines[k : k + LINES]) for k in range(0, len(lines), LINES)]
            found.setdefault(folder, []).extend(cut)
    kept = {k: v[:: -(-len(v) // most)] for k, v in found.items() if len(v) >= fewest}
    texts = [text for v in kept.values() for text in v]
    return texts, np.repeat(np.arange(len(kept)), [len(v) for v in kept.values()])


def load(name: str) -> tuple[Any, np.ndarray]:
    if name == "sector":
        return bocce.data.load("sector.scale")
    texts, y = pieces()
    words = {"token_pattern": r"\w+", "alternate_sign": False}
    if name == "hashed":
        return HashingVectorizer(n_features=1 << 18, ngram_range=(1, 2), **words).transform(
            texts
        ), y
    X = HashingVectorizer(n_features=1 << 15, norm=None, **words).transform(texts)
    return (TfidfTransformer().fit_transform(X) if name == "tf-idf" else X), y


def fit(X: Any, y: np.ndarray, l2: float) -> tuple[float, Any]:
    p = bocce.Problem(X, y, "softmax", l2, intercept=True)
    begin = time.process_time()
    run = bocce.minimize(p, tol=1e-5)
    spent = time.process_time() - begin
    passes = run.history["gradient_evaluations"][-1] / p.n
    return spent, {"f": p.value(p.join_intercept(run.w, run.intercept)), "passes": passes}


class LowEnough(Exception):
    """f is as low as was asked for."""


def lbfgs(X: Any, y: np.ndarray, l2: float, goal: float) -> tuple[float, Any]:
    """CPU seconds until f <= goal, and the last f."""
    begin, minimize, found = time.process_time(), scikit.optimize.minimize, [math.inf]

    def stopping(function: Any, x0: Any, **options: Any) -> Any:
        def value(*args: Any) -> Any:
            result = function(*args)
            found[0] = float(result[0])
            if found[0] <= goal * (1.0 + 1e-10):
                raise LowEnough
            return result

        return minimize(value, x0, **options)

    scikit.optimize.minimize = stopping
    with contextlib.suppress(LowEnough):
        scikit.LogisticRegression(C=1.0 / (len(y) * l2), tol=1e-9, max_iter=5000).fit(X, y)
    return time.process_time() - begin, {"f": found[0]}


def cross_validation(X: Any, y: np.ndarray, who: str) -> tuple[float, Any]:
    l2s, begin = np.geomspace(1e-2, 1e-6, 6), time.process_time()
    if who == "lbfgs":
        Cs = 1.0 / (2 / 3 * len(y) * l2s)
        options = {"max_iter": 5000, "scoring": "neg_log_loss", "use_legacy_attributes": False}
        model = scikit.LogisticRegressionCV(Cs=Cs, cv=3, **options).fit(X, y)
        best = 1.0 / (2 / 3 * len(y) * float(np.ravel(model.C_)[0]))
    else:
        model = HeavyBallClassifierCV(l2s, cv=3, scoring="neg_log_loss").fit(X, y)
        best = model.l2_
    return time.process_time() - begin, {"l2": best, "score": float(model.score(X, y))}


def child(who: str, name: str, l2: float, cv: bool, goal: float) -> None:
    X, y = load(name)
    before = getrusage(RUSAGE_SELF).ru_maxrss
    if cv:
        spent, found = cross_validation(X, y, who)
    else:
        spent, found = lbfgs(X, y, l2, goal) if who == "lbfgs" else fit(X, y, l2)
    memory = (getrusage(RUSAGE_SELF).ru_maxrss - before) / 1024
    shown = [*X.shape, int(np.unique(y).size)]
    print(json.dumps({"s": spent, "found": found, "MB": memory, "shape": shown}))


def run(who: str, name: str, l2: float, cv: bool, goal: float = 0.0) -> Any:
    command = [sys.executable, __file__, "--child", who, "--data", name, "--l2", str(l2)]
    command += ["--goal", repr(goal)]
    done = subprocess.run(command + ["--cv"] * cv, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def race(name: str, l2: float, who: str) -> None:
    ours = run(who, name, l2, False)
    theirs = run("lbfgs", name, l2, False, ours["found"]["f"])
    seconds = theirs["s"] if theirs["found"]["f"] <= ours["found"]["f"] * (1 + 1e-10) else math.inf
    n, d, K = ours["shape"]
    print(
        f"| {name} | {n:,} x {d:,}, {K} | {l2:g} | {ours['found']['passes']:.0f} | {ours['s']:.2f} "
        f"| {seconds:.2f} | {ours['s'] / seconds:.2f} | {ours['MB']:.0f} | {theirs['MB']:.0f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    parser.add_argument("--l2", nargs="+", type=float, default=[1e-4])
    parser.add_argument("--cv", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--goal", type=float, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.child:
        return child(asked.child, asked.data[0], asked.l2[0], asked.cv, asked.goal)
    if asked.cv:
        for name in asked.data:
            for who in ("bocce", "lbfgs"):
                found = run(who, name, 0.0, True)
                print(f"{name}, {who}: {found['s']:.1f} s, {found['MB']:.0f} MB, {found['found']}")
        return None
    print("| data | rows x columns, classes | l2 | passes | s | lbfgs | ratio | MB | lbfgs |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in asked.data:
        for l2 in asked.l2:
            race(name, l2, "bocce")
    return None


if __name__ == "__main__":
    main()
