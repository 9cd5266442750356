"""The routes, one file per resource. A route reads its input, calls one service and answers; it decides nothing."""

from app.api import episodes, health, meta, submissions, tasks

BLUEPRINTS = (episodes.blueprint, submissions.blueprint, tasks.blueprint, health.blueprint, meta.blueprint)
