"""One task on one device: its model under a seed, its inputs, its expected outputs and what they need of memory."""

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch

from evaluator import tree
from evaluator.errors import GraderFault
from evaluator.runner.flags import set_precision
from evaluator.runner.rng import seed_torch
from evaluator.runner.weights import split_init
from evaluator.tensorspec import ITEM_BYTES, TensorSpec, align


def load_module(source: str, task_id: str) -> ModuleType:
    """Execute a task's (trusted) source as a module of its own. Raises GraderFault for a broken task."""
    module = ModuleType("task_" + "".join(c if c.isalnum() else "_" for c in task_id))
    try:
        exec(compile(source, f"{task_id}.py", "exec"), module.__dict__)
        if missing := [name for name in ("Model", "get_inputs", "get_init_inputs") if not hasattr(module, name)]:
            raise AttributeError(f"it defines no {', '.join(missing)}")
    except Exception as error:
        raise GraderFault("broken_task", f"{task_id}: {type(error).__name__}: {error}", retryable=False) from error
    return module


@dataclass
class Reference:
    """The reference model of a task. Everything that a task's own code raises becomes a GraderFault."""

    task_id: str
    source: str
    device: str
    module: ModuleType = field(init=False)
    model: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.module = load_module(self.source, self.task_id)

    def construct(self, seed: int) -> None:
        """Build the model under `seed`, on the device."""
        self.model = None
        arguments, keywords = split_init(self.init_inputs(seed))
        seed_torch(seed)
        with torch.device(self.device):
            model = self.module.Model(*arguments, **keywords)
        self.model = model.to(self.device)

    def init_inputs(self, seed: int) -> Any:
        """The constructor's arguments, the same for both sides."""
        seed_torch(seed)
        return self.module.get_init_inputs()

    def state(self) -> dict[str, torch.Tensor]:
        """Parameters and buffers by name."""
        named = {**dict(self.model.named_parameters()), **dict(self.model.named_buffers())}
        return {name: value.detach() for name, value in named.items()}

    def inputs(self, seed: int) -> list[Any]:
        """The task's own inputs under a hidden seed, generated on the device where the task allows it."""
        seed_torch(seed)
        try:
            with torch.device(self.device):
                values = list(self.module.get_inputs())
        except (RuntimeError, TypeError):
            seed_torch(seed)
            values = list(self.module.get_inputs())
        return [move(value, self.device) for value in values]

    def forward(self, inputs: list[Any], seed: int, precision: str = "ieee") -> Any:
        """The expected output under the same flags and RNG state that the candidate had."""
        set_precision(precision)
        seed_torch(seed)
        with torch.no_grad():
            return self.model(*inputs)


def move(value: Any, device: str) -> Any:
    """A value with all its tensors contiguous on `device`."""
    if isinstance(value, torch.Tensor):
        return value.detach().to(device).contiguous()
    if isinstance(value, list | tuple):
        return type(value)(move(item, device) for item in value)
    if isinstance(value, dict):
        return {key: move(item, device) for key, item in value.items()}
    return value


def tensors(value: Any) -> list[torch.Tensor]:
    """Every tensor in a nested value, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors(item)]
    return []


def total_bytes(value: Any) -> int:
    """Aligned bytes of all tensors in a nested value."""
    return sum(align(tensor.numel() * tensor.element_size()) for tensor in tensors(value))


class Writer:
    """Copies nested values into the exchange segment, one tensor after another, and describes them for a runner.

    A `deferred` one only describes them; the copying waits for `fill`.
    """

    def __init__(self, segment: torch.Tensor, offset: int = 0, *, deferred: bool = False) -> None:
        self._segment = segment
        self.offset = offset
        self._deferred = deferred
        self._copies: list[tuple[torch.Tensor, torch.Tensor]] = []

    def write(self, value: Any) -> tuple[dict[str, Any], Any]:
        """The tree for the runner, and the value's tensors in order as they lie (or will lie) in the segment."""
        views: list[torch.Tensor] = []
        described = tree.encode(value, lambda leaf: self._put(leaf, views))
        if not self._deferred:
            self.fill()
        return described, views

    def fill(self) -> None:
        """Queue all copies that have not been made."""
        for view, value in self._copies:
            view.copy_(value)
        self._copies.clear()

    def _put(self, value: Any, views: list[torch.Tensor]) -> dict[str, Any] | None:
        if not isinstance(value, torch.Tensor):
            return None
        dtype = str(value.dtype).removeprefix("torch.")
        if dtype not in ITEM_BYTES:
            raise GraderFault("unsupported_task", f"tensors of {dtype} are not supported", retryable=False)
        size = value.numel() * value.element_size()
        if self.offset + size > self._segment.numel():
            raise GraderFault("unsupported_task", "the task's inputs change their size with the seed", retryable=False)
        view = self._segment[self.offset : self.offset + size].view(value.dtype).view(value.shape)
        self._copies.append((view, value))
        views.append(view)
        spec = TensorSpec("exchange", self.offset, dtype, tuple(value.shape), tuple(view.stride()))
        self.offset = align(self.offset + size)
        return spec.to_json()
