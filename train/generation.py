"""Sampling from the model that is being trained, by public names of TRL and transformers alone."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from trl.models import unwrap_model_for_generation


def sample(
    trainer: Any, prompts: Sequence[Sequence[int]], *, stop_ids: Sequence[int], tokens: int, at_once: int
) -> list[list[int]]:
    """A continuation of each prompt: at most `tokens` tokens, its last one of `stop_ids` unless it was cut off.

    `at_once` is how many are sampled side by side. Sampling is as the trainer's configuration says.
    """
    config = copy.deepcopy(trainer.generation_config)
    config.max_new_tokens, config.eos_token_id = tokens, list(stop_ids)
    by_length = sorted(range(len(prompts)), key=lambda at: len(prompts[at]))
    found: dict[int, list[int]] = {}
    with (
        unwrap_model_for_generation(
            trainer.model_wrapped,
            trainer.accelerator,
            gather_deepspeed3_params=trainer.args.ds3_gather_for_generation,
            generation_kwargs=trainer.generation_kwargs,
            gradient_checkpointing_kwargs=trainer.args.activation_checkpointing_kwargs,
        ) as model,
        torch.no_grad(),
    ):
        for start in range(0, len(by_length), at_once):
            chunk = by_length[start : start + at_once]
            inputs = _left_padded([prompts[at] for at in chunk], config.pad_token_id, trainer.accelerator.device)
            outputs = model.generate(**inputs, generation_config=config)
            written = outputs[:, inputs["input_ids"].size(1) :].tolist()
            found |= {at: _to_stop(row, stop_ids) for at, row in zip(chunk, written, strict=True)}
    return [found[at] for at in range(len(prompts))]


def _left_padded(prompts: Sequence[Sequence[int]], pad_id: int, device: torch.device) -> dict[str, torch.Tensor]:
    width = max(len(prompt) for prompt in prompts)
    gaps = [width - len(prompt) for prompt in prompts]
    rows = [[pad_id] * gap + list(prompt) for gap, prompt in zip(gaps, prompts, strict=True)]
    seen = [[0] * gap + [1] * (width - gap) for gap in gaps]
    return {
        "input_ids": torch.tensor(rows, device=device),
        "attention_mask": torch.tensor(seen, device=device),
    }


def _to_stop(row: Sequence[int], stop_ids: Sequence[int]) -> list[int]:
    """Up to the first stop; what follows in a row is padding."""
    for at, token in enumerate(row):
        if token in stop_ids:
            return list(row[: at + 1])
    return list(row)
