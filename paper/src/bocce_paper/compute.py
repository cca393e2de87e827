"""From a cell to its numbers. A cell is a function of its specification alone."""

from __future__ import annotations

import math
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from bocce import LeastSquares, Logistic, Problem, exact, minimize
from bocce import data as sources
from bocce.cli.commands import Reading, read
from bocce.schedules import Schedule

from .methods import KnownNumbers, build
from .specs import EXACT, Cell, Data, NamedTable, Outcome, Run

STAND_INS = {"rcv1": ("rcv1_train.binary", "sector.scale")}  # the first that can be had
EXACT_POINTS = 1000  # an exact curve keeps about so many of its points


def compute(cell: Cell) -> Outcome:
    """The cell's numbers; data that cannot be had are an outcome, not an error."""
    job = cell.job
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # one stage only: a claim says so
            if isinstance(job, NamedTable):
                return job.function(**dict(job.arguments))
            return _curve(job, cell.seed)
    except FileNotFoundError as error:
        if isinstance(job, Run):
            wanted = job.data.name
        else:
            wanted = job.name
        return Outcome({}, {"missing": str(error), "wanted": wanted})


# ---------------------------------------------------------------- problems


@lru_cache(maxsize=4)
def problem(data: Data) -> Problem:
    """The problem that ``data`` specifies."""
    if data.source == "diagonal":
        X, y, _ = sources.diagonal(data.n, data.kappa)
        return LeastSquares(X, y)
    if data.source == "regression":
        X, y, _ = sources.regression(
            data.n, data.d, data.kappa, data.noise_var, data.design, data.mu, "sqrt"
        )
        used = round(data.keep * data.n)
        return LeastSquares(X[:used], y[:used], l2=data.l2)
    if data.source == "file":
        return _own_rows(data.name)
    X, y, _ = real_data(data.name)
    if data.keep < 1.0:  # a random share, as the released code splits real data
        rows = np.random.default_rng(0).permutation(X.shape[0])[: round(data.keep * X.shape[0])]
        X = X[np.sort(rows)]
        y = y[np.sort(rows)]
    return (LeastSquares if data.loss == "squared" else Logistic)(X, y, l2=data.l2)


def _own_rows(file: str) -> Problem:
    """Least squares on the rows of a file: columns standardised, the target centred."""
    X, y, *_ = read(file, Reading()).rows()
    if not isinstance(X, np.ndarray) or y is None or y.dtype.kind not in "fiu":
        raise ValueError(
            f"reproduce: --data {file} must be a table of numbers in memory; convert it, or give "
            "another file."
        )
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0))[:, spread > 0.0] / spread[spread > 0.0]
    p = LeastSquares(X, y - y.mean())
    if not p.constants().mu > 0.0:
        raise ValueError(
            f"reproduce: --data {file} has columns that depend on others, so mu = 0, must be > 0; "
            "leave those columns out."
        )
    return p


@lru_cache(maxsize=4)
def _loaded(name: str) -> Any:
    """The data, or the error: a site that did not answer is not called again for every cell."""
    try:
        return sources.load(name)
    except FileNotFoundError as error:
        return error


def real_data(name: str) -> tuple[Any, np.ndarray, str]:
    """Rows, labels +-1 and the name of what was found: the data set, or its stated stand-in."""
    for candidate in STAND_INS.get(name, (name,)):
        found = _loaded(candidate)
        if not isinstance(found, FileNotFoundError):
            X, y = found
            dense = X.shape[1] <= 1000
            return (X.toarray() if dense else X), _signs(candidate, y), candidate
    raise found


def _signs(name: str, y: np.ndarray) -> np.ndarray:
    """+-1: class 2 of mushrooms is -1; of sector's 105 classes the first fifty against the rest."""
    if name == "sector.scale":
        return np.where(y <= 50, 1.0, -1.0)
    if name == "mushrooms":
        return np.where(y == 2, -1.0, 1.0)
    return np.asarray(y, dtype=np.float64)


def known_by(run: Run, p: Problem, b: int, T: int) -> KnownNumbers:
    """The constants as the method is given them."""
    c = p.constants()
    L = c.L
    mu = c.mu
    if run.data.nominal:
        L = run.data.mu * run.data.kappa
        mu = run.data.mu
    L = L * run.wrong_L
    mu = mu * run.wrong_mu
    return KnownNumbers(T, p.n, b, L, mu, max(c.L_max, L), c.kappa_tilde)


def prepared(run: Run) -> tuple[Problem, Any, int, np.ndarray]:
    """The problem, the schedule or policy, the batch in rows, and the start."""
    p = problem(run.data)
    if isinstance(run.batch, int):
        b = min(p.n, run.batch)
    else:
        b = max(1, round(run.batch * p.n))
    if run.passes:
        T = math.ceil(run.passes * p.n / b)
    else:
        T = run.T
    return p, build(run.setting, run.rule, known_by(run, p, b, T)), b, np.full(p.d, run.w0)


def rate(run: Run) -> float:
    """The exact factor a step of the root mean square error, with the numbers of step 1."""
    p, schedule, b, _ = prepared(run)
    return exact.mean_square_rate(p, float(schedule.alpha[1]), float(schedule.beta[1]), b)


# ---------------------------------------------------------------- runs and expectations


class _Steps:
    """A schedule or policy as a key: schedules that make the same steps are equal.

    The momentum of the first step multiplies a velocity of 0, so that it is left out. Then
    Multi-SHB without a second stage is SHB, and figures 3 and 10 share many runs.
    """

    def __init__(self, method: Any) -> None:
        self.method = method
        self._key: Any = id(method)
        if isinstance(method, Schedule):
            later = (method.beta[1:].tobytes(), method.theta[1:].tobytes())
            self._key = (method.alpha.tobytes(), *later)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Steps) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _curve(run: Run, seed: str) -> Outcome:
    _, method, b, _ = prepared(run)
    every = run.every if seed != EXACT else 0
    found = _computed(run.data, _Steps(method), b, run.w0, run.sampling, every, seed)
    notes = found.notes | {"schedule": method.name}
    if run.data.source == "libsvm":
        notes["data"] = real_data(run.data.name)[2]
    return Outcome(found.numbers, notes)


@lru_cache(maxsize=256)
def _computed(
    data: Data, steps: _Steps, b: int, w0: float, sampling: str, every: int | str, seed: str
) -> Outcome:
    """A sampled run, or an expectation, by all that its numbers depend on."""
    p = problem(data)
    method = steps.method
    start = np.full(p.d, w0)
    if seed == EXACT:
        return expected(p, method, b, start)
    result = minimize(
        p,
        method,
        batch_size=b,
        seed=int(seed),
        w0=start,
        sampling=sampling,
        record_every=every,
    )
    names = ("k", "grad_norm", "gradient_evaluations")
    numbers = {name: result.history[name] for name in names}
    finished = numbers["k"][-1] == method.T  # a run that was cut short has no last point to show
    return Outcome(numbers, {"status": "finished" if finished else result.status})


def expected(p: Problem, method: Any, b: int, start: np.ndarray) -> Outcome:
    """The exact root mean squares along a schedule, thinned."""
    assert isinstance(method, Schedule), "a policy has no exact curve"
    curve = exact.expected(p, method, b, start)
    k = thinned(curve.T)
    numbers = {
        "k": k,
        "grad_norm": np.sqrt(curve.grad2[k]),
        "error": np.sqrt(curve.error2[k]),
    }
    return Outcome(numbers, {"status": "finished" if np.isfinite(curve.grad2[-1]) else "diverged"})


def thinned(T: int, points: int = EXACT_POINTS) -> np.ndarray:
    """0 .. T in equal steps with every early one, T among them.

    >>> thinned(10_000).size < 1100, thinned(5).tolist()
    (True, [0, 1, 2, 3, 4, 5])
    """
    even = np.arange(0, T + 1, max(1, T // points))
    return np.unique(np.concatenate([np.arange(min(T, 50) + 1), even, [T]]))
