"""Builds a model under a seed on its device, and gives it the reference's weights where its own differ."""

from typing import Any

import torch

from evaluator.runner.rng import seed_torch


def construct(
    entry: Any, init: Any, weights: dict[str, torch.Tensor], *, seed: int, device: str
) -> tuple[Any, list[str]]:
    """Instantiate `entry` and match its parameters and buffers by name to `weights`.

    Returns the model and the names of reference weights that found no partner of their shape. Whatever the
    constructor raises comes through.
    """
    arguments, keywords = split_init(init)
    seed_torch(seed)
    with torch.device(device):
        model = entry(*arguments, **keywords)
    model = model.to(device)
    own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    unmatched = []
    with torch.no_grad():
        for name, value in weights.items():
            partner = own.get(name)
            if partner is None or partner.shape != value.shape or partner.dtype != value.dtype:
                unmatched.append(name)
            elif not torch.equal(partner, value):
                partner.copy_(value)
    return model, unmatched


def split_init(init: Any) -> tuple[list[Any], dict[str, Any]]:
    """Constructor arguments from any form that `get_init_inputs` may return: list, tuple, dict or [args, kwargs]."""
    if isinstance(init, dict):
        return [], init
    items = list(init)
    if len(items) == 2 and isinstance(items[0], list | tuple) and isinstance(items[1], dict):
        return list(items[0]), items[1]
    return items, {}
