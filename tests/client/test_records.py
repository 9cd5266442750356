"""The client's records and the server's OpenAPI document say the same: fields, types, and what may be null."""

import dataclasses
import types
from collections.abc import Mapping, Sequence
from typing import Any, Union, get_args, get_origin, get_type_hints

import httpx
import kernel_grader_client as client
import pytest
from kernel_grader_client.records import record

from launcher.demo_server import OwnServer

RECORDS: dict[type[Any], str] = {
    client.Attempt: "Attempt",
    client.Audit: "Audit",
    client.EpisodeState: "Episode",
    client.Failure: "SubmissionError",
    client.Kind: "Kind",
    client.Leader: "Leader",
    client.Meta: "Meta",
    client.Place: "Queue",
    client.Problem: "Problem",
    client.Queue: "QueueState",
    client.Result: "Result",
    client.Run: "Run",
    client.Submission: "Submission",
    client.Task: "Task",
    client.TaskDetail: "TaskDetail",
    client.Turn: "Turn",
    client.Worker: "Worker",
}
# what the client tells in another way, or its caller does not ask for
UNTYPED = {
    "BatchCreated": "create_batch gives the id alone",
    "Batch": "drain gives the endings alone",
    "BatchCounts": "part of a batch",
    "BatchPlace": "part of a batch",
    "BatchEnding": "an Ended",
    "Clocks": "a mapping in Meta",
    "EpisodePage": "a list that fetches its pages",
    "FieldError": "a pair in Problem",
    "Health": "alive gives whether it is ok",
    "PriorityCounts": "a mapping in Queue",
    "QueueRow": "mappings in Queue",
    "Ready": "for whoever watches the server",
    "Reward": "reward gives the number alone",
    "RunCancelled": "cancel_run gives the number alone",
    "RunRates": "a mapping in Run",
    "SubmissionPage": "a list that fetches its pages",
    "TaskPage": "a list that fetches its pages",
    "Leaderboard": "a list",
    "Timings": "a mapping in Submission",
    "Workers": "a list",
    "Attempts": "a list",
}
LEFT_OUT = {("Problem", "type")}  # `about:blank` in all of them
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}

Schema = dict[str, Any]


@pytest.fixture(scope="module")
def schemas(server: OwnServer) -> dict[str, Schema]:
    document = httpx.get(f"{server.url}/openapi.json", trust_env=False).json()
    found: dict[str, Schema] = document["components"]["schemas"]
    return found


def told_as(kind: Any) -> tuple[str, bool]:
    """The JSON type that an annotation stands for, and whether it may be null."""
    options = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    (main,) = [option for option in options if option is not type(None)]
    nullable = len(options) > 1
    if main in PLAIN:
        return PLAIN[main], nullable
    origin = get_origin(main) or main
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return "array", nullable
    assert issubclass(origin, Mapping) or dataclasses.is_dataclass(origin), kind
    return "object", nullable


def types_of(schemas: dict[str, Schema], schema: Schema) -> tuple[str, bool]:
    """The same of a schema."""
    if "$ref" in schema:
        return types_of(schemas, schemas[schema["$ref"].rpartition("/")[2]])
    parts = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or ()
    said = [types_of(schemas, part) for part in parts] if parts else []
    named = schema.get("type", [])
    names = {named} if isinstance(named, str) else set(named)
    names |= {name for name, _ in said}
    nullable = "null" in names or any(null for _, null in said)
    (name,) = names - {"null"} or {"null"}
    return name, nullable


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_a_record_has_the_fields_of_its_schema(kind: type[Any], schemas: dict[str, Schema]) -> None:
    name = RECORDS[kind]
    hints = get_type_hints(kind)
    ours = {
        each.metadata.get("key", each.name): told_as(hints[each.name])
        for each in dataclasses.fields(kind)
        if each.name != "raw"
    }
    theirs = {
        field: types_of(schemas, schema)
        for field, schema in schemas[name]["properties"].items()
        if (name, field) not in LEFT_OUT
    }
    assert ours == theirs


def test_every_schema_of_an_answer_is_thought_of(server: OwnServer, schemas: dict[str, Schema]) -> None:
    document = httpx.get(f"{server.url}/openapi.json", trust_env=False).json()
    answers = [
        response
        for item in document["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict)
        for status, response in operation["responses"].items()
        if status.startswith("2")
    ]
    assert reached(answers, schemas) == set(RECORDS.values()) | set(UNTYPED)


def reached(part: Any, schemas: dict[str, Schema]) -> set[str]:
    """The names of all schemas that a part of the document refers to, directly or not."""
    names: set[str] = set()
    waiting = [part]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            reference = str(node.get("$ref", ""))
            if reference.startswith("#/components/schemas/") and (name := reference.rpartition("/")[2]) not in names:
                names.add(name)
                waiting.append(schemas[name])
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return names


def test_servers_of_other_releases_are_understood() -> None:
    told = {"number": 1, "slot_id": "gpu-0", "outcome": None, "code": None, "detail": None}
    told |= {"started_at": "2026-01-31T12:00:00.000Z", "ended_at": None}
    assert record(client.Attempt, told).kind == "grade", "what an older one lacks keeps its default"
    assert record(client.Attempt, told | {"more": 1}).raw["more"] == 1, "what a newer one adds"
