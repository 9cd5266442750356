"""A hostile runner with mutated replies for the judge: `python -m tests.evaluator.fuzz_runner_link COUNT SEED`.

Prints one JSON line: messages sent, outcomes by exception, audit events of the interpreter, growth of memory and
descriptors. A process of its own, because an audit hook cannot be taken off again.
"""

import json
import os
import random
import resource
import socket
import struct
import sys
from collections import Counter
from typing import Any

from evaluator import tree
from evaluator.errors import Cancelled, GraderFault, SubmissionFault
from evaluator.judge.runner_link import CallReply, CallRequest, RunnerLink
from evaluator.tensorspec import SpecError, TensorSpec

SEGMENTS = {"exchange": 4096, "arena": 8192}
DEADLINE_S = 0.002  # only what is truncated and left open waits for it
SPEC = {"segment": "arena", "offset": 512, "dtype": "float32", "shape": [4, 8], "stride": [8, 1]}
TENSOR = {"kind": "tensor", "tensor": SPEC}
OUTPUTS: list[Any] = [
    TENSOR,
    {"kind": "tuple", "items": [TENSOR, {"kind": "float", "value": "0x1.8p+1"}]},
    {"kind": "dict", "items": [["loss", TENSOR], ["n", {"kind": "int", "value": 3}]]},
]
# what the judge asks for, and a right answer to it
VALID: dict[str, list[dict[str, Any]]] = {
    "ready": [{"type": "ready", "isolation": {"seccomp": {"enforced": True, "detail": ""}}}],
    "load": [{"type": "loaded"}, {"type": "fault", "kind": "import", "text": "NameError: x\n  line 3"}],
    "construct": [{"type": "constructed", "unmatched": ["weight"]}, {"type": "fault", "kind": "runtime", "text": "x"}],
    "call": [{"type": "result", "id": 1, "outputs": [output], "elapsed_ms": 0.25} for output in OUTPUTS],
    "end_trace": [{"type": "traced", "kernels": [["relu_kernel", 12.5], ["Memset (Device)", 1]]}],
}
NASTY: list[Any] = [
    None, True, -1, 0, 2**63, -(2**63), 2**200, 10**4000, 1e308, -0.0, "", "x" * 5000, "\ud800", "\0", "__class__",
    "0x1p+99999", "nan", "os.system", [], {}, [[]], [None] * 2000, {"kind": "tensor"}, {"kind": ["dict"]},
    {"__reduce__": ["os.system", ["true"]]}, {"type": "fault", "kind": [], "text": {}}, TENSOR, SPEC,
]  # fmt: skip
RAW = [
    b"NaN",
    b"Infinity",
    b"1e999",
    b"-1e999",
    b"9" * 6000,
    b"[" * 3000,
    b'{"a":' * 3000,
    b"\xff\xfe",
    b"\0",
    b'"\\ud800"',
]
PICKLE = b"cposix\nsystem\n(S'true'\ntR."


def mutate(value: Any, rng: random.Random) -> Any:
    """The value with one random part replaced, removed, doubled or renamed."""
    if rng.random() < 0.3 or not isinstance(value, list | dict) or not value:
        return rng.choice(NASTY)
    if isinstance(value, list):
        at = rng.randrange(len(value))
        return value[:at] + rng.choice([[], [value[at]] * 2, [mutate(value[at], rng)]]) + value[at + 1 :]
    key = rng.choice(list(value))
    changed = {name: item for name, item in value.items() if name != key}
    how = rng.random()
    if how < 0.1:
        return changed
    return {**changed, key if how < 0.9 else f"{key}\0": mutate(value[key], rng)}


def damage(body: bytes, rng: random.Random) -> bytes:
    """The text with one random place overwritten, cut out, or filled with what is no JSON."""
    start = rng.randrange(len(body) + 1)
    end = min(start + rng.choice([0, 1, 1, 8, 100]), len(body))
    filling = rng.choice([b"", bytes([rng.randrange(256)]), rng.choice(RAW), PICKLE, rng.randbytes(16)])
    return body[:start] + filling + body[end:]


def stream(kind: str, rng: random.Random) -> tuple[bytes, int, bool]:
    """What the peer sends in answer to one request, how many messages that is, and whether their lengths are lies."""
    message: Any = rng.choice(VALID[kind if rng.random() < 0.95 else rng.choice(list(VALID))])
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        message = mutate(message, rng)
    body = json.dumps(message).encode()
    if rng.random() < 0.3:
        body = damage(body, rng)
    how = rng.random()
    length = len(body)
    if how < 0.04:
        length = rng.choice([0, 1, length - 1, length + 1, 300_000, 2**31, 2**32 - 1]) % 2**32
    frame = struct.pack("!I", length) + body
    if how > 0.97:
        frame = frame[: rng.randrange(len(frame))]
    copies = 2 if 0.5 < how < 0.52 else 1
    return frame * copies, copies, not 0.04 <= how <= 0.97


def ask(link: RunnerLink, kind: str) -> Any:
    """One request of the judge, its answer taken apart as the judge does it."""
    if kind == "ready":
        return link.ready(DEADLINE_S)
    if kind == "load":
        return link.load("source", "ModelNew", DEADLINE_S)
    if kind == "construct":
        return link.construct({"kind": "list", "items": []}, {}, 7, DEADLINE_S)
    if kind == "end_trace":
        return link.end_trace(DEADLINE_S)
    link._next_call = 0  # so that the id of every valid answer is the right one
    reply: CallReply = link.call(CallRequest([{"kind": "list", "items": []}], [7], "ieee"), DEADLINE_S)
    return tree.decode(reply.outputs[0], lambda claim: TensorSpec.from_json(claim, SEGMENTS))


class Fuzz:
    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._link: RunnerLink | None = None
        self.outcomes: Counter[str] = Counter()
        self.messages = 0
        self.reaped = 0
        self.links = 0

    def step(self) -> None:
        """One request, answered by hostile bytes that lie there already, as nothing here needs two threads."""
        if self._link is None or self._link.dead:
            self._connect()
        assert self._link is not None
        kind = self._rng.choice([*VALID, "call", "call"])
        data, count, lies = stream(kind, self._rng)
        self.messages += count
        self._peer.sendall(data)
        ended = self._rng.random() < (0.9 if lies else 0.2)
        if ended:
            self._peer.shutdown(socket.SHUT_WR)
        try:
            ask(self._link, kind)
            self.outcomes["accepted"] += 1
        except (SubmissionFault, GraderFault, Cancelled, tree.TreeError, SpecError) as error:
            self.outcomes[type(error).__name__] += 1
        self._drain()
        if ended:
            self._link.kill()

    def close(self) -> None:
        if self._link is not None:
            self._link.kill()
            self._peer.close()

    def _connect(self) -> None:
        if self._link is not None:
            self._peer.close()
        ours, self._peer = socket.socketpair()
        self._peer.setblocking(False)
        self._link = RunnerLink(ours, os.getpid(), self._count_reaped, trusted=False, interrupt_fd=None)
        self.links += 1

    def _count_reaped(self) -> int:
        self.reaped += 1
        return 9

    def _drain(self) -> None:
        """Read what the judge asked, so that its requests do not fill the socket."""
        try:
            self._peer.recv(1 << 20)
        except (BlockingIOError, ConnectionResetError):
            return


def main(count: int, seed: int) -> None:
    warm = Fuzz(0)  # imports and caches that the first errors bring about
    for _ in range(2000):
        warm.step()
    warm.close()
    events: Counter[str] = Counter()
    sys.addaudithook(lambda event, _: events.update([event]))
    memory_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fds = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counted the same way below
    fuzz = Fuzz(seed)
    events.clear()
    while fuzz.messages < count:
        fuzz.step()
    fuzz.close()
    seen = dict(events)
    result = {
        "messages": fuzz.messages,
        "outcomes": dict(fuzz.outcomes),
        "events": seen,
        "links_left": fuzz.links - fuzz.reaped,
        "memory_growth_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_kib,
        "fds_growth": len(os.listdir("/proc/self/fd")) - fds,  # noqa: PTH208
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
