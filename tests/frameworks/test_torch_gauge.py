"""The gauge against closed forms on least squares, and that a model is left as it was."""

from __future__ import annotations

import copy
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import gloo
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce import schedules, theory
from bocce.torch import SHB, Gauge, estimate_constants
from bocce.torch.intervals import Products, jackknife, moments, positive, quantile


def half_square(z: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return 0.5 * (z.squeeze(-1) - y).square().mean()


def linear(w: np.ndarray) -> torch.nn.Module:
    model = torch.nn.Linear(len(w), 1, bias=False).double()
    model.weight.data.copy_(torch.tensor(w)[None])
    return model


def gaussian_rows(rng: np.random.Generator, n: int, lam: np.ndarray, noise: float) -> Any:
    X = rng.standard_normal((n, len(lam))) * np.sqrt(lam)
    return torch.tensor(X), torch.tensor(noise * rng.standard_normal(n))


# -- the truth is known --------------------------------------------------------------------------


@pytest.mark.slow
def test_intervals_cover_the_truth_of_least_squares() -> None:
    """Gaussian rows: tr Sigma, |g|^2, L, R2 = tr A + 2 L in closed form; 200 draws."""
    lam = 1.0 / np.arange(1, 21)
    rng = np.random.default_rng(1)
    w = rng.standard_normal(len(lam))
    noise = 0.3
    gradient2 = float((lam * w) @ (lam * w))
    variance = lam.sum() * float(w @ (lam * w)) + gradient2 + noise**2 * lam.sum()
    R2 = lam.sum() + 2.0
    truth = {
        "gradient_noise": variance,
        "noise_scale": variance / gradient2,
        "curvature": 1.0,
        "R2": R2,
        "trace": lam.sum(),
        "useful_batch": 2.0 * R2,
        "edge": 0.1 / theory.edge(beta=0.5, lam=1.0, zeta2=1.0 / 512, L_max=R2),
    }
    model = linear(w)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    covered = dict.fromkeys(truth, 0)
    for _ in range(200):
        gauge = Gauge(model, half_square, optimizer)
        gauge.step(gaussian_rows(rng, 512, lam, noise))
        for name, value in truth.items():
            interval = getattr(gauge.last, name)
            covered[name] += interval.low <= value <= interval.high
    # 95 % of 200 draws, within three standard errors of a count
    assert all(0.90 <= count / 200 <= 0.995 for count in covered.values()), covered


def test_the_measured_numbers_are_those_of_the_rows() -> None:
    """One measurement against dense algebra on the same rows; v is exact as d is small."""
    rng = np.random.default_rng(0)
    lam = np.array([4.0, 1.0, 0.5, 0.1])
    w = rng.standard_normal(4)
    X, y = gaussian_rows(rng, 256, lam, 0.2)
    gauge = Gauge(linear(w), half_square, gap=0.25)
    gauge.step((X, y))
    rows = X.numpy() * (X.numpy() @ w - y.numpy())[:, None]
    means = rows.reshape(8, 32, 4).mean(axis=1)
    variance = 32 * ((means - means.mean(0)) ** 2).sum() / 7
    gradient2 = (means.mean(0) ** 2).sum() - variance / 256
    found = gauge.last
    assert found.noise_scale.value == pytest.approx(variance / gradient2, rel=1e-9)
    assert found.gradient_noise.value == pytest.approx(variance, rel=1e-9)
    split = X.numpy().reshape(16, 16, 4)
    half = split[:, :8].reshape(-1, 4)
    half = half.T @ half / len(half)
    v = np.linalg.eigh(half)[1][:, -1]  # the eigenvector is that of the halves' rows
    parts = np.einsum("jri,jrk->jik", split, split) / 16
    L = v @ parts.mean(0) @ v
    assert found.curvature.value == pytest.approx(L, rel=0.02)
    g = means.mean(0)
    assert found.batch_sharpness == pytest.approx(g @ half @ g / (g @ g), rel=1e-9)
    spread = 16 * (((parts - parts.mean(0)) @ v) ** 2).sum() / 15
    R2 = L + spread / L
    assert found.R2.value == pytest.approx(R2, rel=0.02)
    assert found.useful_batch.value == pytest.approx(2 * (R2 + variance / 0.5) / L, rel=0.02)


@settings(max_examples=25, deadline=None)
@given(K=st.integers(3, 9), d=st.integers(1, 5), rows=st.integers(1, 6), seed=st.integers(0, 99))
def test_moments_with_and_without_a_part(K: int, d: int, rows: int, seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal((K, d)) + 1.0

    def directly(x: np.ndarray) -> tuple[float, float]:
        variance = rows * float(((x - x.mean(0)) ** 2).sum()) / (len(x) - 1)
        return float((x.mean(0) ** 2).sum()) - variance / (rows * len(x)), variance

    mean = x.mean(0)
    found = moments(Products((x**2).sum(1), x @ mean, float(mean @ mean), rows))
    expected = [directly(x), *(directly(np.delete(x, j, axis=0)) for j in range(K))]
    assert np.allclose(np.array(found).T, expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(scale=st.floats(1e-8, 1e8), seed=st.integers(0, 99))
def test_intervals_follow_the_unit_and_contain_their_value(scale: float, seed: int) -> None:
    values = np.exp(0.1 * np.random.default_rng(seed).standard_normal(9))
    one = positive(values)
    many = positive(scale * values)
    assert one.low <= one.value <= one.high
    assert np.allclose(many, scale * np.array(one), rtol=1e-9)


@settings(max_examples=25, deadline=None)
@given(K=st.integers(3, 9), seed=st.integers(0, 99))
def test_the_interval_is_that_of_pseudo_values_and_groups_add_their_variances(
    K: int, seed: int
) -> None:
    """y = a + b of independent a and b, each with parts of its own; Welch's quantile."""
    rng = np.random.default_rng(seed)
    a = 5.0 + rng.standard_normal(K)
    b = 3.0 + rng.standard_normal(5)
    groups = [
        np.concatenate([[a.mean() + b.mean()], b.mean() + (a.sum() - a) / (K - 1)]),
        np.concatenate([[a.mean() + b.mean()], a.mean() + (b.sum() - b) / 4]),
    ]
    v = a.var(ddof=1) / K
    w = b.var(ddof=1) / 5
    half = quantile((v + w) ** 2 / (v**2 / (K - 1) + w**2 / 4)) * math.sqrt(v + w)
    y = a.mean() + b.mean()
    expected = [1 / y, 1 / (y + half), 1 / (y - half) if y > half else math.inf]
    assert jackknife(*groups) == pytest.approx(expected)


def test_what_may_be_zero_has_no_upper_end() -> None:
    assert jackknife(np.array([0.1, 0.3, -0.2, 0.2])).high == math.inf
    assert jackknife(np.array([10.1, 10.3, 9.8, 10.2])).high < 0.2
    assert jackknife(np.array([-5.0, -5.0, -5.0])) == (math.inf, 0.0, math.inf)
    assert jackknife(np.array([math.inf, 1.0, 1.0])).high == math.inf


def test_a_loss_without_curvature_says_so() -> None:
    X, y = gaussian_rows(np.random.default_rng(0), 64, np.ones(3), 1.0)
    gauge = Gauge(linear(np.ones(3)), lambda z, y: (z.squeeze(-1) * y).mean())
    gauge.step((X, y))
    assert gauge.useful_batch.high == math.inf
    assert "cannot tell the largest curvature from 0" in str(gauge)


# -- the model is left as it was -----------------------------------------------------------------


class Attention(torch.nn.Module):
    """Embedding tied to the output, attention, dropout, a frozen layer, BatchNorm."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed = torch.nn.Embedding(11, 8)
        self.layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
        self.norm = torch.nn.BatchNorm1d(8)
        self.frozen = torch.nn.Linear(8, 8).requires_grad_(False)
        self.out = torch.nn.Linear(8, 11, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.layer(self.embed(tokens)).mean(1)
        return self.out(self.frozen(self.norm(hidden)))


def text(n: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(0, 11, (n, 6), generator=generator)
    return tokens, tokens[:, 0]


cross_entropy = torch.nn.functional.cross_entropy


def everything(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    return copy.deepcopy(
        {
            "model": model.state_dict(),
            "gradients": [p.grad for p in model.parameters()],
            "optimizer": optimizer.state_dict(),
            "random": torch.random.get_rng_state(),
            "modes": [m.training for m in model.modules()],
            "flags": [p.requires_grad for p in model.parameters()],
        }
    )


def same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def trained() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    model = Attention().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    train_step(model, optimizer)
    return model, optimizer


def train_step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, n: int = 32) -> float:
    tokens, targets = text(n)
    optimizer.zero_grad()
    loss = cross_entropy(model(tokens), targets)
    loss.backward()
    optimizer.step()
    return float(loss.detach())


def test_nothing_changes_and_attention_tied_and_frozen_parameters_work() -> None:
    model, optimizer = trained()
    before = everything(model, optimizer)
    gauge = Gauge(model, cross_entropy, optimizer, every=2)
    for _ in range(3):
        gauge.step(text())
    assert same(before, everything(model, optimizer))
    assert len(gauge.measurements) == 2
    assert gauge.last.call == 2
    assert math.isfinite(gauge.last.curvature.value)
    page = str(gauge)
    assert [line[:2] for line in page.splitlines()[2:]] == ["1.", "2.", "3.", "4.", "5."]
    table = gauge.history
    assert list(table["call"]) == [0, 2]
    assert (table["noise_scale_low"] <= table["noise_scale_high"]).all()
    # dropout's masks are those of the random state, so the same call measures the same
    again = Gauge(model, cross_entropy, optimizer)
    again.step(text())
    assert again.last.gradient_noise == gauge.measurements[0].gradient_noise


def test_estimate_constants_takes_attention() -> None:
    model = Attention().eval()
    found = estimate_constants(model, cross_entropy, text(), steps=5)
    assert found.L > 0.0


def test_inputs_by_name() -> None:
    model, _ = trained()
    model.eval()
    tokens, targets = text()
    plain = Gauge(model, cross_entropy)
    plain.step((tokens, targets))
    named = Gauge(model, cross_entropy)
    named.step(({"tokens": tokens}, targets))
    assert named.last == plain.last
    assert "not known for this optimizer" in str(named)


def test_branches_start_from_here_and_go_back() -> None:
    model, optimizer = trained()
    gauge = Gauge(model, cross_entropy, optimizer)
    gauge.step(text(256))
    before = everything(model, optimizer)
    seen = []

    def branch_step(factor: float) -> float:
        seen.append(factor)
        return train_step(model, optimizer, n=int(32 * factor))

    found = gauge.branch(branch_step, factors=(1, 2), steps=10)
    assert same(before, everything(model, optimizer))
    assert seen == [1] * 10 + [2] * 10
    assert found.ratio.low <= found.ratio.value <= found.ratio.high
    twin = gauge.branch(branch_step, factors=(1, 1), steps=10)
    assert np.array_equal(twin.losses[0], twin.losses[1])  # the same random state
    assert twin.ratio.value == 1.0
    assert twin.predicted == 1.0
    assert "the gauge predicted" in str(found)


# -- the edge ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sgd", "nesterov", "shb"])
def test_the_edge_is_that_of_theory(kind: str) -> None:
    """Rows that are all alike have no noise: the share is alpha L/(2 (1 + beta)) for heavy ball."""
    X = torch.full((64, 1), 2.0, dtype=torch.float64)
    y = torch.linspace(-1.0, 1.0, 64, dtype=torch.float64)
    model = linear(np.ones(1))
    theta = 0.0
    if kind == "shb":
        table = schedules.shb(T=10, L=1.0, mu=0.25)
        optimizer: Any = SHB(model.parameters(), table, lr=0.1)
        alpha = 0.1 * float(table.alpha[0])
        beta = float(table.beta[0])
    else:
        alpha = 0.1
        beta = 0.8
        theta = beta if kind == "nesterov" else 0.0
        nesterov = kind == "nesterov"
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.8, nesterov=nesterov)
    gauge = Gauge(model, half_square, optimizer)
    gauge.step((X, y))
    expected = alpha / theory.edge(beta=beta, theta=theta, lam=4.0, zeta2=0.0)
    assert gauge.edge == pytest.approx((expected, expected, expected), rel=1e-9)
    if kind == "sgd":
        assert expected == pytest.approx(alpha * 4.0 / (2.0 * (1.0 + beta)))


def test_the_prediction_is_the_law_of_steps() -> None:
    X, y = gaussian_rows(np.random.default_rng(0), 256, np.array([1.0, 0.5]), 0.1)
    gauge = Gauge(linear(np.ones(2)), half_square)
    gauge.step((X, y), batch_size=16)
    B = gauge.useful_batch.value
    assert gauge.predict(4).value == pytest.approx((1 + B / 64) / (1 + B / 16))
    assert gauge.predict(4).low <= gauge.predict(4).value <= gauge.predict(4).high
    assert gauge.last.batch_size == 16


def test_the_import_loads_neither_torchs_compiler_nor_scipy() -> None:
    code = "import sys, bocce.torch; print({'torch._dynamo', 'scipy', 'numba'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# -- refusals ------------------------------------------------------------------------------------


def test_the_page_counts_every_call() -> None:
    gauge = Gauge(torch.nn.Linear(2, 1), torch.nn.functional.mse_loss, every=3)
    for _ in range(5):
        gauge.step((torch.randn(32, 2), torch.randn(32, 1)))
    assert str(gauge).startswith("Gauge after 5 calls, 2 measurements,")


def test_what_is_no_model_or_no_loss_is_refused() -> None:
    loss: Any = torch.nn.functional.mse_loss
    nothing: Any = None
    with pytest.raises(TypeError, match=r"Gauge: model=NoneType must be a torch\.nn\.Module\."):
        Gauge(nothing, loss)
    with pytest.raises(TypeError, match=r"Gauge: loss_fn=None must be a function of outputs and"):
        Gauge(torch.nn.Linear(2, 1), nothing)


def test_bad_arguments_are_refused() -> None:
    model = linear(np.ones(2))
    X, y = gaussian_rows(np.random.default_rng(0), 64, np.ones(2), 0.1)
    with pytest.raises(ValueError, match=r"Gauge: every=0 must be an integer >= 1"):
        Gauge(model, half_square, every=0)
    with pytest.raises(ValueError, match=r"Gauge: gap=0\.0 must be a finite number > 0"):
        Gauge(model, half_square, gap=0.0)
    with pytest.raises(ValueError, match=r"Gauge: the model has no parameter with requires_grad"):
        Gauge(torch.nn.Identity(), half_square)
    gauge = Gauge(model, half_square)
    with pytest.raises(RuntimeError, match=r"nothing was measured yet; call step\(batch\) first"):
        _ = gauge.useful_batch
    assert "Nothing was measured yet" in str(gauge)
    with pytest.raises(ValueError, match=r"rows of batch=15 must be .*16; each of 8 parts"):
        gauge.step((X[:15], y[:15]))
    with pytest.raises(TypeError, match=r"batch='Tensor' must be a pair \(inputs, targets\)"):
        Gauge(model, half_square).step(X)
    with pytest.raises(ValueError, match=r"Gauge\.branch: optimizer=None must be the optimizer"):
        gauge.branch(lambda factor: 0.0)


def test_several_devices_are_refused() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1, device="meta"))
    with pytest.raises(ValueError, match=r"Gauge: model=\['cpu', 'meta'\] must be on one device;"):
        Gauge(model, half_square)


# -- several processes ---------------------------------------------------------------------------


def on_rank(rank: int, folder: Path) -> None:
    X, y = gaussian_rows(np.random.default_rng(0), 128, np.array([2.0, 1.0, 0.5]), 0.3)
    model = torch.nn.parallel.DistributedDataParallel(linear(np.ones(3)))
    mine = slice(rank * 64, (rank + 1) * 64)
    gauge = Gauge(model, half_square)
    gauge.step((X[mine], y[mine]))
    found = gauge.last
    torch.save(
        [*found.gradient_noise, *found.useful_batch, found.batch_size], folder / f"{rank}.pt"
    )


def test_two_ranks_measure_one_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ranks say the same, and what 16 parts of the rows of both say."""
    gloo.together(on_rank, tmp_path, monkeypatch)
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    assert first == second
    assert first[-1] == 128
    X, y = gaussian_rows(np.random.default_rng(0), 128, np.array([2.0, 1.0, 0.5]), 0.3)
    rows = X.numpy() * (X.numpy() @ np.ones(3) - y.numpy())[:, None]
    x = rows.reshape(16, 8, 3).mean(axis=1)
    mean = x.mean(0)
    products = Products((x**2).sum(1), x @ mean, float(mean @ mean), 8)
    assert np.allclose(first[:3], positive(moments(products)[1]), rtol=1e-9)
