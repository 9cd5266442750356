"""`python -m benchmarks.alternation`: what one kernel takes when two processes use one GPU in turns.

Two processes run ReLU from one piece of memory into a piece of their own, in the order A A B B A A ..., while a third
one, which owns the memory, does between the calls what a judge does. The medians of calls after the same process and
after the other one are held against the same kernel in a process that has the device to itself.
"""

import json
import socket
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from benchmarks.bare_gpu import about, between_events_ms, evictor, options
from benchmarks.segment_memory import GIB, relu_ms
from benchmarks.support import write_record
from evaluator.judge.segments import CudaSegment
from evaluator.runner.attach import byte_tensor_at, open_ipc

SIZES_BYTES = (GIB // 2, int(1.5 * GIB), 3 * GIB)
ROUNDS = 6
#: what is done between two calls: nothing, an eviction of the L2 cache, or also new inputs and poisoned outputs
BETWEEN = ("nothing", "flush", "write and flush")


def main() -> int:
    """Measure every combination, print the table last."""
    asked = options(__doc__, child=True)
    if asked.child is not None:
        return child(socket.socket(fileno=asked.child))
    rows = [row for size in SIZES_BYTES for row in of_size(size)]
    write_record(asked.record, about("alternation") | {"rounds": ROUNDS, "rows": rows})
    print(f"{'GiB each way':>13} {'between':>16} {'alone':>9} {'after same':>11} {'after other':>12}  ms")
    for row in rows:
        print(
            f"{row['bytes_each_way'] / GIB:13.3f} {row['between']:>16} {row['alone_ms']:9.4f} "
            f"{row['same_ms']:11.4f} {row['other_ms']:12.4f}  {row['same_ms'] / row['alone_ms']:.3f} "
            f"{row['other_ms'] / row['alone_ms']:.3f}"
        )
    return 0


def of_size(size: int) -> Iterator[dict[str, Any]]:
    """One row for each thing done between calls."""
    pieces = [torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(2)]
    alone_ms = relu_ms(*pieces)
    pristine = torch.rand(size // 4, device="cuda").view(torch.uint8)
    del pieces
    torch.cuda.empty_cache()
    segments = [CudaSegment(size) for _ in range(3)]
    source, *targets = segments
    evict = evictor()
    with ExitStack() as stack:
        children = [stack.enter_context(process([source, target])) for target in targets]
        for between in BETWEEN:

            def prepare(number: int, between: str = between) -> None:
                if between == "write and flush":
                    targets[number].bytes.fill_(0xFF)
                    source.bytes.copy_(pristine)
                if between != "nothing":
                    evict()
                torch.cuda.synchronize()

            same_ms, other_ms = alternate(children, prepare)
            yield {
                "bytes_each_way": size,
                "between": between,
                "alone_ms": alone_ms,
                "same_ms": same_ms,
                "other_ms": other_ms,
            }
    for segment in segments:
        segment.close()


def alternate(children: Sequence[socket.socket], prepare: Callable[[int], None]) -> tuple[float, float]:
    """Medians in ms of calls after one of the same process, and after one of the other."""
    found: dict[bool, list[float]] = {True: [], False: []}
    previous = -1
    for number in [0, 0, 1, 1] * ROUNDS:
        prepare(number)
        children[number].sendall(b"run\n")
        taken_ms = float(children[number].recv(64))
        if previous >= 0:
            found[previous == number].append(taken_ms)
        previous = number
    return statistics.median(found[True]), statistics.median(found[False])


@contextmanager
def process(segments: Sequence[CudaSegment]) -> Iterator[socket.socket]:
    """A process with the segments mapped; its end comes with the channel's."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "benchmarks.alternation", "--child", str(theirs.fileno())]
    with subprocess.Popen(command, pass_fds=[theirs.fileno()]) as started, ours:
        theirs.close()
        exported = [segment.export()[0] for segment in segments]
        ours.sendall(json.dumps(exported).encode() + b"\n")
        if ours.recv(64) != b"ready":
            started.kill()
            raise RuntimeError("a process could not map the memory")
        yield ours


def child(channel: socket.socket) -> int:
    """Run and time the kernel for each order that comes."""
    orders = channel.makefile("r")
    described = json.loads(orders.readline())
    mapped = (byte_tensor_at(open_ipc(bytes.fromhex(one["handle"])), int(one["size"])) for one in described)
    x, y = (piece.view(torch.float32) for piece in mapped)
    torch.clamp_min(x, 0.0, out=y)
    torch.cuda.synchronize()
    channel.sendall(b"ready")
    for _ in orders:
        taken_ms = between_events_ms(lambda: torch.clamp_min(x, 0.0, out=y))
        channel.sendall(f"{taken_ms}".encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
