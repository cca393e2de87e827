"""A framework that is not installed: the error names the extra that brings it."""

import importlib
import sys

import pytest

from bocce._extras import extra

ADAPTERS = {"torch": ["torch"], "optax": ["jax", "optax"], "ray": ["ray"], "sklearn": ["sklearn"]}


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_missing_framework_names_its_extra(adapter, monkeypatch):
    home = f"bocce.{adapter}"
    for root in (home, *ADAPTERS[adapter]):  # as in a new process, until the test ends
        for name in list(sys.modules):
            if name == root or name.startswith(f"{root}."):
                monkeypatch.delitem(sys.modules, name)
    for module in ADAPTERS[adapter]:  # None is Python's own mark of a module that is not there
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(home)
    absent = ADAPTERS[adapter][0]
    wanted = f'bocce.{adapter} needs {absent}; run pip install ".[{adapter}]" in a clone of bocce.'
    assert str(caught.value) == wanted
    assert caught.value.name.split(".")[0] == absent


def test_another_missing_module_is_not_blamed_on_the_extra():
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'nothing'$"), extra("torch"):
        raise ModuleNotFoundError("No module named 'nothing'", name="nothing")
    with pytest.raises(ImportError, match="half a module"), extra("torch"):
        raise ImportError("half a module", name="torch")
