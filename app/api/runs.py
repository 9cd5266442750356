"""`/runs`"""

from typing import Any

from flask import Response

from app.blueprint import ApiBlueprint
from app.context import current
from app.schemas.runs import RunCancelledSchema, RunSchema
from app.services import exports
from app.services import runs as service

blueprint = ApiBlueprint("runs", __name__, description="Everything with one `run_id`.")
NDJSON = "application/x-ndjson"


@blueprint.route("/runs/<run:run_id>")
@blueprint.needs("read")
@blueprint.response(200, RunSchema)
@blueprint.problems(404)
def get_run(run_id: str) -> dict[str, Any]:
    """Read a run's counts, verdict mix and rates"""
    return service.get_run(current(), run_id)


@blueprint.route("/runs/<run:run_id>/export")
@blueprint.needs("read")
@blueprint.response(200, {"type": "string"}, content_type=NDJSON, description="One JSON object per line")
@blueprint.problems(404)
def export_run(run_id: str) -> Response:
    """Read a run's summary, episodes and submissions, with sources and attempts, line by line"""
    return Response(exports.export_run(current(), run_id), mimetype=NDJSON)


@blueprint.route("/runs/<run:run_id>/cancel", methods=["POST"])
@blueprint.needs("submit")
@blueprint.response(200, RunCancelledSchema)
@blueprint.problems(404)
def cancel_run(run_id: str) -> dict[str, Any]:
    """End a run's episodes and cancel its unfinished work"""
    return service.cancel_run(current(), run_id)
