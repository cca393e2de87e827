"""How long a run took is counted with its workers, and printed where it is looked for."""

import json
import time

from typer.testing import CliRunner

from bocce.cli import app
from bocce_paper.stopwatch import Stopwatch, in_words


def burn(seconds):
    """Keep a processor busy for so long."""
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass


def test_the_time_of_workers_is_counted():
    from joblib import Parallel, delayed

    watch = Stopwatch(2)
    before = time.process_time()
    Parallel(n_jobs=2)(delayed(burn)(0.25) for _ in range(2))
    here = time.process_time() - before
    reading = watch.read()
    assert reading["processor"] >= here + 0.5 - 0.1  # the system counts in hundredths
    assert reading["elapsed"] >= 0.2
    burn(0.15)
    assert watch.read()["processor"] >= reading["processor"] + 0.09  # readings are rounded


def test_the_page_and_the_folder_tell_it(tmp_path):
    result = CliRunner().invoke(
        app, ["reproduce", "fig1", "--json", "--jobs", "1", "--out", str(tmp_path)]
    )
    last = json.loads(result.stdout)["last"]
    notes = json.loads((tmp_path / "run.json").read_text())["last"]
    assert notes == last
    assert (last["cells"], last["of"]) == (2, 2)
    page = (tmp_path / "report.html").read_text()
    assert "The last run, with figures and verdicts: " in page
    assert "2 of 2 cells computed" in page
    CliRunner().invoke(app, ["report", str(tmp_path)])
    assert in_words(last) in (tmp_path / "report.html").read_text()
