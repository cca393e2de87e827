"""Every figure, very small, through the pipeline, from cells to the report."""

import base64
import gzip
import json
import re
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

from bocce import data
from bocce.cli import app
from bocce_paper import canvas, compute, draw, report, runner
from bocce_paper.exhibit import Exhibit
from bocce_paper.exhibits import (
    EXHIBITS,
    auto,
    chosen,
    fig02_panetal,
    fig03_quad,
    fig04_batch_sizes,
    fig10_pan,
)
from bocce_paper.interactive import chart
from bocce_paper.results import Results, Trajectory
from bocce_paper.specs import PROFILES, SETTINGS, Outcome, Profile
from bocce_paper.styles import CYCLE, NAMED, SYMBOLS, style_of

TINY = Profile("paper", rows=60, columns=20, share=0.004, seeds=1, passes=1.0)


def small_data(name):
    """In the place of a LIBSVM set: noisy labels of a linear rule."""
    X, y, _ = data.regression(2500, 5, 3.0, noise_var=1.0, seed=len(name))
    return X, np.sign(y - y.mean()), name if name != "rcv1" else "sector.scale"


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(PROFILES, "paper", TINY)
    monkeypatch.setattr(compute, "real_data", small_data)
    fewer = {
        fig03_quad: {"KAPPAS": (1000, 200), "NOISES": (1e-2, 1e-4)},
        fig04_batch_sizes: {"KAPPAS": (2048, 8)},
        fig10_pan: {"KAPPAS": (2000, 100), "NOISES": (1e-2,)},
        auto: {"METHODS": ("sgd", "mass", "auto")},
        fig02_panetal: {"SEEDS": 2},
    }
    for module, changes in fewer.items():
        for name, values in changes.items():
            monkeypatch.setattr(module, name, values)
    compute.problem.cache_clear()
    yield
    compute.problem.cache_clear()


def bocce(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


class Page(HTMLParser):
    """What a reader's tools see: headings, identifiers, roles, and tags that are left open."""

    def __init__(self, text):
        super().__init__()
        self.headings, self.ids, self.links, self.charts, self.open = [], set(), [], [], []
        self.sources = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag in ("h1", "h2", "h3"):
            self.headings.append(tag)
        if "id" in attributes:
            self.ids.add(attributes["id"])
        if tag == "a":
            self.links.append(attributes["href"])
        if attributes.get("class") == "chart":
            self.charts.append(attributes)
        self.sources += [v for k, v in attrs if k == "src" or (k == "href" and tag == "link")]
        if tag not in ("meta", "link", "br", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_whole_pipeline(tiny, tmp_path):
    folder = tmp_path / "results"
    done = bocce("reproduce", "all", "--out", folder, "--jobs", 1)
    assert done.exit_code == 0, done.output
    cells = runner.plan(folder, EXHIBITS.values(), TINY, SETTINGS).cells
    assert len(list((folder / "cells").rglob("*.npz"))) == len(cells)
    check_pictures(folder)
    check_claims(folder)
    check_report(folder)
    check_commands(folder)


def check_pictures(folder):
    names = {path.stem for path in (folder / "figures").glob("*.png")}
    wanted = set()
    for figure in EXHIBITS.values():
        alone = len(figure.settings) == 1
        wanted |= {figure.label} if alone else {f"{figure.label}-{s}" for s in figure.settings}
    assert names == wanted == {path.stem for path in (folder / "figures").glob("*.pdf")}
    for path in (folder / "figures").glob("*.png"):
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def check_claims(folder):
    stored = (folder / "claims.json").read_text()
    printed = bocce("claims", folder, "--json")
    assert printed.exit_code == 0
    assert printed.stdout == stored == bocce("claims", folder, "--json").stdout
    content = json.loads(stored)
    names = [claim["id"] for claim in content["claims"]]
    assert names == [claim.id for exhibit in EXHIBITS.values() for claim in exhibit.claims]
    assert len(content["bottom_line"]) == 5
    table = bocce("claims", folder, "--markdown").stdout.splitlines()
    assert len([line for line in table if line.startswith("| `")]) == len(names)


def check_report(folder):
    text = (folder / "report.html").read_text()
    page = Page(text)
    assert page.headings.count("h1") == 1
    assert not page.open
    inside = {link[1:] for link in page.links if link.startswith("#")}
    assert inside <= page.ids, "every link leads somewhere"
    assert len(text) < 5_000_000
    assert set(EXHIBITS) <= page.ids
    assert page.sources == ["data:,"], "nothing is fetched"
    packed = re.search(r'id="charts">(.*?)</script>', text, re.S).group(1)
    data = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert {chart["id"] for chart in page.charts} == {f"chart-{name}" for name in data}
    assert all(len(chart["aria-label"]) > 30 and "tabindex" in chart for chart in page.charts)
    for name, content in data.items():
        assert content["data"], name
        assert all(len(trace.get("x", [])) <= 90 for trace in content["data"])
        check_axes(name, content["layout"])
    assert "stand-in: sector.scale" in text
    assert "sector.scale stands in for rcv1" in text
    order = ["What stands</h2>", "What to change</h2>", "Figure 1: ", "All claims</h2>"]
    places = [text.rindex(words) for words in order]
    assert places == sorted(places)
    assert text.count('class="card"') == 5
    assert "https://www.csie" not in text


def check_axes(name, layout):
    """Every axis of the interactive figures is labelled, as in print."""
    for key, axis in layout.items():
        if re.match(r"[xy]axis\d*$", key):
            assert axis["title"]["text"], (name, key)
        if key.startswith("scene"):
            assert all(axis[f"{letter}axis"]["title"]["text"] for letter in "xy")


def check_commands(folder):
    """Resuming computes nothing; the commands of the report make a cell again."""
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*.npz")}
    again = bocce("reproduce", "der_beta", "--out", folder, "--jobs", 1, "--json")
    assert again.exit_code == 0
    assert json.loads(again.stdout)["verdicts"]["table_der_beta"] == "holds"
    assert before == {p: p.stat().st_mtime_ns for p in folder.rglob("*.npz")}
    rows = report._curves(runner.load(folder), "paper")
    command = next(
        row["command"] for row in rows if "misestimation/paper/l/nu-1/" in row["command"]
    )
    again = bocce(*command.split()[1:], "--out", folder, "--jobs", 1)
    assert again.exit_code == 0, again.output
    changed = [p for p, t in before.items() if p.stat().st_mtime_ns != t]
    assert [p.parent.name for p in changed] == ["nu-1"]
    assert json.loads(bocce("report", folder, "--json").stdout)["report"].endswith("report.html")


def counting(monkeypatch, owner, name, what):
    """How often a function is called, by what its arguments say."""
    plain, calls = getattr(owner, name), Counter()

    def counted(*given):
        calls[what(*given)] += 1
        return plain(*given)

    monkeypatch.setattr(owner, name, counted)
    return calls


def test_a_run_plans_once_reads_a_cell_once_and_builds_a_picture_once(tmp_path, monkeypatch):
    """First when everything is computed, then when everything is stored."""
    monkeypatch.setitem(PROFILES, "paper", TINY)
    names = ("fig1", "table1", "misestimation")
    wanted = [(figure.label, s) for figure in chosen([*names]) for s in figure.settings]
    for computed in (True, False):
        with monkeypatch.context() as patch:
            plans = counting(patch, runner, "_cells_of", lambda held, profile: profile.name)
            built = counting(patch, Exhibit, "drawn", lambda e, results, s: (e.label, s))
            drawn = counting(patch, draw, "render", lambda picture: picture.name)
            reads = counting(patch, runner, "read", lambda folder, cell: cell.path)
            made = counting(patch, runner, "compute", lambda cell: cell.path)
            done = bocce("reproduce", *names, "--out", tmp_path, "--jobs", 1)
        assert done.exit_code == 0, done.output
        assert plans == {"paper": 1}
        assert built == Counter(wanted)
        assert len(drawn) == len(wanted)
        cells = len(list(tmp_path.rglob("*.npz")))
        assert (len(reads), len(made)) == (cells, cells * computed)
        assert {*drawn.values(), *reads.values(), *made.values()} == {1}


def test_a_smoke_test_judges_nothing(tmp_path):
    done = bocce("reproduce", "fig1", "--profile", "smoke", "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "judges" in done.stdout
    assert not (tmp_path / "claims.json").exists()
    page = (tmp_path / "report.html").read_text()
    assert "it shows that" in page
    assert 'class="claim' not in page
    assert json.loads(bocce("claims", tmp_path, "--json").stdout)["claims"] == []


def test_the_time_left_is_an_estimate_that_experience_corrects(monkeypatch):
    """Ten seconds of estimated work at twice the estimate: the rest is shown as nearly twice."""
    now = [0.0]
    monkeypatch.setattr(runner.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(runner, "cost", lambda cell: 1000.0)
    shown = []
    progress = runner._Progress(100_000.0, 1, lambda what, share, left: shown.append((share, left)))
    cell = EXHIBITS["der_beta"].cells("paper", TINY)[0]
    for _ in range(40):
        now[0] += 2.0
        progress.add([(cell, None)])
    assert shown[0] == (0.0, "1 min 40 s")
    assert shown[-1][0] == 40.0
    assert 60.0 * 1.7 < progress.left() < 60.0 * 2.0


# ---------------------------------------------------------------- bad input


def test_bad_input_writes_nothing(tmp_path, monkeypatch):
    out = tmp_path / "r"
    for words, message in [
        (("fig99",), "NAMES='fig99' must be one of 'all', 'non_acc_alpha_beta'"),
        (("shb_quadd",), "did you mean 'shb_quad'?"),
        (("--profile", "slow"), "Invalid value for '--profile'"),
        (("--setting", "ours"), "Invalid value for '--setting'"),
        (("--jobs", 0), "--jobs=0 must be an integer >= 1"),
        (("der_beta", "--only", "shb_quad"), "no cell of these figures begins with"),
    ]:
        result = bocce("reproduce", *words, "--out", out)
        assert (result.exit_code, result.stdout) == (2, "")
        assert message in " ".join(result.stderr.split())
    for command in ("report", "claims"):
        result = bocce(command, tmp_path)
        assert result.exit_code == 2
        assert "holds no results" in result.stderr
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- data that cannot be had


def no_data(name):
    raise FileNotFoundError(f"load: {name} is nowhere")


def test_without_data_the_panels_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(compute.sources, "load", no_data)
    monkeypatch.setitem(PROFILES, "paper", TINY)
    compute.problem.cache_clear()
    compute._loaded.cache_clear()
    try:
        plan = runner.plan(tmp_path, chosen(["fig8", "table1"]), TINY, SETTINGS)
        results = runner.reproduce(plan)
        page = report.Page(tmp_path, results)
    finally:
        compute._loaded.cache_clear()
    words = {verdict.claim.id: verdict.word for verdict in page.verdicts}
    assert words["squared_loss_close"] == "not-evaluated"
    assert words["table_der_beta"] == "holds"
    text = page.publish().read_text()
    for name in ("ijcnn", "rcv1"):
        assert f"{name} is not on this machine (BOCCE_DATA names a folder to look in)" in text
        assert f"{name}: not found, set BOCCE_DATA to its folder" in text
    # the data come: only those cells are computed again
    monkeypatch.setattr(compute, "real_data", small_data)
    computed = []
    runner.reproduce(plan, show_progress=lambda what, share, left: computed.append(what))
    assert {what.split(",")[0] for what in computed[1:]} == {"squared_loss"}
    compute.problem.cache_clear()


def test_a_stand_in_is_named_and_labels_are_signs(monkeypatch):
    def load(name):
        if name == "rcv1_train.binary":
            raise FileNotFoundError(name)
        rows = data.diagonal(4, 2.0)[0]
        return rows, np.array({"sector.scale": [1, 50, 51, 105], "mushrooms": [1, 2, 2, 1]}[name])

    monkeypatch.setattr(compute.sources, "load", load)
    compute._loaded.cache_clear()
    try:
        assert compute.real_data("rcv1")[1:][1] == "sector.scale"
        assert compute.real_data("rcv1")[1].tolist() == [1, 1, -1, -1]
        assert compute.real_data("mushrooms")[1].tolist() == [1, -1, -1, 1]
    finally:
        compute._loaded.cache_clear()


# ---------------------------------------------------------------- text and colours


def test_text_from_outside_is_escaped(tmp_path):
    evil = "</script><script>alert(1)</script>"
    missing = Outcome({}, {"missing": evil})
    results = Results({("psi_function", "paper", "Psi", "Psi", "table"): missing})
    (tmp_path / "run.json").write_text(
        json.dumps({"profile": "smoke", "figures": {"psi_function": []}, "last": {}})
    )
    text = report.Page(tmp_path, results).render()
    assert evil not in text
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in text
    panel = canvas.Panel(evil, "x", "y", (canvas.Line("a", np.arange(2), np.ones(2)),))
    shown = json.dumps(chart(canvas.Picture("p", "t", 1, (panel,)))).replace("<", "\\u003c")
    assert "<" not in shown


def test_lines_can_be_told_apart_without_colour():
    """In every figure the markers differ."""
    for exhibit in EXHIBITS.values():
        cells = [c for s in exhibit.settings for c in exhibit.cells(s, PROFILES["paper"])]
        methods = list(dict.fromkeys(c.method for c in cells if c.figure != "auto"))
        named = [style_of(m, i) for i, m in enumerate(methods) if m in NAMED]
        looks = [(s.marker, s.dash) for s in named]
        assert len(set(looks)) >= len(looks) - 2, exhibit.label
    assert len({style.marker for style in CYCLE}) == len(CYCLE)
    assert {style.marker for style in NAMED.values()} <= set(SYMBOLS)


def test_lines_that_lie_on_one_another_are_named():
    k = np.arange(5.0)
    lines = tuple(canvas.Line(name, k, k + 1) for name in ("SHB", "Multi-SHB"))
    panel = canvas.Panel("p", lines=(*lines, canvas.Line("SGD", k, k + 2)))
    assert panel.same() == ["SHB = Multi-SHB"]
    shown = chart(canvas.Picture("p", "t", 1, (panel,)))["layout"]["annotations"]
    assert "one curve: SHB = Multi-SHB" in {a["text"] for a in shown}


def test_bands_are_one_standard_deviation():
    runs = np.array([[4.0, 2.0], [4.0, 1.0], [4.0, 3.0]])
    none = np.zeros(0)
    curve = Trajectory(np.array([0, 1]), runs, none, none, np.array([0, 1]), none)
    (line,) = canvas.method_lines("SGD", curve)
    assert line.y.tolist() == [4.0, 2.0]
    low, high = line.band
    assert (high - line.y).tolist() == (line.y - low).tolist() == [0.0, 1.0]


def test_the_same_numbers_draw_the_same_file(tmp_path):
    line = canvas.Line("SGD", np.arange(1, 50.0), 0.9 ** np.arange(1, 50.0), "runs")
    picture = canvas.Picture("p", "t", 1, (canvas.Panel("a", "x", "y", (line,)),))
    first = [path.read_bytes() for path in draw.save(picture, tmp_path / "a")]
    second = [path.read_bytes() for path in draw.save(picture, tmp_path / "b")]
    assert first == second
