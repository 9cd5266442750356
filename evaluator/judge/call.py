"""The words of a checked call: what it is made with, how it is run, and what it came to."""

import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

Variant = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True)
class CallSeeds:
    """Hidden seeds of one call: of its inputs, and of the RNG state that `forward` finds."""

    inputs: int
    forward: int


@dataclass(frozen=True)
class CallOptions:
    """`precision` of fp32 products (`ieee` or `tf32`); a spin kernel ahead of the call.

    `timed`: the call waits on the device for the judge's signal, if the device can, and caches are flushed before it.
    `mode` is `plain`, `no_kernels` (Triton's launches do nothing), or `once` (of a row only the first forward runs,
    with the spin kernel behind it, and the others return what it returned). `compare` is `values`, within the task's
    tolerance, `signed`, with an absolute part that grows with the output (sums of both signs cancel), or `l2`, which
    only measures. `row_scales` are divided out of the outputs before they are compared.
    """

    precision: str = "ieee"
    spin_cycles: int = 0
    timed: bool = False
    mode: str = "plain"
    compare: str = "values"
    row_scales: torch.Tensor | None = None


@dataclass(frozen=True)
class CheckedCall:
    """A call whose output was right; times in ms: the runner's claim and the judge's own clock.

    `queued`: all of it was queued before the signal to start. `relative_l2` is the distance of the output from the
    expected one, in units of the expected one's norm.
    """

    claim_ms: float
    wall_ms: float
    max_abs_err: float = 0.0
    relative_l2: float = 0.0
    queued: bool = True


@dataclass(frozen=True)
class Construction:
    """What a runner needs to build its model: the weight seed, the constructor's arguments, where the weights lie."""

    seed: int
    init: Any
    weights: dict[str, Any]


class Gate(Protocol):
    """Stops and starts a runner's processes."""

    def freeze(self) -> None:
        """Return once every process stands still."""

    def thaw(self) -> None:
        """Let them go on."""


@dataclass(frozen=True)
class SignalGate:
    """Stops and starts a trusted runner by signals, so that its calls begin as the candidate's do: from standing."""

    pid: int

    def freeze(self) -> None:
        self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        self._send(signal.SIGCONT)

    def close(self) -> None:
        """It took nothing that has to be given back."""

    def _send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):  # it is dead, which its channel tells as well
            os.kill(self.pid, number)


class OpenGate:
    """For calls that nobody times: the runner goes on as it likes."""

    def freeze(self) -> None:
        return None

    def thaw(self) -> None:
        return None
