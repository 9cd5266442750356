"""`/episodes`"""

from typing import Any

from app import http
from app.blueprint import ApiBlueprint
from app.context import current
from app.schemas.common import CreateHeaders
from app.schemas.episodes import EXAMPLE, EpisodeCreate, EpisodePageSchema, EpisodeQuery, EpisodeSchema
from app.services import episodes as service
from app.services import reading

blueprint = ApiBlueprint("episodes", __name__, description="One task, several turns.")


@blueprint.route("/episodes", methods=["POST"])
@blueprint.needs("submit")
@blueprint.arguments(CreateHeaders, location="headers")
@blueprint.arguments(EpisodeCreate, example=EXAMPLE, required=False)
@blueprint.response(201, EpisodeSchema, headers=http.CREATED)
@blueprint.problems(408, 413, 415, 422)
def open_episode(headers: dict[str, Any], body: dict[str, Any]) -> tuple[dict[str, Any], int, dict[str, str]]:
    """Open an episode on a task"""
    episode, replayed = service.open_episode(current(), body, http.idempotency(current(), headers))
    return episode, 201, http.created_headers(f"/episodes/{episode['id']}", replayed=replayed)


@blueprint.route("/episodes")
@blueprint.needs("read")
@blueprint.arguments(EpisodeQuery, location="query")
@blueprint.response(200, EpisodePageSchema)
@blueprint.problems(422)
def list_episodes(query: dict[str, Any]) -> dict[str, Any]:
    """List episodes, newest first"""
    return reading.list_episodes(current(), query)


@blueprint.route("/episodes/<id:episode_id>")
@blueprint.needs("read")
@blueprint.response(200, EpisodeSchema)
@blueprint.problems(404)
def get_episode(episode_id: str) -> dict[str, Any]:
    """Read an episode and its history"""
    return service.get_episode(current(), episode_id)


@blueprint.route("/episodes/<id:episode_id>/cancel", methods=["POST"])
@blueprint.needs("submit")
@blueprint.response(200, EpisodeSchema)
@blueprint.problems(404)
def cancel_episode(episode_id: str) -> dict[str, Any]:
    """End an episode and cancel its unfinished work"""
    return service.cancel_episode(current(), episode_id)
