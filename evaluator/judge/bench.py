"""A task on the bench: the reference, the shared segments, and the one checked call that all stages are made of."""

import math
import secrets
from collections.abc import Sequence
from typing import Any

import torch

from evaluator import tree
from evaluator.errors import GraderFault, SubmissionFault
from evaluator.judge import precision
from evaluator.judge.call import (
    CallOptions,
    CallSeeds,
    CheckedCall,
    Construction,
    Gate,
    OpenGate,
    SignalGate,
    Variant,
)
from evaluator.judge.compare import Closeness, Mismatch, Tolerance, compare
from evaluator.judge.device import JudgeDevice
from evaluator.judge.exchange import Answer, Exchange, row_calls
from evaluator.judge.homogeneity import is_homogeneous, scale_rows
from evaluator.judge.invariants import require_invariants
from evaluator.judge.memory import Need
from evaluator.judge.output_arena import OutputArena
from evaluator.judge.reference import Reference, tensors, total_bytes
from evaluator.judge.runner_link import RunnerLink
from evaluator.judge.work import count_work
from evaluator.roofline.model import Work
from evaluator.run_time_rules import RunTimeRule
from evaluator.tasks.special_inputs import NOTHING_SPECIAL, SpecialInputs
from evaluator.tensorspec import align
from evaluator.verdicts import Verdict

# What a process takes of a GPU for being there at all (an H200: 518 MiB).
CONTEXT_BYTES = {"cuda": 600 * 1024**2, "cpu": 0}
# Room for scratch memory on a GPU; anywhere for outputs that are too large, so that their shape can be told.
ARENA_SPARE_BYTES = {"cuda": 128 * 1024**2, "cpu": 64 * 1024}


class Bench:
    """Everything of one task on one device that does not depend on a submission."""

    def __init__(
        self,
        reference: Reference,
        device: JudgeDevice,
        tolerance: float,
        probe_seed: int,
        special: SpecialInputs = NOTHING_SPECIAL,
    ) -> None:
        self.reference = reference
        self.device = device
        self.special = special
        comparison = self.special.comparison
        relative = tolerance if comparison.rtol is None else min(tolerance, comparison.rtol)
        self.tolerance = Tolerance(relative, tolerance, comparison.atol_of_max_frac, comparison.finite_only)
        self.reference_runner: RunnerLink | None = None
        self.reference_gate: Gate | None = None
        self.reference_alone_ms: float | None = None  # as timed without any candidate
        self._draw: int | None = None
        self.work = self._probe(probe_seed)
        self.row_calls = row_calls(device.row_bytes, self._input_bytes + self._output_bytes)
        self.exchange = Exchange(device, self._state_bytes, self._input_bytes, self.row_calls)
        self.arenas: dict[str, OutputArena] = {}

    def _probe(self, seed: int) -> Work:
        """Run the reference once to learn every size. Raises GraderFault for a task that does not run."""
        try:
            self.reference.construct(seed)
            inputs = self.reference.inputs(seed)
            before = [tensor._version for tensor in tensors(inputs)]
            self.device.reset_peak()
            work, output = count_work(self.reference, inputs, seed)
            counted_bytes = self.device.peak_bytes()
            self.homogeneous = is_homogeneous(self.reference, inputs, output, seed)
            flipped = precision.random_signs(self.reference.inputs(seed), seed)
            self.device.reset_peak()
            # in the timing's precision, by which libraries choose their work space
            signed_output = self.reference.forward(flipped, seed, "tf32")
            self._peak_bytes = max(counted_bytes, self.device.peak_bytes())
            self.takes_signs = precision.finite(signed_output)
            self.one_signed = precision.one_signed(inputs)
        except GraderFault:
            raise
        except torch.OutOfMemoryError as error:
            raise GraderFault("device_memory", f"{self.reference.task_id}: {error}") from error
        except Exception as error:
            detail = f"{self.reference.task_id}: {type(error).__name__}: {error}"
            raise GraderFault("broken_task", detail, retryable=False) from error
        self.mutated = {i for i, tensor in enumerate(tensors(inputs)) if tensor._version != before[i]}
        self._state_bytes = align(total_bytes(self.reference.state()))
        self._input_bytes = total_bytes(inputs)
        self._output_bytes = total_bytes(output)
        return work

    def arena(self, side: str) -> OutputArena:
        """The output segment of one side, made when first asked for."""
        if side not in self.arenas:
            # All that the reference allocates has to fit: a result beyond the arena is copied at its caller's cost.
            room = max(self._output_bytes, self._peak_bytes) + ARENA_SPARE_BYTES[self.device.name]
            if side == "candidate":
                room = max(room, 2 * self._output_bytes) + self.row_calls * self._output_bytes
            self.arenas[side] = OutputArena(self.device.segment(align(room)))
        return self.arenas[side]

    @property
    def need(self) -> Need:
        """Device memory of a grade: all that the bench holds, the candidate's process and model, as much again as an
        output for its own use; and while it holds the device, the judge's own inputs, outputs and intermediate results.
        """
        candidate_bytes = CONTEXT_BYTES[self.device.name] + self._state_bytes + self._output_bytes
        lasting = self.held_bytes + candidate_bytes
        rows = self.row_calls * (self._input_bytes + self._output_bytes)
        return Need(lasting, max(2 * self._input_bytes, rows) + self._output_bytes + self._peak_bytes)

    @property
    def held_bytes(self) -> int:
        """Device memory of the segments, of the judge's model, and of the trusted runner with its own."""
        segments = self.exchange.segment.bytes.numel() + sum(arena.bytes.numel() for arena in self.arenas.values())
        return segments + CONTEXT_BYTES[self.device.name] + 2 * self._state_bytes

    def close(self) -> None:
        """End the trusted runner and give all segments back."""
        if self.reference_runner is not None:
            self.reference_runner.kill()
            self.reference_runner = None
        self.exchange.segment.close()
        for arena in self.arenas.values():
            arena.close()
        self.arenas = {}

    def write_state(self, seed: int) -> Construction:
        """Build the reference under a hidden weight seed and lay its weights out for the runners."""
        if self._draw != seed:
            self.reference.construct(seed)
            self._draw = seed
        # Written anew for every construction: a candidate can write to the segment too.
        writer = self.exchange.state_writer()
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
        count: int = 1,
    ) -> CheckedCall:
        """One call of the trusted reference runner, whose output nobody doubts, or a row of `count` that runs `once`.

        Raises DeviceBusyError.
        """
        gate = self._gate_of(runner)
        gate.freeze()
        try:
            inputs = [self._inputs(seeds, variant)]
            forwards = [seeds.forward] * count
            answer = self.exchange.call(runner, self.arena(side), inputs, forwards, deadline_s, how, gate)
            _, digest_ms = self.exchange.digests(answer)
        finally:
            gate.thaw()
        return CheckedCall(answer.claim_ms, answer.wall_ms(digest_ms), queued=answer.queued)

    def _gate_of(self, trusted: RunnerLink) -> Gate:
        return self.reference_gate or SignalGate(trusted.pid)

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
        return self.checked_row(runner, side, [seeds], deadline_s, how, [variant], gate)

    def checked_row(
        self,
        runner: RunnerLink,
        side: str,
        seeds: Sequence[CallSeeds],
        deadline_s: float,
        how: CallOptions,
        variants: Sequence[Variant | None],
        gate: Gate | None = None,
    ) -> CheckedCall:
        """As `checked_call`, for forwards that run one after another; the times are of them all."""
        drawn = [self._inputs(seed, variant) for seed, variant in zip(seeds, variants, strict=True)]
        forwards = [seed.forward for seed in seeds]
        answer = self.exchange.call(runner, self.arena(side), drawn, forwards, deadline_s, how, gate or OpenGate())
        closeness = [self._checked(answer, i, inputs, seeds[i], how) for i, inputs in enumerate(drawn)]
        digests, digest_ms = self.exchange.digests(answer)
        if digests != answer.digests:
            feedback = "the output changed after forward had returned"
            raise SubmissionFault(Verdict.INCORRECT, feedback, RunTimeRule.LATE_OUTPUT)
        return CheckedCall(
            answer.claim_ms,
            answer.wall_ms(digest_ms),
            max(each.max_abs_err for each in closeness),
            max(each.relative_l2 for each in closeness),
            answer.queued,
        )

    def _checked(self, answer: Answer, number: int, inputs: list[Any], seeds: CallSeeds, how: CallOptions) -> Closeness:
        views = answer.views[number]
        self._require_inputs_unchanged(inputs, views)
        expected = self.reference.forward(inputs, seeds.forward)
        self._require_no_alias(answer, expected, inputs)
        closeness = self._judge_values(answer.found[number], expected, inputs, how)
        self._require_mutations(inputs, views)
        return closeness

    @property
    def timed_with_signs(self) -> bool:
        """Whether timed inputs carry random signs: without them sums in half precision look like sums in TF32."""
        products = self.work.multiplies_fp32
        return products and self.takes_signs and self.one_signed

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

    def compile_inputs(self, seeds: CallSeeds) -> dict[str, Any]:
        """Lay inputs out for a call that only compiles, and describe them."""
        return self.exchange.describe(self._inputs(seeds, None))

    def _require_no_alias(self, answer: Answer, expected: Any, inputs: list[Any]) -> None:
        owned = {tensor.untyped_storage().data_ptr() for tensor in tensors(inputs)}
        aliases = any(tensor.untyped_storage().data_ptr() in owned for tensor in tensors(expected))
        if "exchange" in answer.places and not aliases:
            raise Mismatch("forward returned (a view of) one of its inputs; the reference returns a new tensor")

    def _require_inputs_unchanged(self, inputs: list[Any], views: list[torch.Tensor]) -> None:
        for i, (pristine, view) in enumerate(zip(tensors(inputs), views, strict=True)):
            if i not in self.mutated and not self._same_bytes(pristine, view):
                raise Mismatch(f"forward changed its input number {i + 1}; the reference leaves its inputs alone")

    def _same_bytes(self, a: torch.Tensor, b: torch.Tensor) -> bool:
        flat = [tensor.reshape(-1).view(torch.uint8) for tensor in (a, b)]
        return len(set(self.device.digests(flat, secrets.randbits(63)))) == 1

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
