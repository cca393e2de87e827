"""Whole, copied (DDP) or sharded (FSDP): the same walk; and what is saved goes on bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gloo
import pytest
import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import state_dict as dsd
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from bocce import schedules
from bocce.torch import SHB

T, HALT, ROWS = 20, 8, 16
TABLES = {
    "heavy": schedules.two_phase(T, 4.0, 0.4),
    "ahead": schedules.nesterov_exponential(T, 4.0, 0.4),
}
FORMS = ("ddp", "fsdp")


def model(seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)]
    return torch.nn.Sequential(*layers).double()


def optimizer_of(network: torch.nn.Module, table: str) -> SHB:
    return SHB(network.parameters(), TABLES[table], lr=0.9, weight_decay=0.01)


def train(network: torch.nn.Module, optimizer: SHB, rows: slice, steps: range) -> None:
    generator = torch.Generator().manual_seed(1)
    X = torch.randn(T, ROWS, 4, generator=generator, dtype=torch.float64)
    y = torch.randn(T, ROWS, 1, generator=generator, dtype=torch.float64)
    for k in steps:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(network(X[k, rows]), y[k, rows])
        loss.backward()
        optimizer.step(loss=loss)


def weights(network: torch.nn.Module) -> torch.Tensor:
    parts = [p.full_tensor() if hasattr(p, "full_tensor") else p for p in network.parameters()]
    return torch.cat([p.detach().ravel() for p in parts])


def wrapped(form: str, seed: int = 0) -> torch.nn.Module:
    network = model(seed)
    if form == "ddp":
        return torch.nn.parallel.DistributedDataParallel(network)
    mesh = init_device_mesh("cpu", (2,))
    for layer in (network[0], network[2]):
        fully_shard(layer, mesh=mesh)
    return fully_shard(network, mesh=mesh)


def resumed(form: str, table: str, saved: torch.nn.Module, optimizer: SHB, folder: Path) -> Any:
    """Save by torch.distributed.checkpoint, load into others that have never stepped."""
    path = folder / f"{form}-{table}"
    kept, states = dsd.get_state_dict(saved, optimizer)
    dcp.save({"model": kept, "optimizer": states}, checkpoint_id=path)
    fresh = wrapped(form, seed=9)
    its_optimizer = optimizer_of(fresh, table)
    kept, states = dsd.get_state_dict(fresh, its_optimizer)
    dcp.load({"model": kept, "optimizer": states}, checkpoint_id=path)
    dsd.set_state_dict(fresh, its_optimizer, model_state_dict=kept, optim_state_dict=states)
    return fresh, its_optimizer


def walk(form: str, table: str, rows: slice, folder: Path) -> dict[str, torch.Tensor]:
    whole = wrapped(form)
    train(whole, optimizer_of(whole, table), rows, range(T))
    first = wrapped(form)
    optimizer = optimizer_of(first, table)
    train(first, optimizer, rows, range(HALT))
    second, its_optimizer = resumed(form, table, first, optimizer, folder)
    assert its_optimizer.param_groups[0]["k"] == HALT
    train(second, its_optimizer, rows, range(HALT, T))
    return {"whole": weights(whole), "resumed": weights(second)}


def work(rank: int, folder: Path) -> None:
    half = slice(rank * ROWS // 2, (rank + 1) * ROWS // 2)
    found = {(f, t): walk(f, t, half, folder) for f in FORMS for t in TABLES}
    torch.save(found, folder / f"{rank}.pt")


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory: pytest.TempPathFactory) -> list[dict[Any, Any]]:
    """What each of the two ranks found: starting them costs more than all they do."""
    folder = tmp_path_factory.mktemp("gloo")
    with pytest.MonkeyPatch.context() as patch:
        gloo.together(work, folder, patch)
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(2)]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("form", FORMS)
def test_two_processes_with_half_a_batch_equal_one(two_processes, form: str, table: str) -> None:
    first, second = (found[form, table]["whole"] for found in two_processes)
    alone = model()
    train(alone, optimizer_of(alone, table), slice(0, ROWS), range(T))
    assert torch.equal(first, second)
    assert torch.allclose(first, weights(alone), rtol=0, atol=1e-12)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("form", FORMS)
def test_a_distributed_checkpoint_goes_on_bit_for_bit(two_processes, form: str, table: str) -> None:
    for found in two_processes:
        assert torch.equal(found[form, table]["whole"], found[form, table]["resumed"])


def test_the_tables_walk_apart(two_processes) -> None:
    found = two_processes[0]
    assert not torch.allclose(found["fsdp", "heavy"]["whole"], found["fsdp", "ahead"]["whole"])


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("table", TABLES)
def test_one_process_goes_on_bit_for_bit(table: str, flat: bool, tmp_path: Path) -> None:
    """Also as a flat dictionary."""
    options = dsd.StateDictOptions(flatten_optimizer_state_dict=flat)
    everything = slice(0, ROWS)
    whole, first, second = model(), model(), model(seed=9)
    train(whole, optimizer_of(whole, table), everything, range(T))
    optimizer = optimizer_of(first, table)
    train(first, optimizer, everything, range(HALT))
    states = dsd.get_optimizer_state_dict(first, optimizer, options=options)
    dcp.save({"optimizer": states}, checkpoint_id=tmp_path, no_dist=True)
    second.load_state_dict(first.state_dict())
    its_optimizer = optimizer_of(second, table)
    states = dsd.get_optimizer_state_dict(second, its_optimizer, options=options)
    dcp.load({"optimizer": states}, checkpoint_id=tmp_path, no_dist=True)
    dsd.set_optimizer_state_dict(second, its_optimizer, states, options=options)
    train(second, its_optimizer, everything, range(HALT, T))
    assert torch.equal(weights(second), weights(whole))


def test_state_is_a_tensor_of_its_parameters_shape() -> None:
    """What FSDP can shard: nothing is kept under another name than a parameter's."""
    network = model()
    optimizer = optimizer_of(network, "ahead")
    train(network, optimizer, slice(0, ROWS), range(3))
    optimizer.eval_params()
    assert set(optimizer.state) == set(network.parameters())
    for p, state in optimizer.state.items():
        assert set(state) == {"velocity", "training"}
        assert all(value.shape == p.shape for value in state.values())
