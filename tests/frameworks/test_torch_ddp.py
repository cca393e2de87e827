"""Two processes with half a batch each walk as one process with the whole batch."""

from __future__ import annotations

import faulthandler
import socket
import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from bocce import schedules
from bocce.torch import SHB

pytestmark = pytest.mark.frameworks

T, ROWS, SECONDS = 20, 16, 120.0


def model() -> torch.nn.Module:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)]
    return torch.nn.Sequential(*layers).double()


def train(network: torch.nn.Module, rows: slice, schedule: schedules.Schedule) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    X = torch.randn(T, ROWS, 4, generator=generator, dtype=torch.float64)
    y = torch.randn(T, ROWS, 1, generator=generator, dtype=torch.float64)
    optimizer = SHB(network.parameters(), schedule)
    for k in range(T):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(network(X[k, rows]), y[k, rows]).backward()
        optimizer.step()
    return torch.nn.utils.parameters_to_vector(network.parameters()).detach()


def tables() -> list[schedules.Schedule]:
    return [schedules.two_phase(T, 4.0, 0.4), schedules.nesterov_exponential(T, 4.0, 0.4)]


def worker(rank: int, folder: str, port: int) -> None:
    faulthandler.dump_traceback_later(SECONDS / 2)  # a hang says where
    torch.set_num_threads(1)
    meeting = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2)
    half = slice(rank * ROWS // 2, (rank + 1) * ROWS // 2)
    found = []
    for schedule in tables():
        network = torch.nn.parallel.DistributedDataParallel(model())
        found.append(train(network, half, schedule))
    torch.save(found, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


def test_two_processes_equal_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    workers = mp.spawn(worker, args=(str(tmp_path), port), nprocs=2, join=False)
    end = time.monotonic() + SECONDS
    while not workers.join(timeout=1.0):
        if time.monotonic() > end:
            for process in workers.processes:
                process.kill()
            pytest.fail(f"two gloo processes did not finish in {SECONDS:g} s")
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2))
    for schedule, a, b in zip(tables(), first, second):
        assert torch.equal(a, b)
        assert torch.allclose(a, train(model(), slice(0, ROWS), schedule), rtol=0, atol=1e-12)
    assert not torch.allclose(first[0], first[1])
