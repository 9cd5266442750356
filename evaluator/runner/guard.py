"""Denies torch's arithmetic while `forward` runs, at the dispatcher: for every thread, and for C++ as for Python.

A strong tripwire, not a wall: it lives in the candidate's own process.
"""

import traceback
import warnings
from collections.abc import Callable
from typing import Any

import torch

from evaluator.runner.allowed_ops import ALLOWED

_KEYS = {
    "cpu": ("CPU", "SparseCPU", "SparseCsrCPU", "QuantizedCPU", "NestedTensorCPU", "MkldnnCPU"),
    "cuda": ("CUDA", "SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA", "NestedTensorCUDA"),
}
# Kernels for "any backend": they are reached through a backend's key, so that key has to be overridden too.
_GENERIC_KEYS = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
MAX_VIOLATIONS = 8


class GuardViolation(RuntimeError):
    """Torch was asked for work that the submission's kernels have to do."""


class TorchGuard:
    """`up` before a forward, `down` before anything of ours needs torch again; both cost a few ms once."""

    def __init__(self, device: str, module_name: str) -> None:
        self._device = device
        self._file_end = f"/{module_name}.py"
        self._libraries: dict[str, torch.library.Library] = {}
        self.violations: list[str] = []

    def up(self) -> None:
        """Deny from here on; does nothing if it is up already."""
        if self._libraries:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of every override, which is what is wanted here
            for name, key in _operators(self._device):
                namespace, _, rest = name.partition("::")
                if namespace not in self._libraries:
                    self._libraries[namespace] = torch.library.Library(namespace, "IMPL")
                self._libraries[namespace].impl(rest, self._denial(name), key, allow_override=True)

    def down(self) -> None:
        """Allow everything again."""
        for library in self._libraries.values():
            library._destroy()
        self._libraries = {}

    def _denial(self, name: str) -> Callable[..., Any]:
        def deny(*_: Any, **__: Any) -> Any:
            text = f"torch's {name} was called during forward{self._where()}"
            if len(self.violations) < MAX_VIOLATIONS and text not in self.violations:
                self.violations.append(text)
            raise GuardViolation(text)

        return deny

    def _where(self) -> str:
        frames = [frame for frame in traceback.extract_stack() if frame.filename.endswith(self._file_end)]
        return f" (line {frames[-1].lineno}: {frames[-1].line})" if frames else ""


def _operators(device: str) -> list[tuple[str, str]]:
    """(operator, dispatch key) of everything to be denied."""
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    found = []
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = name.partition("::")
        if namespace == "aten" and rest.partition(".")[0] in ALLOWED:
            continue
        main_key, *other_keys = _KEYS[device]
        if any(has_kernel(name, key) for key in (main_key, *_GENERIC_KEYS)):
            found.append((name, main_key))
        found.extend((name, key) for key in other_keys if has_kernel(name, key))
    return found
