"""A checkpoint that somebody altered: refused before anything in it is used."""

from __future__ import annotations

import tracemalloc
import zipfile

import numpy as np
import pytest

import bocce
from bocce.run.checkpoint import GOES_ON, digest_of

UNREADABLE = "is not a readable checkpoint .*; delete the file or give another path"


def labelled():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((120, 6))
    z = X @ rng.standard_normal(6)
    return X, z


def problem(loss):
    X, z = labelled()
    y = {"softmax": np.digitize(z, [-1.0, 1.0]), "logistic": z > 0.0}.get(loss, z)
    return bocce.Problem(X, y, loss, l2=1e-3)


RUNS = {
    "table": ("squared", {"method": "shb", "T": 40, "batch_size": 30}),
    "policy": ("logistic", {"method": "shb-sls-exp", "T": 40, "batch_size": 30}),
    "guard": ("squared", {"method": "auto", "T": 40, "batch_size": 30}),
    "anytime": ("logistic", {"method": "auto", "batch_size": 16, "tol": 1e-7}),
    "plane": ("logistic", {"method": "plane", "tol": 1e-9}),
    "sums": ("squared", {"method": "plane", "tol": 1e-9, "memory": 2}),
    "softmax": ("softmax", {"method": "auto", "tol": 1e-9}),
}


def run(name, path, looks=None):
    """The run, or its first so many looks."""
    loss, settings = RUNS[name]
    seen = []

    def callback(progress):
        seen.append(progress.k)
        return looks is not None and len(seen) > looks

    return bocce.minimize(problem(loss), checkpoint=path, callback=callback, **settings)


def content_of(path):
    with np.load(path) as saved:
        return {name: saved[name] for name in saved.files if name != "digest"}


def forge(path, content):
    """Write it as the package would, with the digest that belongs to it."""
    with open(path, "wb") as stream:
        np.savez(stream, digest=np.array(digest_of(content)), **content)


def mutations(array):
    """An array as a forger might change it."""
    if array.ndim == 0 and array.dtype.kind in "if":  # a number of a record
        yield np.array([array, array])
        yield np.array(-1, dtype=array.dtype)
        yield np.array(2**60, dtype=array.dtype)
        yield np.array(np.nan)
        return
    yield array.reshape(-1)[:-1]
    yield np.concatenate([array.reshape(-1)] * 2)
    if array.dtype.kind not in "if" or array.size == 0:
        return
    yield array.astype(complex)
    yield array.astype(str)
    yield 1e300 * array
    entries = np.random.default_rng(array.size).permutation(array.size)[:2]
    for entry in {0, array.size - 1, *entries.tolist()}:
        for value in (-1, 10**9, 2**60, np.nan, np.inf):
            if np.isfinite(value) or array.dtype.kind == "f":
                changed = array.copy()
                changed.reshape(-1)[entry] = value
                yield changed


def tried(name, path):
    """The result and "", or None and the refusal."""
    try:
        with np.errstate(all="ignore"):
            return run(name, path), ""
    except ValueError as error:
        return None, str(error)


@pytest.mark.parametrize("name", RUNS)
def test_forged_arrays_are_refused_or_harmless(tmp_path, name):
    """The digest is right: a forger can compute it, too. What must not happen is a crash (compiled
    steps do not check their table), a hang, an error that is none of ours, or NaN in silence."""
    path = tmp_path / "run.npz"
    run(name, path, looks=2)
    content = content_of(path)
    refused = 0
    for key in sorted(content.keys() - {"identity"}):
        for changed in mutations(content[key]):
            forge(path, content | {key: changed})
            found, refusal = tried(name, path)
            if found is None:
                assert "is not a readable checkpoint" in refusal
                refused += 1
            else:
                assert np.isfinite(found.w).all(), key
        gone = {k: v for k, v in content.items() if k != key}
        forge(path, gone)
        found, refusal = tried(name, path)
        if found is None:
            assert "is not a readable checkpoint" in refusal
        else:  # a metric without its factor is diagonal
            assert key.startswith(("memory.", "engine.")), key
            assert np.isfinite(found.w).all(), key
    assert refused > 10


@pytest.mark.parametrize("name", RUNS)
def test_any_altered_number_is_noticed(tmp_path, name):
    path = tmp_path / "run.npz"
    run(name, path, looks=2)
    content = content_of(path)
    with np.load(path) as saved:
        digest = saved["digest"]
    for key in sorted(content.keys() - {"identity"}):
        changed = content[key].copy()
        if changed.size == 0:
            continue
        flat = changed.reshape(-1)
        others = {"U": "budget", "b": not flat[-1]}
        flat[-1] = others.get(changed.dtype.kind, 7 + (flat[-1] == 7))
        with open(path, "wb") as stream:
            np.savez(stream, digest=digest, **(content | {key: changed}))
        with pytest.raises(ValueError, match="does not belong to its digest"):
            run(name, path)


@pytest.mark.parametrize("row", [39, 40, 10**6, -1, -(10**9)])
def test_a_row_counter_beyond_the_table(tmp_path, row):
    path = tmp_path / "run.npz"
    run("table", path, looks=2)
    content = content_of(path)
    content["run.row"] = np.array(row)
    forge(path, content)
    with pytest.raises(ValueError, match=UNREADABLE):
        run("table", path)


@pytest.mark.parametrize("of_another", [False, True])
def test_nothing_is_inflated_before_it_is_refused(tmp_path, of_another):
    path = tmp_path / "run.npz"
    run("table", path, looks=2)
    content = content_of(path) | {"run.w": np.zeros(1 << 24)}
    if of_another:
        content["identity"] = np.array('{"format": 1}')
    np.savez_compressed(path, digest=np.array(digest_of(content)), **content)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=f"larger than the file.*|{UNREADABLE}"):
            run("table", path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()


def test_a_header_that_tells_a_larger_array(tmp_path):
    path = tmp_path / "run.npz"
    run("table", path, looks=2)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    told = members["run.w.npy"].replace(
        b"'shape': (6,), }" + b" " * 9, b"'shape': (6000000000,), }"
    )
    assert told != members["run.w.npy"]
    members["run.w.npy"] = told
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(ValueError, match="does not have the size that it tells"):
        run("table", path)


@pytest.mark.parametrize("scale", [1e-300, 0.5])
def test_steps_of_a_history_that_are_no_numbers_of_steps(tmp_path, scale):
    """The recorder would wait for a step that was taken long ago."""
    path = tmp_path / "run.npz"
    run("table", path, looks=5)
    content = content_of(path)
    content["run.history"] = scale * content["run.history"]
    forge(path, content)
    with pytest.raises(ValueError, match=UNREADABLE):
        run("table", path)


def test_a_history_that_ends_too_early_is_no_reason_to_wait(tmp_path):
    path = tmp_path / "run.npz"
    run("table", path, looks=5)
    content = content_of(path)
    content["run.history"] = content["run.history"][:2]
    forge(path, content)
    assert run("table", path).n_iter == 40


def test_an_end_that_no_run_has(tmp_path):
    path = tmp_path / "run.npz"
    run("plane", path, looks=2)
    content = content_of(path)
    assert str(content["ended"]) in (GOES_ON, "stopped")
    forge(path, content | {"ended": np.array("\x1b[31mwon")})
    with pytest.raises(ValueError, match=UNREADABLE):
        run("plane", path)
