"""The judge's life in the main process: started before Celery, replaced when it has died or is sick, stopped last.

All of it happens in the main thread, because a judge dies with the thread that started it.
"""

import os
import signal
from typing import Any, ClassVar

from celery import bootsteps
from structlog import get_logger

from evaluator.client import JudgeProcess

log = get_logger(__name__)

LOOK_S = 1.0


class JudgeStep(bootsteps.StartStopStep):  # type: ignore[misc]
    """Looks after the judge from Celery's event loop, which runs in the main thread."""

    requires = ("celery.worker.components:Hub",)
    judge: ClassVar[JudgeProcess | None] = None

    @classmethod
    def replace(cls) -> None:
        """End a judge whose device is not well; the next look starts another. From any thread; does not wait."""
        if cls.judge is not None and cls.judge.pid is not None and cls.judge.alive():
            os.kill(cls.judge.pid, signal.SIGKILL)

    def register_with_event_loop(self, worker: Any, hub: Any) -> None:
        """Called by Celery when the loop is set up."""
        if self.judge is not None:
            hub.call_repeatedly(LOOK_S, self._look)

    def _look(self) -> None:
        if self.judge is not None and not self.judge.alive():
            log.warning("judge_restarted")
            self.judge.start()
