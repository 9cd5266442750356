"""`/batches`"""

from typing import Any

from flask import Response

from app import http
from app.blueprint import ApiBlueprint
from app.context import current
from app.schemas.batches import (
    BODY_BYTES_MAX,
    EXAMPLE,
    BatchCreate,
    BatchCreatedSchema,
    BatchQuery,
    BatchSchema,
    BatchWaitQuery,
)
from app.schemas.common import CreateHeaders, WaitHeaders
from app.services import batches as service
from app.services.batches import Until

blueprint = ApiBlueprint("batches", __name__, description="Many submissions at once, drained as they end.")


@blueprint.route("/batches", methods=["POST"])
@blueprint.needs("submit")
@blueprint.takes(BODY_BYTES_MAX)
@blueprint.arguments(CreateHeaders, location="headers")
@blueprint.arguments(WaitHeaders, location="headers")
@blueprint.arguments(BatchWaitQuery, location="query")
@blueprint.arguments(BatchCreate, example=EXAMPLE)
@blueprint.response(202, BatchCreatedSchema, description="Taken in, not finished yet", headers=http.CREATED_AND_WAITED)
@blueprint.alt_response(
    200,
    schema=BatchCreatedSchema,
    description="Finished within the wait",
    headers=http.CREATED_AND_WAITED,
    success=True,
)
@blueprint.problems(408, 413, 415, 422)
def create_batch(
    headers: dict[str, Any], prefer: dict[str, Any], query: dict[str, Any], body: dict[str, Any]
) -> Response:
    """Submit up to 256 sources, each accepted or refused by itself"""
    wait, applied = http.waiting(current(), query)
    key = http.idempotency(current(), headers)
    answer = service.create_batch(current(), body, key, wait, Until(query["until"]))
    location = http.created_headers(f"/batches/{answer.view['id']}", replayed=answer.replayed)
    told = http.waited_headers(answer, applied) | location
    return http.json_answer(answer.view, 200 if answer.finished else 202, told)


@blueprint.route("/batches/<id:batch_id>")
@blueprint.needs("read")
@blueprint.arguments(WaitHeaders, location="headers")
@blueprint.arguments(BatchQuery, location="query")
@blueprint.response(200, BatchSchema, headers=http.WAITED)
@blueprint.problems(404, 422)
def get_batch(prefer: dict[str, Any], query: dict[str, Any], batch_id: str) -> Response:
    """Read a batch's endings after the cursor, now or when there are some"""
    wait, applied = http.waiting(current(), query)
    until = Until(query["until"], int(query.get("cursor", 0)))
    answer = service.get_batch(current(), batch_id, wait, until)
    return http.json_answer(answer.view, headers=http.waited_headers(answer, applied))


@blueprint.route("/batches/<id:batch_id>/cancel", methods=["POST"])
@blueprint.needs("submit")
@blueprint.response(200, BatchSchema)
@blueprint.problems(404)
def cancel_batch(batch_id: str) -> dict[str, Any]:
    """Cancel what has not ended of a batch"""
    return service.cancel_batch(current(), batch_id)
