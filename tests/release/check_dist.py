"""Try what would be released: ``python tests/release/check_dist.py dist``, after a build.

What wheels and sdist hold is looked at; then the wheel is installed, without extras, into a new
environment away from the checkout, then the paper's; the sdist's own tests are run there. Any
Python that bocce allows can run this file: it needs no package, and tries the wheel with itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

IN_WHEEL = {"bocce/__init__.py", "bocce/py.typed"}
IN_PAPER = {
    f"bocce_paper/{name}"
    for name in ("py.typed", "templates/report.html", "claims.toml", "statements.toml")
}
IN_SDIST = {
    *("README.md", "CHANGELOG.md", "LICENSE", "SECURITY.md", "CONTRIBUTING.md", "CITATION.cff"),
    *("pyproject.toml", "Makefile", "conftest.py", "src/bocce/py.typed", "docs/deviations.md"),
    *("recipe/recipe.yaml", "paper/pyproject.toml", "paper/src/bocce_paper/py.typed"),
    *("tests/run/test_golden.py", "tests/golden/batches.json", "tests/release/check_dist.py"),
}
GENERATED = ("__pycache__", ".nbi", ".nbc", "_build/", "auto_examples/", ".hypothesis")
# of the core and quick: the rest of the suite is `make test`
TESTS = ("run/test_golden", "test_sampling", "schedules/test_schedules", "test_release")
SMOKE = """
import sys, bocce
heavy = {"numba", "sklearn", "torch", "jax", "matplotlib", "ray"} & set(sys.modules)
assert not heavy, f"import bocce loads {heavy}"
assert bocce.__file__.startswith(sys.prefix), bocce.__file__
X, y, w = bocce.data.regression(n=200, d=3, kappa=10.0)
result = bocce.minimize(bocce.LeastSquares(X, y), tol=1e-8)
assert result.status == "converged" and abs(result.w - w).max() < 1e-6, result
print("import and minimize: well")
"""


def only(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(
            f"check_dist: {folder} holds {len(found)} of {pattern}, must hold one; build anew."
        )
    return found[0]


def check_names(what: str, names: set[str], wanted: set[str]) -> None:
    absent = sorted(wanted - names)
    waste = sorted(name for name in names if any(mark in name for mark in GENERATED))
    if absent or waste:
        sys.exit(f"check_dist: the {what} lacks {absent} and must not hold {waste}.")
    print(f"{what}: {len(names)} files")


def check_wheel(wheel: Path, package: str, wanted: set[str]) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    check_names(f"wheel of {package}", names, wanted)
    outside = {name.split("/")[0] for name in names} - {package}
    if len(outside) != 1 or not outside.pop().endswith(".dist-info"):
        sys.exit(f"check_dist: the wheel must hold {package} and its metadata alone.")


def unpack(sdist: Path, folder: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    root = only(folder, "bocce-*")
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    check_names("sdist", files, IN_SDIST)
    return root


def run(*words: str | Path, cwd: Path, code: int = 0) -> None:
    """Show the command, and end here if its exit code is another one."""
    print("$", *(Path(words[0]).name, *words[1:]), flush=True)
    # neither the checkout's kernels nor its source may be found
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if subprocess.run([*map(str, words)], cwd=cwd, env=kept, check=False).returncode != code:
        sys.exit(f"check_dist: {words[0]} failed.")


def main(dist: Path) -> None:
    wheel = only(dist, "bocce-*.whl").resolve()
    paper = only(dist, "bocce_paper-*.whl").resolve()
    only(dist, "bocce_paper-*.tar.gz")
    check_wheel(wheel, "bocce", IN_WHEEL)
    check_wheel(paper, "bocce_paper", IN_PAPER)
    with tempfile.TemporaryDirectory(prefix="bocce-dist-") as temporary:
        folder = Path(temporary)
        sources = unpack(only(dist, "bocce-*.tar.gz").resolve(), folder)
        venv.create(folder / "venv", with_pip=True)
        programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        python, bocce = programs / "python", programs / "bocce"
        install = (python, "-m", "pip", "install", "-qq", "--disable-pip-version-check")
        run(*install, wheel, cwd=folder)
        run(python, "-W", "error", "-c", SMOKE, cwd=folder)
        # LIBSVM text needs no extra; CSV asks for the extra "data".
        (folder / "table.svm").write_text("2 1:1\n3 1:2\n1 1:1\n")
        for words in (["--help"], ["methods"], ["solve", "table.svm"], ["doctor"]):
            run(bocce, *words, cwd=folder)
        run(bocce, "reproduce", cwd=folder, code=2)  # says what to install
        run(*install, paper, cwd=folder)
        run(bocce, "reproduce", "table1", "--profile", "smoke", cwd=folder)
        run(*install, "pytest", "pytest-timeout", "hypothesis", cwd=folder)
        tests = (f"tests/{name}.py" for name in TESTS)
        run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, cwd=sources)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
