"""The code on docs/torch.md and docs/gauge.md runs as printed, block after block."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("page", "least"), [("torch.md", 5), ("gauge.md", 2)])
def test_the_page_runs(page: str, least: int) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= least
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
