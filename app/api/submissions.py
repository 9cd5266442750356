"""`/submissions`"""

from typing import Any

from flask import Response

from app import http
from app.blueprint import ApiBlueprint
from app.context import current
from app.schemas.common import CreateHeaders, WaitQuery
from app.schemas.rewards import RewardQuery, RewardSchema
from app.schemas.submissions import EXAMPLE, SubmissionCreate, SubmissionSchema
from app.services import rewards
from app.services import submissions as service

blueprint = ApiBlueprint("submissions", __name__, description="One source, one verdict.")


@blueprint.route("/submissions", methods=["POST"])
@blueprint.arguments(CreateHeaders, location="headers")
@blueprint.arguments(WaitQuery, location="query")
@blueprint.arguments(SubmissionCreate, example=EXAMPLE)
@blueprint.response(202, SubmissionSchema, description="Taken in, not finished yet")
@blueprint.alt_response(200, schema=SubmissionSchema, description="Finished within the wait", success=True)
@blueprint.problems(404, 409, 413, 415, 422)
def submit(
    headers: dict[str, Any], query: dict[str, Any], body: dict[str, Any]
) -> tuple[dict[str, Any], int, dict[str, str]]:
    """Submit a source to be graded"""
    wait_s, applied = http.wait_seconds(current(), query)
    answer = service.submit(current(), body, http.idempotency(headers), wait_s)
    location = http.created_headers(f"/submissions/{answer.view['id']}", replayed=answer.replayed)
    return answer.view, 200 if answer.finished else 202, http.waited_headers(answer, applied) | location


@blueprint.route("/submissions/<id:submission_id>")
@blueprint.arguments(WaitQuery, location="query")
@blueprint.response(200, SubmissionSchema)
@blueprint.problems(404, 422)
def get_submission(query: dict[str, Any], submission_id: str) -> tuple[dict[str, Any], int, dict[str, str]]:
    """Read a submission, now or when it has ended"""
    wait_s, applied = http.wait_seconds(current(), query)
    answer = service.get_submission(current(), submission_id, wait_s)
    return answer.view, 200, http.waited_headers(answer, applied)


@blueprint.route("/submissions/<id:submission_id>/cancel", methods=["POST"])
@blueprint.response(200, SubmissionSchema)
@blueprint.problems(404)
def cancel_submission(submission_id: str) -> dict[str, Any]:
    """Stop a submission, waiting or running"""
    return service.cancel_submission(current(), submission_id)


@blueprint.route("/submissions/<id:submission_id>/code")
@blueprint.response(200, {"type": "string"}, content_type="text/plain")
@blueprint.problems(404)
def get_code(submission_id: str) -> Response:
    """Read the source as it was sent"""
    return Response(service.get_code(current(), submission_id), mimetype="text/plain")


@blueprint.route("/submissions/<id:submission_id>/reward")
@blueprint.arguments(RewardQuery, location="query")
@blueprint.response(200, RewardSchema)
@blueprint.problems(404, 422)
def get_reward(query: dict[str, Any], submission_id: str) -> dict[str, Any]:
    """Compute the reward from the stored measurements, also under another setting"""
    return rewards.reward_under(current(), submission_id, query)
