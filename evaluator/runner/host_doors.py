"""Keeps large tensors from leaving torch for the host's own arithmetic, such as numpy's, while `forward` runs on a CPU.

On a GPU the data is not in the host's memory; in the interpreter this is a tripwire at the doors that have a handle.
"""

from collections.abc import Callable
from typing import Any

import torch

# Lists of sizes, offsets and a few statistics are a launcher's business; the data of a kernel is not.
FREE_ELEMENTS = 64
_METHODS = ("numpy", "__array__", "__dlpack__", "tolist", "apply_", "map_", "map2_")
_FUNCTIONS = ((torch, "to_dlpack"), (torch._C, "_to_dlpack"), (torch.utils.dlpack, "to_dlpack"))

Report = Callable[[str], None]


class HostDoors:
    """`close` and `open` as often as wanted; `report` raises for what is refused."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._kept: list[tuple[Any, str, Any]] = []

    def close(self) -> None:
        """Refuse floating-point tensors of more than a few elements."""
        if self._kept:
            return
        for owner, name in [*((torch.Tensor, name) for name in _METHODS), *_FUNCTIONS]:
            present = getattr(owner, name, None)
            if present is not None:
                self._kept.append((owner, name, present))
                setattr(owner, name, self._watched(name, present))

    def open(self) -> None:
        """Let everything through again."""
        for owner, name, present in self._kept:
            setattr(owner, name, present)
        self._kept.clear()

    def _watched(self, name: str, present: Callable[..., Any]) -> Callable[..., Any]:
        def door(tensor: Any, *arguments: Any, **keywords: Any) -> Any:
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and tensor.numel() > FREE_ELEMENTS:
                self._report(f"{name.strip('_')} took {tensor.numel()} elements out of torch")
            return present(tensor, *arguments, **keywords)

        return door
