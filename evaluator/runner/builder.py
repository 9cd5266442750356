"""`python -m evaluator.runner.builder`: executes a CUDA candidate, confined, to learn what it asks torch to build.

Nothing is compiled here and nothing that is said here is believed: the trusted side checks the record, and the
compilers run in another process.
"""

import contextlib
from pathlib import Path
from typing import Any

import torch

from evaluator.build.calls import ExtensionCall, from_load, from_load_inline
from evaluator.build.confined import Emit, serve
from evaluator.runner import candidate
from evaluator.runner.candidate import CandidateFault
from evaluator.runner.extensions import replace_builders


class Unbuilt:
    """Stands for an extension that is not built yet: its functions can be named, not called."""

    def __init__(self, name: str) -> None:
        self._kernel_grader_name = name

    def __getattr__(self, name: str) -> "Unbuilt":
        if name.startswith("__"):
            raise AttributeError(name)
        return Unbuilt(f"{self._kernel_grader_name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{self._kernel_grader_name} was called while the module is imported, before it is built")


def work(job: dict[str, Any], emit: Emit) -> None:
    """Import the candidate with the builders of torch replaced, and say what it asked for until it was through."""
    calls: list[ExtensionCall] = []

    def note(call: ExtensionCall) -> Unbuilt:
        calls.append(call)
        return Unbuilt(call.name)

    replace_builders(
        load_inline=lambda *args, **kwargs: note(from_load_inline(*args, **kwargs)),
        load=lambda *args, **kwargs: note(from_load(*args, **kwargs)),
    )
    _pretend_device(job["capability"])
    # an import that fails is not judged here: it may miss no more than a device
    with contextlib.suppress(CandidateFault):
        candidate.load(job["source"], Path.cwd(), "submission")
    emit({"calls": [call.to_json() for call in calls]})


def _pretend_device(capability: list[int]) -> None:
    """Builders have no GPU: what a module asks while it is imported is answered for the one it will run on."""
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = lambda: 1
    torch.cuda.current_device = lambda: 0
    torch.cuda.get_device_capability = lambda device=None: (capability[0], capability[1])


if __name__ == "__main__":
    serve(work)
