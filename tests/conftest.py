"""Hypothesis draws the same examples in every run; `make test-explore` draws others each time."""

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
