"""The memory between judge and runners, and the one way in which a call goes through it."""

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from evaluator import tree
from evaluator.errors import SubmissionFault
from evaluator.judge.call import CallOptions, Gate
from evaluator.judge.device import JudgeDevice, Mark
from evaluator.judge.idle import idle_within
from evaluator.judge.output_arena import OutputArena
from evaluator.judge.reference import Writer
from evaluator.judge.runner_link import CallRequest, RunnerLink
from evaluator.tensorspec import SpecError, TensorSpec, align
from evaluator.verdicts import Verdict

SIGNAL_BYTES = 256
# What others queued on the device (a neighbour's constructor) ends by itself; a kernel that waits for more does not.
IDLE_WAIT_S = 3.0


class DeviceBusyError(Exception):
    """Something still runs on the device that ought to be idle."""


@dataclass
class Answer:
    """What a row of forwards came to, before any of it is believed. Lists have one item a forward.

    `found` are the outputs as views of the judge's memory, `regions` the flat bytes they cover, `places` the segments
    these lie in, `views` the inputs as the runner saw them. `lasted_ms` runs from the signal to the end of the digest,
    which took `digest_ms` of it, both by the device's clock.
    """

    claim_ms: float
    lasted_ms: float
    digest_ms: float
    queued: bool
    found: list[Any]
    views: list[list[torch.Tensor]]
    regions: list[torch.Tensor] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    key: int = 0
    digests: list[bytes] = field(default_factory=list)

    def wall_ms(self, second_digest_ms: float) -> float:
        """The judge's time for the call alone. A digest of what is still being written takes longer than a second
        one; a second one that is held up by something else is no reason to take more off."""
        return self.lasted_ms - min(self.digest_ms, second_digest_ms)


class Exchange:
    """Weights from the start of the segment, inputs of up to `row_calls` forwards after them, the signal at its end."""

    def __init__(self, device: JudgeDevice, state_bytes: int, input_bytes: int, row_calls: int) -> None:
        self._device = device
        self._inputs_offset = align(state_bytes)
        inputs_end = align(self._inputs_offset + max(row_calls, 1) * align(input_bytes))
        self.segment = device.segment(inputs_end + SIGNAL_BYTES)
        self._signal_offset = inputs_end
        self._signals = 0

    def state_writer(self) -> Writer:
        """Writes weights to where runners look for them."""
        return Writer(self.segment.bytes)

    def describe(self, inputs: list[Any]) -> dict[str, Any]:
        """Lay inputs out for a call that only compiles."""
        described, _ = Writer(self.segment.bytes, self._inputs_offset).write(inputs)
        self._device.synchronize()
        return described

    def call(
        self,
        runner: RunnerLink,
        arena: OutputArena,
        inputs: Sequence[list[Any]],
        seeds: Sequence[int],
        deadline_s: float,
        how: CallOptions,
        gate: Gate,
    ) -> Answer:
        """Run a row of forwards on these inputs and secure what they returned.

        A timed call on a GPU finds the device idle. It is queued behind a wait for the judge's signal, and its inputs
        are written after that and while the runner stands still: nothing can be begun, and nothing is left to do on
        the host, before the clock starts. Raises SubmissionFault, and DeviceBusyError.
        """
        signalled = how.timed and self._device.has_signals
        writer = Writer(self.segment.bytes, self._inputs_offset, deferred=signalled)
        laid_out = [writer.write(values) for values in inputs]
        described = [tree_of_one for tree_of_one, _ in laid_out]
        answers_each = len(seeds) if how.mode == "once" else 1
        request = CallRequest(described * answers_each, list(seeds), how.precision, how.spin_cycles, how.mode)
        arena.poison()
        if signalled:
            reply, started, queued = self._signalled(runner, request, writer, deadline_s, gate)
        else:
            if how.timed:
                self._device.flush_cache()
            self._device.synchronize()
            started, queued = self._device.mark(), True
            gate.thaw()
            reply = runner.call(request, deadline_s)
        answer = Answer(reply.elapsed_ms, 0.0, 0.0, queued, [], [views for _, views in laid_out])
        self._decode(reply.outputs, arena, answer, answers_each)
        answer.key = secrets.randbits(63)
        answer.digests, answer.digest_ms = self.digests(answer)
        answer.lasted_ms = self._device.ms_between(started, self._device.mark())
        gate.freeze()
        return answer

    def _signalled(
        self, runner: RunnerLink, request: CallRequest, writer: Writer, deadline_s: float, gate: Gate
    ) -> tuple[Any, Mark, bool]:
        self._signals += 1
        request.signal = self._signals
        request.signal_offset = self._signal_offset
        signal = self.segment.bytes[self._signal_offset :][:4].view(torch.int32)
        self._device.synchronize()
        if not idle_within(self._device, IDLE_WAIT_S):
            raise DeviceBusyError
        gate.thaw()
        queued = runner.begin_call(request, deadline_s)
        gate.freeze()
        writer.fill()
        # Queued together: whoever rests between two of these waits for the end of the runner's turn, up to 2 ms.
        self._device.flush_cache()
        started = self._device.mark()
        signal.fill_(self._signals)
        self._device.synchronize()
        gate.thaw()
        return runner.end_call(deadline_s), started, queued

    def digests(self, answer: Answer) -> tuple[list[bytes], float]:
        """Digests of all regions under the answer's key, and the milliseconds they took."""
        started = self._device.mark()
        found = self._device.digests(answer.regions, answer.key)
        return found, self._device.ms_between(started, self._device.mark())

    def _decode(self, outputs: list[Any], arena: OutputArena, answer: Answer, times: int) -> None:
        """The claimed outputs as views of the judge's own memory, which they may cover so many times."""
        segments = {"exchange": self.segment.bytes, "arena": arena.bytes}
        sizes = {name: segment.numel() for name, segment in segments.items()}

        def view(description: Any) -> torch.Tensor:
            spec = TensorSpec.from_json(description, sizes)
            begin, end = spec.offset, spec.offset + spec.extent_bytes
            region = segments[spec.segment][begin:end]
            answer.regions.append(region)
            answer.places.append(spec.segment)
            if spec.segment == "arena":
                arena.note_output(begin, end)
            return region.view(getattr(torch, spec.dtype)).as_strided(spec.shape, spec.stride)

        try:
            answer.found = [tree.decode(output, view) for output in outputs]
            total = sum(region.numel() for region in answer.regions)
            if total > times * sum(sizes.values()):  # digests of all would take for ever
                raise SpecError("its tensors lie over each other many times")
        except (SpecError, tree.TreeError) as error:
            raise SubmissionFault(Verdict.INCORRECT, f"forward returned what cannot be compared: {error}") from None


def row_calls(room_bytes: int, bytes_per_call: int) -> int:
    """How many forwards in a row fit into `room_bytes`: even, at most 64; 0 where not even two do."""
    fitting = min(64, math.floor(room_bytes / max(bytes_per_call, 1)))
    return fitting - fitting % 2
