"""What a release promises: versions in step, bounds that can be pinned, and SECURITY.md's words."""

import ast
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import bocce
from bocce.data import open as open_
from bocce.data.libsvm import KNOWN
from release.oldest import pin, pins

ROOT = Path(__file__).parents[1]
SOURCE = Path(bocce.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAPER = tomllib.loads((ROOT / "paper" / "pyproject.toml").read_text())["project"]
PAPER_SOURCE = ROOT / "paper" / "src" / "bocce_paper"
UNPICKLE = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
MAKES_HTML = {"Environment", "Template", "Markup"}
RUNS_TEXT = {"eval", "exec", "compile", "__import__", "os.system", "os.popen"}


def text_of(name):
    return (ROOT / name).read_text()


# -- versions -------------------------------------------------------------------------------


def test_the_version_is_the_same_everywhere():
    """pyproject reads it from the package; the rest are copies for other people's tools."""
    assert PROJECT["dynamic"] == ["version"]
    cited = re.findall(r"^ *version: (.+)$", text_of("CITATION.cff"), re.MULTILINE)
    recipe = re.findall(r'^  version: "(.+)"$', text_of("recipe/recipe.yaml"), re.MULTILINE)
    needed = [name for name in PAPER["dependencies"] if name.startswith("bocce[")]
    needed += PAPER["optional-dependencies"]["ray"]
    paper = [PAPER["version"], *(name.partition(">=")[2] for name in needed)]
    assert [*cited, *recipe, *paper] == [bocce.__version__] * 6


def test_the_changelog_begins_with_this_version():
    newest = re.search(r"^## \[(.+?)\]", text_of("CHANGELOG.md"), re.MULTILINE).group(1)
    assert newest == bocce.__version__


def test_the_paper_and_its_authors_are_cited():
    text = text_of("CITATION.cff")
    assert "(Accelerated) Noise-adaptive Stochastic Heavy-Ball Momentum" in text
    assert re.findall(r"family-names: (\w+)", text) == ["Dang", "Babanezhad", "Vaswani"]
    assert text.count("name: The bocce developers") == 2


# -- packaging ------------------------------------------------------------------------------


def test_every_dependency_of_a_user_has_a_lower_bound():
    extras = [name for name in PROJECT["optional-dependencies"] if name not in ("docs", "dev")]
    found = pins(extras)
    assert [name.split("==")[0] for name in found[:2]] == ["numpy", "scipy"]
    assert {"scikit-learn", "torch", "jinja2"} <= {name.split("==")[0] for name in found}


def test_the_conda_recipe_asks_for_what_the_wheel_asks_for():
    recipe = text_of("recipe/recipe.yaml")
    oldest = re.search(r'^  python_min: "(.+)"$', recipe, re.MULTILINE)[1]
    assert PROJECT["requires-python"] == f">={oldest}"
    run = re.search(r"^  run:\n((?:    - .+\n)+)", recipe, re.MULTILINE)[1]
    wanted = [line.strip("- ").replace(" ", "") for line in run.splitlines()]
    assert wanted == ["python>=${{python_min}}", *PROJECT["dependencies"]]
    assert f"- bocce = {PROJECT['scripts']['bocce']}\n" in recipe


@pytest.mark.parametrize("requirement", ["numpy", "numpy>1.26", "numpy>=1.26,<3", "numpy==1.26"])
def test_what_has_no_one_oldest_version_is_refused(requirement):
    with pytest.raises(ValueError, match=re.escape(f"requirement={requirement!r} must be")):
        pin(requirement)


def test_every_target_that_the_texts_name_is_in_make_help():
    targets = set(re.findall(r"^([a-z-]+):.*## ", text_of("Makefile"), re.MULTILINE))
    for name in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"(?:`|^ {4})make ([a-z-]+)", text_of(name), re.MULTILINE))
        assert named
        assert named <= targets, name


@pytest.mark.parametrize("target", ["test", "reproduce", "test-frameworks", "lint", "docs"])
def test_what_a_target_asks_for_can_be_made(target):
    """A dry run, so nothing is installed: make knows a rule for every file that is needed."""
    made = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr


# -- security -------------------------------------------------------------------------------


@cache
def nodes(kind):
    """Every node of a kind in the sources of both packages, with the file it is in."""
    if kind is not ast.AST:
        return [(file, node) for file, node in nodes(ast.AST) if isinstance(node, kind)]
    files = [*SOURCE.rglob("*.py"), *PAPER_SOURCE.rglob("*.py")]
    assert len(files) > 50
    return [(file.name, node) for file in files for node in ast.walk(ast.parse(file.read_text()))]


def test_no_pickle_is_imported():
    imported = {alias.name for _, node in nodes(ast.Import) for alias in node.names} | {
        f"{node.module}.{alias.name}"
        for _, node in nodes(ast.ImportFrom)
        for alias in node.names
        if not node.level
    }
    assert {"numpy", "json"} <= imported
    assert not {name.split(".")[0] for name in imported} & UNPICKLE
    # joblib can read pickles too: only its workers are used
    assert not {"joblib", "joblib.load", "joblib.dump", "joblib.Memory"} & imported
    assert "joblib.Parallel" in imported


def test_every_numpy_load_refuses_pickles():
    loads = [
        {word.arg: ast.unparse(word.value) for word in node.keywords}
        for _, node in nodes(ast.Call)
        if ast.unparse(node.func) in ("np.load", "numpy.load", "npy.read_array")
    ]
    assert len(loads) >= 1
    assert all(words.get("allow_pickle") == "False" for words in loads)


def test_no_text_is_run_as_code():
    calls = nodes(ast.Call)
    assert [file for file, node in calls if ast.unparse(node.func) in RUNS_TEXT] == []
    shells = [file for file, node in calls for word in node.keywords if word.arg == "shell"]
    assert shells == []


class Trap:
    """Whoever unpickles it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.fixture
def trap(tmp_path):
    array = np.empty(1, dtype=object)
    array[0] = Trap(tmp_path / "sprung")
    return array


def test_a_table_with_a_pickle_is_refused_and_not_run(tmp_path, trap):
    np.savez(tmp_path / "a.npz", X=trap, y=np.ones(1))
    with pytest.raises(ValueError, match="not an NPZ file of plain numbers"):
        open_(tmp_path / "a.npz")
    assert not (tmp_path / "sprung").exists()


def test_a_checkpoint_with_a_pickle_is_refused_and_not_run(tmp_path, trap):
    p = bocce.LeastSquares([[1.0], [2.0]], [1.0, 0.0])
    np.savez(tmp_path / "run.npz", identity=trap, w=trap)
    with pytest.raises(ValueError, match="not a readable checkpoint"):
        bocce.minimize(p, "sgd", T=3, engine="reference", checkpoint=tmp_path / "run.npz")
    assert not (tmp_path / "sprung").exists()


def test_the_trap_works(tmp_path, trap):
    np.savez(tmp_path / "a.npz", X=trap)
    with np.load(tmp_path / "a.npz", allow_pickle=True) as archive:
        archive["X"]
    assert (tmp_path / "sprung").exists()


def test_the_report_escapes_all_but_its_own_scripts():
    template = (PAPER_SOURCE / "templates" / "report.html").read_text()
    assert re.findall(r"{{\s*(\w+)\s*\|\s*safe\s*}}", template) == []
    assert template.count("safe") == 0
    assert "autoescape" not in template
    made = [node for _, node in nodes(ast.Call) if ast.unparse(node.func) in MAKES_HTML]
    assert [ast.unparse(node.func) for node in made] == ["Environment"]
    words = {word.arg: ast.unparse(word.value) for word in made[0].keywords}
    assert words["autoescape"] == "True"


def test_the_data_sets_without_a_checksum_are_those_that_security_md_names():
    without = {name for name, known in KNOWN.items() if known.sha256 is None}
    named = re.search(r"\((\d+) of its (\d+) data sets; not (.*?)\)", text_of("SECURITY.md"), re.S)
    assert set(re.findall(r"`([^`]+)`", named[3])) == without
    assert (int(named[1]), int(named[2])) == (len(KNOWN) - len(without), len(KNOWN))


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_hash_and_come_from_one_index(path):
    """A tag can be moved to other code; a second index can offer a higher version of any name."""
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action
    assert "EXTRA_INDEX" not in text
    assert "extra-index" not in text
