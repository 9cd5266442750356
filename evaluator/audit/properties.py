"""What a task's function is like, found out by trying: elementwise, normalised, dependent on its inputs, repeatable."""

from collections.abc import Iterator
from typing import Any

import torch

from evaluator.audit.subject import DRAWS, REPLAYED, Case, Subject
from evaluator.judge.compare import Mismatch, relative_l2
from evaluator.judge.invariants import require_invariants
from evaluator.judge.precision import finite
from evaluator.judge.reference import tensors
from evaluator.tasks.special_inputs import Comparison, Invariant, PeakedRows, SignedScaled

INVARIANTS: tuple[tuple[Invariant, ...], ...] = (("rows_non_negative", "rows_sum_to_one"), ("l2_norm_is_one",))
PARAMETERS_MAX = 40
UNCHANGED = 1e-6


def is_elementwise(subject: Subject, case: Case) -> bool:
    """Whether reordering all elements of the only input reorders the output, and no element minds what others are."""
    if len(case.inputs) != 1 or not isinstance(case.inputs[0], torch.Tensor) or not _same_shape(case):
        return False
    x = case.inputs[0]
    if x.numel() < 2:
        return False
    order = torch.randperm(x.numel(), generator=torch.Generator().manual_seed(case.draw)).to(x.device)
    shuffled = x.reshape(-1)[order].view(x.shape)
    found = subject.reference.forward([shuffled], case.draw).reshape(-1)
    half = x.numel() // 2
    others = torch.cat([x.reshape(-1)[:half], x.reshape(-1)[half:] * 3 + 1]).view(x.shape)
    beside = subject.reference.forward([others], case.draw).reshape(-1)[:half]
    flat = case.expected.reshape(-1)
    return _unchanged(found, flat[order]) and _unchanged(beside, flat[:half])


def invariants(subject: Subject, cases: list[Case]) -> tuple[Invariant, ...]:
    """Those that hold for every output, also on inputs of other scales."""
    outputs = [case.expected for case in cases]
    for recipe in (PeakedRows(), SignedScaled()):
        other = subject.case(recipe, DRAWS[0])
        if finite(other.expected):
            outputs.append(other.expected)
    return tuple(name for group in INVARIANTS if all(_hold(group, output) for output in outputs) for name in group)


def independent_inputs(subject: Subject, case: Case) -> Iterator[int]:
    """Numbers, from 1, of the tensors among the inputs that the output does not depend on."""
    count = len(tensors(case.inputs))
    for at in range(count):
        here, other = (subject.inputs(None, draw) for draw in (case.draw, case.draw + REPLAYED))
        tensors(here)[at].copy_(tensors(other)[at])
        if _unchanged(subject.reference.forward(here, case.draw), case.expected):
            yield at + 1


def independent_parameters(subject: Subject, case: Case) -> Iterator[str]:
    """Names of parameters that the output does not depend on, among the first PARAMETERS_MAX."""
    for name, value in list(subject.reference.model.named_parameters())[:PARAMETERS_MAX]:
        kept = value.detach().clone()
        with torch.no_grad():
            value.add_(torch.randn_like(value) * (value.abs().mean() + 0.1))
            changed = subject.reference.forward(subject.inputs(None, case.draw), case.draw)
            value.copy_(kept)
        if _unchanged(changed, case.expected):
            yield name


def disagreement(subject: Subject, case: Case, seed: int) -> float:
    """Relative L2 distance from the same call under an RNG state of `seed`; infinite where the form differs."""
    try:
        again = subject.reference.forward(subject.inputs(case.recipe, case.draw), seed)
        return relative_l2(again, case.expected)
    except Mismatch:
        return float("inf")


def _same_shape(case: Case) -> bool:
    expected = case.expected
    return (
        isinstance(expected, torch.Tensor)
        and case.inputs[0].shape == expected.shape
        and case.inputs[0].is_floating_point()
        and expected.is_floating_point()
    )


def _hold(group: tuple[Invariant, ...], output: Any) -> bool:
    floating = [tensor for tensor in tensors(output) if tensor.is_floating_point() and tensor.numel() > 1]
    if not floating or len(floating) != len(tensors(output)) or any(tensor.dim() == 0 for tensor in floating):
        return False
    try:
        require_invariants(output, Comparison(invariants=group))
    except Mismatch:
        return False
    return True


def _unchanged(found: Any, expected: Any) -> bool:
    try:
        return relative_l2(found, expected) <= UNCHANGED
    except Mismatch:
        return False
