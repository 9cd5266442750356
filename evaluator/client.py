"""The worker's end of the evaluator: start a judge, hand it submissions, follow their phases. Imports no torch."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from evaluator.config import EvaluatorConfig
from evaluator.errors import Cancelled, GraderFault
from evaluator.report import Report
from evaluator.socket_path import address
from evaluator.submission import Submission
from evaluator.wire import Channel, DeadlinePassed, WireError

OnPhase = Callable[[str], None]

# A judge's first answer waits for its imports and its device; later ones for a grade of another caller.
_DESCRIBE_DEADLINE_S = 300.0
# The judge ends itself before this; it only guards against a judge that cannot even do that.
_EVALUATE_SLACK_S = 300.0
_PROBE_DEADLINE_S = 300.0
_MAX_REPORT_BYTES = 1024 * 1024
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "TRITON_PTXAS_PATH", "LANG", "HOME")


def patience_s(config: EvaluatorConfig) -> float:
    """How long an answer of the judge is waited for: every limit of a grade, and those of the lanes beside it."""
    limits = config.limits
    return limits.build_s + limits.run_s * config.lanes + _EVALUATE_SLACK_S


class Evaluator(Protocol):
    """Grades one submission at a time."""

    def evaluate(self, submission: Submission, on_phase: OnPhase) -> Report:
        """Block until there is a verdict; `on_phase` is called with the name of each phase as it begins.

        Raises GraderFault where we are at fault and Cancelled after `abort`.
        """

    def abort(self) -> None:
        """Called from another thread: kill the running evaluation, so that `evaluate` raises Cancelled."""


class JudgeProcess:
    """A judge as a child of this process; it dies with the thread that called `start`, its runners with it."""

    def __init__(self, config: EvaluatorConfig) -> None:
        self._config = config
        self._process: subprocess.Popen[str] | None = None
        self._listener: socket.socket | None = None
        self.socket_path = str(Path(config.state_dir) / f"judge-{config.kind}-{config.gpu_index}.sock")

    def start(self) -> None:
        """Start the judge; connections are taken at once and answered as soon as it is warm.

        The environment it gets holds no credential of ours. Raises OSError where the socket cannot be made.
        """
        self.stop()
        if self._listener is None:
            self._listener = _listen(self.socket_path)
        environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        command = [sys.executable, "-m", "evaluator.judge", str(self._listener.fileno()), str(os.getpid())]
        self._process = subprocess.Popen(
            command, env=environment, pass_fds=[self._listener.fileno()], stdin=subprocess.PIPE, text=True
        )
        if self._process.stdin is None:
            raise OSError("the judge has no standard input")
        self._process.stdin.write(json.dumps(self._config.to_json()))
        self._process.stdin.close()

    def alive(self) -> bool:
        """Whether the judge is running; if not, `start` starts a new one on the same socket."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def stop(self) -> None:
        """Kill the judge and wait for its end."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """Stop, and remove the socket."""
        self.stop()
        if self._listener is not None:
            self._listener.close()
            self._listener = None
            Path(self.socket_path).unlink(missing_ok=True)


class JudgeClient:
    """An Evaluator over a judge's socket."""

    def __init__(self, socket_path: str, config: EvaluatorConfig) -> None:
        self._path = socket_path
        self._deadline_s = patience_s(config)
        self._wake_read, self._wake_write = os.pipe()
        self._aborted = False

    def describe(self) -> dict[str, Any]:
        """The judge's device and versions. Raises GraderFault."""
        return dict(self._ask("describe", _DESCRIBE_DEADLINE_S))

    def probe(self) -> dict[str, Any]:
        """What a look at the device measured; it waits for its turn. Raises GraderFault where it is not well."""
        return dict(self._ask("probe", _PROBE_DEADLINE_S))

    def canary(self) -> dict[str, Any] | None:
        """What the canary found; None where the device was not free in time. Raises GraderFault where it failed."""
        found = self._ask("canary", _PROBE_DEADLINE_S)
        return None if found is None else dict(found)

    def _ask(self, op: str, deadline_s: float) -> Any:
        channel = self._connect()
        try:
            channel.send({"op": op})
            answer = channel.receive(deadline_s=deadline_s)
        except WireError as error:
            raise GraderFault("judge_lost", f"no answer from the judge: {error}") from error
        finally:
            channel.close()
        if op not in answer:
            raise _fault(answer)
        return answer[op]

    def evaluate(self, submission: Submission, on_phase: OnPhase) -> Report:
        """See Evaluator."""
        channel = self._connect()
        try:
            channel.send({"op": "grade", "submission": submission.to_json()})
            while True:
                message = channel.receive(deadline_s=self._deadline_s, interrupts=[self._wake_read])
                if "phase" in message:
                    on_phase(str(message["phase"]))
                    continue
                return _result(message)
        except DeadlinePassed as error:
            raise GraderFault("judge_stuck", f"no verdict within {self._deadline_s:g} s") from error
        except WireError as error:
            if self._aborted:
                raise Cancelled("aborted") from None
            raise GraderFault("judge_lost", f"the judge ended in the middle of a grade: {error}") from error
        finally:
            channel.close()

    def abort(self) -> None:
        """See Evaluator. Also ends any later `evaluate` of this client."""
        self._aborted = True
        os.write(self._wake_write, b"x")

    def close(self) -> None:
        """Give the descriptors back."""
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _connect(self) -> Channel:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with address(self._path) as here:
                sock.connect(here)
        except OSError as error:
            sock.close()
            raise GraderFault("judge_lost", f"no judge listens at {self._path}: {error}") from error
        return Channel(sock, max_bytes=_MAX_REPORT_BYTES)


def _result(message: dict[str, Any]) -> Report:
    if "report" in message:
        return Report.from_json(message["report"])
    if "cancelled" in message:
        raise Cancelled("cancelled")
    raise _fault(message)


def _fault(message: dict[str, Any]) -> GraderFault:
    fault = message["fault"]
    return GraderFault(str(fault["code"]), str(fault["detail"]), retryable=bool(fault["retryable"]))


def _listen(path: str) -> socket.socket:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with address(path) as here:
        listener.bind(here)
    Path(path).chmod(0o600)
    listener.listen(16)
    return listener
