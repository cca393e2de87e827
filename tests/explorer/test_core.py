"""The explorer's functions, run by node, say what Python says (in Chromium: tests/browser)."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import explorer_golden as golden
from bocce import explorer, schedules

RUN = Path(__file__).parent / "run.js"
FEW = 12
LONG = 1000  # steps
CORE = explorer.script(explorer.CORE)
# A constant of each formula, and another value: the answers must notice.
MUTATIONS = {
    "return 1 / b;": "return 1.001 / b;",
    "C = 15552": "C = 15553",
    "gradient_noise / (2 * gap)": "gradient_noise / (2.001 * gap)",
    "2 * beta) / (1 + beta)": "2.001 * beta) / (1 + beta)",
    "2 * s * m / top / lam": "2.001 * s * m / top / lam",
    "(1 - 0.5 * Math.sqrt(alpha": "(1 - 0.501 * Math.sqrt(alpha",
    "(4 * L);": "(4.001 * L);",
    "384 * (i + 1)": "385 * (i + 1)",
    "s = 0.5 * (1 + c / kappa_m)": "s = 0.501 * (1 + c / kappa_m)",
    "(1 + theta) * L_max": "(1.001 + theta) * L_max",
    "(1 / T) ** (1 / T)": "(1.001 / T) ** (1 / T)",
    "4 / (l + m) ** 2": "4.001 / (l + m) ** 2",
    "Math.ceil(0.5 * T)": "Math.ceil(0.51 * T)",
    "/ Math.log(2)));": "/ Math.log(2.5)));",
    "gamma ** (0.5 * k)": "gamma ** (0.501 * k)",
    "Math.sqrt(-c2)": "Math.sqrt(-1.001 * c2)",
    "2 * look * back": "2.001 * look * back",
    "2 * look * c[j] + look * look * q[j];": "2.001 * look * c[j] + look * look * q[j];",
    "2 * theta * (1 + theta) * x": "2.001 * theta * (1 + theta) * x",
    "0.5 * gap": "0.5001 * gap",
}


def ask(cores: list[str], settings: list[dict]) -> list[list[str] | None]:
    given = {"cores": cores, "answers": golden.ANSWERS, "settings": settings}
    return [json.loads(line) for line in node(RUN, json.dumps(given))]


def node(script: Path | str, text: str) -> list[str]:
    """The lines that node prints."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed; the browser tests ask Chromium")
    done = subprocess.run(
        [program, str(script)], input=text, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def disagreements(cores: list[str], settings: list[dict]) -> list[list[str]]:
    """What the code of each core says that is not Python's."""
    ours = [golden.answers(given) for given in settings]
    return [
        [line for one in zip(settings, ours, answered) for line in golden.disagreement(*one)]
        if answered
        else ["no answer"]
        for answered in ask(cores, settings)
    ]


def test_the_page_says_what_python_says():
    assert disagreements([CORE], golden.settings(FEW)) == [[]]


def test_another_constant_is_noticed():
    """By a few short runs; else by all of them; else by the long one, which has several stages."""
    mutants = {old: CORE.replace(old, new) for old, new in MUTATIONS.items()}
    assert CORE not in mutants.values(), "a mutation no longer fits the code"
    short, long = [], []
    for given in golden.settings(FEW):
        (short if given["T"] < LONG else long).append(given)
    for settings in (short[:3], short[3:], long):
        wrong = disagreements([*mutants.values()], settings)
        mutants = {old: core for (old, core), said in zip(mutants.items(), wrong) if not said}
    assert [*mutants] == []


@pytest.mark.parametrize("b", [100, 900, 1000])
@pytest.mark.parametrize(("T", "mu"), [(120, 1e-3), (40, 0.05)])
def test_a_short_run_is_pythons(T, mu, b):
    """The golden settings hardly have runs of few time constants."""
    known = {"T": T, "L": 2.0, "mu": mu, "L_max": 9.0, "n": 1000, "b": b, "kappa_tilde": 15.0}
    script = f"const s = mass_averaged({json.dumps(known)});"
    columns = "[s.alpha, s.beta, s.theta].map((x) => Array.from(x))"
    (text,) = node("-", f"{CORE};{script}console.log(JSON.stringify({columns}))")
    ours = schedules.mass_averaged(**known)
    np.testing.assert_allclose(json.loads(text), [ours.alpha, ours.beta, ours.theta], rtol=1e-9)


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
