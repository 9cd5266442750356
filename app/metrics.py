"""Counts and times of this API's requests, over all its processes, and their text for Prometheus."""

import os
import time

from flask import Flask, Response, g, request
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from app.metrics_folder import VARIABLE

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
UNROUTED = "none"

requests = Counter("kernel_grader_requests", "Requests by route and status.", ["method", "route", "status"])
request_seconds = Histogram(
    "kernel_grader_request_seconds", "Time to answer requests that do not wait.", ["route"], buckets=BUCKETS_S
)
refusals = Counter("kernel_grader_refusals", "Refused requests by the problem's code.", ["code"])
waiting = Gauge("kernel_grader_waiting_requests", "Requests that wait for an end.", multiprocess_mode="livesum")


def install_metrics(app: Flask) -> None:
    """Count every request."""
    app.before_request(_start)
    app.after_request(_count)


def text(database: Collector) -> bytes:
    """Everything in Prometheus' text format: the processes' counts, then what `database` collects now."""
    registry = CollectorRegistry()
    if os.environ.get(VARIABLE):
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        processes = generate_latest(registry)
    else:
        processes = generate_latest(REGISTRY)
    present = CollectorRegistry()
    present.register(database)
    return processes + generate_latest(present)


def _start() -> None:
    g.started_at = time.monotonic()


def _count(response: Response) -> Response:
    route = request.url_rule.rule if request.url_rule is not None else UNROUTED
    requests.labels(request.method, route, response.status_code).inc()
    if not g.get("waits", False):
        request_seconds.labels(route).observe(time.monotonic() - g.started_at)
    return response
