"""The gallery: every page has a title, a picture and a conclusion, and runs as Sphinx runs it."""

import ast
import re
import runpy
from itertools import pairwise
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
PAGES = sorted(GALLERY.glob("*.py"))
NEEDS_TORCH = ("plot_7_torch",)  # run by tests/frameworks/test_torch_gallery.py
LONG = ("plot_5_auto",)
BREAK = re.compile(r"^# %%.*$", re.MULTILINE)


def blocks(page):
    """The code between the text blocks, at its own line numbers."""
    text = page.read_text(encoding="utf-8")
    cuts = [0, *(found.start() for found in BREAK.finditer(text)), len(text)]
    for start, end in pairwise(cuts):
        yield "\n" * text[:start].count("\n") + text[start:end]


def run(page):
    """Block after block; after each, Sphinx takes the figures there are and closes them."""
    pictures, names = 0, {"__name__": "__main__"}
    plt.close("all")  # what other tests in this process have left open
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), names)
        for number in plt.get_fignums():
            figure = plt.figure(number)
            assert all(ax.has_data() or not ax.axison for ax in figure.axes), "half a picture"
            figure.canvas.draw()
            pictures += 1
        plt.close("all")
    return pictures


def quick(page):
    marks = [pytest.mark.slow] if page.stem in LONG else []
    return pytest.param(page, marks=marks, id=page.stem)


def test_there_is_a_page_for_every_subject_and_nothing_else():
    subjects = (
        "pictures schedules acceleration noise_floors threshold auto exact_and_runs torch sklearn "
        "probe best_schedule"
    )
    assert [page.stem.split("_", 2)[2] for page in PAGES] == subjects.split()
    assert (GALLERY / "GALLERY_HEADER.rst").read_text().startswith("Gallery\n=======\n")


def test_every_page_has_a_panel_for_its_thumbnail():
    thumbnails = runpy.run_path(str(GALLERY.parents[1] / "docs" / "conf.py"))["THUMBNAILS"]
    assert list(thumbnails) == [page.stem for page in PAGES]
    for left, top, right, bottom in thumbnails.values():
        assert 0.0 <= left < right <= 1.0
        assert 0.0 <= top < bottom <= 1.0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_title_and_a_conclusion(page):
    text = page.read_text(encoding="utf-8")
    title, line, rest = ast.get_docstring(ast.parse(text)).split("\n", 2)
    assert line == "=" * len(title)
    assert len(rest.split()) > 15  # what the page is about
    last = text.rsplit("# %%\n", 1)[1].splitlines()
    assert last[:2] == ["# Conclusion", "# ----------"]
    assert all(said.startswith("# ") for said in last)
    assert len(" ".join(last).split()) > 30


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")  # what show() says here
@pytest.mark.parametrize("page", [quick(p) for p in PAGES if p.stem not in NEEDS_TORCH])
def test_it_runs_and_draws(page, capsys):
    assert run(page) == 1


def test_the_schedules_drawn_are_those_of_the_registry():
    from bocce.schedules import REGISTRY

    page = next(page for page in PAGES if "schedules" in page.stem)
    names = {}
    exec(next(code for code in blocks(page) if "tables =" in code), names)
    assert list(names["tables"]) == list(REGISTRY)
