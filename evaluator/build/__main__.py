"""`python -m evaluator.build CHANNEL_FD PARENT_PID`: one submission, ordered and answered in messages."""

import contextlib
import signal
import socket
import sys
from pathlib import Path
from types import FrameType

from evaluator.build.service import answer
from evaluator.runner.process import die_with_parent
from evaluator.wire import Channel, PeerClosed

ORDER_DEADLINE_S = 10.0
EX_TERMINATED = 143


def main(channel_fd: int, parent_pid: int) -> None:
    """Ends with its starter, or at SIGTERM after killing the compilers."""
    signal.signal(signal.SIGTERM, _end)
    die_with_parent(parent_pid)
    channel = Channel(socket.socket(fileno=channel_fd))
    with contextlib.suppress(PeerClosed):
        order = channel.receive(deadline_s=ORDER_DEADLINE_S)
        Path(order["config"]["state_dir"]).mkdir(parents=True, exist_ok=True)
        channel.send(answer(order, lambda phase: channel.send({"phase": phase})))


def _end(number: int, frame: FrameType | None) -> None:
    # through the frames of a running build, which let go of nothing before its processes are dead
    sys.exit(EX_TERMINATED)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
