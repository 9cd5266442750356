"""`/tasks`"""

from typing import Any

from app.blueprint import ApiBlueprint
from app.context import current
from app.schemas.tasks import LeaderboardQuery, LeaderboardSchema, TaskDetailSchema, TaskPageSchema, TaskQuery
from app.services import leaderboards
from app.services import tasks as service

blueprint = ApiBlueprint("tasks", __name__, description="What can be solved.")


@blueprint.route("/tasks")
@blueprint.needs("read")
@blueprint.arguments(TaskQuery, location="query")
@blueprint.response(200, TaskPageSchema)
@blueprint.problems(422)
def list_tasks(query: dict[str, Any]) -> dict[str, Any]:
    """List the catalogue"""
    return service.list_tasks(current(), query)


@blueprint.route("/tasks/<task:task_id>")
@blueprint.needs("read")
@blueprint.response(200, TaskDetailSchema)
@blueprint.problems(404)
def get_task(task_id: str) -> dict[str, Any]:
    """Read a task with its reference source; the id contains a slash"""
    return service.get_task(current(), task_id)


@blueprint.route("/tasks/<task:task_id>/leaderboard")
@blueprint.needs("read")
@blueprint.arguments(LeaderboardQuery, location="query")
@blueprint.response(200, LeaderboardSchema)
@blueprint.problems(404, 422)
def get_leaderboard(query: dict[str, Any], task_id: str) -> dict[str, Any]:
    """Read the best correct verdicts on a task, each source once"""
    return leaderboards.leaderboard(current(), task_id, query)
