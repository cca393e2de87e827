"""The house's rules that a machine can check."""

import subprocess
import sys
from pathlib import Path

import pytest

import bocce
from bocce import policies, sampling, schedules

ROOT = Path(__file__).parents[1]
SOURCE = Path(bocce.__file__).parent
HEAVY = {"numba", "sklearn", "torch", "jax", "matplotlib", "ray"}
METHODS = {**schedules.REGISTRY, **policies.REGISTRY}
EXAMPLES = [
    *dict.fromkeys(method.factory for method in METHODS.values()),
    bocce.LeastSquares,
    bocce.Logistic,
    bocce.Schedule,
    bocce.minimize,
    sampling.batch,
    schedules.stage_count,
]


def python(code):
    """Run in a fresh interpreter; returns what it printed."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def heavy_after(code):
    loaded = python(f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})")
    return HEAVY & set(loaded)


# -- imports --------------------------------------------------------------------------------


def test_importing_bocce_loads_nothing_heavy():
    assert heavy_after("import bocce") == set()
    assert heavy_after("import bocce, numba") == {"numba"}, "the check sees what is loaded"


def test_tables_problems_and_the_reference_engine_load_nothing_heavy():
    code = """
import bocce
bocce.schedules.shb(3, L=4.0, mu=1.0), bocce.theory, bocce.sampling.batch(0, 0, 5, 2)
p = bocce.LeastSquares([[1.0], [2.0]], [1.0, 0.0])
bocce.minimize(p, "shb", T=3, engine="reference")
"""
    assert heavy_after(code) == set()


def test_every_public_name_can_be_had():
    assert set(bocce.__all__) <= set(dir(bocce))
    for name in bocce.__all__:
        assert getattr(bocce, name) is not None
    with pytest.raises(AttributeError, match="module 'bocce' has no attribute 'minimise'"):
        bocce.minimise  # noqa: B018


def test_imports_point_down():
    program = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run(
        [program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "rooms: imports point down KEPT" in run.stdout


# -- files ----------------------------------------------------------------------------------


def test_no_file_is_long():
    lengths = {
        str(f.relative_to(SOURCE)): len(f.read_text().splitlines()) for f in SOURCE.rglob("*.py")
    }
    assert len(lengths) > 20
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_the_package_is_typed():
    assert (SOURCE / "py.typed").is_file()


# -- docstrings -----------------------------------------------------------------------------


@pytest.mark.parametrize("thing", EXAMPLES, ids=lambda thing: thing.__name__)
def test_public_names_show_an_example(thing):
    assert "\n    >>> " in thing.__doc__


@pytest.mark.parametrize("name", METHODS)
def test_factories_say_guarantee_source_and_example_in_this_order(name):
    text = METHODS[name].factory.__doc__
    places = [text.find(mark) for mark in ("Guarantee:", "Source:", ">>>")]
    assert -1 not in places
    assert places == sorted(places)


def test_every_method_has_a_name_and_a_one_line_summary():
    summaries = [method.summary for method in METHODS.values()]
    assert [method.name for method in METHODS.values()] == list(METHODS)
    assert all(0 < len(summary) <= 60 and "\n" not in summary for summary in summaries)
    assert len(set(summaries)) == len(summaries)
