"""Puts TRL's GRPOTrainer together with episodes as its rollouts."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from datasets import Dataset
from transformers import PrinterCallback
from trl import GRPOConfig, GRPOTrainer

from train.progress import Progress
from train.rollouts import KernelRollouts
from train.schedule import rows
from train.settings import SettingsError, at_least, told
from train.tasks import Stage

# that rollout_func may change is why TRL is pinned; it calls activation checkpointing by the name of older transformers
KNOWN = (".*rollout_func.*experimental", ".*is_gradient_checkpointing. is deprecated")
RolloutFunc: TypeAlias = Callable[[Sequence[str], Any], dict[str, Any]]


@dataclass(frozen=True)
class TrainSettings:
    """How the policy is updated. An update learns from `tasks_per_update * generations` episodes over all processes.

    `micro_batch` is how many of them go through the model at a time, on each. `eval_generations` is how many episodes
    a task is evaluated by, `eval_at_once` how many of all tasks are played side by side. Steps are updates.
    """

    output: Path = field(metadata=told("records, checkpoints and the model; used again, training goes on there"))
    updates: int = field(metadata=told("in all, divided evenly among the stages of a curriculum"))
    tasks_per_update: int = 4
    generations: int = field(default=8, metadata=told("episodes of each of them"))
    micro_batch: int = field(default=4, metadata=told("episodes that go through the model at a time, on each process"))
    learning_rate: float = field(default=1e-6, metadata=told("of AdamW, constant"))
    temperature: float = 1.0
    top_p: float = 1.0
    beta: float = field(default=0.0, metadata=told("weight of the distance to the first policy"))
    max_grad_norm: float = 1.0
    seed: int = 0
    bf16: bool = False
    gradient_checkpointing: bool = True
    save_every: int = field(default=10, metadata=told("updates between checkpoints"))
    keep: int = field(default=2, metadata=told("checkpoints that are kept"))
    eval_every: int = field(default=0, metadata=told("updates between evaluations; 0: before and after training alone"))
    eval_generations: int = field(default=2, metadata=told("episodes a task is evaluated by"))
    eval_at_once: int = field(default=64, metadata=told("episodes that are evaluated side by side"))
    use_cpu: bool = field(default=False, metadata=told("also where there is a GPU"))
    report_to: list[str] = field(default_factory=list, metadata=told("trackers, by the names of transformers"))

    def __post_init__(self) -> None:
        at_least(self, 1, "updates", "tasks_per_update", "micro_batch", "save_every", "keep", "eval_generations")
        at_least(self, 2, "generations")  # rewards are compared within a group

    def config(self, processes: int, eval_tasks: int = 0) -> GRPOConfig:
        """TRL's. Raises SettingsError for numbers that do not go together."""
        episodes = self.tasks_per_update * self.generations
        if episodes % (self.micro_batch * processes):
            raise SettingsError(
                f"tasks_per_update * generations = {episodes} must be divisible by micro_batch * processes = "
                f"{self.micro_batch} * {processes}: change one of them"
            )
        # several processes fill up their last batch with what they have played already
        together = min(self.eval_at_once // self.eval_generations, -(-eval_tasks // processes))
        return GRPOConfig(
            output_dir=str(self.output),
            max_steps=self.updates,
            per_device_train_batch_size=self.micro_batch,
            gradient_accumulation_steps=episodes // (self.micro_batch * processes),
            num_generations=self.generations,
            per_device_eval_batch_size=max(together, 1) * self.eval_generations,
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
            dataloader_pin_memory=False,  # batches are task ids
            activation_checkpointing=self.gradient_checkpointing,
            save_strategy="steps",
            save_steps=self.save_every,
            save_total_limit=self.keep,
            logging_steps=1,
            disable_tqdm=True,
            report_to=self.report_to or "none",
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
    rollout_func: RolloutFunc | None = None,
) -> GRPOTrainer:
    """A trainer whose rows are task ids, in the order of the stages. `model` is a model, or where to load it from.

    `rollout_func` may stand between the trainer and `rollouts`, to look at what passes.
    """
    config = settings.config(int(os.environ.get("WORLD_SIZE", "1")), len(eval_tasks))
    ids = rows(stages, settings.updates, settings.tasks_per_update, settings.seed)
    for known in KNOWN:
        warnings.filterwarnings("ignore", message=known)
    trainer = trainer_class(
        model=model,
        processing_class=tokenizer,
        reward_funcs=_named(rollouts),
        args=config,
        train_dataset=_dataset(ids),
        eval_dataset=_dataset(eval_tasks) if eval_tasks else None,
        rollout_func=rollout_func or rollouts,
        callbacks=[progress] if progress is not None else None,
    )
    if progress is not None:
        trainer.remove_callback(PrinterCallback)
    return trainer


def _dataset(task_ids: Sequence[str]) -> Dataset:
    return Dataset.from_dict({"prompt": list(task_ids)})


def _named(rollouts: KernelRollouts) -> Any:
    """The reward function, under the name by which the trainer logs it."""

    def kernel(**columns: Any) -> list[float | None]:
        return rollouts.reward(**columns)

    return kernel
