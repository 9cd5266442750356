"""Plays with a released client what it is told to: JSON lines of FUNCTION, URL, ARGUMENTS; answers with one line each.

One process plays for all tests, since importing a release takes seconds.
"""

import asyncio
import importlib
import json
import sys
import traceback
from typing import Any

PLAY_S = 240.0


def play(function: str, url: str, given: dict[str, Any]) -> dict[str, Any]:
    """What it returned, or how it failed. `function` names a module beside this one too, such as `programs.plain`."""
    module, _, name = function.partition(".")
    program = getattr(importlib.import_module(module), name)
    try:
        return {"returned": asyncio.run(asyncio.wait_for(program(url, **given), PLAY_S))}
    except Exception:  # noqa: BLE001 - told to the test that asked
        return {"raised": traceback.format_exc()}


if __name__ == "__main__":
    answers, sys.stdout = sys.stdout, sys.stderr  # nothing that a library prints is taken for an answer
    for line in sys.stdin:
        print(json.dumps(play(*json.loads(line))), file=answers, flush=True)
