"""What a right kernel's time is worth: the roofline, impossible times, and a sentence for its author."""

from collections.abc import Sequence
from dataclasses import replace

from evaluator.config import PrecisionPolicy
from evaluator.limits import Limits
from evaluator.report import Report, Roofline, Timing
from evaluator.roofline.model import Work, compute_floor_ms, memory_floor_ms, roofline
from evaluator.roofline.peaks import Peaks
from evaluator.run_time_rules import RunTimeRule
from evaluator.verdicts import Verdict


def judgement(
    work: Work, timing: Timing, peaks: Peaks | None, limits: Limits, policy: PrecisionPolicy = "reject"
) -> Report:
    """A correct kernel's report, unless its time is under what the device can do at all.

    The bytes that a right kernel must move are a bound, and so are its FLOPs where they are all necessary. Beating what
    algebra may remove, or what this machine has measured of itself, is a mark and no refusal.
    """
    doubts = []
    if timing.speedup > limits.suspicious_speedup:
        doubts.append(f"more than {limits.suspicious_speedup:g} times as fast as the reference")
    if peaks is None:
        return doubted(Report(Verdict.CORRECT, _praise(timing, None), timing), doubts)
    line = roofline(work, peaks, policy)
    memory_ms, compute_ms = memory_floor_ms(work, peaks), compute_floor_ms(work, peaks, policy)
    floor_ms = max(memory_ms, compute_ms if work.flops_necessary else 0.0)
    if timing.t_new_ms < limits.roofline_reject_frac * floor_ms and not peaks.measured:
        what = "reading the inputs takes at its full bandwidth" if floor_ms == memory_ms else "the task's FLOPs take"
        feedback = (
            f"{timing.t_new_ms:.4g} ms is less than the {floor_ms:.4g} ms that {what} on this GPU: "
            "the work cannot have been done"
        )
        return Report(
            Verdict.REJECTED_TIMING,
            feedback,
            timing,
            line,
            roofline_violation=True,
            suspicious=True,
            rules=[RunTimeRule.ROOFLINE],
        )
    likely_ms = max(memory_ms, compute_ms)
    if timing.t_new_ms < limits.roofline_reject_frac * likely_ms:
        doubts.append(f"less than the {likely_ms:.4g} ms that as much work as the reference's takes on this GPU")
    return doubted(Report(Verdict.CORRECT, _praise(timing, line), timing, line), doubts)


def doubted(report: Report, doubts: Sequence[str]) -> Report:
    """The report marked for review, with the reasons among its warnings, if there are any."""
    said = [f"suspicious: {doubt}" for doubt in doubts]
    return replace(report, suspicious=report.suspicious or bool(said), warnings=[*report.warnings, *said])


def _praise(timing: Timing, line: Roofline | None) -> str:
    low, high = timing.speedup_ci95
    text = (
        f"correct; {timing.t_new_ms:.4g} ms against {timing.t_ref_ms:.4g} ms for the reference: "
        f"speedup {timing.speedup:.3f} (95 % interval {low:.3f} to {high:.3f}, {timing.pairs} pairs)"
    )
    if line is None:
        return f"{text}; this device has no known roofline"
    share = line.t_min_ms / timing.t_new_ms
    return f"{text}; {share:.0%} of the {line.bound} roofline ({line.t_min_ms:.4g} ms)"
