"""Denies torch's arithmetic while `forward` runs, at the dispatcher: for every thread, and for C++ as for Python.

A strong tripwire, not a wall: it lives in the candidate's own process.
"""

import traceback
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from evaluator.runner.allowed_ops import ALLOWED
from evaluator.runner.host_doors import HostDoors

_open_library = torch._C._dispatch_library
_override = torch._C._DispatchModule.impl
_close_library = torch._C._DispatchModule.reset
_catch_warnings, _ignore_warnings = warnings.catch_warnings, warnings.simplefilter

_KEYS = {
    "cpu": ("CPU", "SparseCPU", "SparseCsrCPU", "QuantizedCPU", "NestedTensorCPU", "MkldnnCPU"),
    "cuda": ("CUDA", "SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA", "NestedTensorCUDA"),
}
# Kernels for "any backend": they are reached through a backend's key, so that key has to be overridden too.
_GENERIC_KEYS = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
_KERNEL_SOURCE = "_dispatch_get_computed_kernel_for_dispatch_key"
MAX_VIOLATIONS = 8
MAX_LINE = 200


class GuardViolation(RuntimeError):
    """Torch was asked for work that the submission's kernels have to do."""


class TorchGuard:
    """`up` before a forward, `down` before anything of ours needs torch again; both cost a few ms once.

    What it needs of torch is bound when this module is imported, before a candidate can put something in its place,
    and its list of operators is as old: operators that a submission defines are its own, whatever they call is not.
    """

    def __init__(self, device: str, module_name: str) -> None:
        self._denied = denied_operators(device)
        self._file_end = f"/{module_name}.py"
        self._registered: dict[str, Any] = {}
        self._doors = HostDoors(self._refuse) if device == "cpu" else None
        self.violations: list[str] = []

    def up(self) -> None:
        """Deny from here on; does nothing if it is up already."""
        if self._registered:
            return
        with _catch_warnings():
            _ignore_warnings("ignore")  # torch warns of every override, which is what is wanted here
            for name, key in self._denied:
                namespace, _, rest = name.partition("::")
                if namespace not in self._registered:
                    self._registered[namespace] = _open_library("IMPL", namespace, "", __file__, 0)
                _override(self._registered[namespace], rest, key, self._denial(name))
        if self._doors is not None:
            self._doors.close()

    def down(self) -> None:
        """Allow everything again."""
        if self._doors is not None:
            self._doors.open()
        for library in self._registered.values():
            _close_library(library)
        self._registered = {}

    def _denial(self, name: str) -> Callable[..., Any]:
        def deny(*_: Any, **__: Any) -> Any:
            self._refuse(f"torch's {name} was called")

        return deny

    def _refuse(self, what: str) -> None:
        text = f"{what} during forward{self._where()}"
        if len(self.violations) < MAX_VIOLATIONS and text not in self.violations:
            self.violations.append(text)
        raise GuardViolation(text)

    def _where(self) -> str:
        frames = [frame for frame in traceback.extract_stack() if frame.filename.endswith(self._file_end)]
        return f" (line {frames[-1].lineno}: {(frames[-1].line or '')[:MAX_LINE]})" if frames else ""


def keep_kernels(device: str) -> None:
    """Hand out no denied operator's kernel, which could be called past the dispatcher, and so past the guard."""
    hand_out = getattr(torch._C, _KERNEL_SOURCE, None)  # not in every version of torch
    if hand_out is None:
        return
    denied = {name.partition(".")[0] for name, _ in denied_operators(device)}

    def computed_kernel(name: str, key: Any) -> Any:
        if name.partition(".")[0] in denied:
            raise GuardViolation(f"torch's kernel of {name} was asked for; kernels are to be your own")
        return hand_out(name, key)

    setattr(torch._C, _KERNEL_SOURCE, computed_kernel)


@cache
def denied_operators(device: str) -> tuple[tuple[str, str], ...]:
    """(operator, dispatch key) of everything to be denied; the first call decides, in the zygote."""
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
    return tuple(found)
