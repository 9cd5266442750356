"""Running a job in a confined process of its own: the trusted side that starts it, and the side that serves it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from evaluator.build import frames
from evaluator.build.frames import Frame
from evaluator.errors import GraderFault
from evaluator.sandbox import Confinement, Leash, Parent, Policy, fork_into_pid_namespace

Emit = Callable[..., None]
#: All that a build may see of our environment.
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH")


def run_confined(
    module: str,
    job: dict[str, Any],
    leash: Leash,
    policy: Policy,
    *,
    deadline_s: float,
    required: Iterable[str] = (),
    max_blob_bytes: int = 0,
) -> Iterator[Frame]:
    """Start `python -m module`, give it the job, and yield what it says; nothing of it runs when this is done.

    `required` names walls without which the job is not begun. Raises TimeoutError at the deadline, FrameError for
    nonsense, GraderFault where the process cannot be confined.
    """
    end = time.monotonic() + deadline_s
    process = subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        order = {"job": job, "policy": policy.to_json(), "parent": os.getpid(), "required": list(required)}
        process.stdin.write(json.dumps(order).encode(errors="surrogatepass"))
        process.stdin.close()
        answers = frames.read(process.stdout.fileno(), end, max_blob_bytes)
        _take_hold(answers, leash, module)
        yield from answers
    except BrokenPipeError as error:
        raise GraderFault("build_child_lost", f"{module} ended before it took its job") from error
    finally:
        process.kill()
        leash.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def _take_hold(answers: Iterator[Frame], leash: Leash, module: str) -> None:
    """The first two frames are ours: the pid, then the walls. Later ones may be the candidate's and steer nothing."""
    pid, walls = next(answers, None), next(answers, None)
    if pid is None or walls is None:
        raise GraderFault("build_child_lost", f"{module} ended before it was confined")
    leash.attach(int(pid.body["pid"]))
    if "unconfined" in walls.body:
        raise GraderFault("not_confined", str(walls.body["unconfined"])[:500], retryable=False)


def serve(work: Callable[[dict[str, Any], Emit], None]) -> None:
    """The child's main: read the order, fork, confine the fork, and do the work there."""
    order = json.load(sys.stdin)
    own = Parent.here()
    Parent(order["parent"], None).die_together()
    result_fd = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    told, tell = os.pipe()
    pid, reason = fork_into_pid_namespace()
    if pid == 0:
        os.read(told, 1)  # the pid is to be the first thing said
        _serve_confined(order, own, reason, result_fd, work)
    frames.write(result_fd, {"pid": pid})
    os.write(tell, b"x")
    os.close(result_fd)
    os.waitpid(pid, 0)


def _serve_confined(
    order: dict[str, Any], parent: Parent, reason: str, result_fd: int, work: Callable[[dict[str, Any], Emit], None]
) -> None:
    def emit(body: dict[str, Any], blob: bytes = b"") -> None:
        frames.write(result_fd, body, blob)

    try:
        confinement = Confinement(Policy.from_json(order["policy"]), parent, no_pid_namespace=reason)
        confinement.enter_before_device(keep_fds=[result_fd])
        isolation = confinement.enter_after_device()
        if missing := isolation.missing(order["required"]):
            raise OSError(f"{', '.join(f'{name} ({isolation.walls[name].detail})' for name in missing)}")
        emit({"isolation": isolation.to_json()})
    except (OSError, ValueError) as error:
        emit({"unconfined": f"{type(error).__name__}: {error}"})
        os._exit(1)
    try:
        work(order["job"], emit)
        os._exit(0)
    except BaseException as error:  # noqa: BLE001 - the fork must never return into the caller's frames
        emit({"failed": f"{type(error).__name__}: {error}"})
    finally:
        os._exit(1)


def _environment() -> dict[str, str]:
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    environment["LC_ALL"] = "C.UTF-8"
    return environment
