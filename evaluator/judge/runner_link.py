"""The judge's end of one runner: requests with deadlines, replies that are checked, a kill that leaves nothing."""

import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evaluator.errors import Cancelled, GraderFault, SubmissionFault
from evaluator.run_time_rules import RunTimeRule
from evaluator.verdicts import Verdict
from evaluator.wire import Channel, DeadlinePassed, Interrupted, PeerClosed, WireError

MAX_REPLY_BYTES = 256 * 1024
# The faults that a runner may report, and the verdict each leads to.
FAULT_VERDICTS = {
    "import": Verdict.COMPILE_ERROR,
    "compile": Verdict.COMPILE_ERROR,
    "runtime": Verdict.RUNTIME_ERROR,
    "memory": Verdict.RUNTIME_ERROR,
    "output": Verdict.INCORRECT,
    "format": Verdict.FORMAT_VIOLATION,
}
_RULES = {"format": (RunTimeRule.TORCH_IN_FORWARD,)}
_PREFIX = {"memory": "out of memory: "}
_SUFFIX = {
    "format": "\nDuring forward torch may only allocate, make views, change layout, cast, fill, copy, concatenate and "
    "draw random numbers; arithmetic and reductions belong in your kernels (__init__ may prepare weights freely)."
}


# A runner says when all of a call is queued behind the judge's signal; one that waits for results itself never does.
QUEUED_S = 0.03
QUEUED_PER_FORWARD_S = 0.005


@dataclass
class CallRequest:
    """A row of forwards: trees of inputs and RNG seeds, one each. `signal` is the value to wait for; 0 is no wait."""

    inputs: list[Any]
    seeds: list[int]
    precision: str
    spin_cycles: int = 0
    mode: str = "plain"
    signal: int = 0
    signal_offset: int = 0


@dataclass(frozen=True)
class CallReply:
    """What a runner claims about a row of forwards; `outputs` are still unchecked JSON, the time is of them all."""

    outputs: list[Any]
    elapsed_ms: float


@dataclass(frozen=True)
class Trace:
    """`kernels`: names and microseconds of all that ran on the device; `beside`: names of what ran beside the call."""

    kernels: tuple[tuple[str, float], ...]
    beside: tuple[str, ...] = ()


class RunnerLink:
    """`reap` kills the process with all its descendants and tells its wait status."""

    def __init__(
        self,
        sock: socket.socket,
        pid: int,
        reap: Callable[[], int | None],
        *,
        trusted: bool,
        interrupt_fd: int | None,
    ) -> None:
        self.pid = pid
        self._channel = Channel(sock, max_bytes=MAX_REPLY_BYTES)
        self._reap = reap
        self._trusted = trusted
        self.interrupt_fd = interrupt_fd
        self.before_death: Callable[[], None] | None = None
        self.on_death: Callable[[], None] | None = None
        self._next_call = self._forwards = 0
        self._announced = True
        self._dead = False

    def ready(self, deadline_s: float) -> dict[str, Any]:
        """Wait until the runner has confined itself; its isolation record. Raises GraderFault if it cannot."""
        try:
            reply = self._channel.receive(deadline_s=deadline_s, interrupts=self._interrupts)
        except Interrupted:
            self.kill()
            raise Cancelled("cancelled while a runner started") from None
        except WireError as error:
            status = self.kill()
            raise GraderFault("runner_start", f"{error}; {describe_status(status)}") from error
        isolation = reply.get("isolation")
        if not isinstance(isolation, dict):
            self.kill()
            raise GraderFault("runner_start", "the runner sent no record of its isolation")
        return isolation

    def load(self, source: str, entry: str, deadline_s: float) -> None:
        """Import the source. Raises SubmissionFault."""
        self._request({"type": "load", "source": source, "entry": entry}, "loaded", deadline_s, "import")

    @property
    def dead(self) -> bool:
        """Whether the runner is gone, by `kill` or together with its zygote."""
        return self._dead or self._channel.peer_gone()

    @property
    def _interrupts(self) -> list[int]:
        return [] if self.interrupt_fd is None else [self.interrupt_fd]

    def construct(self, init: Any, weights: dict[str, Any], seed: int, deadline_s: float) -> list[str]:
        """Instantiate the model; names of weights that found no partner. Raises SubmissionFault."""
        request = {"type": "construct", "init": init, "weights": weights, "seed": seed}
        reply = self._request(request, "constructed", deadline_s, "__init__")
        names = reply.get("unmatched")
        if not isinstance(names, list):
            raise self._out_of_turn()
        return [str(name)[:200] for name in names[:100]]

    def call(self, request: CallRequest, deadline_s: float) -> CallReply:
        """A row of forwards. Raises SubmissionFault; the reply is the runner's claim and proves nothing."""
        self._begin(request, deadline_s)
        return self.end_call(deadline_s)

    def begin_call(self, request: CallRequest, deadline_s: float) -> bool:
        """Have a row queued behind the judge's signal; whether all of it is. `end_call` is to follow in any case."""
        self._begin(request, deadline_s)
        try:
            wait_s = min(QUEUED_S + QUEUED_PER_FORWARD_S * len(request.seeds), deadline_s)
            message = self._channel.receive(deadline_s=wait_s, interrupts=self._interrupts)
        except DeadlinePassed:
            return False
        except Interrupted:
            self.kill()
            raise Cancelled("cancelled while the candidate ran") from None
        except WireError as error:
            raise self._broken(error, "forward", deadline_s) from None
        if message.get("type") == "fault":
            raise self._reported_fault(message)
        if message.get("type") != "queued":
            raise self._out_of_turn()
        self._announced = True
        return True

    def end_call(self, deadline_s: float) -> CallReply:
        """The rest of a call that was begun. Raises SubmissionFault."""
        reply = self._reply("result", deadline_s, "forward")
        elapsed_ms = _claimed_ms(reply.get("elapsed_ms"))
        outputs = reply.get("outputs")
        if reply.get("id") != self._next_call or elapsed_ms is None or not isinstance(outputs, list):
            raise self._out_of_turn()
        if len(outputs) != self._forwards:
            raise self._out_of_turn()
        return CallReply(outputs, elapsed_ms)

    def _begin(self, request: CallRequest, deadline_s: float) -> None:
        self._next_call += 1
        self._forwards = len(request.seeds)
        self._announced = request.signal == 0
        self._send({"type": "call", "id": self._next_call, **vars(request)}, deadline_s, "forward")

    def compile_only(self, inputs: Any, seed: int, deadline_s: float) -> None:
        """A forward in which Triton compiles and launches nothing. Raises SubmissionFault."""
        request = {"type": "compile", "inputs": inputs, "seed": seed}
        self._request(request, "compiled", deadline_s, "forward")

    def begin_trace(self, deadline_s: float) -> None:
        """Start to trace the device's kernels."""
        self._request({"type": "begin_trace"}, "tracing", deadline_s, "the tracer")

    def end_trace(self, deadline_s: float) -> Trace:
        """What ran on the device since `begin_trace`, as the runner claims."""
        reply = self._request({"type": "end_trace"}, "traced", deadline_s, "the tracer")
        beside = reply.get("beside")
        names = [name[:200] for name in beside[:8] if isinstance(name, str)] if isinstance(beside, list) else []
        return Trace(_kernels(reply.get("kernels")), tuple(names))

    def kill(self) -> int | None:
        """End the runner and all it started; its wait status where this call ended it."""
        if self._dead:
            return None
        self._dead = True
        self._channel.close()
        if self.before_death is not None:
            self.before_death()
        status = self._reap()
        if self.on_death is not None:
            self.on_death()
        return status

    def _request(self, message: dict[str, Any], expected: str, deadline_s: float, what: str) -> dict[str, Any]:
        self._send(message, deadline_s, what)
        return self._reply(expected, deadline_s, what)

    def _send(self, message: dict[str, Any], deadline_s: float, what: str) -> None:
        try:
            self._channel.send(message, deadline_s=deadline_s)
        except WireError as error:
            raise self._broken(error, what, deadline_s) from None

    def _reply(self, expected: str, deadline_s: float, what: str) -> dict[str, Any]:
        try:
            reply = self._channel.receive(deadline_s=deadline_s, interrupts=self._interrupts)
            if reply.get("type") == "queued" and not self._announced:  # later than the judge cared to wait
                self._announced = True
                reply = self._channel.receive(deadline_s=deadline_s, interrupts=self._interrupts)
        except Interrupted:
            self.kill()
            raise Cancelled("cancelled while the candidate ran") from None
        except WireError as error:
            raise self._broken(error, what, deadline_s) from None
        if reply.get("type") == "fault":
            raise self._reported_fault(reply)
        if reply.get("type") != expected:
            raise self._out_of_turn()
        return reply

    def _broken(self, error: WireError, what: str, deadline_s: float) -> Exception:
        """What a channel that failed says of the runner, which is dead afterwards."""
        status = self.kill()
        if isinstance(error, DeadlinePassed):
            return self._fault(Verdict.TIMEOUT, f"{what} did not return within {deadline_s:g} s")
        if isinstance(error, PeerClosed):
            return self._fault(Verdict.RUNTIME_ERROR, f"the process died in {what}: {describe_status(status)}")
        return self._out_of_turn()

    def _reported_fault(self, reply: dict[str, Any]) -> Exception:
        kind, text = reply.get("kind"), reply.get("text")
        if not isinstance(kind, str) or kind not in FAULT_VERDICTS or not isinstance(text, str):
            return self._out_of_turn()
        feedback = _PREFIX.get(kind, "") + text + _SUFFIX.get(kind, "")
        return self._fault(FAULT_VERDICTS[kind], feedback, *_RULES.get(kind, ()))

    def _out_of_turn(self) -> Exception:
        self.kill()
        return self._fault(
            Verdict.RUNTIME_ERROR, "the candidate's process sent something that is no answer to the request"
        )

    def _fault(self, verdict: Verdict, feedback: str, *rules: str) -> Exception:
        if self._trusted:
            return GraderFault("reference_failed", f"{verdict}: {feedback}", retryable=verdict is not Verdict.TIMEOUT)
        return SubmissionFault(verdict, feedback, *rules)


def _kernels(value: Any) -> tuple[tuple[str, float], ...]:
    """Names and microseconds of traced kernels; whatever has another form is left out."""
    if not isinstance(value, list):
        return ()
    pairs = [item for item in value[:1024] if isinstance(item, list) and len(item) == 2]
    return tuple((item[0][:500], time) for item in pairs if isinstance(item[0], str) and (time := _claimed_ms(item[1])))


def _claimed_ms(value: Any) -> float | None:
    """A claimed duration in ms, or None for anything that is none (JSON numbers may be huge or infinite)."""
    if type(value) not in (int, float) or not 0 <= value < 1e9:
        return None
    return float(value)


def describe_status(status: int | None) -> str:
    """A wait status in words."""
    if status is None:
        return "no exit status"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"killed by {signal.Signals(number).name}" if number in set(signal.Signals) else f"signal {number}"
    return f"exit code {os.WEXITSTATUS(status)}"
