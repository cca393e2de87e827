"""A callback for Lightning that measures while a model trains.

    python examples/gauge_lightning.py

Run with lightning 2.6.6 and torch 2.13.0. ``training_step`` takes batches (inputs, targets). With
``accumulate_grad_batches`` a training step has several batches, which the callback counts.
"""

from __future__ import annotations

from typing import Any

import lightning
import torch

from bocce.torch import Gauge


class GaugeCallback(lightning.Callback):
    def __init__(self, loss_fn: Any, every: int = 100) -> None:
        self.loss_fn = loss_fn
        self.every = every
        self.gauge: Gauge | None = None

    def on_train_start(self, trainer: Any, module: Any) -> None:
        self.gauge = Gauge(module, self.loss_fn, trainer.optimizers[0], every=self.every)

    def on_train_batch_end(
        self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        rows = len(batch[0]) * trainer.accumulate_grad_batches
        self.gauge.step(batch, batch_size=rows)

    def on_train_end(self, trainer: Any, module: Any) -> None:
        print(self.gauge)


class Regression(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        x, y = batch
        return torch.nn.functional.mse_loss(self(x), y)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


def main() -> None:
    torch.manual_seed(0)
    X = torch.randn(2048, 8)
    rows = torch.utils.data.TensorDataset(X, X[:, :1] + 0.1 * torch.randn(2048, 1))
    loader = torch.utils.data.DataLoader(rows, batch_size=64, shuffle=True)
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        callbacks=[GaugeCallback(torch.nn.functional.mse_loss, every=16)],
    )
    trainer.fit(Regression(), loader)


if __name__ == "__main__":
    main()
