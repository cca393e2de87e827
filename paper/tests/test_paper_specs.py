"""Specifications, the tables of the released code, and the problems they run on."""

import json
import math
import warnings

import numpy as np
import pytest

from bocce import schedules
from bocce_paper import authors, compute, costs
from bocce_paper.compute import prepared, problem
from bocce_paper.exhibits import ALIASES, EXHIBITS, chosen, fig03_quad
from bocce_paper.exhibits._synthetic import synthetic
from bocce_paper.methods import AUTHORS, PAPER, PUBLISHED, KnownNumbers, build
from bocce_paper.specs import PROFILES, SETTINGS, Cell, Data, Run

FULL = PROFILES["paper"]


def every_cell(profile=FULL):
    return [c for f in EXHIBITS.values() for s in f.settings for c in f.cells(s, profile)]


def test_the_papers_figures_are_all_there_in_its_order():
    papers = [figure.label for figure in EXHIBITS.values() if not figure.ours]
    assert papers == [
        "non_acc_alpha_beta",
        "panetal_multistage",
        "shb_quad",
        "shb_batch_sizes",
        "lower_bound_2",
        "psi_function",
        "lower_bound_n",
        "der_beta",
        "squared_loss",
        "logistic_loss",
        "pan_multistage_compare",
    ]
    assert [ALIASES[f"fig{i}"] for i in range(1, 11)] == [x for x in papers if x != "der_beta"]
    assert [f.label for f in chosen(["fig10", "table1", "auto"])] == [
        "der_beta",
        "pan_multistage_compare",
        "auto",
    ]
    assert len(chosen(["fig1", "all"])) == len(EXHIBITS)


def test_panels_are_the_papers():
    panels = {
        label: {c.panel for c in f.cells("paper", FULL) if c.seed == "0"}
        for label, f in EXHIBITS.items()
    }
    counts = {"shb_quad": 9, "shb_batch_sizes": 9, "pan_multistage_compare": 20}
    assert {label: len(panels[label]) for label in counts} == counts
    quad = [c for c in EXHIBITS["shb_quad"].cells("paper", FULL) if c.seed == "0"]
    assert {c.method for c in quad} == set(fig03_quad.METHODS)
    assert (
        panels["squared_loss"]
        == panels["logistic_loss"]
        == {"ijcnn", "rcv1", "rcv1_vw_subset_1747"}
    )
    assert {(c.job.T, c.job.batch, c.job.data.n, c.job.data.d) for c in quad} == {
        (7000, 0.9, 10_000, 20)
    }
    sweep = EXHIBITS["shb_batch_sizes"].cells("paper", FULL)
    assert {c.job.batch for c in sweep if c.method.startswith("SHB-")} == {
        round(0.1 * i, 1) for i in range(1, 11)
    }
    assert {c.job.T for c in sweep} == {2000}
    assert {c.seed for c in sweep} == {"0", "1", "2", "3", "4", "exact"}


def test_cells_have_paths_of_their_own_and_say_what_they_are():
    cells = every_cell()
    assert len({cell.path for cell in cells}) == len({cell.key for cell in cells}) == len(cells)
    assert len({cell.identity() for cell in cells}) == len(cells)
    assert all(json.loads(cell.identity())["figure"] == cell.figure for cell in cells[::97])
    assert all(set(cell.path) <= set("abcdefghijklmnopqrstuvwxyz0123456789._+-/") for cell in cells)


def test_every_rule_is_known():
    known = KnownNumbers(T=50, n=100, b=90, L=20.0, mu=1.0, L_max=40.0, kappa_tilde=30.0)
    rules = {cell.job.rule for cell in every_cell() if isinstance(cell.job, Run)}
    assert rules > set(AUTHORS)
    for rule in rules:
        for setting in SETTINGS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # one stage only
                assert build(setting, rule, known).T == 50, rule
    assert set(AUTHORS) <= set(PAPER)
    assert set(PUBLISHED) <= set(AUTHORS)


# ---------------------------------------------------------------- the released code's tables


def test_their_heavy_ball_is_slower_above_kappa_100():
    for kappa, wanted in ((1000.0, 0.32), (500.0, 0.45), (200.0, 0.71), (64.0, 1.25)):
        s = authors.shb(3, L=kappa, mu=1.0, n=8000, b=7200)
        assert s.alpha[0] * kappa == pytest.approx(wanted, abs=0.005)
        assert s.beta[0] == (1 - 0.5 * math.sqrt(s.alpha[0])) ** 2
    theirs, ours = authors.shb(3, 9.0, 1.0, 10, 10), schedules.shb(3, 9.0, 1.0)
    assert (theirs.alpha[0], theirs.beta[0]) == (ours.alpha[0], ours.beta[0])


def by_their_loop(T, L, mu, gamma, first):
    """(alpha, beta) from state that is updated step by step, as their loop does."""
    omega, eta = 1.0 - gamma, gamma / (2 * L)
    lam, out = 0.0, []
    for k in range(T):
        step, eta = eta, gamma ** (k + first) / (2 * L)
        new = omega / eta * mu * (1 - (1 - eta * mu) ** (k + first))
        out.append((step / (1 + new), (1 - step * mu) * lam / (1 + new)))
        lam = new
    return np.array(out).T


def test_their_exponential_steps_follow_their_loop():
    T, L, mu = 400, 20.0, 2.0
    gamma = (10 * L / mu / T) ** (1 / T)
    s = authors.shb_exponential(T, L, mu)
    alpha, beta = by_their_loop(T, L, mu, gamma, 1)
    np.testing.assert_allclose(s.alpha, alpha, rtol=1e-12)
    np.testing.assert_allclose(s.beta, beta, rtol=1e-9, atol=1e-15)


def test_their_two_phases():
    T, L, mu = 100, 20.0, 2.0
    s = authors.two_phase(T, L, mu)
    assert (s.alpha[:51] == 1 / (2 * L)).all()
    assert s.beta[0] == pytest.approx((1 - math.sqrt(mu / (2 * L))) ** 2)
    alpha, beta = by_their_loop(49, L, mu, (1 / 50) ** (1 / 50), 2)
    np.testing.assert_allclose(s.alpha[51:], alpha, rtol=1e-12)
    np.testing.assert_allclose(s.beta[51:], beta, rtol=1e-9)
    assert s.beta[51] == 0.0


def test_their_stages_have_no_restart_and_one_step_more_at_first():
    for T, kappa in ((7000, 1000.0), (7000, 200.0), (1400, 100.0)):
        ours = schedules.multistage(T, kappa, 1.0, "authors")
        theirs = authors.multistage(T, kappa, 1.0)
        assert np.unique(theirs.alpha).size == np.unique(ours.alpha).size
        assert np.flatnonzero(np.diff(theirs.alpha))[0] == int(0.4 * T)
        assert theirs.beta.min() > 0
        constant = authors.multistage(T, kappa, 1.0, constant_momentum=True)
        assert np.unique(constant.beta).size == 1
    shorter, longer = schedules.pan(500, 50.0, 1.0), authors.pan(500, 50.0, 1.0)
    changes = [np.flatnonzero(np.diff(s.alpha)) for s in (shorter, longer)]
    assert (changes[1] - changes[0] == 1).all()
    assert np.unique(authors.pan(500, 50.0, 1.0, C=None).alpha).size <= 2


# ---------------------------------------------------------------- problems


def test_the_authors_problem_is_what_their_code_makes():
    data = synthetic("authors", FULL.rows, FULL.columns, 1000.0, 1e-2)
    p = problem(data)
    c = p.constants()
    assert p.n == 8000
    assert c.L_max / c.L > 4000  # a few rows carry all curvature
    assert data.noise_var == pytest.approx(1e-4)  # their r is a standard deviation
    run = Run(data, "SGD", "authors", 0.9, T=10)
    _, schedule, b, _ = prepared(run)
    assert b == 7200
    assert schedule.alpha[0] * c.L == pytest.approx(1.25, rel=0.01)  # L is from before the split
    literal = problem(synthetic("paper", FULL.rows, FULL.columns, 1000.0, 1e-2)).constants()
    assert literal.kappa == pytest.approx(1000.0, rel=1e-9)


def test_the_published_setting_is_a_mixture():
    """SHB and phase 1 as printed, stages and phase 2 as released, all rows, true constants."""
    data = synthetic("published", FULL.rows, FULL.columns, 512.0, 1e-2)
    assert (data.design, data.keep, data.nominal) == ("heavy", 1.0, False)
    assert data.noise_var == pytest.approx(1e-4)
    known = KnownNumbers(T=7000, n=10_000, b=9000, L=5120.0, mu=13.7, L_max=1e7, kappa_tilde=None)
    made = {name: build("published", name, known) for name in fig03_quad.METHODS}
    shb, two, multi = made["SHB"], made["2P-SHB"], made["Multi-SHB"]
    assert shb.alpha[0] == 1 / known.L
    np.testing.assert_array_equal(two.alpha[:3501], shb.alpha[:3501])
    np.testing.assert_array_equal(two.beta[:3501], shb.beta[:3501])
    np.testing.assert_array_equal(two.alpha[3501:], build("authors", "2P-SHB", known).alpha[3501:])
    np.testing.assert_array_equal(multi.alpha[:2801], shb.alpha[:2801])
    assert multi.alpha[2801] == shb.alpha[0] / 2


def test_captions_say_what_was_run():
    for exhibit in EXHIBITS.values():
        small, full = (exhibit.caption(PROFILES[name]) for name in ("smoke", "paper"))
        assert "7,000" not in small, exhibit.label
        assert "10,000 rows" not in small
        assert full.endswith(".")
    assert "T = 28" in EXHIBITS["shb_quad"].caption(PROFILES["smoke"])
    assert "T = 7,000" in EXHIBITS["shb_quad"].caption(FULL)


def test_constants_can_be_told_wrong():
    data = synthetic("paper", 60, 20, 100.0, 0.0)
    true, wrong = (
        prepared(Run(data, "SGD", "paper", 0.5, T=2, wrong_L=f))[1].alpha[0] for f in (1.0, 0.1)
    )
    assert wrong == pytest.approx(10 * true)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", ["0", "exact"])
def test_methods_with_the_same_steps_share_a_run_to_the_last_bit(seed):
    """Multi-SHB without a second stage is SHB but for the momentum of step 0, of no effect."""
    data = Data("regression", n=60, d=3, kappa=10.0, noise_var=0.1)
    names = ("SHB", "Multi-SHB", "SGD")
    cells = [Cell("f", "paper", "p", m, seed, Run(data, m, "paper", 0.5, T=30)) for m in names]
    alone = []
    for cell in cells:
        compute._computed.cache_clear()
        alone.append(compute.compute(cell))
    compute._computed.cache_clear()
    shared = [compute.compute(cell) for cell in cells]
    assert compute._computed.cache_info().hits == 1
    for a, b in zip(alone, shared):
        assert a.notes == b.notes
        assert all(np.array_equal(a.numbers[name], b.numbers[name]) for name in a.numbers)
    assert alone[1].notes["schedule"] != alone[0].notes["schedule"]
    assert not np.array_equal(alone[0].numbers["grad_norm"], alone[2].numbers["grad_norm"])


@pytest.mark.parametrize("jobs", [1, 2])
def test_shares_hold_every_cell_once_dear_ones_first_each_of_one_problem(jobs):
    cells = every_cell()
    shares = costs.shares(cells, jobs)
    assert sorted(c.key for share in shares for c in share) == sorted(c.key for c in cells)
    spent = [sum(map(costs.cost, share)) for share in shares]
    assert spent == sorted(spent, reverse=True)
    for share in shares:
        assert len({c.job.data if isinstance(c.job, Run) else c.key for c in share}) == 1
        assert len(share) == 1 or sum(map(costs.cost, share)) <= costs.SHARE
