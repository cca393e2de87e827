"""What each special case of the solvers gains: fits with it, and with it switched off, in turns.

    python benchmarks/ablate.py [--repeats 5] [--only NAME ...] [--quick]

A line of the table ``CASES`` is a special case, what switches it off (names in the package and what
stands in their place), and the data on which it should gain. Not in the table is what a fit needs
to be right or to fit into memory, such as batches where the scores of a file find no room,
or several outputs a part of the rows at a time.

Printed are the least CPU times of a fit, in milliseconds, with and without it; the ratio is off
over on, so that above 1 the case gains. A case earns its place where it gains a factor of 1.3 and
5 ms on the same data. One that does so nowhere "goes". Of "reads of a file" the reads of parts
stand in place of milliseconds. --quick: data of more than 2e6 numbers are cut to so many rows. Real
data come from BOCCE_DATA; without it, made data of the same shape stand in for them, and the line
says so.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from _peers_cells import load, simulated, wide, words  # noqa: E402
from sklearn.feature_extraction.text import HashingVectorizer  # noqa: E402
from sklearn.metrics import r2_score  # noqa: E402
from text import pieces  # noqa: E402

import bocce  # noqa: E402
from bocce.plane import IdentityPolicy  # noqa: E402
from bocce.plane.metrics.hessian_operator import HessianRows  # noqa: E402
from bocce.plane.parts import parts_of  # noqa: E402
from bocce.rows import Parts  # noqa: E402
from bocce.sklearn import (  # noqa: E402
    HeavyBallClassifier,
    HeavyBallClassifierCV,
    HeavyBallRegressor,
    HeavyBallRegressorCV,
)
from sklearn import datasets  # noqa: E402

GAIN = 1.3  # off over on, which a case must reach somewhere ...
MILLISECONDS = 5.0  # ... and save so much there
QUICK_NUMBERS = 2e6
MOST_PASSES = 640

Data = tuple[Any, np.ndarray]
Fit = Callable[[], object]


class Case(NamedTuple):
    name: str
    off: dict[str, object]  # dotted names, and what stands in their place
    data: tuple[str, ...]


class Gain(NamedTuple):
    case: str
    data: str
    on: float  # milliseconds
    off: float
    cut: bool  # were the data cut? Some cases begin with more numbers.

    @property
    def ratio(self) -> float:
        return self.off / self.on

    @property
    def counts(self) -> bool:
        return self.ratio >= GAIN and self.off - self.on >= MILLISECONDS


# -- data ------------------------------------------------------------------------------------------


def real(name: str, n: int, d: int, share: float = 1.0) -> Data:
    """A data set of BOCCE_DATA, or made rows of its shape; ``share`` of the entries are not 0."""
    if "BOCCE_DATA" in os.environ:
        return load(name)
    X, y = simulated(n, d)
    if share < 1.0:
        kept = np.random.default_rng(0).random(X.shape) < share
        return sp.csr_matrix((X > 0.0) & kept, dtype=np.float64), y
    return X, y


def three_classes(n: int, d: int) -> Data:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, np.argmax(X[:, :3] + rng.gumbel(size=(n, 3)), axis=1)


def abalone() -> Data:
    """Rings, 4 to 15, as classes."""
    if "BOCCE_DATA" in os.environ:
        X, y = dense(bocce.data.load("abalone_scale"))
    else:
        X, _ = simulated(4_177, 8)
        y = 10.0 + 2.0 * X[:, 0]
    return X, np.clip(y, 4, 15).astype(int)


def probe() -> Data:
    """Features of a network, as a linear probe has them: ten classes, single precision."""
    rng = np.random.default_rng(0)
    mix = rng.standard_normal((256, 256)) / np.geomspace(1.0, 30.0, 256)
    X = np.tanh(rng.standard_normal((20_000, 256)) @ mix).astype(np.float32)
    y = np.argmax(X @ rng.standard_normal((256, 10)) + rng.gumbel(size=(20_000, 10)), axis=1)
    return X, y


def counts() -> Data:
    X, _ = simulated(500, 2_000)
    return X, np.random.default_rng(0).poisson(np.exp(0.3 * X[:, 0])).astype(np.float64)


def dense(data: Data) -> Data:
    X, y = data
    return (X.toarray() if sp.issparse(X) else X), y


def marks() -> Data:
    """Sparse rows of zeros and ones."""
    X = np.random.default_rng(0).random((200_000, 40)) < 0.2
    return sp.csr_matrix(X, dtype=np.float64), X @ np.linspace(-1.0, 1.0, 40) + 0.1 * X[:, 0]


def hashed() -> Data:
    texts, y = pieces(fewest=10, most=100)
    columns = HashingVectorizer(n_features=1 << 18, ngram_range=(1, 2), token_pattern=r"\w+")
    return columns.transform(texts), y


def narrow(n: int, d: int) -> Data:
    """Rows in float32."""
    X, y = simulated(n, d)
    return X.astype(np.float32), y


def sparse_columns(n: int, d: int, entries: int) -> Data:
    """Rows with entries in columns that are drawn evenly."""
    rng = np.random.default_rng(0)
    places = rng.integers(0, d, n * entries), np.arange(0, n * entries + 1, entries)
    X = sp.csr_array((rng.standard_normal(n * entries), *places), shape=(n, d))
    X.sum_duplicates()
    return X, rng.random(n) < 0.5


def by_columns(n: int, d: int) -> Data:
    X, y = simulated(n, d)
    return np.asfortranarray(X), y


def outliers() -> Data:
    """Six classes, and two rows that are a thousand times the others."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1_500, 700))
    y = np.argmax(2.0 * X[:, :6] + rng.gumbel(size=(1_500, 6)), axis=1)
    X[rng.integers(0, 1_500, 2)] *= 1_000.0
    return X, y


def factors(n: int, d: int) -> Data:
    """Columns that depend on one another."""
    X, y = simulated(n, d)
    rng = np.random.default_rng(1)
    return X + 3.0 * rng.standard_normal((n, 10)) @ rng.standard_normal((10, d)), y


# The least and the largest numbers of covtype's first ten columns; the data set has shares of them.
COVTYPE_LEAST = np.array([1859.0, 0, 0, 0, -173, 0, 0, 0, 0, 0])
COVTYPE_LARGEST = np.array([3858.0, 360, 66, 1397, 601, 7117, 254, 254, 254, 7173])


def covtype_in_its_units() -> Data:
    """100,000 rows of covtype in metres and degrees."""
    X, y = SETS["covtype dense"]()
    X = X[:100_000].copy()
    X[:, :10] = COVTYPE_LEAST + X[:, :10] * (COVTYPE_LARGEST - COVTYPE_LEAST)
    return X, y[:100_000]


SETS: dict[str, Callable[[], Data]] = {
    "iris": lambda: datasets.load_iris(return_X_y=True),
    "cancer": lambda: load("cancer"),
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "2k x 20 x 3": lambda: three_classes(2_000, 20),
    "200k x 5 x 3": lambda: three_classes(200_000, 5),
    "200 x 500": lambda: simulated(200, 500),
    "wide": lambda: wide(1_000, 5_000),
    "wide 1k x 3k": lambda: wide(1_000, 3_000),
    "ijcnn1": lambda: real("ijcnn1", 35_000, 22),
    "a9a": lambda: real("a9a", 32_561, 123, 0.11),
    "w8a": lambda: real("w8a", 49_749, 300, 0.04),
    "covtype": lambda: real("covtype", 581_012, 54),
    "sector": lambda: real("sector", 6_412, 55_197, 0.003),
    "abalone in 12 classes": abalone,
    "words": lambda: words(20_000, 30_000, 50),
    "marks": marks,
    "probe": probe,
    "covtype dense": lambda: dense(SETS["covtype"]()),
    "covtype in its units": covtype_in_its_units,
    "counts 500 x 2000": counts,
    "hashed text": hashed,
    "float32 200k x 50": lambda: narrow(200_000, 50),
    "sparse 100k x 20k": lambda: sparse_columns(100_000, 20_000, 50),
    "Fortran 100k x 80": lambda: by_columns(100_000, 80),
    "outliers in 6 classes": outliers,
    "6k x 750, factors": lambda: factors(6_000, 750),
    "diabetes": lambda: datasets.load_diabetes(return_X_y=True),
    "2k x 50": lambda: datasets.make_regression(2_000, 50, noise=10.0, random_state=0),
}


def loaded(name: str, most: float) -> Data:
    """A data set, or its first rows where it has more than so many numbers."""
    X, y = SETS[name]()
    numbers = X.nnz if sp.issparse(X) else X.size
    rows = int(len(y) * min(1.0, most / numbers))
    return X[:rows], y[:rows]


# -- fits ------------------------------------------------------------------------------------------


def from_file(X: Any, y: np.ndarray) -> Fit:
    """A run on an Arrow file."""
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "rows.arrow"
    table = pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "y": y})
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=2_500)

    rows = bocce.data.open(path, target="y", memory=X.nbytes // 2)  # so in parts

    def fit(keep: object = folder) -> object:
        return bocce.minimize(bocce.Logistic(rows, l2=1.0 / len(y)), tol=1e-6)

    return fit


def on_the_plane(X: Any, y: np.ndarray) -> Fit:
    problem = bocce.Logistic(X, y, l2=1.0 / len(y))
    return lambda: bocce.minimize(problem, tol=1e-6)


def by_squares(X: Any, y: np.ndarray) -> Fit:
    return lambda: bocce.minimize(bocce.LeastSquares(X, y, l2=1.0 / len(y)), tol=1e-6)


def in_batches(X: Any, y: np.ndarray, size: int = 32, steps: int = 2_000) -> Fit:
    problem = bocce.Logistic(X, y, l2=1.0 / len(y))
    table = bocce.schedules.sgd(steps, L=problem.constants().L_max)
    return lambda: bocce.minimize(problem, table, batch_size=size, record_every=steps)


def to_a_level(X: Any, y: np.ndarray) -> Fit:
    """Tables of 5, 10, 20, ... passes until f has made nine tenths of its fall."""
    l2 = 1.0 / len(y)
    found = HeavyBallClassifier(l2=l2, tol=1e-6).fit(X, y)
    level = 0.9 * found.history_["value"][-1] + 0.1 * math.log(2.0)

    def fit() -> object:
        passes = 5
        while True:
            table = HeavyBallClassifier(l2=l2, method="nesterov", max_iter=passes).fit(X, y)
            if passes >= MOST_PASSES or table.history_["value"][-1] <= level:
                return table
            passes *= 2

    return fit


MODELS: dict[str, Callable[[Any, np.ndarray], Fit]] = {
    "classifier": lambda X, y: lambda: HeavyBallClassifier(l2=1.0 / len(y)).fit(X, y),
    "rough classifier": lambda X, y: (
        lambda: HeavyBallClassifier(l2=1.0 / len(y), tol=1e-2).fit(X, y)
    ),
    "exact classifier": lambda X, y: lambda: HeavyBallClassifier(l2=1e-6, tol=1e-8).fit(X, y),
    "regressor": lambda X, y: lambda: HeavyBallRegressor(l2=1.0 / len(y)).fit(X, y),
    "logistic": lambda X, y: (
        lambda: bocce.minimize(bocce.Logistic(X, y, l2=1.0 / len(y)), tol=1e-6)
    ),
    "ridge regression": lambda X, y: lambda: HeavyBallRegressor(l2=0.01 / len(y)).fit(X, y),
    "least squares": by_squares,
    "Poisson": lambda X, y: lambda: HeavyBallRegressor(loss="poisson", l2=1e-3).fit(X, y),
    "batches": in_batches,
    "table to a level": to_a_level,
    "large batches": lambda X, y: in_batches(X, y, 1_000, 300),
    "classifier CV": lambda X, y: lambda: HeavyBallClassifierCV().fit(X, y),
    "regressor CV": lambda X, y: lambda: HeavyBallRegressorCV(cv=5).fit(X, y),
    "file": from_file,
    "reads of a file": from_file,  # these are counted in place of milliseconds
}


# -- special cases ---------------------------------------------------------------------------------


def never(*args: Any, **more: Any) -> bool:
    return False


def always(*args: Any, **more: Any) -> bool:
    return True


def rows_as_they_are(rows: Any, outputs: int, rough: bool = True) -> HessianRows:
    return HessianRows(parts_of(rows, outputs), False)


def checked_r2(Y: np.ndarray, guesses: list[np.ndarray], weights: Any) -> np.ndarray:
    return np.array([r2_score(Y, guess, sample_weight=weights) for guess in guesses])


def nothing(*args: Any, **more: Any) -> None:
    return None


CASES = [
    Case(
        "small data: Newton's method",
        {"bocce.plane.small.SmallNewton.suits": never},
        (
            "iris, classifier",
            "cancer, classifier",
            "2k x 20 x 3, classifier",
            "iris, classifier CV",
        ),
    ),
    Case(
        "metric: row space",
        {"bocce.plane.metrics.rowspace.RowSpacePolicy.suits": never},
        ("wide, classifier", "wide, logistic", "counts 500 x 2000, Poisson"),
    ),
    Case(
        "metric: Hessian",
        {"bocce.plane.metrics.hessian.HessianPolicy.suits": never},
        ("ijcnn1, classifier", "a9a, classifier", "w8a, classifier"),
    ),
    Case(
        "metric: diagonal",
        {"bocce.plane.choose.METRICS[diagonal]": IdentityPolicy},
        ("words, classifier", "sector, classifier"),
    ),
    Case(
        "metric: diagonal where the sizes of the columns promise it",
        {"bocce.plane.metrics.diagonal.promises": always},
        ("sector, ridge regression",),
    ),
    Case(
        "metric: conjugate gradients for several outputs",
        {"bocce.plane.metrics.newton_cg.NewtonPolicy.suits": never},
        ("digits, classifier", "probe, classifier"),
    ),
    Case(
        "conjugate gradients: not where few rows make the Gram matrix",
        {
            "bocce.plane.choose.rows_are_even": always,
            "bocce.plane.newton_engine.rows_are_even": always,
        },
        ("outliers in 6 classes, classifier", "digits, classifier"),
    ),
    Case(
        "products with the Hessian in float32",
        {"bocce.plane.metrics.newton_cg.HessianRows.of": rows_as_they_are},
        ("digits, classifier", "probe, classifier"),
    ),
    Case(
        "paths that are scored: Newton steps in float32",
        {"bocce.plane.rough_newton.RoughNewton.step": nothing},
        ("digits, classifier CV", "abalone in 12 classes, classifier CV"),
    ),
    Case(
        "a Hessian waits where a run is nearly done",
        {"bocce.plane.metrics.hessian.MOST_LOST": 1.0},
        ("wide 1k x 3k, rough classifier", "w8a, rough classifier"),
    ),
    Case(
        "conjugate gradients: as exact as the last step's model",
        {
            "bocce.plane.metrics.newton_cg.FIRST_LEFT": 0.03,
            "bocce.plane.metrics.newton_cg.MOST_LEFT": 0.03,
        },
        ("digits, exact classifier", "probe, classifier"),
    ),
    Case(
        "squared loss: sums instead of rows",
        {"bocce.plane.choose.FEW": math.inf},
        ("ijcnn1, regressor", "a9a, regressor", "covtype, regressor"),
    ),
    Case(
        "float32 rows: products without a copy",
        {"bocce.rows.mixed.suits": never},
        ("float32 200k x 50, classifier",),
    ),
    Case(
        "float32 rows: sums in float32",
        {"bocce.rows.single.pays": never},
        ("float32 200k x 50, regressor",),
    ),
    Case(
        "squared loss: a Gram matrix for up to 40 steps",
        {"bocce.plane.metrics.hessian.HessianPolicy.exact_dense": 8.0},
        ("6k x 750, factors, regressor",),
    ),
    Case(
        "start on a sample of rows in memory",
        {"bocce.plane.plane.sample_pays": never},
        ("covtype dense, logistic", "covtype, classifier"),
    ),
    Case(
        "guessed gradients (files)",
        {"bocce.plane.scores.file.FileScores.predicts_gradient": never},
        ("ijcnn1, file", "ijcnn1, reads of a file"),
    ),
    Case(
        "sparse rows: columns without an entry",
        {"bocce.run.prepare.used": nothing},
        ("hashed text, classifier",),
    ),
    Case(
        "sparse rows: Gram matrix by dense blocks",
        {"bocce.rows.csr.Csr._laid_out": lambda rows, dtype: math.inf},
        ("marks, least squares", "ijcnn1, least squares", "a9a, classifier"),
    ),
    Case(
        "sparse rows: marks counted in float32",
        {"bocce.rows.csr.Csr._sizes": None},
        ("marks, least squares", "a9a, least squares", "w8a, least squares"),
    ),
    Case(
        "cross-validated ridge: one decomposition a fold",
        {"bocce.sklearn._ridge.affordable": never},
        ("diabetes, regressor CV", "2k x 50, regressor CV"),
    ),
    Case(
        "cross-validated ridge: R^2 without scikit-learn's checks",
        {"bocce.sklearn._ridge.r2_scores": checked_r2},
        ("diabetes, regressor CV", "2k x 50, regressor CV"),
    ),
    Case(
        "Hessian: of sampled rows",
        {"bocce.plane.metrics.hessian.HessianPolicy._first_rows": lambda policy: policy.n},
        ("covtype dense, logistic", "w8a, classifier", "ijcnn1, classifier"),
    ),
    Case(
        "softmax: few classes one after the other",
        {"bocce.losses.softmax.FEW_CLASSES": 0},
        ("2k x 20 x 3, classifier", "200k x 5 x 3, classifier", "probe, classifier"),
    ),
    Case(
        "batches of sparse rows: columns that are not touched",
        {"bocce.engines.numba.scaled.PAYS_BELOW": 0.0},
        ("words, batches", "sector, batches"),
    ),
    Case(
        "batches of sparse rows: read before they are summed",
        {"bocce.engines.numba.pack.LINE": 1 << 40},
        ("sparse 100k x 20k, batches", "sparse 100k x 20k, large batches"),
    ),
    Case(
        "batches of rows in Fortran order: a copy by rows",
        {"bocce.engines.numba.pack._by_rows": lambda X, most: X},
        ("Fortran 100k x 80, batches", "Fortran 100k x 80, large batches"),
    ),
    Case(
        "columns of unlike size: a scaled frame",
        {"bocce.problems.frame.BETTER": math.inf},
        ("cancer, classifier", "covtype in its units, table to a level", "words, classifier"),
    ),
]


@contextmanager
def without(case: Case) -> Iterator[None]:
    """The package with a special case switched off. ``name[key]`` is an entry of a registry."""
    with ExitStack() as stack:
        for place, other in case.off.items():
            name, _, key = place.rstrip("]").partition("[")
            if key:
                stack.enter_context(mock.patch.dict(name, {key: other}))
            else:
                stack.enter_context(mock.patch(name, other))
        yield


# -- measuring -------------------------------------------------------------------------------------


def milliseconds(fit: Fit) -> float:
    """Of CPU time."""
    begin = time.process_time()
    fit()
    return 1e3 * (time.process_time() - begin)


def reads(fit: Fit) -> float:
    """Parts that are read, which is what a fit of a file on a disk waits for."""
    with mock.patch.object(Parts, "read", autospec=True, side_effect=Parts.read) as read:
        fit()
    return float(read.call_count)


def measured(case: Case, what: str, repeats: int, quick: bool) -> Gain:
    """The least times with and without a case, in turns behind a first turn that compiles."""
    name, model = what.rsplit(", ", 1)
    spent = reads if model == "reads of a file" else milliseconds
    X, y = loaded(name, QUICK_NUMBERS if quick else math.inf)
    fit = MODELS[model](X, y)
    on = []
    off = []
    for _ in range(repeats + 1):
        on.append(spent(fit))
        with without(case):
            off.append(spent(fit))
    numbers = X.nnz if sp.issparse(X) else X.size
    cut = quick and numbers + X.shape[1] > QUICK_NUMBERS
    return Gain(case.name, what, min(on[1:]), min(off[1:]), cut)


def verdict(gains: list[Gain]) -> str:
    if any(gain.counts for gain in gains):
        return "stays"
    if any(gain.cut for gain in gains):
        return "undecided: data were cut"
    return f"GOES: nowhere a factor of {GAIN} and {MILLISECONDS:g} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [case.name for case in CASES]
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="at most 2e6 numbers of X")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if "BOCCE_DATA" not in os.environ:
        print("BOCCE_DATA is not set: made data stand in for ijcnn1, a9a, w8a, covtype and sector")
    for case in CASES:
        if case.name not in args.only:
            continue
        print(case.name, flush=True)
        gains = []
        for what in case.data:
            gain = measured(case, what, args.repeats, args.quick)
            gains.append(gain)
            times = f"on {gain.on:8.1f} ms, off {gain.off:8.1f} ms"
            print(f"    {what:<28} {times}, ratio {gain.ratio:.2f}", flush=True)
        print(f"    {verdict(gains)}", flush=True)


if __name__ == "__main__":
    main()
