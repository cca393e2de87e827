"""What several tests of files share."""

import numpy as np
import pytest

from bocce.data.read import text


@pytest.fixture
def small_text_parts(monkeypatch):
    """Text in parts of 1,500 bytes, so that small files have several."""
    monkeypatch.setattr(text, "CHUNK", 1500)


@pytest.fixture
def rows():
    """503 rows of 5 numbers, and their targets."""
    rng = np.random.default_rng(1)
    return rng.standard_normal((503, 5)), rng.standard_normal(503)
