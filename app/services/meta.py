"""What a client may want to know before it sends anything."""

from typing import Any

from app.context import Context
from app.version import API_VERSION
from evaluator.reward import REWARD_MODES
from evaluator.submission import LANGUAGES
from evaluator.verdicts import Verdict
from evaluator.version import VERSION


def describe(ctx: Context) -> dict[str, Any]:
    settings = ctx.settings
    return {
        "version": VERSION,
        "api_version": API_VERSION,
        "evaluator": settings.evaluator,
        "languages": list(LANGUAGES),
        "reward_modes": list(REWARD_MODES),
        "reward_mode": settings.reward,
        "partial_credit": settings.partial_credit,
        "max_turns": settings.max_turns,
        "precision_policy": settings.precision_policy,
        "verdicts": [str(verdict) for verdict in Verdict],
        "tasks": len(ctx.tasks),
        "limits": settings.limits.to_json(),
        "clocks": {
            "deadline_s": settings.deadline_s,
            "run_limit_s": settings.limits.run_s,
            "wait_max_s": settings.wait_max_s,
        },
    }
