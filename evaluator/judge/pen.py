"""The judge's hold on the one candidate that runs for it: identity, cgroup, scratch, and a warden should we die."""

from evaluator.config import EvaluatorConfig
from evaluator.errors import GraderFault, SubmissionFault
from evaluator.judge.runner_link import RunnerLink
from evaluator.runner.main import ALLOCATOR_NAME
from evaluator.sandbox import Hold, Leash, Policy, Warden
from evaluator.verdicts import Verdict


class Pen:
    """`policy`, then `confine` with the runner that was forked under it, then `empty`."""

    def __init__(self, config: EvaluatorConfig, lane: int) -> None:
        self._device = config.kind == "gpu"
        self._warden = Warden.start()
        name = f"{config.kind}-{config.gpu_index}-{lane}"
        self._leash = Leash.take(name, memory_bytes=config.limits.runner_memory_bytes)
        self._watched: Hold | None = None

    def policy(self, allocator: str | None, extensions: tuple[tuple[str, str], ...]) -> Policy:
        """What the next candidate is granted; it brings along the allocator and (name, path) of its extensions."""
        bring = ((ALLOCATOR_NAME, allocator),) if allocator else ()
        return self._leash.policy(device=self._device, bring=(*bring, *extensions))

    def confine(self, runner: RunnerLink) -> None:
        """Take hold of a runner that has just been forked."""
        self._leash.attach(runner.pid)
        self._watched = self._leash.hold
        runner.before_death = self._watched.strike
        self._warden.watch(self._watched)

    def freeze(self) -> None:
        """Return once every process of the candidate stands still. Raises SubmissionFault where one does not.

        What keeps a process from being stopped is what it does itself, and must not end in no verdict.
        """
        try:
            self._leash.freeze()
        except GraderFault as fault:
            raise SubmissionFault(Verdict.RUNTIME_ERROR, f"the process could not be stopped: {fault.detail}") from None

    def thaw(self) -> None:
        """Let the candidate go on."""
        self._leash.thaw()

    def out_of_memory(self) -> bool:
        """Whether the kernel killed something of the candidate for its memory."""
        return self._leash.out_of_memory()

    def empty(self) -> None:
        """Kill all that is left of the candidate; its scratch is gone afterwards. Raises GraderFault if it survives."""
        self._leash.kill()
        if self._watched is not None:
            self._warden.release(self._watched)
            self._watched = None

    def close(self) -> None:
        """Empty the pen and give back what it took."""
        self._leash.close()
        self._warden.stop()
