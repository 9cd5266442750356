"""The worker's end of a build: one process per submission, which is killed with its compilers when it is not wanted."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from evaluator.build import COMMON_FLAGS, prepare
from evaluator.build.toolchain import toolchain
from evaluator.client import OnPhase
from evaluator.config import EvaluatorConfig
from evaluator.errors import Cancelled, GraderFault
from evaluator.prebuilt import ARCHITECTURES_MAX, Prebuilt
from evaluator.report import Report
from evaluator.submission import Submission
from evaluator.version import VERSION
from evaluator.wire import Channel, DeadlinePassed, WireError

# a build ends itself at its limit; beyond it there is the import of the checks and the wait for another's compilers
_SLACK_S = 60.0
_END_S = 2.0
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "LANG", "HOME")


@dataclass(frozen=True)
class Built:
    """What was built of one submission, one entry per architecture; `phases` maps names to seconds.

    `compiled` counts the extensions that compilers made, `found` those that the cache had, over all architectures.
    The files are in the machine's cache (`EvaluatorConfig.extensions_dir`) under their hashes.
    """

    prebuilt: tuple[Prebuilt, ...]
    phases: Mapping[str, float] = field(default_factory=dict)
    compiled: int = 0
    found: int = 0


class Builder(Protocol):
    """Builds one submission, then is closed."""

    def build(self, submission: Submission, architectures: Sequence[str], on_phase: OnPhase) -> Built | Report:
        """Block until it is built, or has a verdict of the first two stages.

        Raises GraderFault where we are at fault and Cancelled after `abort`.
        """

    def abort(self) -> None:
        """Called from another thread: kill the running build, so that `build` raises Cancelled."""

    def describe(self) -> dict[str, Any]:
        """What it builds with. Raises GraderFault."""

    def probe(self) -> dict[str, Any]:
        """Whether it can build at all. Raises GraderFault where it cannot."""

    def close(self) -> None:
        """Give descriptors back."""


def patience_s(config: EvaluatorConfig) -> float:
    """How long a build for as many architectures as may be asked for can take."""
    return (config.limits.build_s + _SLACK_S) * ARCHITECTURES_MAX


def prepare_headers(config: EvaluatorConfig) -> None:
    """Precompile what most builds include; takes minutes at the first start of a machine. Raises GraderFault."""
    for cflags in COMMON_FLAGS:
        prepare(config.extensions_dir, cflags)


class BuildProcess:
    """A Builder that runs `python -m evaluator.build`; it dies with the thread that called `build`."""

    def __init__(self, config: EvaluatorConfig) -> None:
        self._config = config
        self._wake_read, self._wake_write = os.pipe()
        self._aborted = False

    def build(self, submission: Submission, architectures: Sequence[str], on_phase: OnPhase) -> Built | Report:
        """See Builder."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with ours, theirs:
            process = self._start(theirs)
            theirs.close()
            channel = Channel(ours)
            try:
                channel.send(self._order(submission, architectures))
                return self._follow(channel, (self._config.limits.build_s + _SLACK_S) * len(architectures), on_phase)
            except DeadlinePassed as error:
                raise GraderFault("builder_stuck", "the build did not end at its limit") from error
            except WireError as error:
                if self._aborted:
                    raise Cancelled("aborted") from None
                raise GraderFault("builder_lost", f"the build ended without an answer: {error}") from error
            finally:
                _end(process)

    def _start(self, channel: socket.socket) -> "subprocess.Popen[bytes]":
        """Its environment holds no credential of ours."""
        environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        command = [sys.executable, "-m", "evaluator.build", str(channel.fileno()), str(os.getpid())]
        return subprocess.Popen(command, env=environment, pass_fds=[channel.fileno()], stdin=subprocess.DEVNULL)

    def _order(self, submission: Submission, architectures: Sequence[str]) -> dict[str, Any]:
        return {
            "config": json.loads(json.dumps(self._config.to_json())),
            "code": submission.code,
            "language": submission.language,
            "architectures": list(architectures),
        }

    def _follow(self, channel: Channel, deadline_s: float, on_phase: OnPhase) -> Built | Report:
        while True:
            message = channel.receive(deadline_s=deadline_s, interrupts=[self._wake_read])
            if "phase" in message:
                on_phase(str(message["phase"]))
            elif "report" in message:
                return Report.from_json(message["report"])
            elif "fault" in message:
                fault = message["fault"]
                raise GraderFault(str(fault["code"]), str(fault["detail"]), retryable=bool(fault["retryable"]))
            else:
                made = tuple(Prebuilt.from_json(each) for each in message["prebuilt"])
                phases = {str(name): float(seconds) for name, seconds in message["phases"].items()}
                return Built(made, phases, int(message["compiled"]), int(message["found"]))

    def abort(self) -> None:
        """See Builder. Also ends any later `build`."""
        self._aborted = True
        os.write(self._wake_write, b"x")

    def describe(self) -> dict[str, Any]:
        """See Builder."""
        tools = toolchain()
        return {
            "evaluator": self._config.kind,
            "grader": VERSION,
            "torch": metadata.version("torch"),
            "cxx": tools.cxx_version,
            "nvcc": tools.nvcc_version,
        }

    def probe(self) -> dict[str, Any]:
        """See Builder."""
        if toolchain().nvcc is None:
            raise GraderFault("no_nvcc", "CUDA sources need nvcc, which this machine does not have")
        return {"ok": True}

    def close(self) -> None:
        """See Builder."""
        os.close(self._wake_read)
        os.close(self._wake_write)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """A build that still runs takes its compilers down first, and is killed if it does not."""
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
