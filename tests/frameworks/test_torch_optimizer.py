"""SHB keeps torch's conventions: groups, state, closures, scalers, clipping, compilation."""

from __future__ import annotations

import copy
import io
import pickle
import warnings

import numpy as np
import pytest
import quadratic
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_torch_reference import loss_at, parameter

from bocce import schedules
from bocce.torch import SHB

HEAVY = schedules.two_phase(40, L=4.0, mu=0.5)
AHEAD = schedules.nesterov_exponential(40, L=4.0, mu=0.5)


def network(seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def data() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    return torch.randn(16, 4, generator=generator), torch.randn(16, 2, generator=generator)


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
    X, y = data()
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(X), y).backward()
        optimizer.step()


def weights(model: torch.nn.Module) -> torch.Tensor:
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()


# -- state ---------------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(stop=st.integers(0, 40), lookahead=st.booleans(), evaluating=st.booleans())
def test_a_saved_run_goes_on_bit_for_bit(stop: int, lookahead: bool, evaluating: bool) -> None:
    schedule = AHEAD if lookahead else HEAVY
    whole = network()
    train(whole, SHB(whole.parameters(), schedule), 40)

    first = network()
    optimizer = SHB(first.parameters(), schedule)
    train(first, optimizer, stop)
    if evaluating:
        optimizer.eval_params()
    file = io.BytesIO()
    torch.save({"model": first.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)

    second = network(seed=9)
    resumed = SHB(second.parameters(), schedules.sgd(1, L=1.0))  # the saved schedule counts
    second.load_state_dict(saved["model"])
    resumed.load_state_dict(saved["optimizer"])
    assert resumed.param_groups[0]["schedule"] == schedule
    if evaluating:
        with pytest.raises(RuntimeError, match=r"call train_params\(\)"):
            resumed.step()
        resumed.train_params()
    train(second, resumed, 40 - stop)
    assert torch.equal(weights(second), weights(whole))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_go_on_alone(duplicate) -> None:
    model = network()
    optimizer = SHB(model.parameters(), AHEAD)
    train(model, optimizer, 10)
    twin, twin_optimizer = duplicate((model, optimizer))
    train(twin, twin_optimizer, 30)
    train(model, optimizer, 30)
    assert torch.equal(weights(model), weights(twin))
    assert optimizer.param_groups[0]["k"] == twin_optimizer.param_groups[0]["k"] == 40


def test_the_state_of_another_optimizer_is_refused() -> None:
    model = network()
    optimizer = SHB(model.parameters(), HEAVY)
    other = torch.optim.SGD(model.parameters(), lr=0.1).state_dict()
    with pytest.raises(ValueError, match=r"has no schedule, .*so another optimizer or an older"):
        optimizer.load_state_dict(other)
    older = optimizer.state_dict()
    older["param_groups"][0]["scale"] = older["param_groups"][0].pop("lr")
    with pytest.raises(ValueError, match="has no lr, so another optimizer or an older bocce"):
        optimizer.load_state_dict(older)


# -- the iterate and the training point --------------------------------------------------------


def test_eval_and_train_params_are_exact_and_idempotent() -> None:
    model = network()
    optimizer = SHB(model.parameters(), AHEAD)
    train(model, optimizer, 7)
    training = weights(model)
    for _ in range(3):
        optimizer.eval_params()
        iterate = weights(model)
        optimizer.eval_params()
        assert torch.equal(weights(model), iterate)
        optimizer.train_params()
        optimizer.train_params()
        assert torch.equal(weights(model), training)
    velocity = torch.cat([optimizer.state[p]["velocity"].ravel() for p in model.parameters()])
    moved = training - iterate
    assert torch.allclose(moved, float(AHEAD.theta[7]) * velocity, atol=1e-6)
    assert moved.abs().max() > 1e-4


def test_train_and_eval_are_the_names_that_accelerate_calls() -> None:
    model = network()
    optimizer = SHB(model.parameters(), AHEAD)
    train(model, optimizer, 7)
    training = weights(model)
    optimizer.eval()
    iterate = weights(model)
    assert not torch.equal(iterate, training)
    optimizer.train()
    assert torch.equal(weights(model), training)
    with optimizer.eval_params():
        assert torch.equal(weights(model), iterate)


def test_nested_contexts_come_back_at_the_outermost() -> None:
    model = network()
    optimizer = SHB(model.parameters(), AHEAD)
    train(model, optimizer, 7)
    training = weights(model)
    with optimizer.eval_params():
        with optimizer.eval_params():
            pass
        assert not torch.equal(weights(model), training)
    assert torch.equal(weights(model), training)


def test_stepping_at_the_iterate_is_an_error() -> None:
    model = network()
    optimizer = SHB(model.parameters(), HEAVY)
    optimizer.eval_params()
    with pytest.raises(RuntimeError, match=r"call train_params\(\) before computing it"):
        optimizer.step()
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))]})
    assert optimizer.param_groups[1]["evaluating"]
    optimizer.train_params()
    optimizer.step()


def test_a_parameter_without_gradient_keeps_its_iterate() -> None:
    """Its lookahead still follows the clock, so the iterate that eval_params finds stays."""
    idle, busy = (torch.nn.Parameter(torch.ones(3, dtype=torch.float64)) for _ in range(2))
    optimizer = SHB([idle, busy], AHEAD)
    for k in range(12):
        optimizer.zero_grad()
        loss = busy.square().sum() + (idle.square().sum() if k < 5 else 0.0)
        loss.backward()
        optimizer.step()
        with optimizer.eval_params():
            if k == 4:
                kept = idle.detach().clone()
    with optimizer.eval_params():
        assert torch.allclose(idle, kept, rtol=0, atol=1e-15)
        assert not torch.allclose(busy, kept)


# -- the end of the schedule ---------------------------------------------------------------------


def test_beyond_T_is_an_error_that_names_T_and_changes_nothing() -> None:
    model = network()
    optimizer = SHB(model.parameters(), HEAVY, after="raise")
    train(model, optimizer, 40)
    before = weights(model)
    with pytest.raises(RuntimeError, match=r"'2p-shb' ended at T=40; .*after='hold'"):
        train(model, optimizer, 1)
    assert torch.equal(weights(model), before)


@pytest.mark.filterwarnings("ignore:SHB. the schedule .* ended")
@pytest.mark.parametrize("after", ["hold", "restart", "stop"])
@pytest.mark.parametrize("name", ["shb", "nesterov-exp", "random"])
def test_beyond_T_a_schedule_is_a_longer_table(name: str, after: str) -> None:
    schedule = quadratic.all_schedules()[name]
    expected = quadratic.extended(schedule, after)
    w = parameter()
    optimizer = SHB([w], schedule, after=after)
    for k in range(2 * schedule.T):
        optimizer.zero_grad()
        loss_at(w, k).backward()
        optimizer.step()
        if k + 1 == schedule.T:  # in all of them the parameters hold w_T here
            assert np.abs(w.detach().numpy() - expected[k + 1]).max() <= 1e-12
        with optimizer.eval_params():
            assert np.abs(w.detach().numpy() - expected[k + 1]).max() <= 1e-12


def test_holding_warns_once_and_where_the_step_was_called() -> None:
    model = network()
    optimizer = SHB([{"params": [p]} for p in model.parameters()], HEAVY)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        train(model, optimizer, 45)
        saved = optimizer.state_dict()
        optimizer.load_state_dict(saved)  # a run resumed beyond T has been told already
        train(model, optimizer, 5)
    (warning,) = seen
    assert warning.category is RuntimeWarning
    assert "'2p-shb' ended at T=40; its last row is repeated" in str(warning.message)
    assert warning.filename == __file__


# -- groups --------------------------------------------------------------------------------------


def test_groups_have_their_own_schedule_lr_and_clock() -> None:
    """Separable problem: each group must move as if it were alone."""
    start = torch.ones(2, dtype=torch.float64)
    a, b, c = (torch.nn.Parameter(start.clone()) for _ in range(3))
    optimizer = SHB([{"params": [a], "lr": 0.5}, {"params": [b], "schedule": AHEAD}], HEAVY)

    def steps(count: int, of: torch.optim.Optimizer, ws: list[torch.nn.Parameter]) -> None:
        for _ in range(count):
            of.zero_grad()
            sum(w.square().sum() for w in ws).backward()
            of.step()

    steps(10, optimizer, [a, b])
    optimizer.add_param_group({"params": [c]})
    steps(20, optimizer, [a, b, c])
    assert [group["k"] for group in optimizer.param_groups] == [30, 30, 20]

    half = schedules.Schedule(0.5 * HEAVY.alpha, HEAVY.beta, HEAVY.theta)
    for moved, schedule, count in ((a, half, 30), (b, AHEAD, 30), (c, HEAVY, 20)):
        alone = torch.nn.Parameter(start.clone())
        steps(count, SHB([alone], schedule), [alone])
        assert torch.equal(moved, alone)


def test_named_parameters() -> None:
    model = network()
    optimizer = SHB(model.named_parameters(), HEAVY)
    assert optimizer.param_groups[0]["param_names"] == [n for n, _ in model.named_parameters()]
    train(model, optimizer, 5)
    plain = network()
    train(plain, SHB(plain.parameters(), HEAVY), 5)
    assert torch.equal(weights(model), weights(plain))
    assert optimizer.state_dict()["param_groups"][0]["param_names"]


def test_bad_arguments_are_refused() -> None:
    w = [torch.nn.Parameter(torch.ones(1))]
    with pytest.raises(TypeError, match=r"SHB: schedule=0\.1 must be a bocce Schedule; make one"):
        SHB(w, 0.1)
    with pytest.raises(ValueError, match=r"SHB: lr=-1\.0 must be a finite number >= 0"):
        SHB([{"params": w, "lr": -1.0}], HEAVY)
    with pytest.raises(ValueError, match=r"SHB: weight_decay=-0\.1 must be a finite number >= 0"):
        SHB(w, HEAVY, weight_decay=-0.1)
    with pytest.raises(ValueError, match=r"after='holds' must be one of .*did you mean 'hold'"):
        SHB(w, HEAVY, after="holds")
    with pytest.raises(ValueError, match="some parameters appear in more than one"):
        SHB(w, HEAVY).add_param_group({"params": w})


def test_sparse_gradients_are_refused_before_anything_moves() -> None:
    dense = torch.nn.Parameter(torch.ones(2))
    embedding = torch.nn.Embedding(5, 2, sparse=True)
    optimizer = SHB([dense, embedding.weight], HEAVY)
    (dense.sum() + embedding(torch.tensor([1])).sum()).backward()
    with pytest.raises(RuntimeError, match="must be dense, as momentum moves every entry"):
        optimizer.step()
    assert torch.equal(dense, torch.ones(2))


# -- lr and kappa --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:multistage")
def test_from_lr_builds_every_method_that_two_numbers_give() -> None:
    built = 0
    for name, method in schedules.REGISTRY.items():
        w = [torch.nn.Parameter(torch.ones(1))]
        if set(method.needs) <= {"L", "mu"}:
            optimizer = SHB.from_lr(w, 0.125, 30, 64.0, name, decay=None, weight_decay=0.5)
            group = optimizer.param_groups[0]
            expected = method.build(30, {"L": 8.0, "mu": 0.125})
            for got, want in (
                (group["lr"] * group["schedule"].alpha, expected.alpha),
                (group["schedule"].beta, expected.beta),
                (group["schedule"].theta, expected.theta),
            ):
                assert np.allclose(got, want, rtol=1e-12, atol=0.0)
            assert (group["lr"], group["weight_decay"]) == (0.125, 0.5)
            built += 1
        else:
            with pytest.raises(ValueError, match=rf"method='{name}' also needs .*L_max"):
                SHB.from_lr(w, lr=0.125, kappa=64.0, T=30, method=name)
    assert built >= 12


@pytest.mark.filterwarnings("ignore:multistage")
def test_from_lr_gives_a_cosine_to_constant_steps_alone() -> None:
    """alpha_k (1 + cos(pi k/T))/2, as torch's CosineAnnealingLR; a method that decays is left."""
    falls = 0.5 * (1.0 + np.cos(np.pi * np.arange(30) / 30))
    for name, method in schedules.REGISTRY.items():
        if set(method.needs) <= {"L", "mu"}:
            w = [torch.nn.Parameter(torch.ones(1))]
            plain, found = (
                SHB.from_lr(w, 0.125, 30, 64.0, name, decay=decay).param_groups[0]["schedule"]
                for decay in (None, "cosine")
            )
            constant = np.ptp(plain.alpha) == 0.0
            assert np.allclose(found.alpha, plain.alpha * (falls if constant else 1.0), rtol=1e-15)
            assert np.array_equal(found.beta, plain.beta)


def test_from_lr_is_heavy_ball_with_a_cosine_by_default() -> None:
    """The step of SHB without decay, driven by torch's own scheduler, bit for bit."""
    T = 40
    curvature = torch.tensor([1.0, 5.0, 20.0], dtype=torch.float64)
    ends = []
    for ours in (True, False):
        w = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
        options = {} if ours else {"decay": None}
        optimizer = SHB.from_lr([w], lr=0.05, T=T, **options)
        scheduler = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda k, ours=ours: 1.0 if ours else 0.5 * (1.0 + np.cos(np.pi * k / T))
        )
        for _ in range(T):
            optimizer.zero_grad()
            (0.5 * (curvature * w * w).sum()).backward()
            optimizer.step()
            scheduler.step()
        ends.append(w.detach().numpy())
    assert np.allclose(*ends, rtol=1e-12)
    assert optimizer.param_groups[0]["schedule"].beta[0] == pytest.approx(0.9025)


def test_momentum_is_refused_with_the_remedy() -> None:
    w = [torch.nn.Parameter(torch.ones(1))]
    said = r"the key 'momentum', must be .*kappa=100\.0\) is momentum .* = 0\.9025"
    with pytest.raises(ValueError, match=said):
        SHB.from_lr(w, 0.1, 50, momentum=0.9)
    with pytest.raises(ValueError, match=said):
        SHB(w, HEAVY, momentum=0.9)
    with pytest.raises(ValueError, match=r"the key 'weight_decy', .*did you mean 'weight_decay'"):
        SHB(w, HEAVY, weight_decy=0.1)


def test_from_lr_refuses_bad_numbers() -> None:
    w = [torch.nn.Parameter(torch.ones(1))]
    with pytest.raises(ValueError, match=r"SHB\.from_lr: T=None must be the number of steps"):
        SHB.from_lr(w, lr=0.1)
    with pytest.raises(ValueError, match=r"decay='linear' must be one of 'cosine'"):
        SHB.from_lr(w, lr=0.1, T=5, decay="linear")
    with pytest.raises(ValueError, match=r"SHB\.from_lr: lr=-1\.0 .*lr plays 1/L"):
        SHB.from_lr(w, lr=-1.0, kappa=10.0, T=5)
    with pytest.raises(ValueError, match=r"kappa=0\.5 must be a finite number >= 1"):
        SHB.from_lr(w, lr=1.0, kappa=0.5, T=5)
    with pytest.raises(ValueError, match=r"method='2p' .*did you mean '2p-shb'"):
        SHB.from_lr(w, lr=1.0, kappa=2.0, T=5, method="2p")


# -- torch's ways --------------------------------------------------------------------------------


def test_a_closure_runs_once_with_gradients_and_its_loss_comes_back() -> None:
    model, plain = network(), network()
    optimizer = SHB(model.parameters(), HEAVY)
    X, y = data()
    calls = []

    def closure() -> torch.Tensor:
        assert torch.is_grad_enabled()
        calls.append(1)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(X), y)
        loss.backward()
        return loss

    losses = [float(optimizer.step(closure).detach()) for _ in range(5)]
    train(plain, SHB(plain.parameters(), HEAVY), 5)
    assert len(calls) == 5
    assert losses[-1] < losses[0]
    assert torch.equal(weights(model), weights(plain))
    optimizer.zero_grad()
    assert all(p.grad is None for p in model.parameters())
    assert optimizer.step() is None


def test_grad_scaler_and_clipping() -> None:
    """A scaler changes nothing but rounding; a step that it skips does not move the clock."""
    model, plain = network(), network()
    optimizer = SHB(model.parameters(), HEAVY)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    reference = SHB(plain.parameters(), HEAVY)
    X, y = data()
    for k in range(12):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(X), y)
        scaler.scale(loss * (float("inf") if k == 4 else 1.0)).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()
        if k != 4:
            reference.zero_grad()
            torch.nn.functional.mse_loss(plain(X), y).backward()
            norm = torch.nn.utils.clip_grad_norm_(plain.parameters(), 0.1)
            assert norm > 0.1
            reference.step()
    assert optimizer.param_groups[0]["k"] == 11
    assert torch.equal(weights(model), weights(plain))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("schedule", [HEAVY, AHEAD])
def test_compiled_training_is_the_same(schedule: schedules.Schedule) -> None:
    """torch.compile breaks its graph at the step, which runs as it is: no new graph a step.

    backend="aot_eager" traces everything but needs no C++ compiler.
    """
    torch._dynamo.reset()
    model, plain = network(), network()
    optimizer = SHB(model.parameters(), schedule)
    X, y = data()

    def one_step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(X), y).backward()
        optimizer.step()

    compiled = torch.compile(one_step, backend="aot_eager")
    with torch._dynamo.config.patch(error_on_recompile=False):
        for _ in range(2):
            compiled()
    with torch._dynamo.config.patch(error_on_recompile=True):
        for _ in range(18):
            compiled()
    bare = torch.compile(optimizer.step, backend="aot_eager")
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(X), y).backward()
    bare()
    train(plain, SHB(plain.parameters(), schedule), 21)
    assert torch.allclose(weights(model), weights(plain), rtol=0, atol=1e-6)
    assert optimizer.param_groups[0]["k"] == 21
