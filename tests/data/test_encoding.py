"""Text, categories, dates and truth values as features: encoded when asked for, else refused."""

from __future__ import annotations

import datetime
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce.data import open as open_

pa = pytest.importorskip("pyarrow")
from pyarrow import csv, feather, parquet  # noqa: E402

from tables_on_disk import whole  # noqa: E402

pytestmark = pytest.mark.usefixtures("small_text_parts")

N = 300
SIZES = ["L", "M", "S"]
DAY = datetime.date(2024, 2, 29)


def made(n=N, seed=0):
    rng = np.random.default_rng(seed)
    days = [DAY + datetime.timedelta(days=int(k)) for k in rng.integers(0, 500, n)]
    return pa.table(
        {
            "age": rng.standard_normal(n).round(3),
            "size": [SIZES[k] for k in rng.integers(0, 3, n)],
            "day": pa.array(days, pa.date32()),
            "smoker": rng.random(n) < 0.5,
            "y": rng.standard_normal(n).round(3),
        }
    )


def write(path, table):
    if path.suffix == ".csv":
        csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=40)
    else:
        feather.write_feather(table, str(path), chunksize=40)
    return path


def expected(table):
    sizes, days = np.array(table["size"].to_pylist()), table["day"].cast(pa.int32()).to_numpy()
    columns = [table["age"], *(sizes == size for size in SIZES), days, table["smoker"]]
    return np.column_stack([np.asarray(column, float) for column in columns])


KINDS = ["a.csv", "a.parquet", "a.arrow"]
NAMES = ["age", "size=L", "size=M", "size=S", "day", "smoker"]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("memory", [None, 14_000])
def test_every_format_gives_the_same_columns(tmp_path, name, memory):
    table = made()
    data = open_(write(tmp_path / name, table), encode="onehot", memory=memory)
    assert data.columns == NAMES
    assert isinstance(data, bocce.BlockFile) == (memory is not None)
    X, y = data if memory is None else whole(data)
    np.testing.assert_array_equal(X, expected(table))
    np.testing.assert_array_equal(y, table["y"].to_numpy())
    assert str(data.encoding) == (
        "size as 3 columns of 0 and 1; day as days since 1970-01-01; smoker as 0 and 1"
    )
    again = pickle.loads(pickle.dumps(data))
    assert again.encoding == data.encoding


@pytest.mark.parametrize("kind", ["pandas", "polars", "dictionary"])
def test_tables_given_directly(kind):
    table = made()
    if kind == "dictionary":
        source = table.set_column(1, "size", table["size"].dictionary_encode())
    else:
        module = pytest.importorskip(kind)
        source = table.to_pandas() if kind == "pandas" else module.from_arrow(table)
    data = open_(source, encode="onehot")
    np.testing.assert_array_equal(data.X, expected(table))
    assert data.columns == NAMES


def test_the_categories_of_an_arrow_dictionary_are_all_columns():
    """Also one without a row."""
    codes = pa.array([0, 1, 0, 1], pa.int8())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b", "never"]))
    data = open_(pa.table({"c": column, "y": [1.0, 2.0, 3.0, 4.0]}), encode="onehot")
    assert data.columns == ["c=a", "c=b", "c=never"]
    assert data.X.tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("name", KINDS)
def test_nothing_is_encoded_in_silence(tmp_path, name):
    path = write(tmp_path / name, made())
    with pytest.raises(ValueError, match=r"column 'size' .*encode=\"onehot\""):
        open_(path)
    data = open_(path, columns=["age", "smoker"])
    assert set(np.unique(data.X[:, 1])) == {0.0, 1.0}
    assert str(data.encoding) == "smoker as 0 and 1"
    assert open_(path, columns=["age"]).encoding is None


@pytest.mark.parametrize("words", ["True,False", "true,false", "TRUE,FALSE"])
def test_truth_values_in_csv(tmp_path, words):
    yes, no = words.split(",")
    path = tmp_path / "a.csv"
    path.write_text(f"a,b,y\n{yes},1,2\n{no},2,3\n{yes},3,4\n")
    assert open_(path).X.tolist() == [[1, 1], [0, 2], [1, 3]]
    path.write_text(f"a,b,y\n{yes},1,2\n{no},2,3\n" + "maybe,3,4\n")
    with pytest.raises(ValueError, match=rf"a.csv, line 2: '{yes}' in column 'a' must be"):
        open_(path)
    path.write_text("a,b,y\n" + f"{yes},1,2\n{no},2,3\n" * 30_000 + "maybe,3,4\n")
    with pytest.raises(ValueError, match=r"line 60002: 'maybe' in column 'a' must be True or Fal"):
        open_(path)


def test_a_table_with_quotes_gaps_and_truth_values(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('who,ok,when,y\n"a, b",True,2020-01-01,1\n c ,,2020-01-02,2\nNA,False,,3\n')
    data = open_(path, encode="onehot", missing="drop")
    assert data.columns == ["who= c ", "who=a, b", "ok", "when"]
    assert data.X.tolist() == [[0, 1, 1, 18262]]
    with pytest.raises(ValueError, match=r"a.csv, line 3: column 'ok' is missing or NaN"):
        open_(path, encode="onehot")


def test_times_are_days_with_a_fraction(tmp_path):
    noon = [datetime.datetime(1970, 1, 2, 12), datetime.datetime(1969, 12, 31, 18)]
    for kind in (pa.timestamp("ms"), pa.timestamp("ns", "UTC"), pa.timestamp("s")):
        table = pa.table({"t": pa.array(noon).cast(kind), "y": [1.0, 2.0]})
        assert open_(table, encode="onehot").X.tolist() == [[1.5], [-0.25]]


@pytest.mark.parametrize("name", KINDS)
def test_an_encoding_is_applied_to_new_data(tmp_path, name):
    table = made()
    encoding = open_(write(tmp_path / name, table), encode="onehot").encoding
    few = table.filter(pa.compute.equal(table["size"], "S"))
    again = open_(write(tmp_path / f"new-{name}", few), encode=encoding)
    assert again.columns == NAMES
    np.testing.assert_array_equal(again.X, expected(few))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("memory", [None, 14_000])
def test_unseen_categories_are_named_or_zeros(tmp_path, name, memory):
    table = made()
    encoding = open_(write(tmp_path / name, table), encode="onehot").encoding
    sizes = table["size"].to_pylist()
    sizes[70], sizes[71], sizes[250] = "XL", "tiny", "XL"
    path = write(tmp_path / name, table.set_column(1, "size", pa.array(sizes)))
    where = {"a.csv": "line 72", "a.parquet": "row group 1, row 30"}.get(name, "batch 1, row 30")
    message = rf"{where}: .*'XL'.* in column 'size' must be one of the 3 categories of the fit"
    with pytest.raises(ValueError, match=message):
        open_(path, encode=encoding, memory=memory)
    found = open_(path, encode=encoding, unknown="ignore", memory=memory)
    X = found.X if memory is None else whole(found)[0]
    wanted = expected(table)
    wanted[[70, 71, 250], 1:4] = 0.0
    np.testing.assert_array_equal(X, wanted)


def test_columns_of_another_type_are_refused(tmp_path):
    table = made()
    encoding = open_(table, encode="onehot").encoding
    for place, name, other in ((1, "size", "age"), (2, "day", "age"), (0, "age", "size")):
        with pytest.raises(ValueError, match=rf"column '{name}' is .*, must be .* as in the fit"):
            open_(table.set_column(place, name, table[other]), encode=encoding)


def test_what_cannot_be_encoded_is_refused(tmp_path):
    many = pa.table({"id": [f"row {i}" for i in range(1500)], "y": np.arange(1500.0)})
    with pytest.raises(ValueError, match=r"'id' has more than 1000 different values, too many"):
        open_(many, encode="onehot")
    nothing = pa.table({"c": pa.array([None, None], pa.string()), "y": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"column 'c' has no value in any row"):
        open_(nothing, encode="onehot")
    with pytest.raises(ValueError, match=r"encode='dummy' must be .*'onehot'"):
        open_(many, encode="dummy")
    with pytest.raises(ValueError, match="unknown='guess' must be one of 'refuse', 'ignore'"):
        open_(many, encode="onehot", unknown="guess")
    (tmp_path / "a.svm").write_text("1 1:2\n")
    with pytest.raises(ValueError, match="encode must be left out for LIBSVM"):
        open_(tmp_path / "a.svm", encode="onehot")


@given(st.lists(st.sampled_from(["a", "b", "", "é", "a b", "NA?"]), min_size=1, max_size=30))
@settings(max_examples=50, deadline=None)
def test_every_row_has_its_own_category(values):
    data = open_(pa.table({"c": values, "y": np.zeros(len(values))}), encode="onehot")
    assert data.columns == [f"c={value}" for value in sorted(set(values))]
    assert [data.columns[row.argmax()] for row in data.X] == [f"c={value}" for value in values]
    np.testing.assert_array_equal(data.X.sum(axis=1), 1.0)


# -- the index of pandas ---------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["", "Unnamed: 0", '""'])
def test_the_index_of_pandas_is_refused_with_the_remedy(tmp_path, first):
    path = tmp_path / "a.csv"
    path.write_text(f"{first},a,y\n0,1.5,2\n1,2.5,3\n")
    message = r"a.csv: column '.*' is the index of a pandas table, .* index=False, or name the col"
    with pytest.raises(ValueError, match=message):
        open_(path)
    assert open_(path, columns=["a"]).X.tolist() == [[1.5], [2.5]]


def test_the_index_in_parquet_is_refused(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.5, 2.5], "y": [1.0, 2.0]}, index=[5, 7])
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="'__index_level_0__' is the index of a pandas table"):
        open_(tmp_path / "a.parquet", target="y")
