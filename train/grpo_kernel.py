"""`python -m train.grpo_kernel`: train a chat model by GRPO to write kernels, graded by a running server.

Used again with the same output folder, training goes on from its last checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from kernel_grader_client import KernelGrader, KernelGraderError
from transformers import AutoConfig, AutoTokenizer
from transformers.trainer_utils import get_last_checkpoint
from trl import TrlParser

from train.chat import Chat, ChatError
from train.progress import Progress
from train.rollouts import KernelRollouts, PromptTooLong, RolloutSettings
from train.settings import SettingsError, keep, told
from train.tasks import TaskFileError, read_stages, training_stages
from train.trainer import TrainSettings, make_trainer

KEPT = "settings.json"
# what a run that goes on must have in common with its beginning: the order of tasks, and what rewards mean
LASTING = ("model", "tasks", "language", "max_turns", "return_mode", "discount")
LASTING_TRAINING = ("tasks_per_update", "generations", "seed")


@dataclass
class Options:
    """What is trained, on which tasks, and how episodes are played."""

    model: str = field(metadata=told("a folder with weights and tokenizer, or a name on the hub"))
    tasks: Path = field(metadata=told("task ids, one a line, or a curriculum in JSON; none of them held out"))
    eval_tasks: Path | None = field(default=None, metadata=told("tasks to evaluate on, held out or not"))
    url: str | None = field(default=None, metadata=told("the grader; else KERNEL_GRADER_URL"))
    key: str | None = field(default=None, metadata=told("its key; else KERNEL_GRADER_KEY"))
    run_id: str | None = field(default=None, metadata=told("the server's name for it; else the output folder's"))
    language: Literal["triton", "cuda"] = field(default="triton", metadata=told("of the kernels"))
    max_turns: int = field(default=4, metadata=told("answers an episode"))
    turn_tokens: int = field(default=2048, metadata=told("the longest answer"))
    context_tokens: int | None = field(default=None, metadata=told("the longest episode; else the model's positions"))
    return_mode: Literal["discounted", "best"] = field(
        default="discounted", metadata=told("from the turns' rewards to one")
    )
    discount: float = field(default=0.9, metadata=told("what each turn before leaves of a reward"))
    sample_at_once: int = field(default=64, metadata=told("answers that are sampled side by side"))
    template: str = field(default="{}", metadata=told('JSON for the chat template, such as {"enable_thinking": false}'))
    priority: Literal["high", "normal", "low"] | None = field(default=None, metadata=told("of the grades"))
    gpu: str | None = field(default=None, metadata=told("the kind of GPU to be graded on"))
    deadline_s: float | None = field(default=None, metadata=told("after which a grade that has not ended is given up"))
    tries: int = field(default=3, metadata=told("how often a source is sent where the grader fails"))

    def playing(self, run_id: str, context_tokens: int) -> RolloutSettings:
        """Raises SettingsError."""
        item = {"priority": self.priority, "gpu": self.gpu, "deadline_s": self.deadline_s}
        return RolloutSettings(
            run_id=run_id,
            context_tokens=context_tokens,
            turn_tokens=self.turn_tokens,
            language=self.language,
            max_turns=self.max_turns,
            return_mode=self.return_mode,
            discount=self.discount,
            sample_at_once=self.sample_at_once,
            tries=self.tries,
            template=self._template(),
            item={name: value for name, value in item.items() if value is not None},
        )

    def _template(self) -> Mapping[str, Any]:
        try:
            found = json.loads(self.template)
        except ValueError as error:
            raise SettingsError(f"template: not JSON: {error}") from None
        if not isinstance(found, dict):
            raise SettingsError(f"template: a JSON object, not {self.template}")
        return found


def main() -> None:
    """Train as the command line says."""
    try:
        options, training = TrlParser((Options, TrainSettings), prog="grpo_kernel").parse_args_and_config()
        with KernelGrader(options.url, options.key) as grader:
            train(options, training, grader)
    except (SettingsError, TaskFileError, ChatError, PromptTooLong, KernelGraderError, OSError) as error:
        raise SystemExit(f"grpo_kernel: {error}") from None


def train(options: Options, training: TrainSettings, grader: KernelGrader) -> None:
    """Train to the end, from the last checkpoint if there is one. Raises what `main` tells people of."""
    stages = training_stages(options.tasks, grader)
    eval_tasks = _ids(options.eval_tasks)
    positions = getattr(AutoConfig.from_pretrained(options.model), "max_position_embeddings", None)
    context_tokens = options.context_tokens or positions
    if context_tokens is None:
        raise SettingsError("context_tokens: the model names no number of positions; say how long an episode may be")
    playing = options.playing(options.run_id or training.output.resolve().name, context_tokens)
    tokenizer = AutoTokenizer.from_pretrained(options.model, padding_side="left")
    Chat(tokenizer, [], playing.template)  # a template that cannot be used is told before weights are loaded
    checkpoint = _begun(training.output, _lasting(options, training))
    with Progress() as progress, KernelRollouts(grader, playing, training.output, progress.say) as rollouts:
        trainer = make_trainer(options.model, tokenizer, rollouts, training, stages, eval_tasks, progress)
        if eval_tasks and checkpoint is None:
            trainer.evaluate()
        trainer.train(resume_from_checkpoint=checkpoint)
        if eval_tasks:
            trainer.evaluate()
        trainer.save_model(str(training.output / "model"))


def _ids(path: Path | None) -> Sequence[str]:
    return [] if path is None else [task_id for stage in read_stages(path) for task_id in stage.task_ids]


def _lasting(options: Options, training: TrainSettings) -> dict[str, Any]:
    found = {name: getattr(options, name) for name in LASTING}
    found |= {name: getattr(training, name) for name in LASTING_TRAINING}
    return {name: str(value) if isinstance(value, Path) else value for name, value in found.items()}


def _begun(output: Path, settings: Mapping[str, Any]) -> str | None:
    """The last checkpoint, if there is one. Raises OtherSettings where it was made under other settings."""
    checkpoint = get_last_checkpoint(str(output)) if output.is_dir() else None
    keep(output / KEPT, settings, anew=checkpoint is None)
    return checkpoint


if __name__ == "__main__":
    main()
