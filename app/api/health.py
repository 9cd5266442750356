"""`/healthz` and `/readyz`"""

from typing import Any

from app.blueprint import ApiBlueprint
from app.context import current
from app.schemas.health import HealthSchema, ReadySchema
from app.services import health as service

blueprint = ApiBlueprint("health", __name__, description="Is it up, can it work.")


@blueprint.route("/healthz")
@blueprint.open_to_all()
@blueprint.response(200, HealthSchema)
def healthz() -> dict[str, Any]:
    """Say that the process is up; looks at nothing else"""
    return service.alive()


@blueprint.route("/readyz")
@blueprint.open_to_all()
@blueprint.response(200, ReadySchema)
@blueprint.problems(503)
def readyz() -> dict[str, Any]:
    """Say whether work is accepted and graded"""
    return service.ready(current())
