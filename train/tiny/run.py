"""The steps of the demonstration, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_grader_client import KernelGrader
from rich.console import Console
from transformers.trainer_utils import get_last_checkpoint

from train.progress import Progress
from train.recording import read_run
from train.records import EpisodeRecord
from train.rollouts import KernelRollouts, RolloutSettings
from train.tasks import Stage
from train.tiny.fragments import fragment_tokenizer
from train.tiny.imitation import imitate
from train.tiny.kernels import FRAGMENTS, TASK_IDS
from train.tiny.model import POSITIONS, random_policy
from train.tiny.view import transcript
from train.trainer import TrainSettings, make_trainer

RUN_ID = "train-demo"
# with transformers' usual 0.02 the one word that tells tasks apart hardly moves so small a policy
SPREAD = 0.2
TURN_TOKENS = 12
MAX_TURNS = 2


@dataclass(frozen=True)
class DemoSettings:
    """An update learns from `generations` episodes of each task; `updates` are made in all, after `imitations`."""

    output: Path
    url: str
    updates: int
    generations: int
    seed: int
    cpu: bool
    imitations: int = 60


class Demo:
    """Makes a policy, trains it in two halves, and leaves records, checkpoints and the model in the output folder."""

    def __init__(self, settings: DemoSettings, console: Console) -> None:
        self._settings = settings
        self._console = console
        self._tokenizer = fragment_tokenizer(FRAGMENTS)

    def run(self) -> list[EpisodeRecord]:
        """All of it; the records. Raises what the grader's client raises."""
        settings, say = self._settings, self._console.print
        with KernelGrader(settings.url, trust_env=False) as grader:
            model = random_policy(self._tokenizer, settings.seed, spread=SPREAD)
            say(f"A policy of {model.num_parameters()} random weights, {len(self._tokenizer)} tokens.")
            loss = imitate(
                model, self._tokenizer, self._problems(grader), updates=settings.imitations, seed=settings.seed
            )
            say(f"It has imitated random answers (loss {loss:.2f}): it writes kernels, and knows not which are right.")
            half = settings.updates // 2
            shown = self._train(grader, model, half, resume=False)
            say("", *transcript(self._tokenizer, shown), "", "Stopped; going on from the checkpoint.", sep="\n")
            other = random_policy(
                self._tokenizer, settings.seed + 1, spread=SPREAD
            )  # nothing but the checkpoint is carried over
            self._train(grader, other, settings.updates, resume=True)
        records = read_run(settings.output)
        self._compare(records)
        self._report()
        return records

    def _problems(self, grader: KernelGrader) -> list[str]:
        """The prompts of all tasks; the episodes that tell them are given up at once."""
        found = []
        for task_id in TASK_IDS:
            episode = grader.episode(task_id, max_turns=MAX_TURNS)
            found.append(episode.problem)
            episode.cancel()
        return found

    def _train(self, grader: KernelGrader, model: Any, updates: int, *, resume: bool) -> dict[str, Any]:
        """Train up to so many updates in all; the last rollouts as the trainer got them."""
        settings = self._settings
        shown: dict[str, Any] = {}
        with (
            Progress(self._console) as progress,
            KernelRollouts(grader, self._playing(), settings.output, progress.say) as rollouts,
        ):

            def watched(prompts: Sequence[str], trainer: Any) -> dict[str, Any]:
                shown.update(rollouts(prompts, trainer))
                return dict(shown)

            trainer = make_trainer(
                model, self._tokenizer, rollouts, self._training(updates), [Stage("activations", TASK_IDS)],
                eval_tasks=TASK_IDS, progress=progress, rollout_func=watched,
            )  # fmt: skip
            if not resume:
                trainer.evaluate()
            trainer.train(resume_from_checkpoint=get_last_checkpoint(str(settings.output)) if resume else None)
            if resume:
                trainer.evaluate()
                trainer.save_model(str(settings.output / "model"))
        return shown

    def _playing(self) -> RolloutSettings:
        # the policy writes the same few kernels again and again: one verdict for each will do
        return RolloutSettings(
            RUN_ID, POSITIONS, TURN_TOKENS, max_turns=MAX_TURNS, return_mode="best", item={"dedupe": "run"}
        )

    def _training(self, updates: int) -> TrainSettings:
        settings = self._settings
        return TrainSettings(
            settings.output,
            updates=updates,
            tasks_per_update=len(TASK_IDS),
            generations=settings.generations,
            micro_batch=len(TASK_IDS) * settings.generations,
            learning_rate=3e-3,
            seed=settings.seed,
            gradient_checkpointing=False,
            save_every=max(settings.updates // 2, 1),
            eval_generations=settings.generations,
            use_cpu=settings.cpu,
        )

    def _report(self) -> None:
        folder = self._settings.output
        try:
            from train.report.__main__ import write
        except ImportError as error:  # a machine that only trains may lack what draws
            self._console.print(f"No report here ({error}); elsewhere: python -m train.report {folder}")
            return
        self._console.print(f"Report: {write(folder, folder)[0]}")

    def _compare(self, records: Sequence[EpisodeRecord]) -> None:
        evaluated = [record for record in records if record.phase == "eval"]
        for step in sorted({record.step for record in evaluated}):
            these = [record for record in evaluated if record.step == step]
            correct = sum(record.correct for record in these)
            self._console.print(f"After {step} updates: {correct} of {len(these)} episodes end with a right kernel.")
        self._console.print(f"Records, checkpoints and the model: {self._settings.output}")
