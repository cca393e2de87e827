"""The README's block of code for Optax runs."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
pytestmark = pytest.mark.frameworks


def test_the_block_runs():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (code,) = [block for block in blocks if "bocce.optax" in block]
    exec(code, {})
