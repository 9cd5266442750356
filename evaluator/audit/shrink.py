"""Smaller sizes for a task that is meant for a GPU, found by dividing what can be divided while it still runs.

The batch goes first: what is summed, averaged or normalised keeps its size as long as can be, and with it the scale of
the output. The trials run on torch's meta device, which computes shapes and nothing else.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from evaluator.audit.literals import Literal, literals, replaced
from evaluator.errors import GraderFault
from evaluator.judge.reference import load_module, tensors
from evaluator.runner.weights import split_init

FLOPS_PER_ELEMENT = 100.0
COST_MAX = 2e6
FAR = 64.0
# Fewer would make other functions of them: a batch norm over two samples gives nothing but signs.
LITERAL_MIN = 8
BATCH_MIN = 16
LARGE = 64


@dataclass(frozen=True)
class Cost:
    """Elements that the operators of one call write, FLOPs of its products, elements of its inputs and parameters."""

    elements: float
    flops: float
    held_elements: float
    input_shapes: tuple[tuple[int, ...], ...]

    @property
    def total(self) -> float:
        return self.elements + self.held_elements + self.flops / FLOPS_PER_ELEMENT

    @property
    def input_elements(self) -> int:
        return sum(torch.Size(shape).numel() for shape in self.input_shapes)


class _Elements(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.count += sum(tensor.numel() for tensor in tensors(out))
        return out


def cost(source: str, task_id: str, device: str = "meta") -> Cost:
    """What one call takes. Raises GraderFault for a broken task, and whatever its model raises at these sizes."""
    module = load_module(source, task_id)
    arguments, keywords = split_init(module.get_init_inputs())
    flops, elements = FlopCounterMode(display=False), _Elements()
    with torch.device(device), torch.no_grad():
        model = module.Model(*arguments, **keywords)
        inputs = list(module.get_inputs())
        with flops, elements:
            output = model(*inputs)
    if any(not tensor.numel() for tensor in tensors(output)):
        raise ValueError("the output is empty at this size")
    held = sum(tensor.numel() for tensor in [*tensors(inputs), *model.parameters(), *model.buffers()])
    shapes = tuple(tuple(tensor.shape) for tensor in tensors(inputs))
    return Cost(float(elements.count), float(flops.get_total_flops()), float(held), shapes)


def shrink(source: str, task_id: str, cost_max: float = COST_MAX) -> str:
    """The source with its literals divided, the batch first and then the largest, until a call costs `cost_max`.

    Comes out larger where the model allows no less. Raises GraderFault for a task that does not run at all.
    """
    return _Shrinking(source, task_id, cost_max).run()


class _Shrinking:
    def __init__(self, source: str, task_id: str, cost_max: float) -> None:
        self._source = source
        self._task_id = task_id
        self._cost_max = cost_max
        self._literals: list[Literal] = literals(source)
        self._values = [literal.value for literal in self._literals]
        self._device, self._cost = self._first_cost()

    def run(self) -> str:
        batch = [i for i in range(len(self._values)) if self._is_batch(i)]
        self._divide(batch, BATCH_MIN)
        self._divide([i for i in range(len(self._values)) if i not in batch], LITERAL_MIN)
        return replaced(self._source, self._literals, self._values)

    def _divide(self, places: list[int], least: int) -> None:
        open_places = set(places)
        while self._cost.total > self._cost_max and open_places:
            at = max(open_places, key=lambda i: self._values[i])
            if not any(self._accept(tried) for tried in self._smaller(at, least)):
                open_places.remove(at)

    def _smaller(self, at: int, least: int) -> Iterator[list[int]]:
        """The values with one of them divided: with all that are large, so that groups keep their sizes; else alone, or
        with all that equal it, since the sides of a square go together."""
        for factor in (8, 2) if self._cost.total > FAR * self._cost_max else (2,):
            if self._values[at] // factor >= LARGE and least == LITERAL_MIN:
                yield [value // factor if value // factor >= LITERAL_MIN else value for value in self._values]
            if self._values[at] // factor >= least:
                yield [value // factor if i == at else value for i, value in enumerate(self._values)]
                yield [value // factor if value == self._values[at] else value for value in self._values]

    def _accept(self, tried: list[int]) -> bool:
        now = self._cost_or_none(tried)
        if now is None or now.total >= self._cost.total:
            return False
        self._values, self._cost = tried, now
        return True

    def _is_batch(self, at: int) -> bool:
        """Whether a literal is the first dimension of an input and nothing else."""
        now = self._cost_or_none([value // 2 if i == at else value for i, value in enumerate(self._values)])
        if now is None or not self._cost.input_shapes or not self._cost.input_shapes[0]:
            return False
        (first, *rest), (now_first, *now_rest) = self._cost.input_shapes[0], now.input_shapes[0]
        return now_first < first and rest == now_rest

    def _first_cost(self) -> tuple[str, Cost]:
        """A device that the task runs on, `meta` if it can, and the cost there."""
        try:
            return "meta", cost(self._source, self._task_id)
        except GraderFault:
            raise
        except Exception:  # noqa: BLE001 - such as .item(), which needs values
            try:
                return "cpu", cost(self._source, self._task_id, "cpu")
            except Exception as error:
                detail = f"{self._task_id}: {type(error).__name__}: {error}"
                raise GraderFault("broken_task", detail, retryable=False) from error

    def _cost_or_none(self, values: list[int]) -> Cost | None:
        try:
            return cost(replaced(self._source, self._literals, values), self._task_id, self._device)
        except Exception:  # noqa: BLE001 - the task's own code says in any way it likes that a size does not fit
            return None
