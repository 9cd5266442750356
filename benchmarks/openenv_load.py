"""The loads of `benchmarks.intake` and `benchmarks.waiters` on OpenEnv's own server, over a mock environment.

`python` is an interpreter that has openenv-core; server and load run there, each in a process of its own.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.service import KERNEL, summary
from launcher.ports import free_port

HERE = Path(__file__).parent
PROGRAM = """
import asyncio, json, sys
sys.path.insert(0, sys.argv[1])
import openenv_client
arguments = json.loads(sys.argv[3])
print(json.dumps(asyncio.run(getattr(openenv_client, sys.argv[2])(**arguments, code=sys.stdin.read()))))
"""


def intake(python: Path, count: int, sessions: int) -> dict[str, Any]:
    """Steps a second that the server answers, from as many sessions at once."""
    with _server(python, sessions + 1) as port:
        found = _load(python, "steps", port=port, count=count, sessions=sessions)
    rate = round(count / found["total_s"], 1)
    return {"version": found["version"], "steps_a_second": rate, "latency_ms": summary(found["spans_s"])}


def waiters(python: Path, sessions: int, eval_s: float) -> dict[str, Any]:
    """How late as many steps are answered that take `eval_s` and begin together."""
    with _server(python, sessions + 1) as port:
        found = _load(python, "waits", port=port, sessions=sessions, eval_s=eval_s)
    told = {"version": found["version"], "sessions": sessions, "eval_s": eval_s}
    return told | {"end_to_answer_ms": summary(found["late_s"]), "health_ms": summary(found["health_s"])}


@contextmanager
def _server(python: Path, sessions: int) -> Iterator[int]:
    """Its port. It complains about every connection that is closed, which is of no interest here."""
    port = free_port()
    command = [str(python), str(HERE / "openenv_server.py"), str(port), str(sessions)]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield port
    finally:
        server.terminate()
        server.wait(30)


def _load(python: Path, what: str, **arguments: Any) -> dict[str, Any]:
    command = [str(python), "-c", PROGRAM, str(HERE), what, json.dumps(arguments)]
    done = subprocess.run(command, input=KERNEL.read_text(), capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found: dict[str, Any] = json.loads(done.stdout)
    return found
