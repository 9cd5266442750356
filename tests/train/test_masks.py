"""Exactly the tokens that the policy sampled carry gradient: real updates of a tiny model, looked at token by token."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from kernel_grader_client import KernelGrader
from trl import GRPOTrainer

from launcher.demo_server import OwnServer
from tests.services.installation import TASK, source
from train.recording import read_run
from train.rollouts import KernelRollouts, RolloutSettings
from train.tasks import Stage
from train.tiny.fragments import TEMPLATE, fragment_tokenizer
from train.tiny.model import random_policy
from train.trainer import TrainSettings, make_trainer

pytestmark = pytest.mark.usefixtures("one_thread")

THINKING = (
    "{% for message in messages %}{% set content = message.content.split('</think>')[-1] %}"
    "{{ '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>\n' }}{% endif %}"
)
PROGRAMS = [f"```python\n{source(f'correct speedup={speedup}')}```\n" for speedup in (1.0, 2.0, 4.0)]
WORDS = ["\n", "<think>\n", "</think>", "\n</think>\n\n", "incorrect", "correct", "ModelNew", "rule"]
EPISODES, TURN_TOKENS, TURNS = 16, 6, 2

Tokens = tuple[int, ...]


class Looked(GRPOTrainer):  # type: ignore[misc]
    """Keeps of every sequence that it learned from which of its tokens had a gradient."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.learned: list[tuple[Tokens, list[bool], float]] = []
        self._batch: dict[str, torch.Tensor] = {}

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        self._batch = inputs
        return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        states: list[torch.Tensor] = []

        def keep(module: Any, arguments: Any, state: torch.Tensor) -> None:
            """The last state of a position is of use to the logits of the next token alone."""
            if state.requires_grad:
                state.retain_grad()
                states.append(state)

        hook = model.model.norm.register_forward_hook(keep)
        loss = super().training_step(model, inputs, num_items_in_batch)
        hook.remove()
        (state,) = states
        assert state.grad is not None
        self._look(state.grad.abs().sum(-1) > 0)
        return loss

    def _look(self, moved: torch.Tensor) -> None:
        batch = self._batch
        ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
        real = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1).bool()
        taught = torch.cat([torch.zeros_like(moved[:, :1]), moved[:, :-1]], dim=1)  # of a token: the state before it
        assert not taught[~real].any(), "padding has a gradient"
        for row, advantage in enumerate(batch["advantages"].tolist()):
            self.learned.append((tuple(ids[row][real[row]].tolist()), taught[row][real[row]].tolist(), advantage))


def overheard(model: Any, end: int) -> dict[Tokens, set[Tokens]]:
    """What the model samples from now on, by what it went on from; without TRL's or our own bookkeeping."""
    sampled: dict[Tokens, set[Tokens]] = defaultdict(set)
    generate = model.generate

    def listen(input_ids: torch.Tensor, **options: Any) -> torch.Tensor:
        found = generate(input_ids, **options)
        for row, mask in zip(found.tolist(), options["attention_mask"].tolist(), strict=True):
            before = tuple(row[mask.index(1) : len(mask)])
            written = row[len(mask) :]
            sampled[before].add(tuple(written[: written.index(end) + 1] if end in written else written))
        return found

    model.generate = listen
    return sampled


def of_the_policy(ids: Tokens, sampled: dict[Tokens, set[Tokens]]) -> list[bool]:
    """Which tokens of a sequence were sampled: where it goes on as the model went on from the same beginning."""
    found = [False] * len(ids)
    at = 0
    while at < len(ids):
        written = next((one for one in sampled.get(ids[:at], ()) if ids[at : at + len(one)] == one), None)
        if written is None:
            at += 1
            continue
        found[at : at + len(written)] = [True] * len(written)
        at += len(written)
    return found


@pytest.fixture
def grader(server: OwnServer) -> Iterator[KernelGrader]:
    with KernelGrader(server.url, trust_env=False) as made:
        yield made


@pytest.mark.parametrize("template", [TEMPLATE, THINKING], ids=["plain", "thinking"])
def test_exactly_the_tokens_of_the_policy_have_a_gradient(grader: KernelGrader, tmp_path: Path, template: str) -> None:
    tokenizer = fragment_tokenizer([*PROGRAMS, *WORDS], template)
    model = random_policy(tokenizer, seed=1, width=32)
    sampled = overheard(model, tokenizer.eos_token_id)
    settings = RolloutSettings("masks", 2048, TURN_TOKENS, max_turns=TURNS, item={"dedupe": "run"})
    training = TrainSettings(
        tmp_path, updates=2, tasks_per_update=1, generations=EPISODES, micro_batch=EPISODES, learning_rate=1e-2,
        use_cpu=True, gradient_checkpointing=False,
    )  # fmt: skip
    with KernelRollouts(grader, settings, tmp_path) as rollouts:
        trainer = make_trainer(model, tokenizer, rollouts, training, [Stage("one", (TASK,))], trainer_class=Looked)
        trainer.train()
    end, header = tokenizer.eos_token_id, tokenizer("<|im_start|>assistant\n")["input_ids"]
    taught = [(ids, moved) for ids, moved, advantage in trainer.learned if advantage]
    assert len(taught) >= EPISODES // 2
    truncated = 0
    for ids, moved in taught:
        expected = of_the_policy(ids, sampled)
        assert moved == expected, tokenizer.convert_ids_to_tokens(list(ids))
        assert ids[-1] == end
        answers = [at + len(header) for at in range(len(ids)) if list(ids[at : at + len(header)]) == header]
        assert len([at for at in answers if expected[at] or ids[at] == tokenizer.vocab.get("<think>\n")]) == TURNS
        truncated += not moved[-1]
    assert 0 < truncated < len(taught), "both kinds of answers are to be seen"
    for episode in read_run(tmp_path):
        assert len(episode.turns) == TURNS
        assert all(turn.tokens <= TURN_TOKENS for turn in episode.turns)
