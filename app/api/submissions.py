"""`/submissions`"""

from typing import Any

from flask import Response

from app import http
from app.blueprint import ApiBlueprint
from app.context import current
from app.schemas.attempts import AttemptsSchema
from app.schemas.common import CreateHeaders, WaitHeaders, WaitQuery
from app.schemas.rewards import RewardQuery, RewardSchema
from app.schemas.submissions import EXAMPLE, SubmissionCreate, SubmissionPageSchema, SubmissionQuery, SubmissionSchema
from app.services import reading, rewards
from app.services import submissions as service

blueprint = ApiBlueprint("submissions", __name__, description="One source, one verdict.")
TEXT = {"type": "string"}


@blueprint.route("/submissions", methods=["POST"])
@blueprint.needs("submit")
@blueprint.arguments(CreateHeaders, location="headers")
@blueprint.arguments(WaitHeaders, location="headers")
@blueprint.arguments(WaitQuery, location="query")
@blueprint.arguments(SubmissionCreate, example=EXAMPLE)
@blueprint.response(202, SubmissionSchema, description="Taken in, not finished yet", headers=http.CREATED_AND_WAITED)
@blueprint.alt_response(
    200,
    schema=SubmissionSchema,
    description="Finished within the wait",
    headers=http.CREATED_AND_WAITED,
    success=True,
)
@blueprint.problems(404, 408, 409, 413, 415, 422)
def submit(
    headers: dict[str, Any], prefer: dict[str, Any], query: dict[str, Any], body: dict[str, Any]
) -> Response:
    """Submit a source to be graded"""
    wait, applied = http.waiting(current(), query)
    answer = service.submit(current(), body, http.idempotency(current(), headers), wait)
    location = http.created_headers(f"/submissions/{answer.view['id']}", replayed=answer.replayed)
    told = http.waited_headers(answer, applied) | location
    return http.json_answer(answer.view, 200 if answer.finished else 202, told)


@blueprint.route("/submissions")
@blueprint.needs("read")
@blueprint.arguments(SubmissionQuery, location="query")
@blueprint.response(200, SubmissionPageSchema)
@blueprint.problems(422)
def list_submissions(query: dict[str, Any]) -> Response:
    """List submissions, newest first"""
    return http.json_answer(reading.list_submissions(current(), query))


@blueprint.route("/submissions/<id:submission_id>")
@blueprint.needs("read")
@blueprint.arguments(WaitHeaders, location="headers")
@blueprint.arguments(WaitQuery, location="query")
@blueprint.response(200, SubmissionSchema, headers=http.WAITED)
@blueprint.problems(404, 422)
def get_submission(prefer: dict[str, Any], query: dict[str, Any], submission_id: str) -> Response:
    """Read a submission, now or when it has ended"""
    wait, applied = http.waiting(current(), query)
    answer = service.get_submission(current(), submission_id, wait)
    return http.json_answer(answer.view, headers=http.waited_headers(answer, applied))


@blueprint.route("/submissions/<id:submission_id>/cancel", methods=["POST"])
@blueprint.needs("submit")
@blueprint.response(200, SubmissionSchema)
@blueprint.problems(404)
def cancel_submission(submission_id: str) -> dict[str, Any]:
    """Stop a submission, waiting or running"""
    return service.cancel_submission(current(), submission_id)


@blueprint.route("/submissions/<id:submission_id>/regrade", methods=["POST"])
@blueprint.needs("admin")
@blueprint.arguments(CreateHeaders, location="headers")
@blueprint.response(202, SubmissionSchema, description="A new submission", headers=http.CREATED)
@blueprint.problems(404, 408, 409, 413, 422)
def regrade(headers: dict[str, Any], submission_id: str) -> tuple[dict[str, Any], int, dict[str, str]]:
    """Grade an ended submission once more, beside the old grade"""
    answer = service.regrade(current(), submission_id, http.idempotency(current(), headers))
    return answer.view, 202, http.created_headers(f"/submissions/{answer.view['id']}", replayed=answer.replayed)


@blueprint.route("/submissions/<id:submission_id>/attempts")
@blueprint.needs("read")
@blueprint.response(200, AttemptsSchema)
@blueprint.problems(404)
def get_attempts(submission_id: str) -> dict[str, Any]:
    """Read how each attempt ended"""
    return reading.attempts(current(), submission_id)


@blueprint.route("/submissions/<id:submission_id>/code")
@blueprint.needs("read")
@blueprint.response(200, TEXT, content_type="text/plain")
@blueprint.problems(404)
def get_code(submission_id: str) -> Response:
    """Read the source as it was sent"""
    return Response(reading.code(current(), submission_id), mimetype="text/plain")


@blueprint.route("/submissions/<id:submission_id>/log")
@blueprint.needs("read")
@blueprint.response(200, TEXT, content_type="text/plain")
@blueprint.problems(404)
def get_log(submission_id: str) -> Response:
    """Read the whole log of build and run"""
    return Response(reading.log(current(), submission_id), mimetype="text/plain")


@blueprint.route("/submissions/<id:submission_id>/reward")
@blueprint.needs("read")
@blueprint.arguments(RewardQuery, location="query")
@blueprint.response(200, RewardSchema)
@blueprint.problems(404, 422)
def get_reward(query: dict[str, Any], submission_id: str) -> dict[str, Any]:
    """Compute the reward from the stored measurements, also under another setting"""
    return rewards.reward_under(current(), submission_id, query)
