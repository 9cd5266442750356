"""Hooks for schemathesis: keys of its own for every request, since two bodies under one key are to be refused."""

import re
import uuid
from typing import Any

import schemathesis
from schemathesis.generation.meta import CoverageScenario

VALID = re.compile(r"[\x21-\x7e]{1,255}")


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Replace valid keys only: what is generated to be refused stays, also where what is wrong is elsewhere."""
    scenario = getattr(case.meta and case.meta.phase.data, "scenario", None)
    if scenario is CoverageScenario.MISSING_PARAMETER:  # a changed case would get its parameter back
        return
    key = (case.headers or {}).get("Idempotency-Key")
    if isinstance(key, str) and VALID.fullmatch(key):
        case.headers["Idempotency-Key"] = uuid.uuid4().hex
