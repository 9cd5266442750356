"""One order to build: static rules, then every architecture; answers a report, what was built, or our fault."""

import traceback
from collections.abc import Callable, Sequence
from typing import Any

from evaluator.build import handover
from evaluator.build.cache import ArtifactCache
from evaluator.build.driver import build
from evaluator.config import EvaluatorConfig
from evaluator.errors import GraderFault, SubmissionFault
from evaluator.feedback import trim_middle
from evaluator.gate import require_format
from evaluator.judge.clock import PhaseClock
from evaluator.prebuilt import Prebuilt
from evaluator.report import Report
from evaluator.submission import Language
from evaluator.version import VERSION


def answer(order: dict[str, Any], on_phase: Callable[[str], None]) -> dict[str, Any]:
    """`{"report"}`, `{"fault"}` or what `Built` holds, for `{"config", "code", "language", "architectures"}`."""
    config = EvaluatorConfig.from_json(order["config"])
    clock = PhaseClock(on_phase, config.limits.run_s)
    warnings: list[str] = []
    try:
        with clock.phase("format"):
            warnings = require_format(order["code"], order["language"], config.limits)
        made, counts = _build(order["code"], order["language"], order["architectures"], config, clock)
        return {"prebuilt": [each.to_json() for each in made], "phases": clock.phases, **counts}
    except SubmissionFault as fault:
        feedback = trim_middle(fault.feedback, config.limits.feedback_bytes)
        environment = {"evaluator": config.kind, "grader": VERSION}
        report = Report(
            fault.verdict,
            feedback,
            environment=environment,
            phases=clock.phases,
            warnings=warnings,
            rules=list(fault.rules),
        )
        return {"report": report.to_json()}
    except GraderFault as fault:
        return {"fault": {"code": fault.code, "detail": fault.detail, "retryable": fault.retryable}}
    except Exception as error:  # noqa: BLE001 - our own crash must reach the worker as no verdict, never as a zero
        detail = "".join(traceback.format_exception(error))[-4000:]
        return {"fault": {"code": "builder_error", "detail": detail, "retryable": True}}


def _build(
    code: str, language: Language, wanted: Sequence[str], config: EvaluatorConfig, clock: PhaseClock
) -> tuple[list[Prebuilt], dict[str, int]]:
    """What was made, and how much of it was `compiled` and how much `found` in the cache.

    Raises the fault of the first architecture where none of them can be built.

    What compiles for some only is left to the device that takes it, which builds again and says what is wrong there.
    """
    made, faults = [], []
    counts = {"compiled": 0, "found": 0}
    for architecture in wanted if language == "cuda" else ():
        with clock.phase("build"):
            try:
                result = build(
                    code,
                    arch_list=(architecture,),
                    cache_dir=config.extensions_dir,
                    limits=config.limits,
                    require_isolation=config.build_isolation,
                )
            except SubmissionFault as fault:
                faults.append(fault)
                continue
            made.append(handover.give(result, architecture, config.extensions_dir))
            counts["compiled"] += result.compiled
            counts["found"] += len(result.artifacts) - result.compiled
    if counts["compiled"]:
        ArtifactCache(config.extensions_dir).prune(config.limits.build_cache_bytes)
    if faults and not made:
        raise faults[0]
    return made, counts
