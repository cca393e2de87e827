"""What several tests of files share."""

import pytest

from bocce.data import _text


@pytest.fixture
def small_text_parts(monkeypatch):
    """Text in parts of 1,500 bytes, so that small files have several."""
    monkeypatch.setattr(_text, "CHUNK", 1500)
