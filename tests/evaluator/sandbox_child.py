"""Plays the zygote in the sandbox tests: forks, confines the fork, runs snippets in it and prints what came of each.

Reads one JSON object: `policy`, `pid_namespace`, `preload` (modules imported before the fork), `snippets` (name and
source), `facts` (names given to the snippets), `linger` (wait to be killed instead of ending).
Prints one JSON object per line: the pid, the isolation, then one outcome per snippet.
"""

import json
import os
import sys
import time


def outcome(source: str, names: dict[str, object]) -> str:
    try:
        exec(compile(source, "<snippet>", "exec"), names)
    except BaseException as error:  # noqa: BLE001 - whatever a snippet raises is its outcome
        return f"{type(error).__name__}: {error}"
    return f"done: {names.get('result')}"


def confined(order: dict, parent, reason: str, report_fd: int) -> None:
    from evaluator.sandbox import Confinement, Policy

    confinement = Confinement(Policy.from_json(order["policy"]), parent, no_pid_namespace=reason)
    confinement.enter_before_device(keep_fds=[report_fd])
    isolation = confinement.enter_after_device()

    def say(message: object) -> None:
        os.write(report_fd, json.dumps(message).encode() + b"\n")

    say({"isolation": isolation.to_json()})
    facts = {**order["facts"], "PARENT": parent.pid, "SCRATCH": confinement.scratch}
    for name, source in order["snippets"]:
        say({"name": name, "outcome": outcome(source, dict(facts))})
    if order["linger"]:
        time.sleep(600)


def main() -> None:
    order = json.load(sys.stdin)
    for module in order["preload"]:
        __import__(module)
    from evaluator.sandbox import Parent, fork_into_pid_namespace, protect_from_same_user

    os.set_inheritable(os.open(__file__, os.O_RDONLY), True)  # a descriptor that must not reach the candidate
    protect_from_same_user()
    parent = Parent.here()
    pid, reason = fork_into_pid_namespace() if order["pid_namespace"] else (os.fork(), "")
    if pid == 0:
        try:
            confined(order, parent, reason, report_fd=1)
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - nothing may return into the parent's code
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(70)
    print(json.dumps({"pid": pid}), flush=True)
    _, status = os.waitpid(pid, 0)
    print(json.dumps({"status": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    main()
