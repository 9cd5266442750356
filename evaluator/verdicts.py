"""How far a submission got (stage) and what that means (verdict), each as one ordered enum."""

from enum import StrEnum


class Stage(StrEnum):
    """The stage a submission reached, in the order in which stages run."""

    FORMAT = "format"
    COMPILE = "compile"
    RUNTIME = "runtime"
    TIMEOUT = "timeout"
    CORRECTNESS = "correctness"
    TIMING = "timing"
    OK = "ok"

    @property
    def order(self) -> int:
        """Rank for comparisons: `runtime` and `timeout` are two ends of the same stage."""
        return _STAGE_ORDER[self]


class Verdict(StrEnum):
    """The outcome of a grade, worst first. A submission without one was not graded: its reward is null."""

    FORMAT_VIOLATION = "format_violation"
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    INCORRECT = "incorrect"
    REJECTED_TIMING = "rejected_timing"
    CORRECT = "correct"

    @property
    def stage(self) -> Stage:
        """The stage at which this verdict is reached."""
        return _VERDICT_STAGE[self]


_STAGE_ORDER = {
    Stage.FORMAT: 0,
    Stage.COMPILE: 1,
    Stage.RUNTIME: 2,
    Stage.TIMEOUT: 2,
    Stage.CORRECTNESS: 3,
    Stage.TIMING: 4,
    Stage.OK: 5,
}

_VERDICT_STAGE = {
    Verdict.FORMAT_VIOLATION: Stage.FORMAT,
    Verdict.COMPILE_ERROR: Stage.COMPILE,
    Verdict.RUNTIME_ERROR: Stage.RUNTIME,
    Verdict.TIMEOUT: Stage.TIMEOUT,
    Verdict.INCORRECT: Stage.CORRECTNESS,
    Verdict.REJECTED_TIMING: Stage.TIMING,
    Verdict.CORRECT: Stage.OK,
}
