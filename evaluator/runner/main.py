"""One runner's life: confine itself, map the judge's buffers, then load, construct and call the candidate."""

import gc
import os
import shutil
import socket
import sys
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from evaluator import tree
from evaluator.runner import attach, candidate
from evaluator.runner.candidate import CandidateFault, faults
from evaluator.runner.devices import CpuDevice, CudaDevice, Forward, Lead, Ran
from evaluator.runner.flags import set_precision
from evaluator.runner.guard import TorchGuard, keep_kernels
from evaluator.runner.kernels import LaunchSwitch, Tracer
from evaluator.runner.rng import seed_torch
from evaluator.runner.weights import construct
from evaluator.sandbox import Confinement, Parent, Policy
from evaluator.tensorspec import TensorSpec
from evaluator.wire import Channel, PeerClosed

ALLOCATOR_NAME = "arena.so"


def run(setup: dict[str, Any], fds: list[int], parent: Parent, no_pid_namespace: str) -> None:
    """Serve the judge over the first descriptor until it closes the channel."""
    channel = Channel(socket.socket(fileno=fds[0]))
    torch.set_num_threads(int(setup["threads"]))
    walls = Walls(setup, fds, parent, no_pid_namespace)
    runner = Runner(setup, fds[1:], walls.scratch, channel)
    isolation = walls.complete()
    if walls.confined:
        _step_out_of_sight()
    channel.send({"type": "ready", "isolation": isolation})
    while True:
        try:
            request = channel.receive(deadline_s=None)
        except PeerClosed:
            return
        try:
            reply = runner.handle(request)
        except CandidateFault as fault:
            reply = {"type": "fault", "kind": fault.kind, "text": fault.text}
        channel.send(reply)


def _step_out_of_sight() -> None:
    """Nothing of ours is to be had by name, and what the candidate prints is nobody's log.

    No wall: who walks the stack finds us all the same.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] == "evaluator"]:
        del sys.modules[name]
    gc.collect()
    gc.freeze()
    null = os.open(os.devnull, os.O_WRONLY)
    for standard in (1, 2):
        os.dup2(null, standard)
    os.close(null)


class Walls:
    """The confinement of this process where the judge sent a policy; a trusted runner has none."""

    def __init__(self, setup: dict[str, Any], fds: list[int], parent: Parent, no_pid_namespace: str) -> None:
        self._confinement: Confinement | None = None
        if not setup["policy"]:
            self.scratch = Path(setup["scratch"])
            return
        policy = Policy.from_json(setup["policy"])
        self._confinement = Confinement(policy, parent, no_pid_namespace=no_pid_namespace)
        self._confinement.enter_before_device(keep_fds=fds)
        self.scratch = Path(self._confinement.scratch)

    @property
    def confined(self) -> bool:
        return self._confinement is not None

    def complete(self) -> dict[str, Any]:
        """Raise the rest of the walls, once the device is open; what is in force."""
        return {} if self._confinement is None else self._confinement.enter_after_device().to_json()


class Runner:
    """Holds the candidate's module and model between the judge's requests."""

    def __init__(self, setup: dict[str, Any], fds: list[int], scratch: Path, channel: Channel) -> None:
        self._scratch = scratch
        self._channel = channel
        self._name = str(setup["module"])
        self._device_name = str(setup["device"])
        if self._device_name == "cuda":
            torch.cuda.init()
        descriptions = setup["segments"]
        passed = iter(fds)
        self._segments = {
            name: attach.attach(descriptions[name], next(passed) if descriptions[name]["kind"] == "shm" else None)
            for name in ("exchange", "arena")
        }
        self._sizes = {name: segment.size for name, segment in self._segments.items()}
        arena, exchange = self._segments["arena"], self._segments["exchange"]
        self._device: CpuDevice | CudaDevice
        if self._device_name == "cuda":
            self._device = CudaDevice(arena, exchange, self._allocator(str(setup["allocator"])))
        else:
            self._device = CpuDevice(arena, exchange)
        self._extensions = {digest: str(scratch / name) for digest, name in setup["extensions"].items()}
        self._guard: TorchGuard | None = None
        if setup["guard"]:
            self._guard = TorchGuard(self._device_name, self._name)
            keep_kernels(self._device_name)
        self._switch = LaunchSwitch()
        self._tracer = Tracer()
        self._module: ModuleType | None = None
        self._model: Any = None
        self._previous_out: Any = None

    def _allocator(self, path: str) -> str:
        """The allocator's library inside the scratch, where a confined process can see it."""
        brought = self._scratch / ALLOCATOR_NAME
        if not brought.exists():
            shutil.copy(path, brought)
        return str(brought)

    def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request. Raises CandidateFault where the candidate's code fails."""
        match request["type"]:
            case "load":
                return self._load(request)
            case "construct":
                return self._construct(request)
            case "call":
                return self._call(request)
            case "compile":
                return self._compile(request)
            case "begin_trace":
                self._mark_end(True)
                self._tracer.begin()
                return {"type": "tracing"}
            case "end_trace":
                self._mark_end(False)
                traced = self._tracer.end()
                return {"type": "traced", "kernels": traced.kernels, "beside": traced.beside}
        raise ValueError(f"unknown request {request['type']!r}")

    def _mark_end(self, marked: bool) -> None:
        if isinstance(self._device, CudaDevice):
            self._device.mark_end = marked

    def _load(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._extensions:
            from evaluator.runner.extensions import install_resolver  # imports torch's compilers' driver: 0.1 s

            install_resolver(self._extensions)
        self._module = candidate.load(str(request["source"]), self._scratch, self._name)
        self._entry = getattr(self._module, str(request["entry"]), None)
        if not isinstance(self._entry, type):
            raise CandidateFault("import", f"the module defines no class {request['entry']}")
        return {"type": "loaded"}

    def _construct(self, request: dict[str, Any]) -> dict[str, Any]:
        init = tree.decode(request["init"], self._tensor)
        weights = {name: self._tensor(spec) for name, spec in request["weights"].items()}
        self._model = self._previous_out = None
        if self._guard is not None:
            self._guard.down()
        with faults("runtime", self._name):
            self._model, unmatched = construct(
                self._entry, init, weights, seed=int(request["seed"]), device=self._device_name
            )
        return {"type": "constructed", "unmatched": unmatched}

    def _call(self, request: dict[str, Any]) -> dict[str, Any]:
        rows = [tree.decode(inputs, self._tensor) for inputs in request["inputs"]]
        self._previous_out = None
        set_precision(str(request["precision"]))
        ran = self._forward(rows, request)
        self._previous_out = ran.outs
        try:
            described = [tree.encode(out, lambda value: _describe(value, ran.specs)) for out in ran.outs]
        except tree.TreeError as error:
            raise CandidateFault("output", f"forward returned what cannot be compared: {error}") from None
        return {"type": "result", "id": request["id"], "outputs": described, "elapsed_ms": ran.elapsed_ms}

    def _compile(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run forward with compilation in place of launches, so that compiling needs no turn on the device.

        Only the compiler's own errors count here: what else goes wrong without results shows again in a real call.
        """
        inputs = tree.decode(request["inputs"], self._tensor)
        seed_torch(int(request["seed"]))
        if self._guard is not None:
            self._guard.up()
        try:
            with faults("runtime", self._name), torch.no_grad(), self._switch.compile_only():
                self._model(*inputs)
        except CandidateFault as fault:
            if fault.kind in ("compile", "format"):
                raise
        return {"type": "compiled"}

    def _forward(self, rows: list[Any], request: dict[str, Any]) -> Ran:
        """Guarded forwards, one after another."""
        if self._guard is not None:
            self._guard.up()
        lead = Lead(int(request["spin_cycles"]), int(request["signal"]), int(request["signal_offset"]), self._queued)
        with faults("runtime", self._name), torch.no_grad(), ExitStack() as around:
            if request["mode"] == "no_kernels":
                around.enter_context(self._switch.off())
            seeded = [int(seed) for seed in request["seeds"]]
            forwards: list[Forward]
            forwards = [partial(self._seeded, seed, inputs) for seed, inputs in zip(seeded, rows, strict=True)]
            if request["mode"] == "once":
                forwards = _once(forwards, int(request["spin_cycles"]))
            ran = self._device.timed(forwards, lead)
        if self._guard is not None and self._guard.violations:
            raise CandidateFault("format", "\n".join(self._guard.violations))
        return ran

    def _seeded(self, seed: int, inputs: Any) -> Any:
        seed_torch(seed)
        return self._model(*inputs)

    def _queued(self) -> None:
        self._channel.send({"type": "queued"})

    def _tensor(self, description: Any) -> torch.Tensor:
        spec = TensorSpec.from_json(description, self._sizes)
        return self._segments[spec.segment].view(spec)


def _once(forwards: list[Forward], spin_cycles: int) -> list[Forward]:
    """The first forward with a spin kernel behind it, and then its result again and again."""

    @cache
    def run() -> Any:
        out = forwards[0]()
        if spin_cycles:
            torch.cuda._sleep(spin_cycles)
        return out

    return [run] * len(forwards)


def _describe(value: Any, specs: dict[int, TensorSpec]) -> dict[str, Any] | None:
    if type(value) is torch.Tensor:
        return specs[id(value)].to_json()
    if isinstance(value, torch.Tensor):
        raise tree.TreeError(f"{type(value).__name__}, a subclass of torch.Tensor")
    return None
