"""The rules that can only be broken at run time, by the ids that results and metrics name them by.

Those that a source breaks by its text alone are in `evaluator.static.rules`.
"""

from enum import StrEnum


class RunTimeRule(StrEnum):
    """Each with what was found."""

    TORCH_IN_FORWARD = "torch-in-forward"  # torch was asked for work during forward
    NO_OWN_KERNEL = "no-own-kernel"  # none of the kernels that ran is the submission's
    FOREIGN_KERNEL = "foreign-kernel"  # kernels ran that the submission does not define
    KERNEL_SHARE = "kernel-share"  # torch's kernels did nearly all of the work
    DECOY = "decoy"  # the result is right without the submission's kernels
    CLAIMED_TIME = "claimed-time"  # the runner claims less time than the judge's clock saw
    KERNELS_BESIDE = "kernels-beside"  # kernels ran outside of the time between the call's events
    BETWEEN_CALLS = "between-calls"  # kernels ran on the device between two calls
    SLOWER_WHEN_TRACED = "slower-when-traced"  # slower kernels ran once they were traced
    ROOFLINE = "roofline"  # less time than the device can do the work in
    LATE_OUTPUT = "late-output"  # the output changed after forward had returned
    PRECISION = "precision-downgrade"  # inputs or sums were rounded further than the policy allows
    DANGEROUS = "dangerous"  # two devices were lost under this source
