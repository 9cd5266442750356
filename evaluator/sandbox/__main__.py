"""`python -m evaluator.sandbox`: build every wall around an empty process, and print as JSON which ones stand."""

import json
import os
import sys

from evaluator.errors import GraderFault
from evaluator.sandbox import Confinement, Leash, Parent, Policy, fork_into_pid_namespace

MEMORY_BYTES = 1024**3


def main() -> int:
    """Exit code 1 where the confined process ended without a word."""
    try:
        with Leash.take("probe", memory_bytes=MEMORY_BYTES) as leash:
            found = _confined(leash.policy())
    except (OSError, GraderFault) as error:
        print(error, file=sys.stderr)
        return 1
    print(found)
    return 0 if found else 1


def _confined(policy: Policy) -> str:
    reader, writer = os.pipe()
    parent = Parent.here()
    pid, reason = fork_into_pid_namespace()
    if pid == 0:
        _say_walls(Confinement(policy, parent, no_pid_namespace=reason), writer)
    os.close(writer)
    with os.fdopen(reader) as told:
        text = told.read()
    os.waitpid(pid, 0)
    return text


def _say_walls(confinement: Confinement, writer: int) -> None:
    try:
        confinement.enter_before_device(keep_fds=[writer])
        os.write(writer, json.dumps(confinement.enter_after_device().to_json()).encode())
    finally:
        os._exit(0)  # nothing of the parent's code may run here


if __name__ == "__main__":
    sys.exit(main())
