"""A callback for transformers' Trainer that measures while a model trains.

    python examples/gauge_transformers.py

Run with transformers 5.23.0 and torch 2.13.0. Trainer does not give batches to its callbacks, so
the callback measures on a batch of its own: the first rows of the training set.
"""

from __future__ import annotations

from typing import Any

import torch
import transformers

from bocce.torch import Gauge


def loss_fn(output: Any, labels: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(output.logits, labels)


class GaugeCallback(transformers.TrainerCallback):
    def __init__(self, batch: dict[str, torch.Tensor], every: int = 100) -> None:
        self.labels = batch["labels"]
        self.inputs = {name: rows for name, rows in batch.items() if name != "labels"}
        self.every = every
        self.gauge: Gauge | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        # accelerate wraps the optimizer; the gauge reads the one inside
        optimizer = getattr(given["optimizer"], "optimizer", given["optimizer"])
        self.gauge = Gauge(given["model"], loss_fn, optimizer, every=self.every)

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        rows = args.train_batch_size * args.gradient_accumulation_steps
        self.gauge.step((self.inputs, self.labels), batch_size=rows)

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        print(self.gauge)


def main() -> None:
    torch.manual_seed(0)
    tokens = torch.randint(0, 20, (512, 12))
    rows = [{"input_ids": row, "labels": row[0] % 2} for row in tokens]
    config = transformers.BertConfig(
        vocab_size=20,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        num_labels=2,
    )
    model = transformers.BertForSequenceClassification(config)
    arguments = transformers.TrainingArguments(
        output_dir="gauge-transformers",
        per_device_train_batch_size=16,
        gradient_accumulation_steps=2,
        max_steps=20,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
    )
    first = {"input_ids": tokens[:128], "labels": tokens[:128, 0] % 2}
    trainer = transformers.Trainer(
        model=model,
        args=arguments,
        train_dataset=rows,
        callbacks=[GaugeCallback(first, every=10)],
        optimizers=(torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), None),
    )
    trainer.train()


if __name__ == "__main__":
    main()
