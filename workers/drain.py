"""In a pool child: the signal to stop ends it at once, and its main process hands back what it held.

Its socket to the judge closes with it, which ends the runner.
"""

import os
import signal
from types import FrameType

from celery.signals import worker_process_init

EX_DRAINED = 75


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(EX_DRAINED)


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _listen(**_: object) -> None:
    # Celery lets its children ignore SIGQUIT when SIGTERM is mapped to it, then sends it to those that it wants to stop
    signal.signal(signal.SIGQUIT, _end)
