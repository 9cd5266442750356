"""`python -m evaluator.runner.zygote FD KIND`: imports torch and triton once, then forks a runner per request.

It holds no secret, never touches a device, and adopts and kills whatever its runners leave behind.
"""

import os
import signal
import socket
import sys
import time
from typing import Any

from evaluator.runner.process import adopt_orphans, children, die_with_parent
from evaluator.sandbox import Parent, Policy, fork_into_pid_namespace, protect_from_same_user
from evaluator.wire import Channel, PeerClosed

REAP_DEADLINE_S = 20.0


def main(control_fd: int, kind: str, parent_pid: int) -> None:
    """Serve spawn and reap requests until the judge closes the channel."""
    die_with_parent(parent_pid)
    adopt_orphans()
    protect_from_same_user()
    channel = Channel(socket.socket(fileno=control_fd), accept_fds=True)
    from evaluator.runner import preload

    preload.run(kind)
    channel.send({"type": "ready"})
    live: set[int] = set()
    while True:
        try:
            request = channel.receive(deadline_s=None)
        except PeerClosed:
            return
        if request["op"] == "spawn":
            _spawn(channel, request, live)
        else:
            channel.send({"type": "reaped", "status": _reap(int(request["pid"]), live)})


def _spawn(channel: Channel, request: dict[str, Any], live: set[int]) -> None:
    fds = channel.take_fds()
    parent = Parent.here()
    policy = Policy.from_json(request["policy"]) if request["policy"] else None
    # A runner that uses the device stays in this PID namespace: legacy CUDA IPC fails across one.
    reason = ""
    if policy is None or policy.device:
        pid = os.fork()
    else:
        pid, reason = fork_into_pid_namespace()
    if pid == 0:
        _run_child(channel, request, fds, parent, reason)
    for fd in [*fds, *([] if parent.pidfd is None else [parent.pidfd])]:
        os.close(fd)
    live.add(pid)
    channel.send({"type": "spawned", "pid": pid})


def _run_child(
    channel: Channel, request: dict[str, Any], fds: list[int], parent: Parent, no_pid_namespace: str
) -> None:
    try:
        parent.die_together()
        channel.close()
        from evaluator.runner.main import run

        run(request, fds, parent, no_pid_namespace)
        os._exit(0)
    except BaseException as error:  # noqa: BLE001 - nothing may return into the zygote's loop
        os.write(2, f"runner: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(70)


def _reap(pid: int, live: set[int]) -> int | None:
    """Kill a runner and everything it started; its wait status, or None if it was no runner of ours."""
    if pid not in live:
        return None
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    live.discard(pid)
    end = time.monotonic() + REAP_DEADLINE_S
    while (orphans := [child for child in children(os.getpid()) if child not in live]) and time.monotonic() < end:
        for orphan in orphans:
            os.kill(orphan, signal.SIGKILL)
        for orphan in orphans:
            os.waitpid(orphan, 0)
    return status


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
