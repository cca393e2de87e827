"""Without a framework its tests are not even collected; with it, small arrays want one thread."""

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).parent
collect_ignore = ["gloo.py"]  # a helper that needs torch; it has no tests of its own
FILES = {"torch": "test_torch_*.py", "optax": "test_optax*.py", "ray": "test_ray*.py"}
collect_ignore_glob = [
    pattern for module, pattern in FILES.items() if importlib.util.find_spec(module) is None
]

if importlib.util.find_spec("torch") is not None:
    import torch

    torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test in this folder is one of ``-m frameworks``."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("frameworks")


@pytest.fixture(scope="module")
def local_ray():
    """Ray on this machine, with two processors."""
    import ray

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()
