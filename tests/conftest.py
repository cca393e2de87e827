"""Hypothesis draws the same examples in every run; `make test-explore` draws others each time."""

import os

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture
def small_text_parts(monkeypatch):
    """Text and arrays in parts of 1,500 bytes, so that small files have several."""
    monkeypatch.setattr("bocce.data.read.text.CHUNK", 1500)
    monkeypatch.setattr("bocce.data.read.npy.PART_BYTES", 1500)
