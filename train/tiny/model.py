"""The tiny policy: a two-layer transformer with random weights."""

from __future__ import annotations

from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

POSITIONS = 4096


def random_policy(tokenizer: Any, seed: int, *, width: int = 64, layers: int = 2, spread: float = 0.02) -> Any:
    """A causal model for this tokenizer; the same weights for the same seed. `spread` is their standard deviation."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        initializer_range=spread,
        max_position_embeddings=POSITIONS,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(config)
