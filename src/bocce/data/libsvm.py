"""Data sets of the LIBSVM collection by name: found or fetched, checked, and parsed once."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._atomic import atomic_write
from .._checks import choice
from .._extras import install
from .read.columns import ReadOptions
from .read.libsvm import gather, libsvm_lines
from .read.npz import read_npz
from .read.paths import File
from .read.text import Lines, suffix_of
from .synthetic import FloatArray

SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
SHIPPED = Path(__file__).parent / "sets"  # Its README says whose the data are.
_FORMAT = "v1"  # part of a parsed file's name: raise it when parsing changes


class Known(NamedTuple):
    """What a data set must be: rows, columns, labels, and the SHA-256 of its text if known."""

    n: int
    d: int
    labels: tuple[int, ...]
    page: str | None  # below `SITE`; None if the site has no such file
    sha256: str | None = None


SHA256 = {  # of the text, unpacked
    "ijcnn1.tr": "9454b7a9d98fcb83e4b79f1094b996aec75909677a77eede6094a9bb4f71c461",
    "ijcnn1.val": "87b64ee77f4e0cb0d04e93ec7c292a669a8ad9f4ccfd85034bfef4810526b34a",
    "ijcnn1.t": "e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8",
    "mushrooms": "f39a4eb628dc61a7d43760815b061c9e497aa728ce1ad8bde57a09ef6043b538",
    "a9a": "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
    "w8a": "6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2",
    "abalone_scale": "7f1f6ca7f636e684949fc3f6388fc4f7503083717f776876bbdd11098fc5378b",
}
_FACTS: dict[str, tuple[Any, ...]] = {
    "ijcnn1.tr": (35_000, 22, (-1, 1), "binary/ijcnn1.tr.bz2"),
    "ijcnn1.val": (14_990, 22, (-1, 1), "binary/ijcnn1.val.bz2"),
    "ijcnn1.t": (91_701, 22, (-1, 1), "binary/ijcnn1.t.bz2"),
    "mushrooms": (8_124, 112, (1, 2), "binary/mushrooms"),
    "a9a": (32_561, 123, (-1, 1), "binary/a9a"),
    "w8a": (49_749, 300, (-1, 1), "binary/w8a"),
    "abalone_scale": (4_177, 8, (*range(1, 28), 29), "regression/abalone_scale"),
    "covtype.libsvm.binary.scale": (581_012, 54, (1, 2), "binary/covtype.libsvm.binary.scale.bz2"),
    "sector.scale": (6_412, 55_197, tuple(range(1, 106)), "multiclass/sector/sector.scale.bz2"),
    "rcv1_train.binary": (20_242, 47_236, (-1, 1), "binary/rcv1_train.binary.bz2"),
    "rcv1_vw_subset_1747": (1_747, 47_117, (-1, 1), None),
}
KNOWN = {name: Known(*facts)._replace(sha256=SHA256.get(name)) for name, facts in _FACTS.items()}
ALIASES = {"ijcnn": "ijcnn1.tr", "ijcnn1": "ijcnn1.tr", "rcv1": "rcv1_train.binary"}


def load(name: str) -> tuple[sparse.csr_array, FloatArray]:
    """CSR features X and labels y of a data set of the LIBSVM collection, verified.

    The file ``name``, plain or with .bz2, .gz or .xz, is looked for in the folder that BOCCE_DATA
    names, then in the cache folder (BOCCE_CACHE, or the user's cache). The package itself has
    ``mushrooms``. Otherwise it is downloaded from the LIBSVM site into the cache (this needs
    the extra ``data``). Rows, largest index and labels, and where known the SHA-256 of the text,
    must be those of the table `KNOWN`. The parsed table is kept in the cache as NPZ, under the hash
    of its file.

    ``ijcnn`` and ``ijcnn1`` mean ``ijcnn1.tr``, the 35,000 rows of the paper's experiments (the
    site's own ``ijcnn1`` is these and ``ijcnn1.val``); ``rcv1`` means ``rcv1_train.binary``;
    ``rcv1_vw_subset_1747`` is on no site and must be in a local folder.

    Parameters
    ----------
    name : str
        The name of the data set, such as ``"mushrooms"``.

    Returns
    -------
    tuple of (csr_array, ndarray of float)
        X of shape (n, d) and y of shape (n,).

    Raises
    ------
    FileNotFoundError
        If the data are not in a local folder and cannot be downloaded; set BOCCE_DATA.
    ValueError
        If the name is unknown, or the file is truncated or altered; the message says what differs.

    Examples
    --------
    >>> load("mushroom")
    Traceback (most recent call last):
    ...
    ValueError: load: name='mushroom' must be one of ...; did you mean 'mushrooms'?
    """
    name = ALIASES.get(name, choice("load", "name", name, [*KNOWN, *ALIASES]))
    return LIBSVM.load(name)


@dataclass(frozen=True)
class Collection:
    """Data sets by name, and the address of the site that has their files."""

    site: str
    known: Mapping[str, Known]

    def load(self, name: str) -> tuple[sparse.csr_array, FloatArray]:
        """X and y of a data set, from a local file or from the site."""
        known = self.known[name]
        path = find(name)
        if path is not None:
            return _verified(name, known, path)
        path = self.download(name)
        try:
            return _verified(name, known, path)
        except ValueError:
            path.unlink()  # or it would be found, and refused, the next time too
            raise

    def download(self, name: str) -> Path:
        """Fetch a file into the cache folder."""
        known = self.known[name]
        folder = cache_folder()
        here = f"load: {name} is neither in the folder of BOCCE_DATA nor in {str(folder)!r}"
        if known.page is None:
            raise FileNotFoundError(f"{here}, and no site has it; set BOCCE_DATA to where it is.")
        url = self.site + known.page
        packed = suffix_of(known.page)
        file = name + packed
        try:
            import pooch
        except ImportError:
            raise FileNotFoundError(
                f"{here}; to fetch it, run {install('data')}, or put the file of {url} into a "
                "folder and set BOCCE_DATA to it."
            ) from None
        pooch.get_logger().setLevel("WARNING")
        text_hash = None if packed else known.sha256  # packed text is hashed when it is parsed
        registry = {file: text_hash}
        try:
            fetcher = pooch.create(folder, self.site, registry=registry, urls={file: url})
            return Path(fetcher.fetch(file))
        except OSError as error:  # pooch passes on requests' errors, which are OSErrors
            raise FileNotFoundError(
                f"{here}, and {url} cannot be fetched ({error}); try again, or put that file "
                "into a folder and set BOCCE_DATA to it."
            ) from None


LIBSVM = Collection(SITE, KNOWN)


def cache_folder() -> Path:
    """Where downloads and parsed tables are kept: BOCCE_CACHE, or a folder of the user's cache."""
    if chosen := os.environ.get("BOCCE_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "bocce"


def find(name: str) -> Path | None:
    """The local file of a data set: in BOCCE_DATA, the cache folder or the package; else None."""
    folders = [cache_folder(), SHIPPED]
    if chosen := os.environ.get("BOCCE_DATA"):
        folders.insert(0, Path(chosen))
    candidates = (folder / (name + end) for folder in folders for end in ("", ".bz2", ".gz", ".xz"))
    return next((path for path in candidates if path.is_file()), None)


def _verified(name: str, known: Known, path: Path) -> tuple[sparse.csr_array, FloatArray]:
    """Parse and check a file, or take what was parsed and checked from the very same bytes."""
    with path.open("rb") as stream:
        key = hashlib.file_digest(stream, "sha256").hexdigest()
    parsed = cache_folder() / f"{name}-{_FORMAT}-{key[:32]}.npz"
    try:
        return read_npz([File(str(parsed))], ReadOptions())
    except (OSError, ValueError):  # a damaged file is as good as none, for it can be made again
        X, y = _parsed(name, known, File(str(path)))
    try:
        parsed.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(parsed) as to:
            np.savez(to, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)
    except OSError:
        pass  # a cache that cannot be written costs time, not the result
    return X, y


def _parsed(name: str, known: Known, file: File) -> tuple[sparse.csr_array, FloatArray]:
    """The rows of a file that is what ``known`` says; or raise."""
    digest = hashlib.sha256()

    def hashed() -> Iterator[Lines]:
        for lines in libsvm_lines([file]):
            digest.update(lines.read())
            yield lines

    matrix, _, _ = gather(hashed(), file.name)
    assert matrix is not None  # there is no limit
    X, y = matrix
    sha256 = digest.hexdigest()
    differences = [
        f"{what} is {found}, not {wanted}"
        for what, found, wanted in (
            ("the number of rows", X.shape[0], known.n),
            ("the largest index", X.shape[1], known.d),
            ("the set of labels", _shown(np.unique(y)), _shown(known.labels)),
            ("the SHA-256 of the text", sha256, known.sha256 or sha256),
        )
        if found != wanted
    ]
    if differences:
        raise ValueError(
            f"load: {file.path!r} is not {name}, or was truncated or altered: "
            f"{'; '.join(differences)}. Delete it, or put the right file in its place."
        )
    return X, y


def _shown(labels: Iterable[float]) -> str:
    texts = [f"{label:g}" for label in labels]
    text = ", ".join(texts)
    if len(texts) < 40:
        return text
    return f"{len(texts)} values {text}"
