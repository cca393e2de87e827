"""Ray itself: connecting, what a cluster is used for, and calls that outlive lost machines."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ray

WHERE = "ray.minimize"
LOCAL = "local"  # Ray's name for a cluster that is started on this machine
REACHED_WITHIN = 3.0  # Seconds to wait for a cluster; one that runs answers in milliseconds.
PARTS_A_CPU = 8  # The most workers a CPU; a worker is a process of 100 MB.
RESTARTS = 100  # The most times that one worker is started again: more are no accident.
TRIES = 10  # The most times that a message is sent whose answers were lost with a machine.


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Ray, running; what was started here ends here."""
    mine = not ray.is_initialized()
    if mine:
        address = address or os.environ.get("RAY_ADDRESS") or LOCAL
        _reach(address)
        try:
            ray.init(address=address, include_dashboard=False if address == LOCAL else None)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise _unreachable(address, error) from error
    try:
        yield
    finally:
        if mine:
            ray.shutdown()


def _reach(address: str) -> None:
    """Does anybody listen there? Ray itself would go on asking for a minute."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # a name such as "auto", that Ray looks up on this machine
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACHED_WITHIN).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address, error) from error


def _unreachable(address: str | None, error: Exception) -> ConnectionError:
    return ConnectionError(
        f"{WHERE}: address={address!r} must be that of a running Ray cluster ({error}); start one "
        'with "ray start --head" and give the address it prints, or leave address out (on the '
        "command line: --ray local)."
    )


def processors() -> int:
    """CPUs of the cluster."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))  # type: ignore[no-untyped-call]


def check_parts(count: int) -> None:
    """As many workers as there are processors to run them, several times over."""
    cpus = processors()
    if count > PARTS_A_CPU * cpus:
        raise ValueError(
            f"{WHERE}: {count} parts (one a worker) must be at most {PARTS_A_CPU * cpus}, "
            f"{PARTS_A_CPU} for each of the cluster's {cpus} CPUs; give fewer, larger parts "
            "(workers), or add machines."
        )


def insist(ask: Callable[[], Any]) -> Any:
    """What ``ask`` gives; it is called again where an answer was lost on a machine that is gone.

    A worker that has not enough memory for its part would not have it the next time either.
    """
    for _ in range(TRIES):
        try:
            return ask()
        except (ray.exceptions.ObjectLostError, ray.exceptions.ActorUnavailableError) as error:
            lost = error
        except (MemoryError, ray.exceptions.OutOfMemoryError) as error:
            raise _no_memory(error) from error
        except ray.exceptions.RayActorError as error:
            if "MemoryError" in str(error):
                raise _no_memory(error) from error
            raise RuntimeError(
                f"{WHERE}: a worker could not be started, or ended {RESTARTS} times, must stay for "
                f"a while; see why ({_last_line(error)}; `ray logs`), or give smaller parts."
            ) from error
    raise lost


def _no_memory(error: Exception) -> MemoryError:
    return MemoryError(
        f"{WHERE}: a worker has not enough memory for its part ({_last_line(error)}); give smaller "
        "parts (more workers), float32 rows, or files, of which a worker holds a few parts."
    )


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1].strip()
