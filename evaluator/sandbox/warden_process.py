"""`python -m evaluator.sandbox.warden_process FD`: reads a JSON line per change, acts when the other end closes."""

import contextlib
import json
import os
import sys

from evaluator.errors import GraderFault
from evaluator.sandbox.hold import Hold


def main(read_fd: int) -> None:
    """Keep account of what is watched until the judge is gone, then kill it."""
    watched: set[Hold] = set()
    with os.fdopen(read_fd, "rb") as changes:
        for line in changes:
            if not line.endswith(b"\n"):
                break  # the judge died in the middle of a line
            change, data = json.loads(line)
            (watched.add if change == "watch" else watched.discard)(Hold.from_json(data))
    for hold in watched:
        with contextlib.suppress(GraderFault):
            hold.kill()


if __name__ == "__main__":
    main(int(sys.argv[1]))
