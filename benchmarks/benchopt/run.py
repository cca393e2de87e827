"""bocce in the field's own benchmarks: benchopt/benchmark_logreg_l2 and benchopt/benchmark_ridge.

    python benchmarks/benchopt/run.py CHECKOUT... [--picture FILE] [--methods auto plane] [--all]

Each CHECKOUT is a local copy of one of the two (a work tree, or a git directory, whose newest
commit is taken). It is copied to a temporary folder, our solver and our data set are laid beside
theirs, and ``benchopt run`` compares it with scikit-learn's solvers on two of their simulated data
sets, and on two of LIBSVM's where BOCCE_DATA names a folder that has them (``--all``: on all).
Run this with the Python of an environment that has benchopt 1.7, joblib < 1.5, scikit-learn and
bocce: ``make benchopt`` does.

benchopt measures wall time, one solver after the other: on a shared machine read orders of
magnitude. The table is the median time to bring f - f* below a share of f(0) - f*, where f* is the
least value that any solver found and f(0) the largest (w = 0 is where they start).
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
GOALS = (1e-2, 1e-4, 1e-6)
RIVALS = {  # what solves the problem, of each benchmark
    "logreg": ["sklearn[solver=[lbfgs,newton-cholesky,newton-cg,liblinear]]"],
    "ridge": ["sklearn"],
}
SIMULATED = {
    "logreg": [
        "simulated[n_samples=1000,n_features=10]",
        "simulated[n_samples=200,n_features=500]",
        "simulated[n_samples=100000,n_features=400]",  # minutes: only with --all
    ],
    "ridge": [
        "simulated[n_samples=1000,n_features=500]",
        "simulated[n_samples=5000,n_features=200]",
    ],
}
LOCAL = {"logreg": ["ijcnn1.tr", "w8a", "a9a", "mushrooms"], "ridge": ["abalone_scale"]}


def lay_out(checkout: Path, folder: Path) -> Path:
    """A copy of the benchmark with our solver and data set in it."""
    name = checkout.parent.name if checkout.name in ("repo", ".git") else checkout.name
    benchmark = folder / name.split("+")[-1].removesuffix(".git")
    if (checkout / "objective.py").is_file():
        shutil.copytree(checkout, benchmark, ignore=shutil.ignore_patterns(".git", "outputs"))
    else:
        command = ["git", "-C", str(checkout), "archive", "HEAD"]
        made = subprocess.run(command, capture_output=True, check=True)
        with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
            archive.extractall(benchmark, filter="data")
    if not (benchmark / "objective.py").is_file():
        sys.exit(f"run.py: {str(checkout)!r} must be a checkout of a benchopt benchmark.")
    for kind in ("solvers", "datasets"):
        for file in (HERE / kind).glob("*.py"):
            shutil.copy(file, benchmark / kind)
    return benchmark


def run(benchmark: Path, args: argparse.Namespace) -> pd.DataFrame:
    kind = "logreg" if "logreg" in benchmark.name else "ridge"
    words = ["-s", f"bocce[method=[{','.join(args.methods)}]]"]
    for rival in RIVALS[kind]:
        words += ["-s", rival]
    for data in SIMULATED[kind][: None if args.all else 2]:
        words += ["-d", data]
    folder = Path(os.environ.get("BOCCE_DATA", "/nowhere"))
    local = [name for name in LOCAL[kind] if list(folder.glob(f"{name}*"))]
    if local:
        words += ["-d", f"local[set=[{','.join(local[: None if args.all else 2])}]]"]
    words += ["-r", str(args.repetitions), "--timeout", str(args.timeout)]
    words += ["--no-plot", "--no-display"]
    command = [sys.executable, "-m", "benchopt", "run", str(benchmark), *words]
    subprocess.run(command, check=True)
    newest = max((benchmark / "outputs").glob("*.parquet"), key=lambda path: path.stat().st_mtime)
    return pd.read_parquet(newest)


def gaps(results: pd.DataFrame) -> pd.DataFrame:
    """With ``gap``, (f - f*)/(f(0) - f*) in each panel: an objective on a data set."""
    names = ["objective_name", "data_name" if "data_name" in results else "dataset_name"]
    results = results.assign(panel=results[names].agg("\n".join, axis=1))
    value = results.groupby("panel")["objective_value"]
    least, first = value.transform("min"), value.transform("max")
    return results.assign(gap=(results["objective_value"] - least) / (first - least))


def seconds_to(curves: pd.DataFrame, goal: float) -> float:
    """The median over repetitions of the first time at which the gap is below ``goal``."""
    times = []
    for _, run in curves.groupby("idx_rep"):
        reached = run[run["gap"] <= goal]["time"]
        times.append(reached.min() if len(reached) else np.inf)
    return float(np.median(times))


def report(results: pd.DataFrame) -> None:
    for panel, of_panel in results.groupby("panel"):
        print("\n" + panel.replace("\n", ", "))
        print(f"  {'seconds to':32s}" + "".join(f"{goal:>12.0e}" for goal in GOALS))
        for solver, curves in of_panel.groupby("solver_name"):
            times = [seconds_to(curves, goal) for goal in GOALS]
            shown = ["-" if np.isinf(time) else f"{time:.4f}" for time in times]
            print(f"  {solver:32s}" + "".join(f"{time:>12s}" for time in shown))


def draw(results: pd.DataFrame, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = sorted(results["panel"].unique())
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(3.9 * columns, 3.0 * rows), squeeze=False, layout="constrained"
    )
    solvers = sorted(results["solver_name"].unique(), key=lambda name: ("bocce" not in name, name))
    colours = dict(zip(solvers, plt.get_cmap("tab10").colors * 3))
    for ax, panel in zip(axes.flat, panels):
        of_panel = results[results["panel"] == panel]
        for solver in solvers:
            curves = of_panel[of_panel["solver_name"] == solver]
            if len(curves):
                middle = curves.groupby("stop_val")[["time", "gap"]].median().sort_values("time")
                reached = middle["gap"].cummin().clip(lower=1e-12)  # by each time
                width = 2.4 if "bocce" in solver else 1.2
                ax.step(
                    middle["time"], reached, where="post", label=solver, color=colours[solver],
                    lw=width, zorder=width,
                )  # fmt: skip
        ax.set(xscale="log", yscale="log", ylim=(1e-11, 2))
        ax.set_xlim(left=max(1e-3, ax.get_xlim()[0]))
        ax.xaxis.set_minor_formatter("")
        ax.set_title(panel, fontsize=8)
        ax.grid(alpha=0.3)
    for ax in list(axes.flat)[len(panels) :]:
        ax.axis("off")
    for ax in axes[:, 0]:
        ax.set_ylabel("(f - f*)/(f(0) - f*)")
    for ax in axes[-1]:
        ax.set_xlabel("seconds")
    handles = {}
    for ax in axes.flat:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels())))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(path, dpi=100)
    print(f"wrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--methods", nargs="+", default=["auto"])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--timeout", type=int, default=20, help="seconds a solver")
    parser.add_argument("--all", action="store_true", help="also the data that take minutes")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benchopt-") as folder:
        found = [gaps(run(lay_out(path, Path(folder)), args)) for path in args.checkouts]
    results = pd.concat(found)
    report(results)
    if args.picture:
        draw(results, args.picture)


if __name__ == "__main__":
    main()
