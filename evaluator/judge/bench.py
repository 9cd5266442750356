"""A task on the bench: the reference, the shared segments, and the one checked call that all stages are made of."""

import contextlib
import math
import os
import secrets
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from evaluator import tree
from evaluator.errors import GraderFault, SubmissionFault
from evaluator.judge import precision
from evaluator.judge.compare import Closeness, Mismatch, Tolerance, compare
from evaluator.judge.device import JudgeDevice
from evaluator.judge.homogeneity import is_homogeneous, scale_rows
from evaluator.judge.invariants import require_invariants
from evaluator.judge.memory import Need
from evaluator.judge.reference import Reference, Writer, tensors, total_bytes
from evaluator.judge.runner_link import CallReply, RunnerLink
from evaluator.judge.segments import Segment
from evaluator.judge.work import count_work
from evaluator.roofline.model import Work
from evaluator.tasks.special_inputs import special_inputs
from evaluator.tensorspec import SpecError, TensorSpec, align
from evaluator.verdicts import Verdict

# Room for scratch memory on a GPU; anywhere for outputs that are too large, so that their shape can be told.
ARENA_SPARE_BYTES = {"cuda": 128 * 1024**2, "cpu": 64 * 1024}
POISON = 0xFF  # NaN in every floating-point type, -1 in every signed integer


@dataclass(frozen=True)
class CallSeeds:
    """Hidden seeds of one call: of its inputs, and of the RNG state that `forward` finds."""

    inputs: int
    forward: int


@dataclass(frozen=True)
class CallOptions:
    """`precision` of fp32 products (`ieee` or `tf32`); a spin kernel ahead of the call; caches flushed before it.

    `mode` is `plain` or `no_kernels` (Triton's launches do nothing). `compare` is `values`, within the task's
    tolerance, `signed`, with an absolute part that grows with the output (sums of both signs cancel), or `l2`, which
    only measures. `row_scales` are divided out of the outputs before they are compared.
    """

    precision: str = "ieee"
    spin_cycles: int = 0
    flush: bool = False
    mode: str = "plain"
    compare: str = "values"
    row_scales: torch.Tensor | None = None


@dataclass(frozen=True)
class CheckedCall:
    """A call whose output was right; times in ms: the runner's claim and the judge's own clock.

    `relative_l2` is the distance of the output from the expected one, in units of the expected one's norm.
    """

    claim_ms: float
    wall_ms: float
    max_abs_err: float = 0.0
    relative_l2: float = 0.0


@dataclass(frozen=True)
class Construction:
    """What a runner needs to build its model: the weight seed, the constructor's arguments, where the weights lie."""

    seed: int
    init: Any
    weights: dict[str, Any]


Variant = Callable[[list[Any]], list[Any]]


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

    def _send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):  # it is dead, which its channel tells as well
            os.kill(self.pid, number)


class Bench:
    """Everything of one task on one device that does not depend on a submission."""

    def __init__(self, reference: Reference, device: JudgeDevice, tolerance: float, probe_seed: int) -> None:
        self.reference = reference
        self.device = device
        self.special = special_inputs(reference.task_id)
        comparison = self.special.comparison
        self.tolerance = Tolerance(tolerance, tolerance, comparison.atol_of_max_frac, comparison.finite_only)
        self.reference_runner: RunnerLink | None = None
        self._draw: int | None = None
        self.work = self._probe(probe_seed)
        self.exchange: Segment = device.segment(self._inputs_offset + self._input_bytes)
        self.arenas: dict[str, Segment] = {}

    def _probe(self, seed: int) -> Work:
        """Run the reference once to learn every size. Raises GraderFault for a task that does not run."""
        try:
            self.reference.construct(seed)
            inputs = self.reference.inputs(seed)
            before = [tensor._version for tensor in tensors(inputs)]
            self.device.reset_peak()
            work, output = count_work(self.reference, inputs, seed)
            self._peak_bytes = self.device.peak_bytes()
            self.homogeneous = is_homogeneous(self.reference, inputs, output, seed)
            flipped = precision.random_signs(self.reference.inputs(seed), seed)
            self.takes_signs = precision.finite(self.reference.forward(flipped, seed))
            self.one_signed = precision.one_signed(inputs)
        except GraderFault:
            raise
        except torch.OutOfMemoryError as error:
            raise GraderFault("device_memory", f"{self.reference.task_id}: {error}") from error
        except Exception as error:
            detail = f"{self.reference.task_id}: {type(error).__name__}: {error}"
            raise GraderFault("broken_task", detail, retryable=False) from error
        self.mutated = {i for i, tensor in enumerate(tensors(inputs)) if tensor._version != before[i]}
        self._inputs_offset = align(total_bytes(self.reference.state()))
        self._input_bytes = total_bytes(inputs)
        self._output_bytes = total_bytes(output)
        return work

    def arena(self, side: str) -> Segment:
        """The output segment of one side, made when first asked for."""
        if side not in self.arenas:
            # All that the reference allocates has to fit: a result beyond the arena is copied at its caller's cost.
            room = max(self._output_bytes, self._peak_bytes) + ARENA_SPARE_BYTES[self.device.name]
            if side == "candidate":
                room = max(room, 2 * self._output_bytes)
            self.arenas[side] = self.device.segment(align(room))
        return self.arenas[side]

    @property
    def need(self) -> Need:
        """Device memory of a grade: segments, two models, as much again as an output for the candidate's own use;
        and while it holds the device, the judge's own inputs, outputs and intermediate results."""
        lasting = self.held_bytes + 2 * self._inputs_offset + self._output_bytes
        return Need(lasting, 2 * self._input_bytes + self._output_bytes + self._peak_bytes)

    @property
    def held_bytes(self) -> int:
        """Device memory of the segments."""
        return self.exchange.bytes.numel() + sum(arena.bytes.numel() for arena in self.arenas.values())

    def close(self) -> None:
        """End the trusted runner and give all segments back."""
        if self.reference_runner is not None:
            self.reference_runner.kill()
            self.reference_runner = None
        self.exchange.close()
        for arena in self.arenas.values():
            arena.close()
        self.arenas = {}

    def write_state(self, seed: int) -> Construction:
        """Build the reference under a hidden weight seed and lay its weights out for the runners."""
        if self._draw != seed:
            self.reference.construct(seed)
            self._draw = seed
        # Written anew for every construction: a candidate can write to the segment too.
        writer = Writer(self.exchange.bytes)
        specs = {name: writer.write(value)[0]["tensor"] for name, value in self.reference.state().items()}
        init = tree.encode(_plain(self.reference.init_inputs(seed)), lambda value: None)
        self.device.synchronize()
        return Construction(seed, init, specs)

    def uncompared_call(
        self,
        runner: RunnerLink,
        side: str,
        seeds: CallSeeds,
        deadline_s: float,
        how: CallOptions,
        variant: Variant | None = None,
    ) -> CheckedCall:
        """One call of the trusted reference runner, whose output nobody doubts."""
        inputs = self._inputs(seeds, variant)
        gate = SignalGate(runner.pid)
        gate.freeze()
        try:
            reply, _, wall_ms = self._call(runner, side, inputs, seeds, deadline_s, how, gate)
        finally:
            gate.thaw()
        return CheckedCall(reply.elapsed_ms, wall_ms)

    def checked_call(
        self,
        runner: RunnerLink,
        side: str,
        seeds: CallSeeds,
        deadline_s: float,
        how: CallOptions,
        variant: Variant | None = None,
        gate: Gate | None = None,
    ) -> CheckedCall:
        """One call on fresh hidden inputs with its output compared. Raises SubmissionFault, or Mismatch.

        With a `gate` the runner is frozen but for the call itself.
        """
        inputs = self._inputs(seeds, variant)
        reply, views, wall_ms = self._call(runner, side, inputs, seeds, deadline_s, how, gate)
        found, regions = self._decode(reply, side)
        key = secrets.randbits(63)
        secured = [self.device.digest(region, key) for region in regions]
        self._require_inputs_unchanged(inputs, views)
        expected = self.reference.forward(inputs, seeds.forward)
        self._require_no_alias(reply, expected, inputs)
        closeness = self._judge_values(found, expected, inputs, how)
        self._require_mutations(inputs, views)
        if secured != [self.device.digest(region, key) for region in regions]:
            raise SubmissionFault(Verdict.INCORRECT, "the output changed after forward had returned")
        return CheckedCall(reply.elapsed_ms, wall_ms, closeness.max_abs_err, closeness.relative_l2)

    @property
    def timed_with_signs(self) -> bool:
        """Whether timed inputs carry random signs: without them sums in half precision look like sums in TF32."""
        products = self.work.flops > 0 and self.work.dtype == "float32"
        return products and self.takes_signs and self.one_signed and not self.special.timed

    def error_ratio(self, call: CheckedCall, seeds: CallSeeds, variant: Variant | None) -> float:
        """The error of a checked call against what TF32 may make of the same inputs; see `precision`."""
        inputs = self._inputs(seeds, variant)
        expected = self.reference.forward(self._inputs(seeds, variant), seeds.forward)
        flops = self.work.flops
        return precision.error_ratio(call.relative_l2, self.reference, inputs, expected, seeds.forward, flops)

    def _judge_values(self, found: Any, expected: Any, inputs: list[Any], how: CallOptions) -> Closeness:
        if how.compare == "l2":
            return compare(found, expected, Tolerance(math.inf, math.inf), inputs)
        if how.row_scales is not None:
            found, expected = (_unscaled(value, how.row_scales) for value in (found, expected))
        tolerance = self.tolerance.growing_with(expected) if how.compare == "signed" else self.tolerance
        closeness = compare(found, expected, tolerance, inputs)
        require_invariants(found, self.special.comparison)
        return closeness

    def _inputs(self, seeds: CallSeeds, variant: Variant | None) -> list[Any]:
        inputs = self.reference.inputs(seeds.inputs)
        return inputs if variant is None else variant(inputs)

    def _call(
        self,
        runner: RunnerLink,
        side: str,
        inputs: list[Any],
        seeds: CallSeeds,
        deadline_s: float,
        how: CallOptions,
        gate: Gate | None,
    ) -> tuple[CallReply, list[torch.Tensor], float]:
        writer = Writer(self.exchange.bytes, self._inputs_offset)
        described, views = writer.write(inputs)
        self.arena(side).bytes.fill_(POISON)
        if how.flush:
            self.device.flush_cache()
        self.device.synchronize()
        started = time.perf_counter()
        if gate is not None:
            gate.thaw()
        reply = runner.call(described, seeds.forward, how.precision, how.spin_cycles, deadline_s, how.mode)
        wall_ms = (time.perf_counter() - started) * 1e3
        if gate is not None:
            gate.freeze()
        return reply, views, wall_ms

    def compile_inputs(self, seeds: CallSeeds) -> dict[str, Any]:
        """Lay inputs out for a call that only compiles, and describe them."""
        described, _ = Writer(self.exchange.bytes, self._inputs_offset).write(self._inputs(seeds, None))
        self.device.synchronize()
        return described

    def _decode(self, reply: CallReply, side: str) -> tuple[Any, list[torch.Tensor]]:
        """The claimed output as views of the judge's own memory, with the flat regions they cover."""
        segments = {"exchange": self.exchange.bytes, "arena": self.arena(side).bytes}
        sizes = {name: segment.numel() for name, segment in segments.items()}
        regions: list[torch.Tensor] = []
        self._output_segments: list[str] = []

        def view(description: Any) -> torch.Tensor:
            spec = TensorSpec.from_json(description, sizes)
            region = segments[spec.segment][spec.offset : spec.offset + spec.extent_bytes]
            regions.append(region)
            self._output_segments.append(spec.segment)
            return region.view(getattr(torch, spec.dtype)).as_strided(spec.shape, spec.stride)

        try:
            found = tree.decode(reply.output, view)
            if sum(region.numel() for region in regions) > sum(sizes.values()):  # digests of all would take for ever
                raise SpecError("its tensors lie over each other many times")
        except (SpecError, tree.TreeError) as error:
            raise SubmissionFault(Verdict.INCORRECT, f"forward returned what cannot be compared: {error}") from None
        return found, regions

    def _require_no_alias(self, reply: CallReply, expected: Any, inputs: list[Any]) -> None:
        owned = {tensor.untyped_storage().data_ptr() for tensor in tensors(inputs)}
        aliases = any(tensor.untyped_storage().data_ptr() in owned for tensor in tensors(expected))
        if "exchange" in self._output_segments and not aliases:
            raise Mismatch("forward returned (a view of) one of its inputs; the reference returns a new tensor")

    def _require_inputs_unchanged(self, inputs: list[Any], views: list[torch.Tensor]) -> None:
        for i, (pristine, view) in enumerate(zip(tensors(inputs), views, strict=True)):
            if i not in self.mutated and not self._same_bytes(pristine, view):
                raise Mismatch(f"forward changed its input number {i + 1}; the reference leaves its inputs alone")

    def _same_bytes(self, a: torch.Tensor, b: torch.Tensor) -> bool:
        key = secrets.randbits(63)
        digests = {self.device.digest(tensor.reshape(-1).view(torch.uint8), key) for tensor in (a, b)}
        return len(digests) == 1

    def _require_mutations(self, inputs: list[Any], views: list[torch.Tensor]) -> None:
        """Where the reference itself writes to an input, the candidate must have written the same."""
        for i, (changed, view) in enumerate(zip(tensors(inputs), views, strict=True)):
            if i in self.mutated:
                compare(view, changed, self.tolerance)


def _unscaled(value: Any, scales: torch.Tensor) -> Any:
    if isinstance(value, torch.Tensor) and value.dim() and value.shape[0] == scales.shape[0]:
        return scale_rows(value, 1.0 / scales)
    return value


def _plain(value: Any) -> Any:
    """Constructor arguments as JSON can carry them. Raises GraderFault for what it cannot."""
    if isinstance(value, torch.Tensor | torch.nn.Module | torch.dtype):
        raise GraderFault("unsupported_task", f"init inputs of type {type(value).__name__}", retryable=False)
    return value
