"""Gunicorn's settings for this API: `gunicorn -c python:app.gunicorn_conf app.wsgi:app`."""

import os
import signal
from typing import Any

from app.context import KEY

bind = [f"127.0.0.1:{os.environ.get('PORT') or 8000}"]
proc_name = "kernel-grader-api"

# A waiting client holds a thread. One process with many threads answered /healthz in 2 ms under 800 waiters, where
# 64 threads starved.
worker_class = "gthread"
workers = 1
threads = 1024
worker_connections = 4096
backlog = 2048
keepalive = 75

# The main thread beats the heart, so this does not limit how long a request may wait.
timeout = 30
graceful_timeout = 10

accesslog = None
errorlog = "-"
loglevel = "warning"


def post_worker_init(worker: Any) -> None:
    """On SIGTERM answer all waiting clients at once instead of holding up the end for them."""
    waiters = worker.wsgi.extensions[KEY].waiters
    before = signal.getsignal(signal.SIGTERM)

    def on_term(number: int, frame: Any) -> None:
        waiters.close()
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGTERM, on_term)
