"""`kernel-grader-openenv`: serve the environment. The grader is found by KERNEL_GRADER_URL and KERNEL_GRADER_KEY."""

from __future__ import annotations

import argparse
import os

import uvicorn

from kernel_grader_openenv.app import create
from kernel_grader_openenv.episode import ANSWER_S
from kernel_grader_openenv.knocking import KnockingProtocol

MAX_SESSIONS = "KERNEL_ENV_MAX_SESSIONS"
SESSIONS_MAX = 100_000
# a connection that is silent for so long is lost, and its session is somebody else's
GONE_S = 300.0


def sessions() -> int:
    """From the environment. Raises SystemExit with a sentence for what is no number in range."""
    text = os.environ.get(MAX_SESSIONS) or "64"
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= SESSIONS_MAX:
        raise SystemExit(f"{MAX_SESSIONS} must be a whole number from 1 to {SESSIONS_MAX}, not {text!r}")
    return int(text)


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(prog="kernel-grader-openenv", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="who reaches it needs no key of the grader's")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--answer-s", type=float, default=ANSWER_S, help="a longer grade is answered as `running`")
    given = parser.parse_args()
    if not 0 < given.answer_s <= ANSWER_S:
        parser.error(f"--answer-s must be over 0 and at most {ANSWER_S:g}: OpenEnv's clients give up after 60 s")
    uvicorn.run(
        create(None, None, sessions(), given.answer_s),
        host=given.host,
        port=given.port,
        log_level="warning",
        ws=KnockingProtocol,
        # a client that has given up on an answer, and thinks, answers no pings until it comes back
        ws_ping_timeout=GONE_S,
    )


if __name__ == "__main__":
    main()
