"""Counts the work of a reference: FLOPs by torch's counter, bytes by its tensors."""

from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from evaluator.judge.reference import Reference, tensors
from evaluator.roofline.model import Work
from evaluator.roofline.necessary import flops_are_necessary


def count_work(reference: Reference, inputs: list[Any], seed: int) -> tuple[Work, Any]:
    """The work of one call and the output it gave, from one counted call."""
    counter = FlopCounterMode(display=False)
    with counter:
        output = reference.forward(inputs, seed)
    state = reference.state()
    work = Work(
        flops=float(counter.get_total_flops()),
        input_bytes=_bytes(inputs),
        parameter_bytes=_bytes(list(state.values())),
        output_bytes=_bytes(output),
        dtype=_dtype(output),
        flops_necessary=flops_are_necessary(reference.task_id),
    )
    return work, output


def _bytes(value: Any) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors(value))


def _dtype(output: Any) -> str:
    floating = [tensor.dtype for tensor in tensors(output) if tensor.dtype.is_floating_point]
    return str(floating[0] if floating else torch.float32).removeprefix("torch.")
