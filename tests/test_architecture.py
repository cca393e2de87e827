"""The house's rules that a machine can check."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bocce
from bocce import policies, sampling, schedules

ROOT = Path(__file__).parents[1]
SOURCE = Path(bocce.__file__).parent
PAPER = ROOT / "paper" / "src" / "bocce_paper"
HEAVY = {"numba", "sklearn", "torch", "jax", "matplotlib", "ray"}
# Adapters ask objects of other libraries all the time; other rooms ask only what stands here.
ADAPTERS = ("sklearn", "torch", "ray", "optax.py")
OF_OTHERS = {
    # the operating system
    "getattr(os, name, 0)",
    "getattr(os, 'sysconf_names', {})",
    "hasattr(os, 'sched_getaffinity')",
    # arrays of other libraries
    *("getattr(torch, 'Tensor', ())", "hasattr(type(X), '__array_namespace__')"),
    *("hasattr(X, 'detach')", "getattr(X, 'layout', '')"),
    *("hasattr(U, 'at')", "hasattr(X, 'shape')"),
    *("getattr(self.array, 'device', None)", "getattr(self.xp, name, None)"),
    # tables of pyarrow, pandas and polars
    "hasattr(source, 'get_fragments')",
    "hasattr(source, '__arrow_c_stream__')",
    "hasattr(fragment, 'row_groups')",
    # Python itself: a named tuple, a module, a function that is given a signature, typer's errors
    "vars(taking_options)",
    *("hasattr(error, 'exit_code')", "getattr(importlib.import_module(module), name, None)"),
    # a class that becomes a loss
    *("hasattr(kind, need)", "vars(kind)"),
}
# Attributes of other libraries' objects that are written.
FOREIGN_FIELDS = {"writeable", "data", "refusal", "showwarning", "propagate", "level", "value"}
FOREIGN_FIELDS |= {"__qualname__", "__doc__", "__getattr__"}
# Files that still write into objects of another file's class.
WRITERS = {
    "data/read/files.py": "the type of numbers that a caller asked for",
}
# Shares of all statements: `a, b = x, y`, and `x if c else y`.
MOST_PAIRS = 0.010
MOST_CONDITIONALS = 0.022
# Calls of isinstance on the package's own classes; 121 in 0.3.0.
MOST_TYPES_ASKED = 56
MOST_LINES = 40  # of a function
LONG = {
    "exact/_kernel.py: walk",  # a kernel, which calls inside would slow down
}
MOST_ANY = 400  # lines outside the adapters, imports not counted
METHODS = {**schedules.REGISTRY, **policies.REGISTRY}
EXAMPLES = [
    *dict.fromkeys(method.factory for method in METHODS.values()),
    bocce.LeastSquares,
    bocce.Logistic,
    bocce.Schedule,
    bocce.minimize,
    sampling.batch,
    schedules.stage_count,
]


def python(code):
    """Run in a fresh interpreter; returns what it printed."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def heavy_after(code):
    loaded = python(f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})")
    return HEAVY & set(loaded)


# -- imports --------------------------------------------------------------------------------


def test_importing_bocce_loads_nothing_heavy():
    assert heavy_after("import bocce") == set()
    assert heavy_after("import bocce, numba") == {"numba"}, "the check sees what is loaded"


@pytest.mark.parametrize("name", ["plane", "rows", "inference", "separation"])
def test_rooms_that_users_name_are_there_after_import_bocce(name):
    assert python(f"import bocce\nprint(bocce.{name}.__name__)") == [f"bocce.{name}"]
    assert name in dir(bocce)


def test_tables_problems_and_the_reference_engine_load_nothing_heavy():
    code = """
import bocce
bocce.schedules.shb(3, L=4.0, mu=1.0), bocce.theory, bocce.sampling.batch(0, 0, 5, 2)
p = bocce.LeastSquares([[1.0], [2.0]], [1.0, 0.0])
bocce.minimize(p, "shb", T=3, engine="reference")
"""
    assert heavy_after(code) == set()


def test_every_public_name_can_be_had():
    assert set(bocce.__all__) <= set(dir(bocce))
    for name in bocce.__all__:
        assert getattr(bocce, name) is not None
    with pytest.raises(AttributeError, match="module 'bocce' has no attribute 'minimise'"):
        bocce.minimise  # noqa: B018


def test_imports_point_down():
    program = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run(
        [program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "rooms: imports point down KEPT" in run.stdout


def imported(module, source, is_package, known):
    """The modules of the package that a file imports, inside functions too; not for types only."""
    tree = ast.parse(source)
    typing_only = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in typing_only:
            home = module.split(".")
            home = home[: len(home) - node.level + is_package]
            base = ".".join([*home, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base


def cycles(edges):
    """Modules that import themselves by way of others: Tarjan's strongly connected components."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in edges[v]:
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            part = stack[stack.index(v) :]
            del stack[stack.index(v) :]
            if len(part) > 1:
                found.append(sorted(part))

    for v in edges:
        if v not in index:
            visit(v)
    return found


def test_no_room_has_an_import_cycle():
    assert cycles({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}) == [["a", "b", "c"]]
    files = {
        ".".join(f.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): f
        for f in SOURCE.rglob("*.py")
    }
    edges = {
        name: {
            other
            for other in imported(name, f.read_text(), f.name == "__init__.py", files)
            if other in files and other != name
        }
        for name, f in files.items()
    }
    rooms = {cycle[0].split(".")[1] for cycle in cycles(edges)}
    assert not rooms


def asked_by_name(source):
    """Where a file asks an object what it is instead of relying on its type."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name, count = node.func.id, len(node.args)
            if (name, count) in {("getattr", 3), ("hasattr", 2), ("vars", 1)}:
                yield ast.unparse(node)
        if isinstance(node, ast.Compare) and re.match(r"type\(\w+\) is", ast.unparse(node)):
            yield ast.unparse(node)


def own_files():
    """The files of both packages but the adapters."""
    for f in sorted(SOURCE.rglob("*.py")):
        name = f.relative_to(SOURCE).as_posix()
        if not name.startswith(ADAPTERS):
            yield name, f.read_text()
    for f in sorted(PAPER.rglob("*.py")):
        yield f.relative_to(PAPER.parent).as_posix(), f.read_text()


def test_types_say_what_an_object_can():
    """No getattr with a default, hasattr, vars or ``type(x) is`` on the package's own objects."""
    assert list(asked_by_name("type(x) is A or hasattr(x, 'y')")) == [
        "type(x) is A",
        "hasattr(x, 'y')",
    ]
    found = {name: set(asked_by_name(text)) for name, text in own_files()}
    assert {name: asked - OF_OTHERS for name, asked in found.items() if asked - OF_OTHERS} == {}
    assert set().union(*found.values()) >= OF_OTHERS, "nobody asks this any more: take it out"


def written(source):
    """(object, attribute) wherever a file writes an attribute of something but self."""
    for node in ast.walk(ast.parse(source)):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else targets
        for target in targets:
            for place in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(place, ast.Attribute) and ast.unparse(place.value) not in OWN:
                    yield ast.unparse(place.value), place.attr


OWN = ("self", "cls")


def fields_of_classes(source):
    """Attributes that the classes of a file have: in their body, or set by their methods."""
    for kind in (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ClassDef)):
        for node in ast.walk(kind):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in OWN:
                yield node.attr
        for node in kind.body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
            yield from (place.id for place in targets if isinstance(place, ast.Name))


def test_an_object_is_changed_by_its_own_file_alone():
    example = "class A:\n    x: int\ndef f(a):\n    a.x = a.y = 1\n"
    assert {attr for _, attr in written(example)} - set(fields_of_classes(example)) == {"y"}
    found = {}
    for name, text in own_files():
        known = {*fields_of_classes(text), *FOREIGN_FIELDS}
        others = {f"{thing}.{attr}" for thing, attr in written(text) if attr not in known}
        found |= {name: others} if others else {}
    assert found.keys() <= WRITERS.keys(), found


def test_a_class_name_has_one_meaning():
    names = {}
    for f in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(f.read_text())):
            if isinstance(node, ast.ClassDef):
                names.setdefault(node.name, set()).add(str(f.relative_to(SOURCE)))
    assert {name: files for name, files in names.items() if len(files) > 1} == {}


def test_few_things_are_of_any_type():
    lines = [line for _, text in own_files() for line in text.splitlines()]
    used = [line for line in lines if re.search(r"\bAny\b", line) and " import " not in line]
    assert len(used) <= MOST_ANY


# -- one idea, one expression ---------------------------------------------------------------


def asks_type(source, own):
    """The calls of isinstance that name a class of the package: its objects answer questions."""
    for node in ast.walk(ast.parse(source)):
        called = node.func if isinstance(node, ast.Call) else None
        named = isinstance(called, ast.Name) and called.id == "isinstance" and len(node.args) == 2
        if named and own & set(re.findall(r"\w+", ast.unparse(node.args[1]))):
            yield ast.unparse(node)


def test_few_objects_are_asked_for_their_type():
    texts = [text for _, text in all_files()]
    own = set(re.findall(r"^ *class (\w+)", "\n".join(texts), re.MULTILINE))
    assert list(asks_type("isinstance(x, int) or isinstance(x, A)", {"A"})) == ["isinstance(x, A)"]
    assert sum(len(list(asks_type(text, own))) for text in texts) <= MOST_TYPES_ASKED


def numbers_by_name(sources):
    """The values of each constant that is a plain number, over all files."""
    found = {}
    for source in sources:
        for node in ast.parse(source).body:
            name = node.targets[0] if isinstance(node, ast.Assign) else None
            if isinstance(name, ast.Name) and name.id.isupper():
                value = ast.unparse(node.value)
                if re.fullmatch(r"[\d\s<*.eE+\-/()_]+", value):
                    found.setdefault(name.id.lstrip("_"), set()).add(value)
    return found


def test_a_constant_name_has_one_value():
    example = numbers_by_name(["A = 1\n_B = 2", "A = 1\nB = 1 << 3"])
    assert example == {"A": {"1"}, "B": {"2", "1 << 3"}}
    found = numbers_by_name(text for _, text in all_files())
    assert not {name for name, values in found.items() if len(values) > 1}


def long_functions(source):
    """Functions of more than 40 lines, their docstrings not counted."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            lines = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node) is not None:
                lines -= node.body[0].end_lineno - node.body[0].lineno + 1
            if lines > MOST_LINES:
                yield node.name


def test_functions_are_short():
    body = "\n".join(f"    x = {i}" for i in range(40))
    assert list(long_functions(f"def f():\n{body}\ndef g():\n    x = 1\n")) == ["f"]
    long = {f"{name}: {f}" for name, text in all_files() for f in long_functions(text)}
    assert long <= LONG, long - LONG


# -- files ----------------------------------------------------------------------------------


def test_no_file_is_long():
    lengths = {
        str(f.relative_to(SOURCE)): len(f.read_text().splitlines()) for f in SOURCE.rglob("*.py")
    }
    assert len(lengths) > 20
    assert {name: length for name, length in lengths.items() if length > 500} == {}


def dense(source):
    """(statements, tuple assignments of several values, conditional expressions) of a source."""
    nodes = list(ast.walk(ast.parse(source)))
    pairs = [
        node
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
    ]
    return (
        sum(isinstance(node, ast.stmt) for node in nodes),
        len(pairs),
        sum(isinstance(node, ast.IfExp) for node in nodes),
    )


def test_a_line_holds_one_thing():
    assert dense("a, b = 1, 2\nc = 3 if a else 4\n") == (2, 1, 1)
    counts = [dense(f.read_text()) for f in SOURCE.rglob("*.py")]
    statements, pairs, conditionals = (sum(column) for column in zip(*counts))
    assert pairs <= MOST_PAIRS * statements
    assert conditionals <= MOST_CONDITIONALS * statements


def named_and_missing(page):
    """Files of the package that a page names, and those of them, or of its names, that are gone."""
    texts = dict(all_files())
    spans = re.findall(r"`([^`\n]+)`", page)
    files = {span for span in spans if re.fullmatch(r"[\w/]+\.py", span)}
    names = {span.split(".")[-1] for span in spans if re.fullmatch(r"(?!bocce)[\w.]+", span)}
    names -= {file.rsplit(".")[-1] for file in files}
    defined = set(re.findall(r"(?:def|class) (\w+)", "\n".join(texts.values())))
    rooms = {name.split("/")[0].removesuffix(".py") for name in texts} | {"paper", "bocce_paper"}
    return files, (files - texts.keys()) | (names - defined - rooms)


def all_files():
    for f in sorted(SOURCE.rglob("*.py")):
        yield f.relative_to(SOURCE).as_posix(), f.read_text()


def test_the_walk_through_the_source_names_what_is_there():
    page = (ROOT / "docs" / "architecture.md").read_text()
    files, missing = named_and_missing(page)
    assert len(files) > 15
    assert not missing
    assert named_and_missing("`run/solver.py`, `Driver.went`, `Frame`")[1] == {
        "run/solver.py",
        "went",
    }


def test_the_package_is_typed():
    assert (SOURCE / "py.typed").is_file()


# -- docstrings -----------------------------------------------------------------------------


@pytest.mark.parametrize("thing", EXAMPLES, ids=lambda thing: thing.__name__)
def test_public_names_show_an_example(thing):
    assert "\n    >>> " in thing.__doc__


@pytest.mark.parametrize("name", METHODS)
def test_factories_say_guarantee_source_and_example_in_this_order(name):
    text = METHODS[name].factory.__doc__
    places = [text.find(mark) for mark in ("Guarantee:", "Source:", ">>>")]
    assert -1 not in places
    assert places == sorted(places)


def test_every_method_has_a_name_and_a_one_line_summary():
    summaries = [method.summary for method in METHODS.values()]
    assert [method.name for method in METHODS.values()] == list(METHODS)
    assert all(0 < len(summary) <= 60 and "\n" not in summary for summary in summaries)
    assert len(set(summaries)) == len(summaries)
