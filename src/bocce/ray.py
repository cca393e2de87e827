"""Data beyond one machine: the rows live in Ray actors, w and the schedule in the driver.

A step k: the driver splits the batch over the parts by a draw keyed by (seed, k); each actor draws
its rows by (seed, part, k) and returns one sum of row gradients, and these are added in a fixed
tree. An actor that dies is started again from its source and answers as it would have.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from . import _checks, _extras, sampling, solve
from .blockfile import BlockFile
from .data._sources import table_rows
from .engines.checkpoint import contents
from .engines.outer import OuterEngine
from .problems import LeastSquares, LinearProblem, Logistic, PartedProblem
from .problems.parts import BlockLogistic, two_labels

with _extras.extra("ray"):
    import ray

WHERE = "ray.minimize"
FAN_IN = 8  # sums that are added at one place of the tree
PUT_BYTES = 100_000  # a larger w is stored once a step, a smaller one travels with each call
KINDS: dict[str, type[LinearProblem]] = {"squared": LeastSquares, "logistic": Logistic}


def minimize(
    parts: Any,
    method: Any = "auto",
    *,
    loss: str = "squared",
    l2: float = 0.0,
    T: int | None = None,
    batch_size: float | None = None,
    seed: int = 0,
    w0: Any = None,
    tol: float = 0.0,
    record_every: int | str = 1,
    callback: Callable[[solve.Progress], Any] | None = None,
    checkpoint: Any = None,
    workers: int | None = None,
    address: str | None = None,
) -> solve.Result:
    """``bocce.minimize`` on rows that are spread over the machines of a Ray cluster.

    The batch is a sample without replacement of the rows of all parts, fresh at each step (of
    the blocks, where the parts are block files). With batch_size = n the result is that of one
    machine, to rounding. An actor that is killed is started again and reloads its part from its
    source; a driver that is killed goes on from its checkpoint; the iterates are the same.

    Parameters
    ----------
    parts : a list with one entry a worker, of pairs (X, y) or of paths of block files that every
        machine can read; or a ``ray.data.Dataset`` whose last column is y. Parts may be empty.
    loss : "squared" or "logistic" (any two labels).
    workers : for a Dataset, over how many workers it is split; None is one a CPU.
    address : of a running cluster; None uses the one this process is connected to, or else
        starts one on this machine for the duration of the call.
    method, T, batch_size, seed, w0, tol, record_every, callback, checkpoint
        as in ``bocce.minimize``. Where the loss is logistic, or d > 1024, a record is a pass over
        all rows: take ``record_every="auto"``.

    Examples
    --------
    >>> import numpy as np, bocce.ray
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [2.0, 1.0]])
    >>> y = X @ np.array([1.0, -1.0])
    >>> r = bocce.ray.minimize([(X[:2], y[:2]), (X[2:], y[2:])], "shb", T=300)
    >>> r.w.round(6)
    array([ 1., -1.])
    """
    kind = KINDS[_checks.choice(WHERE, "loss", loss, KINDS)]
    l2 = _checks.real(WHERE, "l2", l2, least=0.0, remedy="0 is no regularisation")
    seed = sampling.check_seed(WHERE, seed)
    if workers is not None:
        workers = _checks.integer(WHERE, "workers", workers, remedy="None is one a CPU")
    found = _survey(parts, kind, workers)
    with _connected(address), _placed(found, kind, l2, seed) as problem:
        return solve.minimize(
            problem,
            method,
            T=T,
            batch_size=batch_size,
            seed=seed,
            w0=w0,
            tol=tol,
            record_every=record_every,
            callback=callback,
            checkpoint=checkpoint,
        )


def split(X: Any, y: Any, workers: int) -> list[tuple[Any, Any]]:
    """The rows in so many parts of nearly equal size, for ``minimize``.

    >>> import numpy as np
    >>> [part.shape[0] for part, _ in split(np.ones((5, 2)), np.ones(5), 2)]
    [2, 3]
    """
    workers = _checks.integer("split", "workers", workers, remedy="one actor a part")
    ends = [((i * len(y)) // workers, ((i + 1) * len(y)) // workers) for i in range(workers)]
    return [(X[a:b], y[a:b]) for a, b in ends]


@contextmanager
def _connected(address: str | None) -> Iterator[None]:
    """Ray, running; what was started here ends here."""
    mine = not ray.is_initialized()
    if mine:
        ray.init(address=address, include_dashboard=None if address else False)
    try:
        yield
    finally:
        if mine:
            ray.shutdown()


# -- where the rows come from ----------------------------------------------------------------------


class Survey(NamedTuple):
    """What the driver knows of the parts before any worker has started."""

    sources: list[Callable[[], Any]]  # what a worker calls to have its arrays or its BlockFile
    rows: list[int]
    units: list[int]  # what a batch is drawn from: rows, or blocks
    d: int
    classes: np.ndarray | None


def _survey(parts: Any, kind: type[LinearProblem], workers: int | None) -> Survey:
    if hasattr(parts, "iter_batches"):
        found = _survey_dataset(parts, kind, workers)
    elif not isinstance(parts, (list, tuple)) or not parts:
        raise TypeError(
            f"{WHERE}: parts={type(parts).__name__} must be a list of pairs (X, y) or of paths of "
            "block files with at least one entry, or a ray.data.Dataset."
        )
    elif all(isinstance(part, (str, os.PathLike)) for part in parts):
        found = _survey_files([BlockFile(part) for part in parts], kind)
    else:
        found = _survey_arrays(parts, kind)
    if sum(found.rows) == 0:
        raise ValueError(f"{WHERE}: parts hold no row, must hold at least one.")
    return found


def _one_width(widths: list[int]) -> int:
    for part, width in enumerate(widths):
        if width != widths[0]:
            raise ValueError(
                f"{WHERE}: part {part} has {width} columns, must have {widths[0]} as part 0; give "
                "every part the same columns."
            )
    return widths[0]


def _survey_arrays(parts: Any, kind: type[LinearProblem]) -> Survey:
    pairs = []
    for part, pair in enumerate(parts):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"{WHERE}: part {part} is {type(pair).__name__}, must be a pair (X, y); or give "
                "paths of block files only."
            )
        X = pair[0] if sp.issparse(pair[0]) else np.asarray(pair[0])
        pairs.append((X, np.asarray(pair[1])))
        if X.ndim != 2:
            raise ValueError(f"{WHERE}: part {part}: X has shape {X.shape}, must be (rows, d).")
    rows = [X.shape[0] for X, _ in pairs]
    d = _one_width([X.shape[1] for X, _ in pairs])
    classes = None
    if kind is Logistic and sum(rows):
        labels = np.unique(np.concatenate([np.unique(y) for X, y in pairs if X.shape[0]]))
        classes = two_labels("parts", labels.tolist())
    return Survey([_Arrays(*pair).checked(classes) for pair in pairs], rows, rows, d, classes)


class _Arrays(NamedTuple):
    X: Any
    y: np.ndarray

    def checked(self, classes: np.ndarray | None) -> _Arrays:
        """With y as numbers; least squares checks what any loss must."""
        if self.X.shape[0] == 0:
            return self
        y = self.y if classes is None else np.where(self.y == classes[1], 1.0, -1.0)
        problem = LeastSquares(self.X, y)
        return _Arrays(problem.X, problem.y)

    def __call__(self) -> _Arrays:
        return self


def _survey_files(files: list[BlockFile], kind: type[LinearProblem]) -> Survey:
    classes = None
    if kind is Logistic:
        many = any(file.labels is None for file in files)
        labels = sorted({label for file in files for label in file.labels or ()})
        classes = two_labels("parts", None if many else labels)
    return Survey(
        [_Opened(str(file.path)) for file in files],
        [file.n for file in files],
        [file.n_blocks for file in files],
        _one_width([file.d for file in files]),
        classes,
    )


class _Opened(NamedTuple):
    path: str

    def __call__(self) -> BlockFile:
        return BlockFile(Path(self.path))


def _survey_dataset(dataset: Any, kind: type[LinearProblem], workers: int | None) -> Survey:
    count = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    rows_here = dataset.materialize()  # read once
    shards = rows_here.split(count)
    columns = rows_here.schema().names
    classes = two_labels("parts", rows_here.unique(columns[-1])) if kind is Logistic else None
    rows = [shard.count() for shard in shards]
    return Survey(
        [_Shard(shard, classes) for shard in shards], rows, rows, len(columns) - 1, classes
    )


class _Shard(NamedTuple):
    """Rows of a Ray Dataset; where they are lost, Ray reads them again."""

    shard: Any
    classes: np.ndarray | None

    def __call__(self) -> _Arrays:
        batches = self.shard.iter_batches(batch_format="pyarrow", batch_size=None)
        pairs = [table_rows(batch) for batch in batches if len(batch)]
        X, y = np.concatenate([X for X, _ in pairs]), np.concatenate([y for _, y in pairs])
        return _Arrays(X, y).checked(self.classes)


# -- the workers -----------------------------------------------------------------------------------


class Worker:
    """One part: rows from their source, and sums over them. Killed, it is made anew the same."""

    def __init__(self, source: Any, kind: Any, l2: float, classes: Any, seed: int) -> None:
        from .engines.sums import BlockSums, Draws, RowSums

        rows = ray.get(source[0])()
        if not isinstance(rows, BlockFile):
            self.problem = kind.of_checked(*rows, l2)
        elif kind is Logistic:
            self.problem = BlockLogistic(rows, l2=l2, classes=classes)
        else:
            self.problem = kind(rows, l2=l2)
        self.sums = (RowSums, BlockSums)[self.problem.in_parts](self.problem)
        self.draws = Draws(seed, self.problem.units, self.problem.units)

    def ask(self, name: str, *args: Any) -> Any:
        """The part's answer to a method of its problem."""
        return getattr(self.problem, name)(*args)

    def contents(self) -> str:
        return contents(self.problem)

    def unit_sum(self, at: np.ndarray, k: int, count: int) -> np.ndarray:
        """The sum of row gradients over ``count`` units of step k."""
        return self.sums.of(at, self.draws.units(k, count))

    def row_sum(self, at: np.ndarray) -> np.ndarray:
        """The sum of all losses, then that of all row gradients."""
        loss, total = self.sums.everything(at)
        return np.concatenate([[loss], total])

    def add(self, *sums: np.ndarray) -> np.ndarray:
        """A place in the tree."""
        return _in_order(sums)


def _in_order(sums: Any) -> np.ndarray:
    total = np.array(sums[0])
    for other in sums[1:]:
        total += other
    return total


@contextmanager
def _placed(found: Survey, kind: type[LinearProblem], l2: float, seed: int) -> Iterator[Any]:
    """The problem, its parts in actors that end with it; a part keeps its number when others
    are empty."""
    remote = ray.remote(Worker).options(
        max_restarts=-1, max_task_retries=-1, scheduling_strategy="SPREAD"
    )
    held = [[ray.put(source)] for source in found.sources]  # for as long as they may be reloaded
    actors = {
        part: remote.remote(source, kind, l2, found.classes, sampling.part_seed(seed, part))
        for part, source in enumerate(held)
        if found.rows[part]
    }
    try:
        yield OF_ACTORS[kind](found, actors, l2)
    finally:
        for actor in actors.values():
            ray.kill(actor)


# -- the problem and its engine, in the driver -----------------------------------------------------


class ActorProblem(PartedProblem):
    """A problem whose parts live in actors."""

    def __init__(self, found: Survey, actors: dict[int, Any], l2: float) -> None:
        self.found, self.actors, self.l2 = found, actors, l2
        self.n, self.d = sum(found.rows), found.d
        self.engine = ActorEngine

    @property
    def units(self) -> int:
        """What a batch is drawn from: the rows, or the blocks, of all parts."""
        return sum(self.found.units)

    @cached_property
    def identity(self) -> str:
        answers = ray.get([actor.contents.remote() for actor in self.actors.values()])
        return hashlib.sha256(repr((self.found.rows, answers)).encode()).hexdigest()

    def over(self, name: str, *args: Any) -> Iterator[tuple[int, Any]]:
        pending = [actor.ask.remote(name, *args) for actor in self.actors.values()]
        for part, answer in zip(self.actors, pending):
            yield self.found.rows[part], ray.get(answer)


class ActorLeastSquares(ActorProblem, LeastSquares):
    pass


class ActorLogistic(ActorProblem, Logistic):
    pass


OF_ACTORS = {LeastSquares: ActorLeastSquares, Logistic: ActorLogistic}


class ActorEngine(OuterEngine):
    """Sends w out, and has the sums added on their way back."""

    def __init__(self, problem: ActorProblem, b: int, seed: int) -> None:
        super().__init__(problem, b)
        self.actors, self.seed = problem.actors, seed
        self.split: tuple[int, np.ndarray] = (-1, np.empty(0))

    def unit_sum(self, at: np.ndarray, k: int) -> np.ndarray:
        counts = self._counts(k)
        shared = self._shared(at)
        pending = [
            (part, actor.unit_sum.remote(shared, k, int(counts[part])))
            for part, actor in self.actors.items()
            if counts[part]
        ]
        self.split = k + 1, self._counts(k + 1)  # while the workers work
        return self._reduced(pending)

    def row_sum(self, at: np.ndarray) -> tuple[float, np.ndarray]:
        shared = self._shared(at)
        total = self._reduced(
            [(p, actor.row_sum.remote(shared)) for p, actor in self.actors.items()]
        )
        return float(total[0]), total[1:]

    def _counts(self, k: int) -> np.ndarray:
        if self.split[0] == k:
            return self.split[1]
        return sampling.split_counts(self.seed, k, self.problem.found.units, self.fetched)

    def _shared(self, at: np.ndarray) -> Any:
        return ray.put(at) if at.nbytes > PUT_BYTES else at

    def _reduced(self, pending: list[tuple[int, Any]]) -> np.ndarray:
        """The sum, in an order that depends on nothing but which parts take part."""
        while len(pending) > FAN_IN:
            groups = [pending[i : i + FAN_IN] for i in range(0, len(pending), FAN_IN)]
            pending = [
                (group[0][0], self.actors[group[0][0]].add.remote(*(ref for _, ref in group)))
                for group in groups
            ]
        return _in_order(ray.get([ref for _, ref in pending]))
