"""The build stage: what a CUDA submission asks of `load_inline`, compiled before the device is taken."""

import threading
from dataclasses import dataclass, field
from pathlib import Path

from evaluator.build import COMMON_FLAGS, BuildResult, build, handover, prepare
from evaluator.build.cache import ArtifactCache
from evaluator.config import EvaluatorConfig
from evaluator.errors import GraderFault
from evaluator.judge.clock import PhaseClock
from evaluator.judge.device import JudgeDevice
from evaluator.prebuilt import DEFAULT_ARCHITECTURE
from evaluator.submission import Submission


@dataclass(frozen=True)
class Built:
    """The extensions of one submission; empty for Triton."""

    result: BuildResult = field(default_factory=lambda: BuildResult({}))

    def bring(self) -> tuple[tuple[str, str], ...]:
        """(name, path) of the files that the runner takes into its scratch."""
        return self.result.bring()

    def names(self) -> dict[str, str]:
        """Digest of each call to the name of its file."""
        return {digest: Path(path).name for digest, path in self.result.artifacts.items()}


class ExtensionBuilder:
    """Builds for one device; headers are precompiled in the background from the start."""

    def __init__(self, config: EvaluatorConfig, device: JudgeDevice) -> None:
        self._config = config
        self._runs_here = device.name == "cuda"
        self._architecture = str(device.describe().get("compute_capability") or DEFAULT_ARCHITECTURE)
        self._cache_dir = config.extensions_dir
        if self._runs_here:
            threading.Thread(target=self._prepare, name="headers", daemon=True).start()

    def build(self, submission: Submission, clock: PhaseClock) -> Built:
        """What a builder made, if it fits; else build what is not in the cache. Raises SubmissionFault (compile error).

        On a CPU a CUDA source is compiled and cannot be run: GraderFault, since no verdict can be reached.
        """
        if submission.language != "cuda":
            return Built()
        result = self._handed_over(submission, clock)
        if result is None:
            with clock.phase("build"):
                result = self._build(submission)
        if not self._runs_here:
            detail = "the CUDA source compiles, but this evaluator has no GPU to run it on"
            raise GraderFault("compiled_not_run", detail, retryable=False)
        return Built(result)

    def _handed_over(self, submission: Submission, clock: PhaseClock) -> BuildResult | None:
        if submission.prebuilt is None:
            return None
        with clock.phase("check_build"):
            return handover.take(submission.prebuilt, handover.fingerprint(self._architecture), self._cache_dir)

    def _build(self, submission: Submission) -> BuildResult:
        result = build(
            submission.code,
            arch_list=(self._architecture,),
            cache_dir=self._cache_dir,
            limits=self._config.limits,
            require_isolation=self._config.build_isolation,
        )
        if result.compiled:
            ArtifactCache(self._cache_dir).prune(self._config.limits.build_cache_bytes)
        return result

    def _prepare(self) -> None:
        try:
            for cflags in COMMON_FLAGS:
                prepare(self._cache_dir, cflags)
        except GraderFault:
            return  # a build that needs it says so itself, with its submission
