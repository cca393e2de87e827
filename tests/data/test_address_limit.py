"""A limit on addresses (``ulimit -v``): less is read at once, or the error says what is needed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import bocce
from bocce import _memory
from bocce.cli import _terminal
from tables_on_disk import parts_on_disk

LIMITED = """
import resource, sys, threading
import numpy as np, bocce, pyarrow as pa
from pyarrow import dataset, parquet
from bocce import _memory
path, n, d = sys.argv[1], 100_000, 50
rng = np.random.default_rng(0)
names = [f"x{j}" for j in range(d)]
with parquet.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in [*names, "y"]])) as to:
    for _ in range(n // 5000):
        X = rng.standard_normal((d, 5000))
        to.write_table(pa.table([*X, X.sum(axis=0)], [*names, "y"]))
assert isinstance(bocce.data.open(path), bocce.data.Table)  # 40 MB, without a limit
limit = max(_memory.LIBRARIES, _memory.addresses_taken()) + (120 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
file = bocce.data.open(path)
seen = [threading.active_count() for _ in file.stream(range(file.n_parts))]
print(type(file).__name__, file.n_parts, max(seen), pa.default_memory_pool().backend_name)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
def test_a_file_is_read_in_parts_without_threads(tmp_path):
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "a.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "Parts 20 1 system\n", done.stderr


@pytest.mark.parametrize("error", [MemoryError(), OSError(12, "Cannot allocate memory")])
def test_a_buffer_that_cannot_be_had_says_what_is_needed(tmp_path, monkeypatch, error):
    file = parts_on_disk(tmp_path / "a.arrow", np.ones((1 << 17, 7)), np.ones(1 << 17), 1 << 17)

    def full(key):
        raise error

    monkeypatch.setattr(file.reader, "rows", full)
    with pytest.raises(MemoryError, match=r"a part of 'a.arrow'.*: needs 8 MB more; close"):
        file.read(0)
    monkeypatch.setattr(_memory, "address_limit", lambda: 1 << 30)
    said = r"needs 8 MB more, and the address limit of 1,024 MB \(ulimit -v\) has .* left\. Lib"
    with pytest.raises(MemoryError, match=said):
        list(file.stream([0]))


def test_an_error_of_the_disk_is_not_called_memory(tmp_path, monkeypatch):
    file = parts_on_disk(tmp_path / "a.arrow", np.ones((4, 2)), np.ones(4), 2)

    def broken(key):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(file.reader, "rows", broken)
    with pytest.raises(OSError, match="Input/output error"):
        file.read(0)


def test_memory_is_what_the_limit_leaves(monkeypatch):
    before = _memory.machine_memory()
    monkeypatch.setattr(_memory, "address_limit", lambda: _memory.LIBRARIES + (1 << 20))
    monkeypatch.setattr(_memory, "addresses_taken", lambda: 1 << 20)
    assert _memory.machine_memory() == 1 << 19 < before
    monkeypatch.setattr(_memory, "addresses_taken", lambda: 1 << 40)
    assert _memory.machine_memory() == 0


@pytest.mark.usefixtures("small_text_parts")
def test_rows_that_find_no_memory_are_read_in_parts(tmp_path, monkeypatch):
    """The estimate may be wrong: what does not fit in fact is read again when asked for."""
    from bocce.data.read import parts

    add = parts.Growing.add

    def short(self, rows):
        if self.n + len(rows) > 200:
            raise MemoryError
        add(self, rows)

    monkeypatch.setattr(parts.Growing, "add", short)
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{i},{i + 1},{i + 2}\n" for i in range(1000)))
    file = bocce.data.open(path)
    assert isinstance(file, bocce.data.Parts)
    y = np.concatenate([y.copy() for _, y in file.stream(range(file.n_parts))])
    np.testing.assert_array_equal(y, np.arange(1000.0) + 2)


def test_the_command_line_names_a_remedy(capsys):
    assert _terminal._explained(MemoryError("Unable to allocate 9. GiB"), False) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "out of memory (Unable to allocate 9. GiB)" in said
    assert "--batch-size 0.02" in said
