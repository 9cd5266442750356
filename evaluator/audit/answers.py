"""Trivial answers, which a grader must not pay for, and honest ones, which it must not refuse."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch

from evaluator.audit.rewrite import Recording, Replaying, Reversing, Subsampling, Tf32, rewritten
from evaluator.audit.subject import Case, Subject
from evaluator.judge.reference import tensors
from evaluator.runner.rng import seed_torch
from evaluator.tasks.special_inputs import Signed

FITTED_ELEMENTS = 10000
RIGHT_FRAC = 1e-5

Defect = Literal["scale", "range", "statistic"]


class NotApplicable(Exception):
    """The answer makes no sense for this task."""


@dataclass(frozen=True)
class Answer:
    """`make` computes it for a case; `defect` says what is wrong with a task on which it passes.

    `scale`: the tolerance is too wide for outputs of this size. `range`: the inputs stay where a simpler function is as
    good. `statistic`: what should be measured is a constant of the generator.
    """

    name: str
    defect: Defect
    make: Callable[[Subject, Case], Any]


@dataclass(frozen=True)
class Honest:
    """Another right way to compute the task."""

    name: str
    make: Callable[[Subject, Case], Any]


def trivial_answers(case: Case) -> Iterator[Answer]:
    """All that may apply; `case` tells how many inputs there are."""
    yield from _SCALE
    for at, value in enumerate(tensors(case.inputs)):
        if value.is_floating_point():
            yield Answer(f"input {at + 1} returned", "range", _input_returned(at))
    yield Answer("a parabola of an input", "range", _parabola)
    yield from _STATISTIC


def _each(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Subject, Case], Any]:
    return lambda subject, case: _mapped(case.expected, change)


def _mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, list | tuple):
        return type(value)(_mapped(item, change) for item in value)
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    if isinstance(value, float):
        return float(change(torch.tensor(value)))
    return value


def _mean(x: torch.Tensor) -> torch.Tensor:
    if x.numel() < 2 or not x.is_floating_point():
        raise NotApplicable("no mean of one element, nor of integers")
    return torch.full_like(x, x.double().mean().item())


def _first_half(x: torch.Tensor) -> torch.Tensor:
    made = torch.zeros_like(x)
    flat, source = made.view(-1), x.reshape(-1)
    half = source.numel() // 2
    flat[:half] = source[:half]
    return made


def _constant(subject: Subject, case: Case) -> Any:
    """The mean of another call's output, which is known beforehand."""
    other = subject.sibling(case).expected
    return _mapped(other, lambda x: torch.full_like(x, x.double().mean().item()) if x.is_floating_point() else x)


def _previous(subject: Subject, case: Case) -> Any:
    return subject.sibling(case).expected


def _input_returned(at: int) -> Callable[[Subject, Case], Any]:
    def make(subject: Subject, case: Case) -> Any:
        value = tensors(case.inputs)[at]
        return value.clone() if isinstance(case.expected, torch.Tensor) else (value.clone(),)

    return make


def _parabola(subject: Subject, case: Case) -> Any:
    """The best parabola through (input, output) on the generator's own inputs: fewer operations than most functions."""
    usual, far = (_like_output(subject.case(recipe, case.draw)) for recipe in (None, Signed()))
    curve = _fitted(*usual)
    if _is_right(curve, *usual) and _is_right(curve, *far):
        raise NotApplicable("the function is a parabola")
    x, y = _like_output(case)
    return curve(x.double()).to(y.dtype)


def _like_output(case: Case) -> tuple[torch.Tensor, torch.Tensor]:
    """The first input of the output's shape, and the output."""
    if not isinstance(case.expected, torch.Tensor) or not case.expected.is_floating_point():
        raise NotApplicable("the output is no floating-point tensor")
    for x in tensors(case.inputs):
        if x.shape == case.expected.shape and x.is_floating_point():
            return x, case.expected
    raise NotApplicable("no input has the output's shape")


def _fitted(x: torch.Tensor, y: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    step = max(x.numel() // FITTED_ELEMENTS, 1)
    x, y = x.reshape(-1)[::step].double().cpu(), y.reshape(-1)[::step].double().cpu()
    powers = torch.stack([torch.ones_like(x), x, x * x], dim=1)
    a, b, c = torch.linalg.lstsq(powers, y.unsqueeze(1)).solution.view(-1).tolist()
    return lambda x: (c * x + b) * x + a


def _is_right(curve: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> bool:
    distance = torch.linalg.vector_norm(curve(x.double()) - y.double())
    return bool(distance <= RIGHT_FRAC * torch.linalg.vector_norm(y.double()))


def _replayed(subject: Subject, case: Case) -> Any:
    recording = Recording()
    other = subject.sibling(case).inputs
    with rewritten(recording):
        subject.reference.forward(other, case.draw)
    if not recording.results:
        raise NotApplicable("nothing is reduced")
    inputs = subject.fresh(case)
    with rewritten(Replaying(recording.results)):
        return subject.reference.forward(inputs, case.draw)


def _subsampled(share: float) -> Callable[[Subject, Case], Any]:
    def make(subject: Subject, case: Case) -> Any:
        change, inputs = Subsampling(share), subject.fresh(case)
        with rewritten(change):
            answer = subject.reference.forward(inputs, case.draw)
        if not change.calls:
            raise NotApplicable("nothing is summed")
        return answer

    return make


def _rewritten_by(make_change: Callable[[], Any]) -> Callable[[Subject, Case], Any]:
    def make(subject: Subject, case: Case) -> Any:
        inputs = subject.fresh(case)
        with rewritten(make_change()):
            return subject.reference.forward(inputs, case.draw)

    return make


def _compiled(subject: Subject, case: Case) -> Any:
    model = torch.compile(subject.reference.model)
    seed_torch(case.draw)
    with torch.no_grad():
        return model(*subject.fresh(case))  # type: ignore[no-untyped-call]


_SCALE = (
    Answer("zeros", "scale", _each(torch.zeros_like)),
    Answer("ones", "scale", _each(torch.ones_like)),
    Answer("a constant", "scale", _constant),
    Answer("the mean of the output", "scale", _each(_mean)),
    Answer("the previous output", "scale", _previous),
    Answer("the first half", "scale", _each(_first_half)),
)
_STATISTIC = (
    Answer("statistics of other inputs", "statistic", _replayed),
    Answer("half of every sum", "statistic", _subsampled(1 / 2)),
    Answer("seven eighths of every sum", "statistic", _subsampled(7 / 8)),
)
HONEST = (
    Honest("float64", lambda subject, case: subject.in_double(case)),
    Honest("TF32, rounded", _rewritten_by(lambda: Tf32(cut=False))),
    Honest("TF32, cut off", _rewritten_by(lambda: Tf32(cut=True))),
    Honest("sums in another order", _rewritten_by(Reversing)),
)
COMPILED = Honest("torch.compile", _compiled)
