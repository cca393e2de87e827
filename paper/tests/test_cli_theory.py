"""``bocce theory``: the functions' values, and nothing assumed in silence."""

import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bocce
from bocce import theory
from bocce_paper import thresholds
from bocce_paper.constants import constants
from cli_helpers import assert_refused, run, write_table


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "table.csv")


def test_theory_prints_the_functions_values():
    words = ("-b", 9950, "-T", 500)
    report = json.loads(
        run("theory", "-n", 10_000, "--kappa", 10, "--ratio", 1, *words, "--json").stdout
    )
    rows = {(row["group"], row["name"]): row for row in report["rows"]}
    theory = bocce.theory
    batch = {name: row["value"] for (group, name), row in rows.items() if group.startswith("batch")}
    assert batch["b* (Theorem 2)"] == theory.batch_threshold(10_000, 10.0)
    assert batch["lower bound, exact"] == theory.lower_bound_threshold(10_000, 10.0)
    bound = theory.bound_shb(500, L=10.0, mu=1.0, n=10_000, b=9950, L_max=10.0)
    row = rows["bound on the error after T steps", "Theorem 2, corrected"]
    assert (row["value"], row["valid"], row["note"]) == (bound.total, bound.valid, bound.why)
    assert report["setting"]["b"] == 9950


def test_theory_of_data_knows_what_is_exact(table):
    """On the diagonal problem the certificate is sharp: certified equals exact."""
    X, y, _ = bocce.data.diagonal(40, 25.0)
    setting = thresholds.from_problem(bocce.LeastSquares(X, y), T=100, b=30)
    rows = {(row.group, row.name): row.value for row in thresholds.table(setting)}
    group = "batch size from which"
    exact = rows[group, "exact"]
    assert rows[group, "certified (Theorem S)"] == pytest.approx(exact, rel=1e-9)
    assert rows[group, "lower bound, exact"] == pytest.approx(exact, rel=1e-9)
    result = run("theory", table, "-b", 20, "--l2", 0.1, "--json")
    setting = json.loads(result.stdout)["setting"]
    constants = bocce.LeastSquares(*bocce.data.open(table), l2=0.1).constants()
    assert (setting["n"], setting["L"], setting["mu"]) == (60, constants.L, constants.mu)


def test_theory_does_not_start_what_takes_too_long():
    X, y, _ = bocce.data.regression(200, thresholds.EXACT_COLUMNS + 1, 5.0)
    rows = thresholds.table(thresholds.from_problem(bocce.LeastSquares(X, y), T=100))
    notes = [row.note for row in rows if row.name == "exact"]
    assert notes == ["not computed: slow beyond d = 60"] * 2


def test_the_sweep_over_l2_has_the_kappas_it_wants():
    X, y, _ = bocce.data.regression(80, 3, 50.0, noise_var=0.1)
    setting = thresholds.from_problem(bocce.LeastSquares(X, y, l2=0.5), T=2)
    curve = thresholds.sweep(setting)["data"]
    assert curve["kappa"] == pytest.approx(np.geomspace(2.0, setting.kappa, 9), rel=1e-9)
    assert all(e <= c * (1 + 1e-9) for e, c in zip(curve["exact"], curve["certified"]))


def test_theory_plots(table, tmp_path):
    assert run("theory", table, "--plot", tmp_path / "p.png").exit_code == 0
    assert (tmp_path / "p.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert run("theory", "-n", 300, "--plot", tmp_path / "p.svg").exit_code == 0
    assert b"<svg" in (tmp_path / "p.svg").read_bytes()


WRONG_THEORY = [
    (("--kappa", 0.5), "--kappa 0.5 must be"),
    (("-b", 0), "--batch-size 0 must be an integer from 1 to 10000"),
    (("-b", 10_001), "--batch-size 10001 must be"),
    (("-n", 1), "-n 1 must be"),
    (("-T", 0), "--steps 0 must be"),
    (("--ratio", 0.5), "--ratio 0.5 must be"),
    (("--l2", 1.0), "--l2 is about the data"),
    (("--target", "y"), "--target is about the data"),
    (("--method", "shbb"), "--method 'shbb' must be one of"),
    (("TABLE", "--kappa", 3, "-n", 5), "FILE decides what -n and --kappa would"),
    (("--plot", "absent/p.png"), "there is no folder"),
    (("-n", 100, "--plot", "p.nonsense"), "--plot: 'p.nonsense' must end in .png, .svg or .pdf"),
    (("-n", 100, "--plot", "."), "--plot: '.' is a directory; name a file in it"),
]


@pytest.mark.parametrize(("words", "message"), WRONG_THEORY)
def test_bad_input_to_theory(table, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    result = run("theory", *(table if word == "TABLE" else word for word in words))
    assert_refused(result, before, tmp_path, message)


def test_singular_data_have_the_curvature_of_their_row_space(tmp_path):
    (tmp_path / "t.csv").write_text("1,1,1\n2,2,3\n3,3,1\n")
    result = run("theory", tmp_path / "t.csv")
    assert result.exit_code == 0, result.stderr


def test_both_ends_are_printed_where_the_ratio_is_not_known():
    words = ("-n", 2000, "--kappa", 1000)
    shown = run("theory", *words).stdout
    assert "Two extremes are shown" in " ".join(shown.split())
    paper = bocce.schedules.shb(1, 1000.0, 1.0)
    step = (float(paper.alpha[0]), float(paper.beta[0]))
    ends = [
        bocce.theory.certified_batch_size(2000, *step, L_max, 1.0, 1000.0) for L_max in (1e3, 2e6)
    ]
    line = re.search(r"^certified \(Theorem S\) +(\S+) +(\S+)", shown, re.M)
    assert [float(x) for x in line.groups()] == pytest.approx(ends, rel=1e-5)
    assert "bound on the error" not in shown
    both = json.loads(run("theory", *words, "--json").stdout)["ends"]
    assert [end["setting"]["L_max"] for end in both] == [1e3, 2e6]


@pytest.mark.parametrize("words", [(), ("--ratio", 12.3456789)])
def test_numbers_are_whole_at_60_columns(words):
    given = ("-n", 123_457, "--kappa", 98_765.4321, "-b", 77_777)
    narrow = run("theory", *given, *words, env={"COLUMNS": "60"}).stdout
    wide = run("theory", *given, *words, env={"COLUMNS": "200"}).stdout
    assert max(map(len, narrow.splitlines())) <= 60
    number = re.compile(r"\b\d[\d.]*(?:e[+-]\d+)?\b")
    assert set(number.findall(narrow)) == set(number.findall(wide))


def test_the_error_of_a_method_is_certified(table):
    words = ("-b", 40, "-T", 300, "--method", "auto")
    row = json.loads(run("theory", table, *words, "--json").stdout)["rows"]
    row = next(r for r in row if r["name"] == "certified, auto")
    p = bocce.LeastSquares(*bocce.data.open(table))
    c = p.constants()
    schedule = bocce.schedules.auto(300, c.L, c.mu, c.L_max, 60, 40, c.kappa_tilde)
    bound = bocce.theory.certify_run(p, schedule, 40)
    assert (row["value"], row["valid"]) == (bound.total, True)
    truth = bocce.exact.expected(p, schedule, 40).error2[-1]
    assert truth <= row["value"] * (1 + 1e-9) + 1e-25


def test_the_error_of_a_method_is_certified_at_both_ends():
    words = ("-n", 1000, "--kappa", 10, "-b", 800, "-T", 99)
    shown = run("theory", *words, "--method", "auto").stdout
    low, high = re.search(r"^certified, auto +(\S+) +(\S+)", shown, re.M).groups()
    assert 0.0 < float(low) <= float(high)


@given(
    st.integers(2, 10**6), st.integers(2, 10**5), st.floats(1.0, 1e6), st.floats(1.0, 1e3),
    st.floats(0.0, 1.0), st.floats(1e-3, 1e3),
)  # fmt: skip
def test_the_constants_make_the_bounds(T, n, kappa, ratio, share, mu):
    """Theorem 1 is C_4 (bias + C_5 sigma^2/T), as printed and corrected; Theorem 2 likewise."""
    ratio = min(ratio, n)
    b = max(1, round(share * n))
    s = thresholds.Setting(n, b, T, kappa * mu, mu, ratio * kappa * mu, chi2=2.0, sigma2=3.0)
    found = {(c.theorem, c.name): c for c in constants(s)}
    known = {"T": T, "L": s.L_max, "mu": mu, "sigma2": 3.0, "zeta2": theory.zeta2(n, b)}
    for which in ("printed", "corrected"):
        C_4, C_5 = (getattr(found["Theorem 1", name], which) for name in ("C_4", "C_5"))
        noise = theory.bound_exponential(**known, which=which).noise
        if which == "corrected" and theory.zeta2(n, b) > 0.5:
            continue  # the bound takes the least of several noises
        assert pytest.approx(noise, rel=1e-6) == C_4 * C_5 * 3.0 / T
    bound = theory.bound_shb(T, s.L_max, mu, n, b, chi=math.sqrt(2.0), which="printed")
    assert found["Theorem 2", "noise"].corrected == pytest.approx(bound.noise, rel=1e-9)
    factor = found["Theorem 2", "bias factor"].corrected
    pace = found["Theorem 2", "pace"].corrected
    assert factor * math.exp(-T * pace) == pytest.approx(bound.bias, rel=1e-6, abs=1e-300)


def test_theory_opens_with_the_batch_that_is_enough():
    words = " ".join(
        run("theory", "-n", 10_000, "--kappa", 200, "--ratio", 30, "-b", 9000).stdout.split()
    )
    (setting,) = thresholds.from_numbers(7000, 10_000, 200.0, 9000, 30.0)
    paper, certified = math.ceil(setting.paper_batch), math.ceil(setting.certified_batch)
    assert words.startswith("Theorem 1 holds for every batch; Theorem 2, Theorem 4 and")
    assert f"need {paper:,} of 10,000 rows; by Theorem S {certified:,} are enough" in words
    assert "e+2" not in words
