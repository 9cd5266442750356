"""The two families of error, never mixed: the submission's (a verdict follows) and ours (no verdict)."""

from evaluator.verdicts import Verdict


class SubmissionFault(Exception):
    """The candidate is at fault: grading ends with `verdict`, and `feedback` tells the policy what to repair.

    `rules` are the ids of those it broke (`evaluator.static.rules`, `evaluator.run_time_rules`); none for mistakes.
    """

    def __init__(self, verdict: Verdict, feedback: str, *rules: str) -> None:
        super().__init__(feedback)
        self.verdict = verdict
        self.feedback = feedback
        self.rules = rules


class GraderFault(Exception):
    """We are at fault (lost judge, sick device, missing tool): no verdict, and nobody is to be paid for it.

    `code` is a stable identifier for programs, `retryable` says whether another attempt may succeed.
    """

    def __init__(self, code: str, detail: str, *, retryable: bool = True) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.retryable = retryable


class Cancelled(Exception):
    """The caller went away or asked to stop; the runner is dead and nothing is to be written."""
