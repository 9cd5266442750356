"""`python -m tests.chaos.doomed MODULE ARGUMENT…`: a part of the product that dies or freezes at one point of its work.

The file that CHAOS_POINT names holds the point and what is to happen there (`claim.committed kill`); the first process
that reaches the point takes the file away and suffers it. The product itself knows nothing of this: its functions are
wrapped here, before it starts.
"""

import os
import runpy
import signal
import sys
import threading
from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from pathlib import Path
from typing import Any

from celery.worker.request import Request
from sqlalchemy import Engine, event
from sqlalchemy.orm import Session

import grading.jobs.reap
import grading.queue
from evaluator.mock import MockEvaluator
from evaluator.mock_builder import MockBuilder
from grading import jobs
from grading.events import Publisher
from grading.queue import Ringer

MAIN_PID = os.getpid()
_doing = threading.local()


def reach(point: str) -> None:
    """Suffer what the file asks for, if it asks for it here; at most one process does."""
    path = Path(os.environ["CHAOS_POINT"])
    try:
        wanted, _, fate = path.read_text().partition(" ")
        if wanted != point:
            return
        path.rename(path.with_suffix(".reached"))
    except FileNotFoundError:
        return
    suffer(fate)


def suffer(fate: str) -> None:
    """`kill` this process, `slot`: the part's main process first, or `freeze` it until somebody lets it go on."""
    if fate == "slot":
        os.kill(MAIN_PID, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGSTOP if fate == "freeze" else signal.SIGKILL)


def around(owner: Any, name: str, label: str) -> None:
    """Points `label.begins` and `label.done` around a function."""
    original: Callable[..., Any] = getattr(owner, name)

    @wraps(original)
    def wrapped(*args: Any, **kw: Any) -> Any:
        reach(f"{label}.begins")
        answer = original(*args, **kw)
        reach(f"{label}.done")
        return answer

    setattr(owner, name, wrapped)


def transaction(owner: Any, name: str, label: str) -> None:
    """Points `label.uncommitted` and `label.committed` in a function that is one transaction."""
    original: Callable[..., Any] = getattr(owner, name)

    @wraps(original)
    def wrapped(*args: Any, **kw: Any) -> Any:
        before, _doing.label = getattr(_doing, "label", None), label
        try:
            return original(*args, **kw)
        finally:
            _doing.label = before

    setattr(owner, name, wrapped)


def relabel(owner: Any, name: str, within: str, label: str) -> None:
    """A transaction named `within` in which this function is called has points of this name from then on."""
    original: Callable[..., Any] = getattr(owner, name)

    @wraps(original)
    def wrapped(*args: Any, **kw: Any) -> Any:
        if getattr(_doing, "label", None) == within:
            _doing.label = label
        return original(*args, **kw)

    setattr(owner, name, wrapped)


@event.listens_for(Engine, "commit")
def _uncommitted(connection: Any) -> None:
    if label := getattr(_doing, "label", None):
        reach(f"{label}.uncommitted")


@event.listens_for(Session, "after_commit")
def _committed(session: Session) -> None:
    if label := getattr(_doing, "label", None):
        reach(f"{label}.committed")


def main() -> None:
    for name in jobs.__all__:  # each function is one transaction
        if isfunction(getattr(jobs, name)):
            transaction(jobs, name, name)
    for name in ("assign_bells", "unring"):
        transaction(grading.queue, name, name)
    transaction(jobs.Reaper, "run_once", "reap")
    relabel(grading.jobs.reap, "_lose", "reap", "lose")
    around(MockEvaluator, "evaluate", "evaluate")
    around(MockBuilder, "build", "build")
    around(Ringer, "_publish", "ring")
    around(Publisher, "_publish", "hint")
    around(Request, "acknowledge", "ack")
    module, *arguments = sys.argv[1:]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
