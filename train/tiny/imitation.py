"""Teaches the random policy to write anything at all: a few updates that imitate random answers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch

from train.chat import Chat
from train.tiny.kernels import SEEN, random_answer
from train.transcript import Transcript

TURNS = 2
BATCH = 32
IGNORED = -100


def imitate(model: Any, tokenizer: Any, problems: Sequence[str], *, updates: int, seed: int) -> float:
    """Train on conversations about these problems whose answers are drawn at random. Returns the last loss."""
    chat = Chat(tokenizer, [tokenizer.eos_token_id])
    drawn = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    loss = torch.zeros(())
    for _ in range(updates):
        transcripts = [conversation(chat, drawn.choice(problems), drawn) for _ in range(BATCH)]
        loss = model(**_batch(transcripts, tokenizer.pad_token_id, model.device)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return float(loss.detach())


def conversation(chat: Chat, problem: str, drawn: random.Random) -> Transcript:
    """Two turns of random answers, the verdict on the first one drawn at random too."""
    transcript = Transcript(chat.prompt(problem))
    for turn in range(TURNS):
        answer = [*chat.tokenizer.convert_tokens_to_ids(random_answer(drawn)), chat.tokenizer.eos_token_id]
        transcript.wrote(answer)
        if turn + 1 < TURNS:
            transcript.given(chat.between(answer, drawn.choice(SEEN)))
    return transcript


def _batch(transcripts: Sequence[Transcript], pad_id: int, device: torch.device) -> dict[str, torch.Tensor]:
    width = max(len(one.tokens) for one in transcripts)
    rows, labels = [], []
    for one in transcripts:
        gap = width - len(one.tokens)
        learned = [token if mine else IGNORED for token, mine in zip(one.completion, one.mask, strict=True)]
        rows.append(one.tokens + [pad_id] * gap)
        labels.append([IGNORED] * len(one.prompt) + learned + [IGNORED] * gap)
    ids = torch.tensor(rows, device=device)
    return {"input_ids": ids, "attention_mask": (ids != pad_id).long(), "labels": torch.tensor(labels, device=device)}
