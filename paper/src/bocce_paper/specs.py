"""What is computed, as data: problems, runs, cells and profiles. Nothing here runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import numpy as np

# The four ways to read the experiments: the text's methods on the text's rows; the same methods on
# the rows that the released code makes; the released code; its one published panel.
SETTINGS = ("paper", "released-rows", "authors", "published")
EXACT = "exact"  # The seed of a cell with expectations, which are computed and not sampled.
TABLE = "table"  # The seed of a cell with numbers that have no randomness.
FORMAT = 1  # A larger number makes every stored cell invalid: the cells are computed again.
POINTS = 700  # A sampled run records about this many points.
Json: TypeAlias = dict[str, Any]  # Names and values, as JSON has them.
Key = tuple[str, str, str, str, str]  # Figure, setting, panel, method and seed.


@dataclass(frozen=True)
class Data:
    """A problem, in full: equal values are the same problem to the last bit.

    ``source`` is "regression" (synthetic design), "diagonal" (problem of the lower bound), "libsvm"
    (``name``) or "file" (``name`` is its path). ``keep`` is the share of the rows that is used: the
    first rows of a synthetic design, random rows of real data. With ``nominal``, methods get
    L = mu kappa and mu of the design, whatever the constants of the rows are.
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

    ``batch`` is a number of rows (int) or a share of n (float). ``T`` is the number of steps; a
    positive ``passes`` replaces ``T`` by that many passes over the data. ``wrong_L`` and
    ``wrong_mu`` multiply the constants that the method gets.
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
class Outcome:
    """Numbers, and words about them: "status", "data" (a stand-in), "missing" (no data).

    ``made`` holds the versions, the machine and the time with which a stored cell was computed.
    """

    numbers: dict[str, np.ndarray] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, **columns: Any) -> Outcome:
        """Columns of numbers. A single number is a column of length one."""
        return cls({name: np.atleast_1d(values) for name, values in columns.items()})


@dataclass(frozen=True)
class NamedTable:
    """Numbers from a function of an exhibit, called with these arguments."""

    function: Callable[..., Outcome]
    arguments: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        return self.function.__name__


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

        >>> Cell("shb_quad", "paper", "kappa=200, r=0.01", "2P-SHB", "0", NamedTable(slug)).path
        'shb_quad/paper/kappa-200_r-0.01/2p-shb/0'
        """
        return "/".join([self.figure, self.setting, slug(self.panel), slug(self.method), self.seed])

    def identity(self) -> str:
        """The specification as one line of JSON: what a stored cell must agree with."""
        content = asdict(self) | {"kind": type(self.job).__name__, "format": FORMAT}
        if isinstance(self.job, NamedTable):
            content["job"] = {"name": self.job.name, "arguments": self.job.arguments}
        return json.dumps(content, sort_keys=True)


Part = tuple[str, str, str, Run | NamedTable]  # A cell of some exhibit: panel, method, seed, job.


def table(panel: str, method: str, function: Callable[..., Outcome], **arguments: Any) -> Part:
    """The cell of a function's numbers. A function that takes a ``seed`` is sampled.

    >>> table("b=70", "Psi", slug, text="A")[:3], table("b=1", "PAN", slug, seed=4)[:3]
    (('b=70', 'Psi', 'table'), ('b=1', 'PAN', '4'))
    """
    seed = str(arguments.get("seed", TABLE))
    return panel, method, seed, NamedTable(function, tuple(arguments.items()))


def curve(panel: str, method: str, run: Run, seeds: int = 0, exact: bool = True) -> list[Part]:
    """The cells of one curve: a sampled run for each seed, and the exact expectation."""
    names = [str(seed) for seed in range(seeds)] + [EXACT] * exact
    return [(panel, method, seed, run) for seed in names]


@dataclass(frozen=True)
class Profile:
    """How much of each experiment is done. Claims about the paper are judged at its own sizes.

    ``rows`` and ``columns`` are of the synthetic designs, ``share`` is of the paper's T, ``seeds``
    is the largest number of runs, ``passes`` are over the LIBSVM data. A profile that ``judges`` is
    large enough to say something about the paper.
    """

    name: str
    rows: int
    columns: int
    share: float
    seeds: int
    passes: float
    judges: bool = True

    @property
    def few_rows(self) -> int:
        """The rows of designs on which many methods are compared exactly."""
        return min(2000, self.rows)

    def regression(self, kappa: float, noise_var: float, design: str = "haar") -> Data:
        """The synthetic design of this profile."""
        size = (self.rows, self.columns)
        return Data("regression", "", *size, kappa=kappa, noise_var=noise_var, design=design)

    def steps(self, T: int) -> int:
        """The paper's T, shortened for this profile.

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
        """A run of T steps is recorded at every so many steps."""
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
