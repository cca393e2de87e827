"""Named data sets: found, fetched, checked and kept; what was altered is refused."""

import bz2
import hashlib
import http.server
import os
import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from bocce.data import libsvm, load

TEXT = b"-1 1:0.5 3:2\n+1 2:1\n-1 3:0.25\n"
SHA = hashlib.sha256(TEXT).hexdigest()
TINY = libsvm.Known(3, 3, (-1, 1), "binary/tiny.bz2", SHA)
# A small data set, whose site does not answer, and a data set that is on no site.
SETS = libsvm.Collection(
    "http://127.0.0.1:9/", {"tiny": TINY, "here": libsvm.Known(1, 1, (1,), None)}
)


class Site(NamedTuple):
    """A folder that a web server shows, and the data sets whose site it is."""

    folder: Path
    sets: libsvm.Collection


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Empty folders for data and cache."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("BOCCE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BOCCE_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def site(home, monkeypatch):
    """A web server in place of the LIBSVM site."""
    folder = home / "site"
    (folder / "binary").mkdir(parents=True)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(folder))
    )
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
    thread.start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield Site(folder, replace(SETS, site=f"http://127.0.0.1:{server.server_port}/"))
    server.shutdown()
    thread.join()
    server.server_close()


def is_tiny(table):
    X, y = table
    return X.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0], [0, 0, 0.25]] and y.tolist() == [
        -1,
        1,
        -1,
    ]


@pytest.mark.parametrize("folder", ["data", "cache"])
@pytest.mark.parametrize(("end", "pack"), [("", bytes), (".bz2", bz2.compress)])
def test_found_in_either_folder(home, folder, end, pack):
    (home / folder).mkdir(exist_ok=True)
    (home / folder / f"tiny{end}").write_bytes(pack(TEXT))
    assert is_tiny(SETS.load("tiny"))


def test_the_data_folder_comes_first(home):
    (home / "cache").mkdir()
    (home / "cache" / "tiny").write_bytes(TEXT)
    (home / "data" / "tiny").write_bytes(b"altered")
    with pytest.raises(ValueError, match="'altered'"):
        SETS.load("tiny")


def test_parsed_once_then_read_from_the_cache(home, monkeypatch):
    (home / "data" / "tiny").write_bytes(TEXT)
    SETS.load("tiny")
    assert [path.suffix for path in (home / "cache").iterdir()] == [".npz"]
    monkeypatch.setattr(libsvm, "gather", None)
    assert is_tiny(SETS.load("tiny"))


def test_another_file_is_not_answered_from_the_cache(home):
    (home / "data" / "tiny").write_bytes(TEXT)
    SETS.load("tiny")
    (home / "data" / "tiny").write_bytes(TEXT.replace(b"0.25", b"0.26"))
    with pytest.raises(ValueError, match="SHA-256"):
        SETS.load("tiny")


@pytest.mark.parametrize("harm", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"x" + b])
def test_a_damaged_cache_is_made_again(home, harm):
    (home / "data" / "tiny").write_bytes(TEXT)
    SETS.load("tiny")
    (kept,) = (home / "cache").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(harm(whole))
    assert is_tiny(SETS.load("tiny"))
    with np.load(kept, allow_pickle=False) as archive:
        assert archive["y"].tolist() == [-1.0, 1.0, -1.0]


def test_a_cache_that_cannot_be_written_is_no_error(home, monkeypatch):
    (home / "data" / "tiny").write_bytes(TEXT)
    (home / "file").write_text("in the way")
    monkeypatch.setenv("BOCCE_CACHE", str(home / "file"))
    assert is_tiny(SETS.load("tiny"))


ALTERED = [
    (TEXT[:13], "the number of rows is 1, not 3", "the set of labels is -1, not -1, 1"),
    (TEXT.replace(b"3:2", b"4:2"), "the largest index is 4, not 3", "the SHA-256 of the text is"),
    (TEXT.replace(b"+1", b"+2"), "the set of labels is -1, 2, not -1, 1", "SHA-256"),
    (TEXT.replace(b"0.25", b"0.26"), "the SHA-256 of the text is", f"not {SHA}"),
]


@pytest.mark.parametrize(("text", "first", "second"), ALTERED)
def test_an_altered_file_is_refused_with_what_differs(home, text, first, second):
    path = home / "data" / "tiny"
    path.write_bytes(text)
    with pytest.raises(ValueError, match="is not tiny, or was truncated or altered") as caught:
        SETS.load("tiny")
    for part in (str(path), first, second):
        assert part in str(caught.value)
    assert not (home / "cache").exists()


def test_a_truncated_archive_is_refused(home):
    (home / "data" / "tiny.bz2").write_bytes(bz2.compress(TEXT)[:-8])
    with pytest.raises(ValueError, match=r"tiny\.bz2: the compressed file is truncated"):
        SETS.load("tiny")


def test_fetched_from_the_site_once(site, home):
    pytest.importorskip("pooch", reason="the extra `data` is not installed")
    (site.folder / "binary" / "tiny.bz2").write_bytes(bz2.compress(TEXT))
    assert is_tiny(site.sets.load("tiny"))
    (site.folder / "binary" / "tiny.bz2").unlink()
    assert is_tiny(site.sets.load("tiny"))
    assert (home / "cache" / "tiny.bz2").is_file()


def test_pooch_compares_the_hash_of_plain_text(site):
    """The hash of packed text is not known: there the text is hashed when it is parsed."""
    pytest.importorskip("pooch", reason="the extra `data` is not installed")
    sets = replace(site.sets, known={"tiny": TINY._replace(page="binary/tiny")})
    (site.folder / "binary" / "tiny").write_bytes(TEXT.replace(b"0.25", b"0.26"))
    with pytest.raises(ValueError, match=r"hash of downloaded file \(tiny\) does not match"):
        sets.load("tiny")
    assert libsvm.find("tiny") is None
    (site.folder / "binary" / "tiny").write_bytes(TEXT)
    assert is_tiny(sets.load("tiny"))


BODIES = {"cut": bz2.compress(TEXT)[:-8], "short": bz2.compress(TEXT[:13]), "page": b"<html>"}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_wrong_download_is_refused_and_removed(site, home, body):
    pytest.importorskip("pooch", reason="the extra `data` is not installed")
    (site.folder / "binary" / "tiny.bz2").write_bytes(body)
    with pytest.raises(ValueError, match="tiny"):
        site.sets.load("tiny")
    assert list((home / "cache").iterdir()) == []
    (site.folder / "binary" / "tiny.bz2").write_bytes(bz2.compress(TEXT))
    assert is_tiny(site.sets.load("tiny"))


def test_what_cannot_be_had_says_where_it_was_sought(site, home, monkeypatch):
    pytest.importorskip("pooch", reason="the extra `data` is not installed")
    with pytest.raises(FileNotFoundError, match=r"cannot be fetched \(404.*set BOCCE_DATA to it"):
        site.sets.load("tiny")
    with pytest.raises(FileNotFoundError, match="no site has it; set BOCCE_DATA"):
        site.sets.load("here")
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileNotFoundError, match=r'pip install "\.\[data\]"'):
        site.sets.load("tiny")


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"did you mean 'mushrooms'\?"):
        load("mushroms")
    with pytest.raises(TypeError, match="load: name=3"):
        load(3)


def test_the_cache_folder_follows_the_platform(monkeypatch, tmp_path):
    monkeypatch.delenv("BOCCE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert libsvm.cache_folder() == tmp_path / "bocce"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert libsvm.cache_folder().parts[-3:] == ("Library", "Caches", "bocce")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert libsvm.cache_folder() == tmp_path / "local" / "bocce"


REAL = [name for name in libsvm.KNOWN if name != "covtype.libsvm.binary.scale"]  # 4 s to parse


@pytest.mark.parametrize("name", REAL)
def test_the_real_files_are_what_the_table_says(name, tmp_path, monkeypatch):
    monkeypatch.setenv("BOCCE_CACHE", str(tmp_path))
    if not os.environ.get("BOCCE_DATA") or libsvm.find(name) is None:
        pytest.skip(f"{name} is not in the folder of BOCCE_DATA")
    X, y = load(name)
    known = libsvm.KNOWN[name]
    assert X.shape == (known.n, known.d)
    assert set(y.tolist()) == set(known.labels)
    assert X.has_sorted_indices
    if name == "ijcnn1.tr":
        assert (y > 0).sum() == 3415
        assert (load("ijcnn1")[0] != X).nnz == 0
    if name == "w8a":
        assert (np.diff(X.indptr) == 0).any()


def test_mushrooms_needs_no_folder_and_no_network(monkeypatch, tmp_path):
    monkeypatch.delenv("BOCCE_DATA", raising=False)
    monkeypatch.setenv("BOCCE_CACHE", str(tmp_path))
    X, y = load("mushrooms")
    assert X.shape == (8124, 112)
    assert set(y) == {1.0, 2.0}
