"""The README's PyTorch example runs."""

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_example_runs():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (code,) = [block for block in blocks if "bocce.torch" in block]
    names: dict = {}
    exec(code, names)
    assert names["optimizer"].param_groups[0]["schedule"].T == 1000
