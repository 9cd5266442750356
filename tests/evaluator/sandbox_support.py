"""Starts the sandbox tests' stand-in for a zygote at a privilege level and reads what it says."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.evaluator.sandbox_attempts import Attempt
from tests.evaluator.sandbox_levels import Level

CHILD = Path(__file__).with_name("sandbox_child.py")
PROJECT = Path(__file__).parents[2]


class Zygote:
    """A running stand-in; its lines are read one by one."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.pid = self.next_line()["pid"]

    def next_line(self) -> dict[str, Any]:
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the stand-in ended: {self.process.wait()} {self.process.stderr.read()}")
        return json.loads(line)

    def outcomes(self, count: int) -> dict[str, str]:
        lines = [self.next_line() for _ in range(count)]
        return {line["name"]: line["outcome"] for line in lines}


@contextmanager
def zygote(
    level: Level,
    attempts: Iterable[Attempt],
    *,
    grants: dict[str, Any] | None = None,
    facts: dict[str, Any] | None = None,
    preload: Iterable[str] = (),
    linger: bool = False,
    interpret: bool = False,
) -> Iterator[Zygote]:
    order = {
        "policy": {**level.grants, **(grants or {})},
        "pid_namespace": level.pid_namespace,
        "preload": list(preload),
        "snippets": [(attempt.name, attempt.source) for attempt in attempts],
        "facts": {"TEST_PID": os.getpid(), **(facts or {})},
        "linger": linger,
    }
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT), "SECRET": "s3cret-in-the-environment"}
    if interpret:
        environment["TRITON_INTERPRET"] = "1"
    process = subprocess.Popen(
        [*level.prefix, sys.executable, str(CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd="/",
    )
    try:
        process.stdin.write(json.dumps(order))
        process.stdin.close()
        yield Zygote(process)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
