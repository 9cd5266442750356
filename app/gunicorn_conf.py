"""Gunicorn's settings for this API: `gunicorn -c python:app.gunicorn_conf app.wsgi:app`."""

import signal
import sys
from typing import Any

from app import metrics_folder

metrics_folder.prepare()  # before the next line imports Prometheus

from prometheus_client.multiprocess import mark_process_dead  # noqa: E402

from app.access import require_keys_beyond_loopback  # noqa: E402
from app.context import KEY, THREADS  # noqa: E402
from grading.settings import SettingsError, load  # noqa: E402

try:
    _settings = load()
except SettingsError as error:
    sys.exit(str(error))

bind = [f"[{_settings.bind}]:{_settings.port}" if ":" in _settings.bind else f"{_settings.bind}:{_settings.port}"]
proc_name = "kernel-grader-api"

# A waiting client holds a thread of gunicorn's "gthread". One process with many threads answered /healthz in 2 ms under
# 800 waiters, where 64 threads starved.
worker_class = "app.worker.HeadTimingWorker"
workers = _settings.api_processes
threads = THREADS
worker_connections = 4096
backlog = 2048
keepalive = 75
limit_request_line = 8190  # a list of ids

# The main thread beats the heart, so this does not limit how long a request may wait.
timeout = 30
graceful_timeout = 10

accesslog = None
errorlog = "-"
loglevel = "warning"


def when_ready(server: Any) -> None:
    """Look at the sockets that are really there, whoever named their addresses."""
    require_keys_beyond_loopback([listener.sock for listener in server.LISTENERS])


def child_exit(server: Any, worker: Any) -> None:
    """Nobody waits in a process that has ended."""
    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(server: Any) -> None:
    metrics_folder.remove()


def post_worker_init(worker: Any) -> None:
    """On SIGTERM answer all waiting clients at once instead of holding up the end for them."""
    context = worker.wsgi.extensions[KEY]
    before = signal.getsignal(signal.SIGTERM)

    def on_term(number: int, frame: Any) -> None:
        context.stop_waiting()
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGTERM, on_term)
