"""The code on docs/arrays.md runs as printed, block after block."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "arrays.md"


def test_the_page_runs(capsys, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "0")  # so that what the page sets is taken back
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    told = []
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
        told.append(capsys.readouterr().out)
    first = (
        "Problem(softmax, torch 2000 x 20 float64, l2=0.001, intercept) converged ndarray (20, 4)"
    )
    assert told[0].strip() == first
    assert told[1].strip() == "Tensor torch.Size([2000, 4]) True"
    assert told[2].startswith("converged ")


@pytest.mark.parametrize(
    "said", ["extra `arrays`", "array_api_dispatch", "bocce.data.stream_to_device"]
)
def test_the_page_names_what_is_there(said):
    assert said in PAGE.read_text(encoding="utf-8")
