"""`/queue` and `/workers`"""

from typing import Any

from app.blueprint import ApiBlueprint
from app.context import current
from app.schemas.queue import QueueStateSchema
from app.schemas.workers import WorkersSchema
from app.services import queue_state as service

blueprint = ApiBlueprint("queue", __name__, description="What waits, and who works.")


@blueprint.route("/queue")
@blueprint.needs("read")
@blueprint.response(200, QueueStateSchema)
@blueprint.problems()
def get_queue() -> dict[str, Any]:
    """Read depth and age per queue, and the estimated wait"""
    return service.queue_state(current())


@blueprint.route("/workers")
@blueprint.needs("read")
@blueprint.response(200, WorkersSchema)
@blueprint.problems()
def get_workers() -> dict[str, Any]:
    """Read each slot's health, isolation, versions and canary"""
    return service.workers(current())
