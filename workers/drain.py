"""In a pool child: the signal to stop ends the running grade, which is then handed back by its fence."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from celery.signals import worker_process_init

_abort: Callable[[], None] | None = None


@contextlib.contextmanager
def aborting(abort: Callable[[], None]) -> Iterator[None]:
    """While inside, the signal calls `abort` (from another thread: a handler must not take locks)."""
    global _abort
    _abort = abort
    try:
        yield
    finally:
        _abort = None


def _on_signal(number: int, frame: FrameType | None) -> None:
    if _abort is not None:
        threading.Thread(target=_abort, name="abort", daemon=True).start()


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _listen(**_: object) -> None:
    # Celery lets its children ignore SIGQUIT when SIGTERM is mapped to it, and sends it to those it wants to stop
    signal.signal(signal.SIGQUIT, _on_signal)
