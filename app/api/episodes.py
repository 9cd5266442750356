"""`/episodes`"""

from typing import Any

from app import http
from app.blueprint import ApiBlueprint
from app.context import current
from app.schemas.common import CreateHeaders
from app.schemas.episodes import EXAMPLE, EpisodeCreate, EpisodeSchema
from app.services import episodes as service

blueprint = ApiBlueprint("episodes", __name__, description="One task, several turns.")


@blueprint.route("/episodes", methods=["POST"])
@blueprint.arguments(CreateHeaders, location="headers")
@blueprint.arguments(EpisodeCreate, example=EXAMPLE, required=False)
@blueprint.response(201, EpisodeSchema)
@blueprint.problems(415, 422)
def open_episode(headers: dict[str, Any], body: dict[str, Any]) -> tuple[dict[str, Any], int, dict[str, str]]:
    """Open an episode on a task"""
    episode, replayed = service.open_episode(current(), body, http.idempotency(headers))
    return episode, 201, http.created_headers(f"/episodes/{episode['id']}", replayed=replayed)


@blueprint.route("/episodes/<id:episode_id>")
@blueprint.response(200, EpisodeSchema)
@blueprint.problems(404)
def get_episode(episode_id: str) -> dict[str, Any]:
    """Read an episode and its history"""
    return service.get_episode(current(), episode_id)


@blueprint.route("/episodes/<id:episode_id>/cancel", methods=["POST"])
@blueprint.response(200, EpisodeSchema)
@blueprint.problems(404)
def cancel_episode(episode_id: str) -> dict[str, Any]:
    """End an episode and cancel its unfinished work"""
    return service.cancel_episode(current(), episode_id)
