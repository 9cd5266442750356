"""The build of one submission: record what it asks for, look it up, compile what is missing, store it."""

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluator.build import diagnostics
from evaluator.build.cache import ArtifactCache
from evaluator.build.calls import CallError, ExtensionCall
from evaluator.build.confined import run_confined
from evaluator.build.flags import FlagError
from evaluator.build.frames import Frame, FrameError
from evaluator.build.headers import PrecompiledHeaders
from evaluator.build.plan import Plan, architectures, plan
from evaluator.build.reading import read_calls
from evaluator.build.toolchain import toolchain
from evaluator.errors import GraderFault, SubmissionFault
from evaluator.limits import Limits
from evaluator.sandbox import Leash, Policy
from evaluator.verdicts import Verdict

MAX_CALLS = 16
MAX_ARTIFACT_BYTES = 256 * 1024**2
_LOCK_SLACK_S = 30.0
OnPhase = Callable[[str], None]


@dataclass(frozen=True)
class BuildResult:
    """`artifacts` maps a call's digest to its file in the cache; `phases` maps phase names to seconds.

    `log` is what the compilers said, warnings included. `compiled` counts what was not in the cache.
    """

    artifacts: Mapping[str, str]
    phases: Mapping[str, float] = field(default_factory=dict)
    log: str = ""
    compiled: int = 0

    def bring(self) -> tuple[tuple[str, str], ...]:
        """(name, path) pairs for `Policy.bring`."""
        return tuple((Path(path).name, path) for path in self.artifacts.values())

    def in_folder(self, folder: str | Path) -> dict[str, str]:
        """Digest -> file, for a runner that found them brought into `folder`."""
        return {digest: str(Path(folder, Path(path).name)) for digest, path in self.artifacts.items()}


def prepare(cache_dir: str | Path, cflags: Sequence[str] = ()) -> str:
    """Make the precompiled header for these flags unless it is there (half a minute, once per machine and version).

    For the start of a builder, in trusted code. Returns its folder; raises GraderFault.
    """
    return PrecompiledHeaders(cache_dir, toolchain()).make(tuple(cflags))


def build(
    submission_source: str,
    *,
    arch_list: Sequence[str],
    cache_dir: str | Path,
    limits: Limits,
    jobs: int | None = None,
    require_isolation: Iterable[str] = (),
    on_phase: OnPhase = lambda _: None,
) -> BuildResult:
    """Build every extension that the module asks for while it is imported, within `limits.build_s`.

    `arch_list` names the GPUs' architectures (`9.0` or `sm_90`); `jobs` bounds the compilers that run beside each
    other (default: this machine's cores). A module that asks for nothing gives an empty result.
    Raises SubmissionFault(compile_error) for what the candidate's author must repair, GraderFault for our own faults.
    """
    builder = _Builder(submission_source, architectures(arch_list), Path(cache_dir), limits, tuple(require_isolation))
    with Leash.take("build", memory_bytes=limits.runner_memory_bytes) as leash:
        on_phase("record")
        calls = builder.record(leash)
        on_phase("compile")
        return builder.complete(leash, calls, jobs or os.cpu_count() or 1)


class _Builder:
    """The state of one `build`: what is left of its time, and what it has measured."""

    def __init__(
        self, source: str, arch_list: tuple[str, ...], cache_dir: Path, limits: Limits, required: tuple[str, ...]
    ) -> None:
        self._source = source
        self._arch_list = arch_list
        self._cache = ArtifactCache(cache_dir)
        self._headers = PrecompiledHeaders(cache_dir, toolchain())
        self._limits = limits
        self._required = required
        self._end = time.monotonic() + limits.build_s
        self._phases: dict[str, float] = {}
        self._log: list[str] = []

    def record(self, leash: Leash) -> list[ExtensionCall]:
        """The calls that the module makes, each once: off its text, else by importing it, confined."""
        began = time.monotonic()
        try:
            read = read_calls(self._source)
        except CallError as error:
            raise self._fault(str(error)) from error
        calls = [*read.calls, *([] if read.complete else self._import(leash))]
        self._phases["record"] = time.monotonic() - began
        if len(calls) > MAX_CALLS:
            raise self._fault(f"at most {MAX_CALLS} extensions can be built")
        return list({call.digest: call for call in calls}.values())

    def _import(self, leash: Leash) -> list[ExtensionCall]:
        """Import the module in a process of its own, which takes down its calls; its word is checked.

        An import that fails is no fault here: the runner will import it again, on the device that it may have missed.
        """
        digits = self._arch_list[0].rstrip("af") if self._arch_list else "90"
        job = {"source": self._source, "capability": [int(digits[:-1]), int(digits[-1])]}
        policy = leash.policy(readable=toolchain().visible_paths())
        said = next((frame.body for frame in self._run("evaluator.runner.builder", job, leash, policy)), {})
        leash.kill()
        try:
            return [ExtensionCall.from_json(data) for data in said.get("calls", [])[: MAX_CALLS + 1]]
        except (CallError, TypeError) as error:
            raise self._fault(str(error)) from error

    def complete(self, leash: Leash, calls: list[ExtensionCall], jobs: int) -> BuildResult:
        """Find every artifact, compiling under the locks of their keys what is not there."""
        artifacts: dict[str, str] = {}
        compiled = 0
        with contextlib.ExitStack() as locks:
            missing = []
            for call in sorted(calls, key=self._key):
                path = self._cache.get(self._key(call), call.file_name)
                if path is None:
                    locks.enter_context(self._cache.lock(self._key(call), deadline_s=self._left() + _LOCK_SLACK_S))
                    path = self._cache.get(self._key(call), call.file_name)
                if path is None:
                    missing.append(call)
                else:
                    artifacts[call.digest] = str(path)
            if missing:
                artifacts.update(self._compile(leash, missing, jobs))
                compiled = len(missing)
        return BuildResult(artifacts, self._phases, "\n".join(self._log), compiled)

    def _compile(self, leash: Leash, calls: list[ExtensionCall], jobs: int) -> dict[str, str]:
        began = time.monotonic()
        plans = [self._plan(call) for call in calls]
        by_digest = {made.call.digest: made for made in plans}
        folders = {folder for call in calls if (folder := self._headers.find(call))}
        job = {"plans": [made.to_job() for made in plans], "jobs": jobs}
        policy = leash.policy(readable=(*toolchain().visible_paths(), *folders))
        stored: dict[str, str] = {}
        for frame in self._run("evaluator.build.compile_child", job, leash, policy, MAX_ARTIFACT_BYTES):
            if "product" in frame.body:
                call = by_digest[frame.body["product"]].call
                stored[call.digest] = str(self._cache.put(self._key(call), call.file_name, frame.blob))
            elif "step" in frame.body:
                self._take_step(by_digest[frame.body["digest"]], frame)
            else:
                raise GraderFault("build_child_failed", str(frame.body)[:1000])
        self._phases["compile"] = time.monotonic() - began
        if leash.out_of_memory():
            raise self._fault("the compiler ran out of memory")
        if set(stored) != set(by_digest):
            raise GraderFault("build_child_lost", "the compilers ended without a product")
        return stored

    def _take_step(self, made: Plan, frame: Frame) -> None:
        name, output = str(frame.body["step"]), str(frame.body["output"])
        self._phases[f"compile {name}"] = self._phases.get(f"compile {name}", 0.0) + float(frame.body["seconds"])
        if output.strip():
            self._log.append(f"{name}:\n{output}")
        if frame.body["status"] != 0:
            raise self._fault(diagnostics.feedback(output, dict(made.files), self._source))

    def _plan(self, call: ExtensionCall) -> Plan:
        try:
            return plan(call, toolchain(), self._arch_list, self._headers.find(call))
        except FlagError as error:
            raise self._fault(str(error)) from error

    def _run(
        self, module: str, job: dict[str, Any], leash: Leash, policy: Policy, max_blob_bytes: int = 0
    ) -> Iterator[Frame]:
        left, required = self._left(), self._required
        try:
            yield from run_confined(
                module, job, leash, policy, deadline_s=left, required=required, max_blob_bytes=max_blob_bytes
            )
        except TimeoutError as error:
            raise self._fault(f"build timed out after {self._limits.build_s:g} s") from error
        except FrameError as error:
            raise self._fault("the module disturbed the process that imports it") from error

    def _key(self, call: ExtensionCall) -> str:
        return hashlib.sha256(f"{call.digest} {toolchain().fingerprint(self._arch_list)}".encode()).hexdigest()

    def _left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def _fault(self, text: str) -> SubmissionFault:
        limit = self._limits.feedback_bytes
        kept = text.encode(errors="replace")[:limit].decode(errors="ignore")
        return SubmissionFault(Verdict.COMPILE_ERROR, kept)
