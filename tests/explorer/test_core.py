"""The explorer's functions, run by node, say what Python says (in Chromium: tests/browser)."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import explorer_golden as golden
from bocce import explorer

RUN = Path(__file__).parent / "run.js"
FEW = 12
CORE = explorer.script(explorer.CORE)
# A constant of each formula, and another value: the answers must notice.
MUTATIONS = {
    "C = 15552": "C = 15553",
    "2 * beta) / (1 + beta)": "2.001 * beta) / (1 + beta)",
    "2 * s * m / top / lam": "2.001 * s * m / top / lam",
    "(1 - 0.5 * Math.sqrt(alpha": "(1 - 0.501 * Math.sqrt(alpha",
    "(4 * L);": "(4.001 * L);",
    "384 * (i + 1)": "385 * (i + 1)",
    "s = Math.max(0.25 / L_m": "s = Math.max(0.2501 / L_m",
    "0.5 * gap": "0.5001 * gap",
}


def ask(cores: list[str], settings: list[dict], differs: float = 0.0) -> list:
    given = {"answers": golden.ANSWERS, "settings": settings, "differs": differs}
    return [json.loads(line) for line in node(RUN, json.dumps({"cores": cores, **given}))]


def node(script: Path | str, text: str) -> list[str]:
    """The lines that node prints."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed; the browser tests ask Chromium")
    done = subprocess.run(
        [program, str(script)], input=text, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def found() -> list[list[str]]:
    """What the page's code says that is not Python's: as it is, and with each other constant."""
    mutants = [CORE.replace(old, new) for old, new in MUTATIONS.items()]
    assert CORE not in mutants, "a mutation no longer fits the code"
    settings = golden.settings(FEW)
    ours = [golden.answers(given) for given in settings]
    return [
        [line for one in zip(settings, ours, answered) for line in golden.disagreement(*one)]
        if answered
        else ["no answer"]
        for answered in ask([CORE, *mutants], settings)
    ]


def test_the_page_says_what_python_says(found):
    assert found[0] == []


def test_another_constant_is_noticed(found):
    unnoticed = [old for old, wrong in zip(MUTATIONS, found[1:]) if not wrong]
    assert unnoticed == []


def test_a_run_is_its_expectation_on_average():
    """The mean of 400 drawn runs lies within four standard errors of the exact curve, both rows."""
    script = """
    const spectrum = [0.1, 1], T = 30, rows = 400, found = [];
    for (const L_max of [null, 2]) for (const b of [2, 15]) {
      const model = { spectrum, noise: 0.1, n: 20, b, L_max, ...constant(T, 0.3, 0.5, 0.2) };
      const run = (_, i) => Array.from(sample({ ...model, seed: i + 1 }));
      const runs = Array.from({ length: rows }, run);
      found.push([Array.from(expected(model).error2), runs]);
    }
    """
    core = CORE + explorer.script(("sample",)) + script
    (text,) = node("-", f"{core};console.log(JSON.stringify(found))")
    for exact, runs in json.loads(text):
        runs = np.array(runs)
        error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
        assert (np.abs(runs.mean(axis=0) - exact) <= 4 * error + 1e-12).all()


LITERAL = re.compile(r"(?<![\w.$])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")
# Numbers that only say how long to search, how finely, or when to stop: another value near them
# answers the same to 1e-9. Each is given with the text around it.
TUNING = (
    "halvings = ", "grid = ", "zooms = ", "tie = ", "1e300", "1e-300", "1e-13", "1e-12", "1e-10",
    "Math.log(100 *", "+ 10), centre", "Math.log(1e-4", "centre = -0.5", "width * 6", "at, 0)",
)  # fmt: skip


@pytest.mark.slow
def test_every_constant_is_noticed():
    """Each number of the formulas, changed by a thousandth or by one, changes an answer."""
    code = "\n".join(re.sub(r"//.*", "", line) for line in CORE.splitlines())
    settings = golden.settings(FEW)[:5]
    settings[0]["T"] = 400  # long enough for every branch of ``auto``
    places = list(LITERAL.finditer(code))
    mutants, around = [], []
    for place in places:
        value = float(place[0])
        new = value + 1 if value == int(value) and value < 3 else value * 1.01
        mutants.append(f"{code[: place.start()]}{new!r}{code[place.end() :]}")
        line = code[: place.start()].count("\n")
        around.append(
            (code.splitlines()[line].strip(), place[0], code[place.start() - 14 : place.end() + 14])
        )
    noticed = ask([code, *mutants], settings, differs=golden.AGREE)[1:]
    survived = [where for where, seen in zip(around, noticed) if not seen]
    unknown = [where for where in survived if not any(word in where[2] for word in TUNING)]
    assert not unknown, "\n".join(map(str, unknown))
