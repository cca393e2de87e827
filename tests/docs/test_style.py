"""The style check finds what it is for, and the first pages pass it."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STYLE = runpy.run_path(str(ROOT / "docs" / "check_style.py"))


def test_riddles_and_long_sentences_are_found():
    long = " ".join(["word"] * 36) + "."
    assert STYLE["faults"]("page", f"A plain sentence. {long}\n")[0].startswith("page: 36 words")
    assert STYLE["faults"]("page", "Take that which is at hand.") == [
        "page: riddle 'that which'",
        "page: riddle 'at hand'",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "```python\n" + " ".join(["code"] * 50) + "\n```\n",
        "| " + " | ".join(["cell"] * 50) + " |\n",
        "- " + "\n- ".join(["item"] * 50),
        ". ".join(["A sentence of five words"] * 20) + ".",
        " ".join(["[a](https://x)"] * 30),
    ],
)
def test_code_tables_lists_and_short_sentences_pass(text):
    assert STYLE["faults"]("page", text) == []
