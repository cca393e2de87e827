"""What several tests of files share."""

import numpy as np
import pytest


@pytest.fixture
def rows():
    """503 rows of 5 numbers, and their targets."""
    rng = np.random.default_rng(1)
    return rng.standard_normal((503, 5)), rng.standard_normal(503)
