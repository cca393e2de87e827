"""LIBSVM text: megabytes a second of CPU time, ours and scikit-learn's, and what each refuses.

    BOCCE_DATA=folder python benchmarks/studies/libsvm_text.py

The files of the folder in turns, five times each; then lines that are wrong, and what is said.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from sklearn.datasets import load_svmlight_file

import bocce
from bocce.data.libsvm import find
from bocce.data.read.paths import File
from bocce.data.read.text import text_chunks

NAMES = ("ijcnn1.tr", "a9a", "w8a", "mushrooms", "abalone_scale")
LOADERS: dict[str, Callable[[Path], Any]] = {
    "bocce": bocce.data.open,
    "scikit-learn": load_svmlight_file,
}
WRONG = ("1 3:1 2:3", "1 2:1 2:3", "1 1:abc", "1 1:nan", "1 1:1e999", "1 5", "1 99999999999:1")


def seconds(loader: Callable[[Path], Any], path: Path) -> float:
    start = time.process_time()
    loader(path)
    return time.process_time() - start


def rates(path: Path) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in LOADERS}
    for _ in range(5):
        for name, loader in LOADERS.items():
            times[name].append(seconds(loader, path))
    size = path.stat().st_size / 1e6
    return {name: size / statistics.median(spent) for name, spent in times.items()}


def answer(loader: Callable[[Path], Any], path: Path) -> str:
    try:
        loader(path)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "accepted"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            if (found := find(name)) is not None:
                plain = Path(folder) / name
                plain.write_bytes(b"".join(text_chunks(File(str(found)))))
                shown = ", ".join(f"{who} {rate:.0f} MB/s" for who, rate in rates(plain).items())
                print(f"{name:15s} {shown}")
        wrong = Path(folder) / "wrong.svm"
        for line in WRONG:
            wrong.write_text(f"1 1:2\n{line}\n")
            for who, loader in LOADERS.items():
                print(f"{line:17s} {who:13s} {answer(loader, wrong)[:90]}")


if __name__ == "__main__":
    main()
