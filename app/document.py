"""What the generated OpenAPI document cannot say by itself: rules between fields, tasks, keys, headers, links."""

from collections.abc import Iterator
from typing import Any

from app.auth import SCHEME
from app.context import Context
from app.schemas.batches import LENIENT_ITEMS
from app.schemas.episodes import ONE_SOURCE
from app.schemas.fields import LABEL_NAME_MAX, NO_NUL
from app.schemas.submissions import ONE_TARGET

Json = dict[str, Any]

SCHEMAS = "#/components/schemas/"
SENDS_TASKS = ("EpisodeCreate", "SubmissionCreate", "BatchItem")
RULES: dict[str, Json] = {"EpisodeCreate": ONE_SOURCE, "SubmissionCreate": ONE_TARGET, "BatchItem": ONE_TARGET}
VERSION: Json = {
    "API-Version": {"description": "The version of this contract.", "required": True, "schema": {"type": "string"}}
}
RATE: Json = {
    "RateLimit": {"description": '`"requests";r=LEFT;t=SECONDS`', "schema": {"type": "string"}},
    "RateLimit-Policy": {"description": '`"requests";q=QUOTA;w=SECONDS`', "schema": {"type": "string"}},
}
RETRY: Json = {
    "Retry-After": {"description": "Seconds to wait.", "required": True, "schema": {"type": "integer", "minimum": 1}}
}
CHALLENGE: Json = {
    "WWW-Authenticate": {"description": "What is asked for.", "required": True, "schema": {"type": "string"}}
}
# which paths take the id of an object that a POST has made: (POST, status codes, parameter)
MADE = (
    ("/episodes", ("201",), "episode_id"),
    ("/submissions", ("200", "202"), "submission_id"),
    ("/batches", ("200", "202"), "batch_id"),
)


def finish(document: Json, ctx: Context) -> Json:
    """The document with everything in it; changes what it is given."""
    schemas = document["components"]["schemas"]
    _name_tasks(schemas, ctx)
    _name_tasks_in_paths(document["paths"], ctx)
    for name, rule in RULES.items():
        schemas[name].update(rule)
        schemas[name]["properties"]["labels"] = _labels(schemas[name]["properties"]["labels"])
    schemas["BatchCreate"]["properties"]["items"]["items"] = LENIENT_ITEMS
    schemas.pop("PaginationMetadata", None)
    _require_keys(document, ctx)
    for operation in _operations(document):
        operation["responses"].pop("default", None)
        scope = operation.pop("x-scope", None)
        if scope is not None:
            operation["description"] = f"Scope: `{scope}`."
    _drop_unused_responses(document)
    _name_headers(document, ctx)
    _link(document["paths"])
    return document


def _name_tasks(schemas: Json, ctx: Context) -> None:
    """Only tasks that are there and can be graded are taken."""
    ids = [task.task_id for task in ctx.tasks.list(supported=True)]
    schemas["TaskId"] = {"type": "string", "enum": ids, "description": "A task that submissions are taken for."}
    for name in SENDS_TASKS:
        given = schemas[name]["properties"]["task_id"]
        schemas[name]["properties"]["task_id"] = {
            "$ref": f"{SCHEMAS}TaskId",
            "description": given.get("description", ""),
        }


def _name_tasks_in_paths(paths: Json, ctx: Context) -> None:
    """Those that cannot be graded can be looked at."""
    ids = [task.task_id for task in ctx.tasks]
    for item in paths.values():
        for parameter in item.get("parameters", ()):
            if parameter["name"] == "task_id":
                parameter["schema"] = {"type": "string", "enum": ids}


def _labels(schema: Json) -> Json:
    names = {"minLength": 1, "maxLength": LABEL_NAME_MAX, "pattern": NO_NUL}
    return {name: value for name, value in schema.items() if name != "maxLength"} | {"propertyNames": names}


def _require_keys(document: Json, ctx: Context) -> None:
    if ctx.gate.required:
        told = "An API key; `python -m grading.cli keys` makes them."
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": SCHEME, "description": told}}
        document["security"] = [{"key": []}]


def _operations(document: Json) -> Iterator[Json]:
    for item in document["paths"].values():
        yield from (operation for name, operation in item.items() if name != "parameters")


def _drop_unused_responses(document: Json) -> None:
    used = {
        response["$ref"].rpartition("/")[2]
        for operation in _operations(document)
        for response in operation["responses"].values()
        if "$ref" in response
    }
    responses = document["components"]["responses"]
    document["components"]["responses"] = {name: responses[name] for name in sorted(used)}


def _name_headers(document: Json, ctx: Context) -> None:
    common = VERSION | (RATE if ctx.gate.required else {})
    special = {"TOO_MANY_REQUESTS": RETRY, "SERVICE_UNAVAILABLE": RETRY, "UNAUTHORIZED": CHALLENGE}
    for name, response in document["components"]["responses"].items():
        response["headers"] = VERSION | special.get(name, {})
    for operation in _operations(document):
        for response in operation["responses"].values():
            if "$ref" not in response:
                response["headers"] = response.get("headers", {}) | common


def _link(paths: Json) -> None:
    """From what a POST makes to everything that can be done with it."""
    for made_by, statuses, parameter in MADE:
        links = {
            operation["operationId"]: {
                "operationId": operation["operationId"],
                "parameters": {parameter: "$response.body#/id"},
            }
            for path, item in paths.items()
            if f"{{{parameter}}}" in path
            for method, operation in item.items()
            if method != "parameters"
        }
        for status in statuses:
            paths[made_by]["post"]["responses"][status]["links"] = links
