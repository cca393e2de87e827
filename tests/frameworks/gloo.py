"""Processes on this machine that talk by gloo; a hang ends with a traceback, not with silence."""

from __future__ import annotations

import faulthandler
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

SECONDS = 120.0
Work = Callable[[int, Path], None]


def together(work: Work, folder: Path, monkeypatch: pytest.MonkeyPatch, world: int = 2) -> None:
    """Run ``work(rank, folder)`` in ``world`` processes of one group, and wait for them."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = (work, folder, port, world)
    processes: Any = mp.spawn(_process, args=arguments, nprocs=world, join=False)
    end = time.monotonic() + SECONDS
    while not processes.join(timeout=1.0):
        if time.monotonic() > end:
            for process in processes.processes:
                process.kill()
            pytest.fail(f"{world} gloo processes did not finish in {SECONDS:g} s")


def _process(rank: int, work: Work, folder: Path, port: int, world: int) -> None:
    faulthandler.dump_traceback_later(SECONDS / 2)  # a hang says where
    torch.set_num_threads(1)
    meeting = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world)
    work(rank, folder)
    dist.barrier()
    dist.destroy_process_group()
    # A thread of gloo may outlive its group; the end of the interpreter would then abort.
    os._exit(0)
