"""Gunicorn's worker with threads, which gives the head of a request no more than its time.

Its own waits for the first byte and then for ever: as many connections as there are threads, each with half a head,
would hold up everybody.
"""

from typing import Any

from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

from app.deadlines import ReadDeadlines
from grading.settings import load

HEAD_S = 10.0


class HeadTimingWorker(ThreadWorker):  # type: ignore[misc]
    """A head is to be there within ten seconds, or within KERNEL_ENV_BODY_S where that is less."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._heads = ReadDeadlines(min(HEAD_S, load().body_s))

    def handle(self, conn: Any) -> Any:
        """Read a request from a connection, and answer it."""
        with self._heads.watching(conn.sock) as conn.head:
            return super().handle(conn)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Answer a request; its head has been read."""
        conn.head.finish()
        return super().handle_request(req, conn)
