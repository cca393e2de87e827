"""The processes that train one model together: each measures its own rows, all know the result."""

from __future__ import annotations

import torch
import torch.distributed

from .._types import FloatArray


class Ranks:
    """Sums over the processes of a DistributedDataParallel model; one process without it."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.group = None
        self.rank = 0
        self.count = 1
        self.device = next(model.parameters()).device
        if torch.distributed.is_available():
            from torch.nn.parallel import DistributedDataParallel

            if isinstance(model, DistributedDataParallel):
                self.group = model.process_group
                self.rank = torch.distributed.get_rank(self.group)
                self.count = torch.distributed.get_world_size(self.group)

    def mean(self, vector: torch.Tensor) -> torch.Tensor:
        """The mean over the ranks."""
        if self.count > 1:
            torch.distributed.all_reduce(vector, group=self.group)
            vector = vector / self.count
        return vector

    def gather(self, values: list[float]) -> FloatArray:
        """The values of all ranks, in their order."""
        own = torch.tensor(values, dtype=torch.float64, device=self.device)
        parts = [own]
        if self.count > 1:
            parts = [torch.empty_like(own) for _ in range(self.count)]
            torch.distributed.all_gather(parts, own, group=self.group)
        found: FloatArray = torch.cat(parts).cpu().numpy()
        return found
