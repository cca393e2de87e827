"""The notebooks run from their first cell to their last."""

import ast
import json
from pathlib import Path

import matplotlib
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def test_there_is_one_for_each_door():
    assert [book.stem for book in NOTEBOOKS] == ["fit_a_model", "the_paper", "which_batch_size"]


@pytest.mark.parametrize("book", NOTEBOOKS, ids=lambda book: book.stem)
def test_the_notebook_runs(book):
    import matplotlib.pyplot as plt

    matplotlib.use("Agg")
    names: dict = {}
    for cell in json.loads(book.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            tree = ast.parse("".join(cell["source"]))
            exec(compile(tree, book.name, "exec"), names)
    plt.close("all")
