"""`/tasks`"""

from typing import Any

from app.blueprint import ApiBlueprint
from app.context import current
from app.schemas.tasks import TaskDetailSchema, TaskPageSchema, TaskQuery
from app.services import tasks as service

blueprint = ApiBlueprint("tasks", __name__, description="What can be solved.")


@blueprint.route("/tasks")
@blueprint.arguments(TaskQuery, location="query")
@blueprint.response(200, TaskPageSchema)
@blueprint.problems(422)
def list_tasks(query: dict[str, Any]) -> dict[str, Any]:
    """List the catalogue"""
    return service.list_tasks(current(), query)


@blueprint.route("/tasks/<path:task_id>")
@blueprint.response(200, TaskDetailSchema)
@blueprint.problems(404)
def get_task(task_id: str) -> dict[str, Any]:
    """Read a task with its reference source; the id contains a slash"""
    return service.get_task(current(), task_id)
