"""What a right kernel's time is worth: the roofline, impossible times, and a sentence for its author."""

from evaluator.limits import Limits
from evaluator.report import Report, Roofline, Timing
from evaluator.roofline.model import Work, compute_floor_ms, memory_floor_ms, roofline
from evaluator.roofline.peaks import Peaks
from evaluator.verdicts import Verdict


def judgement(work: Work, timing: Timing, peaks: Peaks | None, limits: Limits) -> Report:
    """A correct kernel's report, unless its time is under what the device can do at all."""
    suspicious = timing.speedup > limits.suspicious_speedup
    if peaks is None:
        return Report(Verdict.CORRECT, _praise(timing, None), timing, suspicious=suspicious)
    line = roofline(work, peaks)
    floor_ms = memory_floor_ms(work, peaks)
    if timing.t_new_ms < limits.roofline_reject_frac * floor_ms:
        feedback = (
            f"{timing.t_new_ms:.4g} ms is less than the {floor_ms:.4g} ms that reading the inputs takes at this "
            "GPU's full bandwidth: the work cannot have been done"
        )
        return Report(Verdict.REJECTED_TIMING, feedback, timing, line, roofline_violation=True, suspicious=True)
    # Algebra may remove FLOPs that the reference does, so that beating their floor is a mark and no refusal.
    suspicious |= timing.t_new_ms < limits.roofline_reject_frac * compute_floor_ms(work, peaks)
    return Report(Verdict.CORRECT, _praise(timing, line), timing, line, suspicious=suspicious)


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
