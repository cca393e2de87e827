"""Without a framework its tests are not even collected; with it, small arrays want one thread."""

import importlib.util

FILES = {"torch": "test_torch_*.py", "optax": "test_optax*.py", "ray": "test_ray*.py"}
collect_ignore_glob = [
    pattern for module, pattern in FILES.items() if importlib.util.find_spec(module) is None
]

if importlib.util.find_spec("torch") is not None:
    import torch

    torch.set_num_threads(1)
