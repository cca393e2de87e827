"""Every bad argument is refused before any work, in words: parameter, value, rule, remedy."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from bocce import (
    LeastSquares,
    Logistic,
    Problem,
    Schedule,
    exact,
    inference,
    losses,
    minimize,
    policies,
    sampling,
    schedules,
    theory,
)
from refusal import refused

NAN, INF = float("nan"), float("inf")
X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [2.0, -1.0]])
Y = np.array([1.0, 0.0, 1.0, 3.0])
ARGUMENTS = {"L": 4.0, "mu": 1.0, "L_max": 8.0, "kappa_tilde": 5.0, "n": 20, "b": 15}
METHODS = {**schedules.REGISTRY, **policies.REGISTRY}


def needing(*names):
    """One method a factory among those that take these arguments."""
    factories = {}
    for method in METHODS.values():
        known = method.factory.__code__.co_varnames[: method.factory.__code__.co_argcount]
        if set(names) <= set(known):
            factories.setdefault(method.factory, method.name)
    return sorted(factories.values())


def build(name, T=100, **changed):
    return METHODS[name].build(T, ARGUMENTS | changed)


# -- schedules and policies: T, tau, mu, L, a, c, n, b --------------------------------------


@pytest.mark.parametrize("name", needing())
def test_T_below_one(name):
    where = METHODS[name].factory.__name__
    remedy = "give the number of steps" if METHODS[name].needs_T else ".*"
    for T, kind in [(0, ValueError), (-3, ValueError), (2.5, TypeError), (True, TypeError)]:
        rule = rf"{where}: T={T} must be an integer >= 1; {remedy}\."
        refused(lambda T=T: build(name, T=T), kind, rule)


@pytest.mark.parametrize("name", [name for name in needing("tau") if name != "2p-shb"])
@pytest.mark.parametrize("tau", [0.5, 100.0, 101.0, -1.0, NAN])
def test_tau_outside_1_to_T(name, tau):
    where = METHODS[name].factory.__name__
    rule = r"must be a finite number >= 1 and < 100; tau lies in \[1, T\) and T=100: raise T\."
    refused(lambda: build(name, tau=tau), ValueError, rf"{where}: tau={tau} {rule}")


def test_tau_of_the_second_phase():
    message = (
        r"two_phase: T=100 leaves 50 steps for the second phase \(c=0.5\), must be more than "
        r"tau=50; raise T or lower c\."
    )
    refused(lambda: build("2p-shb", tau=50.0), ValueError, message)
    refused(
        lambda: build("2p-shb", tau=0.5),
        ValueError,
        r"two_phase: tau=0.5 must be a finite number >= 1; tau lies in \[1, T - ceil\(cT\)\)\.",
    )


@pytest.mark.parametrize("name", needing("mu"))
@pytest.mark.parametrize("mu", [0.0, -1.0, NAN, INF])
def test_mu_not_positive(name, mu):
    where = METHODS[name].factory.__name__
    rule = rf"{where}: mu={mu} must be a finite number > 0; add l2.*\."
    refused(lambda: build(name, mu=mu), ValueError, rule)


@pytest.mark.parametrize("name", needing("mu", "L"))
def test_mu_above_L(name):
    where = METHODS[name].factory.__name__
    rule = rf"{where}: mu=5.0 must be <= L=4.0; .*were they swapped\?"
    refused(lambda: build(name, mu=5.0), ValueError, rule)


@pytest.mark.parametrize("name", needing("L"))
@pytest.mark.parametrize(("L", "kind"), [(0.0, ValueError), (INF, ValueError), ("4", TypeError)])
def test_L_not_positive(name, L, kind):
    where = METHODS[name].factory.__name__
    rule = rf"{where}: L={L!r} must be a finite number > 0; L is the largest curvature\."
    refused(lambda: build(name, L=L), kind, rule)


@pytest.mark.parametrize("name", needing("a"))
@pytest.mark.parametrize("a", [0.0, -0.5, 1.5, NAN])
def test_a_outside_0_to_1(name, a):
    rule = rf"{name}: a={a} must be a finite number > 0 and <= 1; a scales the step a/L\."
    refused(lambda: build(name, a=a), ValueError, rule)


@pytest.mark.parametrize("c", [0.0, 1.0, -0.5, 2.0, NAN])
def test_c_outside_0_to_1(c):
    rule = rf"two_phase: c={c} must be a finite number > 0 and < 1; c is the share.*\."
    refused(lambda: build("2p-shb", c=c), ValueError, rule)
    for name in ("sgd-sls-exp", "shb-sls-exp"):
        where = METHODS[name].factory.__name__
        rule = rf"{where}: c={c} must be a finite number > 0 and < 1; 1/2 is the paper's\."
        refused(lambda name=name: build(name, c=c), ValueError, rule)


@pytest.mark.parametrize("name", needing("n", "b"))
@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"n": 0, "b": 1}, r"n=0 must be an integer >= 1; n is the number of rows\."),
        ({"b": 0}, r"b=0 must be an integer from 1 to 20; b is the batch size in rows\."),
        ({"b": 21}, r"b=21 must be an integer from 1 to 20; b is the batch size in rows\."),
        ({"L_max": 3.0}, r"L_max=3.0 must be >= L=4.0; .*problem\.constants\(\)\."),
    ],
)
def test_rows_of_the_adaptive_schedules(name, changed, rule):
    where = METHODS[name].factory.__name__
    refused(lambda: build(name, **changed), ValueError, f"{where}: {rule}")


ETA = (ValueError, r"shb_averaged: eta=.* must be a finite number > 0 and <= 0.125; .*1/\(2L\)\]\.")
FORM = (ValueError, r".*: form='prof' must be one of 'proof', 'average'; did you mean 'proof'\?")


@pytest.mark.parametrize(
    ("name", "changed", "refusal"),
    [
        ("shb-avg", {"eta": 0.2}, ETA),
        ("shb-avg", {"eta": 0.0}, ETA),
        ("shb-avg", {"form": "prof"}, FORM),
        ("shb-exp", {"form": "prof"}, FORM),
        ("2p-shb", {"form": "prof"}, FORM),
        ("nesterov-exp", {"rho": 0.5}, (ValueError, r"nesterov_.*: rho=0.5 must be .*>= 1; .*\.")),
        ("multi-shb", {"stages": "al"}, (ValueError, r"multistage: stages='al' must be one of .*")),
        ("multi-shb", {"momentum": "no"}, (ValueError, r"multistage: momentum='no' must be .*")),
        ("multi-shb-pan", {"C": 1.0}, (ValueError, r"pan: C=1.0 must be .* > 1 and <= 200; .*")),
        ("multi-shb-pan", {"C": 201.0}, (ValueError, r"pan: C=201.0 must be .* <= 200; .*")),
        ("mass", {"kappa_tilde": 0.0}, (ValueError, r"mass: kappa_tilde=0.0 must be .*> 0; .*")),
        ("auto", {"family": "sgd"}, (ValueError, r"auto: family='sgd' must be one of 'shb'.*")),
    ],
)  # fmt: skip
def test_the_rest_of_the_factories(name, changed, refusal):
    refused(lambda: build(name, **changed), *refusal)


ONES = np.ones(3)


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ((0 * ONES, ONES / 2, ONES), r"alpha\[0\]=.*0.0\)? must be finite and > 0; .*"),
        ((ONES, [0, 0, 1.0], ONES), r"beta\[2\]=.* must be finite and >= 0 and < 1; .*"),
        ((ONES, [0, -0.1, 0], ONES), r"beta\[1\]=.* must be finite and >= 0 and < 1; .*"),
        ((ONES, ONES / 2, -ONES), r"theta\[0\]=.* must be finite and >= 0; .*"),
        ((ONES, ONES / 2, [0, NAN, 0]), r"theta\[1\]=.*nan\)? must be finite and >= 0; .*"),
        ((ONES, ONES[:2] / 2, ONES), r".*lengths \(3, 2, 3\), must be equal; .*"),
        ((1.0, 0.5, 0.0), r"alpha, beta and theta are all numbers, T must say how .*; .*"),
        (([], [], []), r"alpha has shape \(0,\), must be one row of T >= 1 numbers; .*"),
    ],
)
def test_tables_that_are_no_schedule(columns, rule):
    refused(lambda: Schedule(*columns), ValueError, f"Schedule: {rule}")


# -- sampling -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "kind", "rule"),
    [
        ((0, 0, 0, 1), ValueError, r"n=0 must be an integer from 1 to 4294967295; n is .*\."),
        ((0, 0, 2**32, 1), ValueError, r"n=4294967296 must be an integer from 1 to .*\."),
        ((0, 0, 10, 0), ValueError, r"b=0 must be an integer from 1 to 10; b is .*\."),
        ((0, 0, 10, 11), ValueError, r"b=11 must be an integer from 1 to 10; b is .*\."),
        ((0, 0, 10, 2.0), TypeError, r"b=2.0 must be an integer from 1 to 10; b is .*\."),
        ((0, -1, 10, 2), ValueError, r"k=-1 must be an integer >= 0; steps count from 0\."),
        ((-1, 0, 10, 2), ValueError, r"seed=-1 must be an integer from 0 to .*; a seed is .*\."),
        ((2**64, 0, 10, 2), ValueError, r"seed=18446744073709551616 must be .*; a seed is .*\."),
        ((0, 0, 10, 2, "reshuffled"), ValueError, r"sampling=.*did you mean 'reshuffle'\?"),
    ],
)
def test_batches(arguments, kind, rule):
    refused(lambda: sampling.batch(*arguments), kind, f"batch: {rule}")


# -- problems: NaN, infinity, lengths, labels -------------------------------------------------


def spoilt(value, row=2):
    bad = X.copy()
    bad[row, 1] = value
    return bad


STORED = {
    "dense": np.asarray,
    "float32": lambda bad: bad.astype(np.float32),
    "F order": np.asfortranarray,
    "CSR": sp.csr_array,
    "CSC": sp.csc_array,
}


@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("kind", [LeastSquares, Logistic])
def test_X_not_finite(kind, stored, value):
    rule = r"X has NaN or infinity \(first at row 2\), must be finite; remove or impute such rows\."
    bad = STORED[stored](spoilt(value))
    refused(lambda: kind(bad, [0, 1, 0, 1]), ValueError, f"{kind.__name__}: {rule}")


def test_X_not_finite_in_a_later_block():
    """A block of one column of float32 has 2^20 rows."""
    bad = np.zeros(((1 << 20) + 5, 1), dtype=np.float32)
    bad[-2] = NAN
    refused(lambda: LeastSquares(bad, np.zeros(len(bad))), ValueError, r".*at row 1048579\).*")


def test_large_finite_numbers_are_allowed():
    huge = np.array([[1e308, 0.0], [1e308, 1.0]])  # their sum is not finite, they are
    assert LeastSquares(huge, np.ones(2)).n == 2


@pytest.mark.parametrize("value", [NAN, INF])
@pytest.mark.parametrize("kind", [LeastSquares, Logistic])
def test_y_not_finite(kind, value):
    rule = r"y has NaN or infinity \(first at row 1\), must be finite; remove or impute such rows\."
    refused(lambda: kind(X, [0, value, 1, 1]), ValueError, f"{kind.__name__}: {rule}")


@pytest.mark.parametrize("kind", [LeastSquares, Logistic])
@pytest.mark.parametrize(
    ("X", "y", "error", "rule"),
    [
        (X, Y[:3], ValueError, r"y has shape \(3,\), must be \(4,\) as X has 4 rows; give one .*"),
        (X, Y[:, None], ValueError, r"y has shape \(4, 1\), must be \(4,\) .*; give one .*"),
        (X, 1.0, ValueError, r"y has shape \(\), must be \(4,\) .*; give one target a row\."),
        (X[:, 0], Y, ValueError, r"X has shape \(4,\), must have two dimensions .*; reshape .*"),
        (X[:0], Y[:0], ValueError, r"X has shape \(0, 2\), must have at least one row .*; .*"),
        (X[:, :0], Y, ValueError, r"X has shape \(4, 0\), must have at least .* one column; .*"),
        (X.astype(str), Y, TypeError, r"X has dtype <U32, must be numeric; convert it .*"),
        (X.astype(object), Y, TypeError, r"X has dtype object, must be numeric; convert it .*"),
        (X * 1j, Y, TypeError, r"X has dtype complex128, must be numeric; convert it .*"),
        (sp.csr_array(X * 1j), Y, TypeError, r"X has dtype complex128, must be numeric; .*"),
    ],
    ids=lambda value: None if isinstance(value, str) else "",
)
def test_shapes_and_types(kind, X, y, error, rule):
    refused(lambda: kind(X, y), error, f"{kind.__name__}: {rule}")


@pytest.mark.parametrize(
    ("l2", "kind"), [(-1e-9, ValueError), (NAN, ValueError), (None, TypeError)]
)
def test_l2(l2, kind):
    rule = rf"LeastSquares: l2={l2!r} must be a finite number >= 0; 0 is no regularisation\."
    refused(lambda: LeastSquares(X, Y, l2=l2), kind, rule)


@pytest.mark.parametrize(
    ("y", "shown"),
    [
        ([0, 1, 2, 1], r"3 different labels \(0, 1, 2\)"),
        ([1, 1, 1, 1], r"one label only \(1\)"),
        (["a", "b", "c", "d"], r"4 different labels \('a', 'b', 'c', 'd'\)"),
    ],
)
def test_labels_other_than_two(y, shown):
    rule = rf"Logistic: y has {shown}, must have exactly two; (make one class|add rows) .*"
    refused(lambda: Logistic(X, y), ValueError, rule)


def test_labels_for_least_squares():
    rule = r"LeastSquares: y has dtype <U1, must be numbers; for labels take a classifier, .*"
    refused(lambda: LeastSquares(X, ["a", "b", "a", "b"]), TypeError, rule)


@pytest.mark.parametrize(
    ("y", "kind"), [([None, None, None, None], "NoneType"), (["a", 1, "a", 1], "(str|int)")]
)
def test_labels_that_cannot_be_sorted(y, kind):
    rule = rf"Logistic: y has labels of several kinds, or None \(.*{kind}.*\), must be labels .*"
    refused(lambda: Logistic(X, np.array(y, dtype=object)), TypeError, rule)


def test_rows_of_unlike_length():
    rule = r"LeastSquares: X is a list whose entries differ in length, must be rows of equal .*"
    refused(lambda: LeastSquares([[1.0, 2.0], [3.0]], [1.0, 2.0]), ValueError, rule)


def test_weights_and_penalties_that_are_no_numbers():
    rule = r"LeastSquares: sample_weight has the value 'heavy', must be numbers; give one .* row\."
    refused(lambda: Problem(X, Y, sample_weight="heavy"), TypeError, rule)
    rule = r"LeastSquares: penalty has the value \['a', 'b'\], must be numbers; .* a column\."
    refused(lambda: Problem(X, Y, penalty=["a", "b"]), TypeError, rule)


@pytest.mark.parametrize("name", ["intercept", "standardize"])
@pytest.mark.parametrize("value", ["no", None, 2, 0.0, [True]])
def test_a_switch_is_true_or_false(name, value):
    rule = rf"LeastSquares: {name}={re.escape(repr(value))} must be True or False\."
    refused(lambda: Problem(X, Y, **{name: value}), TypeError, rule)


def test_a_switch_may_be_a_number():
    assert Problem(X, Y, intercept=np.True_).intercept
    assert not Problem(X, Y, intercept=0).intercept


@pytest.mark.parametrize(
    ("rows", "kind", "rule"),
    [
        ([4], ValueError, r"the number 4, must be from 0 to 3\."),
        ([0, -1], ValueError, r"the number -1, must be from 0 to 3\."),
        ([], TypeError, r"shape \(0,\) and dtype float64, must be the numbers of one row or .*"),
        ([0.5], TypeError, r"shape \(1,\) and dtype float64, must be the numbers of one row or .*"),
        ([[1]], TypeError, r"shape \(1, 1\) and dtype int64, must be the numbers of one row or .*"),
        ([True, False, True, False], TypeError, r".* of a mask take np\.flatnonzero\(mask\); .*"),
    ],
)
def test_the_rows_of_a_gradient(rows, kind, rule):
    p = LeastSquares(X, Y)
    refused(lambda: p.gradient([1.0, 1.0], rows=rows), kind, f"LeastSquares: rows has {rule}")
    refused(lambda: p.value([1.0, 1.0], rows=rows), kind, f"LeastSquares: rows has {rule}")


@pytest.mark.parametrize(
    ("loss", "kind", "rule"),
    [
        (losses.Huber(0.0), ValueError, r"Huber: delta=0.0 must be a finite number > 0; .*"),
        (losses.Huber(NAN), ValueError, r"Huber: delta=nan must be a finite number > 0; .*"),
        (losses.Huber("1"), TypeError, r"Huber: delta='1' must be a finite number > 0; .*"),
        (losses.Quantile(1.0), ValueError, r"Quantile: level=1.0 must be .* > 0 and < 1; .*"),
        (losses.Quantile(0.5, -1.0), ValueError, r"Quantile: smoothing=-1.0 must be .* > 0; .*"),
        (losses.Quantile(0.5, 0.0), ValueError, r"Quantile: smoothing=0.0 must be .* > 0; .*"),
        (losses.Quantile(0.5, 0.1, 0), ValueError, r"Quantile: factor=0.0 must be .* > 0; .*"),
    ],
)
def test_the_parameters_of_losses(loss, kind, rule):
    refused(lambda: Problem(X, Y, loss), kind, rule)


def test_columns_of_a_schedule_that_are_no_numbers():
    rule = r"Schedule: beta has the value 'fast', must be numbers; give one number a step, .*"
    refused(lambda: Schedule([1.0], "fast"), TypeError, rule)
    rule = r"then: other=3 must be a Schedule; make one with bocce\.schedules\."
    refused(lambda: Schedule([1.0], 0.5).then(3), TypeError, rule)


def test_spectra_that_are_no_numbers():
    rule = r"Gaussian: spectrum has the value 'flat', must be numbers; give one for each .*"
    refused(lambda: exact.Gaussian("flat"), TypeError, rule)
    rule = r"auto: spectrum has the value 'flat', must be numbers; take the eigenvalues .*"
    known = {name: value for name, value in ARGUMENTS.items() if name != "kappa_tilde"}
    refused(lambda: schedules.auto(5, **known, spectrum="flat"), TypeError, rule)
    rule = r"regret: schedule='sgd' must be a Schedule; make one with bocce\.schedules\."
    refused(lambda: exact.regret("sgd", exact.Gaussian([1.0]), 2), TypeError, rule)


def test_starts_and_spectra_of_theory_that_are_no_numbers():
    known = {"n": 10, "b": 5, "L_max": 1.0, "kappa_tilde": 1.0}
    table = schedules.sgd(3, 1.0)
    rule = r"certify: error0 has the value 'far', must be numbers; give \|\|w_0 - w\*\|\|\^2\."
    ends = {"mu": 0.1, "lam_max": 1.0}
    refused(lambda: theory.certify(table, **known, **ends, error0="far"), TypeError, rule)
    rule = r"certify: spectrum has the value 'flat', must be numbers; give the eigenvalues .*"
    refused(lambda: theory.certify(table, **known, spectrum="flat", error0=1.0), TypeError, rule)
    rule = r"certify_run: p=str must be a LeastSquares problem, .*"
    refused(lambda: theory.certify_run("p", table, 4), TypeError, rule)
    p = LeastSquares(X, Y)
    rule = r"expected: w0 has the value 'far', must be numbers; leave it out for 0\."
    refused(lambda: exact.expected(p, table, 2, w0="far"), TypeError, rule)


def test_fits_that_have_no_standard_errors():
    p = LeastSquares(X, Y)
    rule = r"infer: p='p' must be a problem; build one with bocce\.Problem\(X, y\)\."
    refused(lambda: inference.infer("p", [1.0, 1.0]), TypeError, rule)
    rule = r"infer: w has NaN or infinity, must be finite; give the fit of a run that did not .*"
    refused(lambda: inference.infer(p, [1.0, NAN]), ValueError, rule)


def test_rows_to_predict_that_are_no_numbers():
    result = minimize(LeastSquares(X, Y), tol=1e-6)
    rule = r"predict: X has the value 'rows', must be numbers; give rows of numbers\."
    refused(lambda: result.predict("rows"), TypeError, rule)
