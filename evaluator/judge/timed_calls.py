"""The timed calls of both sides of a grade, each of them from a device that does nothing else."""

from evaluator.config import PrecisionPolicy
from evaluator.errors import GraderFault, SubmissionFault
from evaluator.judge.bench import Bench
from evaluator.judge.call import CallOptions, CallSeeds, CheckedCall, Gate, Variant
from evaluator.judge.compare import Mismatch
from evaluator.judge.downgrade import PrecisionCheck
from evaluator.judge.exchange import DeviceBusyError
from evaluator.judge.idle import idle_within
from evaluator.judge.runner_link import RunnerLink
from evaluator.judge.trials import call_seeds, timed_variant
from evaluator.run_time_rules import RunTimeRule
from evaluator.verdicts import Verdict

# Less than any clock can tell, and enough to divide by.
CLAIM_MIN_MS = 1e-6
BUSY_WAIT_S = 5.0
# For which the device is busy in a row that answers without work, as it would be with work.
ONCE_SPIN_S = 0.001


class TimedCalls:
    """Calls on hidden inputs of their own, which a label names. All raise SubmissionFault, also for whom the device is
    never idle, and GraderFault where that is nobody's fault."""

    def __init__(
        self,
        bench: Bench,
        reference: RunnerLink,
        candidate: RunnerLink,
        gate: Gate,
        seed_key: str,
        call_s: float,
        policy: PrecisionPolicy,
    ) -> None:
        self._bench = bench
        self._precision = PrecisionCheck(bench, policy)
        self._runners = {"reference": reference, "candidate": candidate}
        self._gate = gate
        self._seed_key = seed_key
        self._call_s = call_s

    def of(self, side: str, label: str) -> CheckedCall:
        """One call of either side, with fp32 products in TF32."""
        return self.reference(label, "tf32") if side == "reference" else self.candidate(label)

    def candidate(self, label: str) -> CheckedCall:
        """One checked call of the candidate."""
        call = self.row(1, label)
        if not CLAIM_MIN_MS <= call.claim_ms <= call.wall_ms:
            feedback = "the time that the candidate's process claims is impossible"
            raise SubmissionFault(Verdict.REJECTED_TIMING, feedback, RunTimeRule.CLAIMED_TIME)
        return call

    def reference(self, label: str, precision: str) -> CheckedCall:
        """One call of the reference."""
        return self._uncompared(label, CallOptions(precision=precision, timed=True), 1)

    def row(self, count: int, label: str) -> CheckedCall:
        """So many checked forwards of the candidate, one after another."""
        compare = "signed" if self._bench.timed_with_signs else "values"
        how = CallOptions(precision="tf32", timed=True, compare=compare)
        drawn = [self._drawn(label if count == 1 else f"{label}:{number}") for number in range(count)]
        seeds, variants = [seeds for seeds, _ in drawn], [variant for _, variant in drawn]
        runner = self._runners["candidate"]
        try:
            call = self._bench.checked_row(runner, "candidate", seeds, self._call_s, how, variants, self._gate)
        except Mismatch as mismatch:
            raise SubmissionFault(Verdict.INCORRECT, f"a timed call gave a wrong result: {mismatch}") from None
        except DeviceBusyError:
            raise self._busy() from None
        if count == 1:
            self._precision.require(call, seeds[0], variants[0])
        return call

    def once(self, count: int, label: str) -> CheckedCall:
        """One forward of the reference, and a pause on the device, that answer for a row of so many."""
        spin_cycles = self._bench.device.spin_cycles(ONCE_SPIN_S)
        how = CallOptions(precision="tf32", timed=True, mode="once", spin_cycles=spin_cycles)
        return self._uncompared(label, how, count)

    def _uncompared(self, label: str, how: CallOptions, count: int) -> CheckedCall:
        seeds, variant = self._drawn(label)
        runner = self._runners["reference"]
        try:
            return self._bench.uncompared_call(runner, "reference", seeds, self._call_s, how, variant, count=count)
        except DeviceBusyError:
            raise self._busy() from None

    def _drawn(self, label: str) -> tuple[CallSeeds, Variant | None]:
        return call_seeds(self._seed_key, f"timing:{label}"), timed_variant(self._bench, self._seed_key, label)

    def _busy(self) -> Exception:
        """Whose kernel it is that never ends: with the candidate dead, its own end too."""
        self._runners["candidate"].kill()
        if idle_within(self._bench.device, BUSY_WAIT_S):
            text = "kernels of the submission ran on the device between its calls, beside those of the reference"
            return SubmissionFault(Verdict.REJECTED_TIMING, text, RunTimeRule.BETWEEN_CALLS)
        return GraderFault("device_busy", "something that is not the submission's keeps the device from being idle")
