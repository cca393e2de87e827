"""Peers in processes of their own: ``_peers_worker.py`` fits, this side asks."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _peers_cells import Cell

NAMES = ("cyanure", "glum", "skglm", "adelie", "snapml", "intelex", "statsmodels", "SciPy", "torch")
WORKER = Path(__file__).with_name("_peers_worker.py")


class Peer:
    """A process that fits one cell with one peer; made when the first fit is asked for."""

    def __init__(self, name: str, python: str) -> None:
        self.name, self.python = name, python
        self.process: Any = None
        self.folder: Any = None

    def _begin(self, cell: Cell) -> None:
        self.folder = tempfile.TemporaryDirectory()
        rows = {"X": cell.X}
        if not isinstance(cell.X, np.ndarray):
            rows = {name: getattr(cell.X, name) for name in ("data", "indices", "indptr", "shape")}
        np.savez(f"{self.folder.name}/data.npz", y=cell.y, l2=cell.l2, loss=cell.loss, **rows)
        command = [self.python, str(WORKER), self.name, self.folder.name]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True,
        )  # fmt: skip
        said = self.process.stdout.readline().strip()
        if said != "ready":
            raise ValueError(said or "could not be started")
        self._ask(1.0)  # compiles and loads

    def _ask(self, setting: float) -> float:
        self.process.stdin.write(f"{setting!r}\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline().strip()
        try:
            return float(said)
        except ValueError:
            raise ValueError(said or "the process ended") from None

    def fit(self, cell: Cell, setting: float) -> tuple[np.ndarray, None, float]:
        """The point, no count of passes, and the CPU seconds that the process took."""
        if self.process is None:
            self._begin(cell)
        seconds = self._ask(setting)
        return np.load(f"{self.folder.name}/{self.name}.npy"), None, seconds

    def close(self) -> None:
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait(timeout=60)
        if self.folder is not None:
            self.folder.cleanup()


def missing(python: str = sys.executable) -> list[str]:
    """The peers that this interpreter cannot import, with its reason."""
    found = []
    for name in NAMES:
        peer = subprocess.run(
            [python, str(WORKER), name, "."], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        said = (peer.stdout.splitlines() or ["could not be started"])[0]
        if said != "ready":
            found.append(f"{name}: {said}")
    return found
