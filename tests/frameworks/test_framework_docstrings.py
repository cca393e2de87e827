"""The adapters say what they take, what they return and when they raise."""

import pytest

from docstrings import faults


@pytest.mark.parametrize("framework", ["torch", "optax", "ray"])
def test_every_public_name_documents_its_arguments(framework):
    pytest.importorskip(framework)
    assert faults(f"bocce.{framework}") == []
