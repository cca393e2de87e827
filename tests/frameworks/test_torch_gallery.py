"""The gallery's PyTorch page and the FAQ's PyTorch answers run as printed."""

from __future__ import annotations

import doctest
import re
import runpy
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")  # what show() says here
def test_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names = runpy.run_path(str(ROOT / "examples" / "gallery" / "plot_7_torch.py"))
    plt.close("all")
    assert names["apart"] < 1e-9  # the optimizer took the solver's steps
    assert "SHB and bocce.minimize differ by at most" in capsys.readouterr().out


def test_the_momentum_answer_holds() -> None:
    text = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
    sections = [part for part in text.split("\n## ") if "import numpy as np, torch" in part]
    assert len(sections) == 1
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", sections[0], re.MULTILINE | re.DOTALL))
    test = doctest.DocTestParser().get_doctest(code, {}, "faq", "docs/faq.md", 0)
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.attempted > 10
    assert result.failed == 0, "".join(report)
