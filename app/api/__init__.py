"""The routes, one file per resource. A route reads its input, calls one service and answers; it decides nothing."""

from app.api import batches, episodes, health, meta, metrics, queue, runs, submissions, tasks

BLUEPRINTS = (
    episodes.blueprint,
    submissions.blueprint,
    batches.blueprint,
    runs.blueprint,
    tasks.blueprint,
    queue.blueprint,
    health.blueprint,
    meta.blueprint,
    metrics.blueprint,
)
