"""Puts TRL's GRPOTrainer together with episodes as its rollouts."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from train.progress import Progress
from train.rollouts import KernelRollouts
from train.schedule import rows
from train.tasks import Stage


@dataclass(frozen=True)
class TrainSettings:
    """How the policy is updated. An update learns from `tasks_per_update * generations` episodes over all processes.

    `micro_batch` is how many of them go through the model at a time, on each. `eval_generations` is how many episodes
    a task is evaluated by.
    """

    output: Path
    updates: int
    tasks_per_update: int = 4
    generations: int = 8
    micro_batch: int = 4
    learning_rate: float = 1e-6
    temperature: float = 1.0
    top_p: float = 1.0
    beta: float = 0.0
    max_grad_norm: float = 1.0
    seed: int = 0
    bf16: bool = False
    gradient_checkpointing: bool = True
    save_every: int = 10
    keep: int = 2
    eval_every: int = 0
    eval_generations: int = 2
    use_cpu: bool = False
    report_to: Sequence[str] = ()
    more: dict[str, Any] = field(default_factory=dict)

    def config(self, processes: int) -> GRPOConfig:
        """TRL's. Raises ValueError with a sentence for numbers that do not go together."""
        if self.generations < 2:
            raise ValueError(f"generations must be at least 2, not {self.generations}: rewards are compared in groups")
        episodes = self.tasks_per_update * self.generations
        if episodes % (self.micro_batch * processes):
            raise ValueError(
                f"tasks_per_update * generations = {episodes} must be divisible by micro_batch * processes = "
                f"{self.micro_batch} * {processes}: change one of them"
            )
        return GRPOConfig(
            output_dir=str(self.output),
            max_steps=self.updates,
            per_device_train_batch_size=self.micro_batch,
            gradient_accumulation_steps=episodes // (self.micro_batch * processes),
            num_generations=self.generations,
            per_device_eval_batch_size=self.eval_generations,
            num_generations_eval=self.eval_generations,
            eval_strategy="steps" if self.eval_every else "no",
            eval_steps=self.eval_every or None,
            shuffle_dataset=False,  # the order is the curriculum's
            learning_rate=self.learning_rate,
            lr_scheduler_type="constant",
            temperature=self.temperature,
            top_p=self.top_p,
            beta=self.beta,
            max_grad_norm=self.max_grad_norm,
            seed=self.seed,
            bf16=self.bf16,
            use_cpu=self.use_cpu,
            activation_checkpointing=self.gradient_checkpointing,
            save_strategy="steps",
            save_steps=self.save_every,
            save_total_limit=self.keep,
            logging_steps=1,
            disable_tqdm=True,
            report_to=list(self.report_to) or "none",
            **self.more,
        )


def make_trainer(
    model: Any,
    tokenizer: Any,
    rollouts: KernelRollouts,
    settings: TrainSettings,
    stages: Sequence[Stage],
    eval_tasks: Sequence[str] = (),
    progress: Progress | None = None,
    trainer_class: type[GRPOTrainer] = GRPOTrainer,
) -> GRPOTrainer:
    """A trainer whose rows are task ids, in the order of the stages. `model` is a model, or where to load it from."""
    config = settings.config(int(os.environ.get("WORLD_SIZE", "1")))
    ids = rows(stages, settings.updates, settings.tasks_per_update, settings.seed)
    with warnings.catch_warnings():
        # that rollout_func may change is why TRL's version is pinned
        warnings.filterwarnings("ignore", message=".*rollout_func.*experimental")
        return trainer_class(
            model=model,
            processing_class=tokenizer,
            reward_funcs=_named(rollouts),
            args=config,
            train_dataset=_dataset(ids),
            eval_dataset=_dataset(eval_tasks) if eval_tasks else None,
            rollout_func=rollouts,
            callbacks=[progress] if progress is not None else None,
        )


def _dataset(task_ids: Sequence[str]) -> Dataset:
    return Dataset.from_dict({"prompt": list(task_ids)})


def _named(rollouts: KernelRollouts) -> Any:
    """The reward function, under the name by which the trainer logs it."""

    def kernel(**columns: Any) -> list[float | None]:
        return rollouts.reward(**columns)

    return kernel
