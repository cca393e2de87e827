"""Doctests of an adapter need its framework: they are not collected without it; and Ctrl-C."""

import signal
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest_plugins = ["chromium"]  # the browser of tests/browser

_ROOT = Path(__file__).parent
_FRAMEWORKS = ("torch", "optax", "ray")
collect_ignore = [
    f"src/bocce/{adapter}{end}"
    for adapter in (*_FRAMEWORKS, "sklearn")
    for end in (".py", "")
    if find_spec(adapter) is None
]
if find_spec("cvxpy") is None:
    collect_ignore.append("src/bocce/theory/convex.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark those doctests, so that ``-m frameworks`` finds them beside the tests."""
    homes = [_ROOT / "src" / "bocce" / adapter for adapter in _FRAMEWORKS]
    for item in items:
        if any(home == item.path.with_suffix("") or home in item.path.parents for home in homes):
            item.add_marker("frameworks")


def pytest_configure() -> None:
    """Started in the background, this process may ignore Ctrl-C, and so would those it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
