"""What is computed, as data: problems, runs, cells and profiles. Nothing here runs."""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# How the experiments are read: the text's methods on the text's rows; the same methods on the rows
# that the released code makes; what the released code does; what its one published panel shows.
SETTINGS = ("paper", "released-rows", "authors", "published")
EXACT = "exact"  # in the place of a seed: expectations computed, not sampled
TABLE = "table"  # in the place of a seed: numbers without any randomness
FORMAT = 1  # raise it when the meaning of stored numbers changes: old cells are then run again
POINTS = 700  # recorded of a sampled run
Key = tuple[str, str, str, str, str]  # figure, setting, panel, method, seed


@dataclass(frozen=True)
class Data:
    """A problem, in full: equal values are the same problem to the last bit.

    source: "regression" (synthetic design), "diagonal" (the lower bound's) or "libsvm" (``name``).
    keep: the share of the rows that is used; of a synthetic design the first, of real data a
    random one. nominal: methods are told L = mu_nominal kappa and mu = mu_nominal, true or not.
    """

    source: str
    name: str = ""
    n: int = 0
    d: int = 0
    kappa: float = 1.0
    noise_var: float = 0.0
    design: str = "haar"
    mu: float = 10.0
    keep: float = 1.0
    nominal: bool = False
    loss: str = "squared"
    l2: float = 0.0


@dataclass(frozen=True)
class Run:
    """One method on one problem: sampled with a seed, or its exact expectation.

    ``batch`` is rows if an int, a share of n if a float. ``T`` is steps; ``passes``, where it is
    not 0, stands for as many passes over the data instead. ``wrong_L`` and ``wrong_mu`` multiply
    the constants that the method is told.
    """

    data: Data
    rule: str
    setting: str
    batch: int | float
    T: int = 0
    passes: float = 0.0
    every: int | str = 1
    w0: float = 0.0
    sampling: str = "independent"
    wrong_L: float = 1.0
    wrong_mu: float = 1.0


@dataclass(frozen=True)
class NamedTable:
    """Numbers from a function of an exhibit (`Exhibit.tables`), called with these arguments."""

    name: str
    arguments: tuple[tuple[str, Any], ...] = ()


def table(name: str, **arguments: Any) -> NamedTable:
    """
    >>> table("psi_grid", n=100, b=70).arguments
    (('n', 100), ('b', 70))
    """
    return NamedTable(name, tuple(arguments.items()))


@dataclass(frozen=True)
class Cell:
    """The smallest thing that is computed, stored and resumed."""

    figure: str
    setting: str
    panel: str
    method: str
    seed: str
    job: Run | NamedTable

    @property
    def key(self) -> Key:
        return self.figure, self.setting, self.panel, self.method, self.seed

    @property
    def path(self) -> str:
        """Where it is stored, below the folder of cells, without the ending.

        >>> Cell("shb_quad", "paper", "kappa=200, r=0.01", "2P-SHB", "0", NamedTable("t")).path
        'shb_quad/paper/kappa-200_r-0.01/2p-shb/0'
        """
        return "/".join([self.figure, self.setting, slug(self.panel), slug(self.method), self.seed])

    def identity(self) -> str:
        """The whole specification as one line of JSON: what a stored cell must agree with."""
        content = dataclasses.asdict(self) | {"kind": type(self.job).__name__, "format": FORMAT}
        return json.dumps(content, sort_keys=True)


@dataclass(frozen=True)
class Outcome:
    """Numbers, and words about them: "status", "data" (a stand-in), "missing" (no data)."""

    numbers: dict[str, np.ndarray] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, **columns: Any) -> Outcome:
        """Columns of numbers; a single number is a column of length one.

        >>> Outcome.of(T=7).numbers
        {'T': array([7])}
        """
        return cls({name: np.atleast_1d(values) for name, values in columns.items()})


def table_cell(figure: str, setting: str, panel: str, method: str, job: NamedTable) -> Cell:
    return Cell(figure, setting, panel, method, TABLE, job)


def run_cells(
    figure: str, setting: str, panel: str, method: str, run: Run, seeds: int, exact: bool
) -> list[Cell]:
    """The cells of one curve: its seeds, and its expectation where there is one."""
    names = [str(seed) for seed in range(seeds)] + [EXACT] * exact
    return [Cell(figure, setting, panel, method, seed, run) for seed in names]


@dataclass(frozen=True)
class Profile:
    """How much of each experiment is done. Claims about the paper are judged at its own sizes."""

    name: str
    rows: int  # of the synthetic designs
    columns: int
    share: float  # of the paper's T
    seeds: int  # at most
    passes: float  # over the LIBSVM data
    judges: bool = True  # is it large enough to say something about the paper?

    @property
    def few_rows(self) -> int:
        """Of designs on which many methods are compared exactly."""
        return min(2000, self.rows)

    def steps(self, T: int) -> int:
        """The paper's T, cut to this profile.

        >>> PROFILES["paper"].steps(7000), PROFILES["smoke"].steps(7000)
        (7000, 28)
        """
        return max(20, round(self.share * T))

    def runs(self, wanted: int) -> int:
        return min(wanted, self.seeds)

    def counted(self, wanted: int) -> str:
        """
        >>> PROFILES["paper"].counted(3), PROFILES["smoke"].counted(3)
        ('3 runs', '1 run')
        """
        return f"{self.runs(wanted)} run{'s' * (self.runs(wanted) > 1)}"

    def every(self, T: int) -> int:
        """A recorded run keeps about `POINTS` points."""
        return max(1, T // POINTS)


PROFILES = {
    "paper": Profile("paper", rows=10_000, columns=20, share=1.0, seeds=5, passes=100.0),
    "smoke": Profile("smoke", rows=60, columns=20, share=0.004, seeds=1, passes=1.0, judges=False),
}


def slug(text: str) -> str:
    """A name for files.

    >>> slug("kappa=1000, r=1e-06")
    'kappa-1000_r-1e-06'
    """
    return re.sub(r"[^a-z0-9._+-]+", "-", text.lower().replace(", ", "_"))
