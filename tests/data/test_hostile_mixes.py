"""Files that do not belong together: refused by name, row group and row, and nothing is written."""

from __future__ import annotations

import numpy as np
import pytest

from bocce.data import open as open_

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

from tables_on_disk import refused, three_columns  # noqa: E402

OTHER = [
    (
        lambda t: t.drop_columns(["b"]),
        "part-3.parquet: has no column 'b', must have the columns of",
    ),
    (lambda t: t.append_column("c", t["a"]), "part-3.parquet: has a column 'c' more"),
    (lambda t: t.rename_columns(["a", "B", "y"]), "part-3.parquet: has no column 'b'"),
    (
        lambda t: t.set_column(1, "b", pa.array(["x"] * 100)),
        "part-3.parquet: column 'b' has type string, must be real numbers",
    ),
    (
        lambda t: t.set_column(2, "y", pa.array(["x"] * 100)),
        "part-3.parquet: column 'y' is text and number in part-0.parquet; write the files alike",
    ),
    (
        lambda t: t.set_column(1, "b", pa.array([None] * 100)),
        "part-3.parquet, row group 0, row 0: column 'b' is missing or NaN",
    ),
]


@pytest.mark.parametrize(("change", "message"), OTHER)
def test_a_schema_that_changes_between_files(tmp_path, change, message):
    folder = tmp_path / "data"
    folder.mkdir()
    for i in range(5):
        made = change(three_columns()) if i == 3 else three_columns()
        parquet.write_table(made, folder / f"part-{i}.parquet")
    refused(str(folder / "*.parquet"), message)


def test_columns_in_another_order_are_the_same_columns(tmp_path):
    parquet.write_table(three_columns(), tmp_path / "0.parquet")
    parquet.write_table(three_columns().select(["y", "b", "a"]), tmp_path / "1.parquet")
    X, y = open_(tmp_path)
    np.testing.assert_array_equal(X[:100], X[100:])
    np.testing.assert_array_equal(y[:100], y[100:])


def test_csv_columns_in_another_order_are_the_same_columns(tmp_path):
    (tmp_path / "0.csv").write_text("a,b,y\n1,2,3\n")
    (tmp_path / "1.csv").write_text("y,b,a\n6,5,4\n")
    X, y = open_(tmp_path)
    assert (X.tolist(), y.tolist()) == ([[1, 2], [4, 5]], [3, 6])


def test_lists_of_another_length_are_refused(tmp_path):
    for length in (2, 3):
        lists = pa.FixedSizeListArray.from_arrays(np.arange(length * 4.0), length)
        parquet.write_table(pa.table({"a": lists, "y": [1.0] * 4}), tmp_path / f"{length}.parquet")
    message = "3.parquet: column 'a' is 3 numbers and 2 numbers in 2.parquet; write the files alike"
    with pytest.raises(ValueError, match=message):
        open_(tmp_path)


def test_digits_are_not_dropped_in_silence(tmp_path):
    single = three_columns().select(["a", "y"])
    single = single.set_column(0, "a", single["a"].cast(pa.float32()))
    parquet.write_table(single, tmp_path / "0.parquet")
    parquet.write_table(three_columns().select(["a", "y"]), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"1.parquet: has features beyond float32, .* 0.parquet"):
        open_(tmp_path)
    assert open_(tmp_path, dtype="float32").X.dtype == np.float32
    assert open_(tmp_path, dtype="float64").X.dtype == np.float64


def test_csv_files_with_other_columns_and_mixed_formats(tmp_path):
    (tmp_path / "0.csv").write_text("a,b,y\n1,2,3\n")
    (tmp_path / "1.csv").write_text("a,c,y\n1,2,3\n")
    with pytest.raises(
        ValueError, match=r"1.csv: has no column 'b', must have the columns of 0.csv"
    ):
        open_(tmp_path)
    (tmp_path / "1.csv").rename(tmp_path / "1.svm")
    with pytest.raises(ValueError, match=r"1.svm is LIBSVM and 0.csv CSV, must be of one format"):
        open_(tmp_path)


@pytest.mark.parametrize("bad", [np.nan, np.inf, None])
def test_one_bad_value_in_the_middle_of_file_400(tmp_path, bad):
    folder = tmp_path / "data"
    folder.mkdir()
    made = three_columns(30)
    for i in range(410):
        parquet.write_table(made, folder / f"{i:03d}.parquet", row_group_size=10)
    column = made["b"].to_pylist()
    column[17] = bad
    parquet.write_table(
        made.set_column(1, "b", pa.array(column, from_pandas=False)), folder / "400.parquet",
        row_group_size=10,
    )  # fmt: skip
    refused(str(folder / "*"), "400.parquet, row group 1, row 7: column 'b' is ")
