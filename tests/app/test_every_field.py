"""Bad input for every field of every endpoint, derived from the OpenAPI document: a new field is tried as well."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.app.conftest import Keyed
from tests.app.test_bad_input import DEEP, JSON, TASK, assert_problem
from tests.app.test_connections import request

Schema = dict[str, Any]

MIB = 1024 * 1024
# a valid body of each endpoint that takes one, into which one bad field at a time is put
VALID: dict[str, Schema] = {
    "/episodes": {"max_turns": 1},
    "/submissions": {"task_id": TASK, "code": "x"},
    "/batches": {"items": [{"custom_id": "a", "task_id": TASK, "code": "x"}]},
}
ITEM = VALID["/batches"]["items"][0]
# by name, where the schema says it in words alone
TOO_LARGE = {"code": "x" * (256 * 1024 + 1)}
NOWHERE = "x" * 30


@pytest.fixture(scope="module")
def document(api: httpx.Client) -> Schema:
    found: Schema = api.get("/openapi.json").json()
    return found


def resolved(document: Schema, schema: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    found: Schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def filled(path: str, name: str = NOWHERE) -> str:
    """A path with a name in it, which nothing has, or a task's."""
    path = path.replace("{task_id}", TASK)
    before, _, after = path.partition("{")
    return before + name + after.partition("}")[2] if after else path


def bad_values(schema: Schema) -> Iterator[Any]:
    """What a field with this schema must not take: other types, other sizes, text that no database holds."""
    kind = schema["type"]
    yield None
    yield {"a": {"b": []}} if kind != "object" else []
    yield [] if kind != "array" else {}
    if kind == "string":
        yield from (5, True, "a\x00b", "\ud800", ["x"])
        if "enum" in schema:
            yield from ("", "nothing of it", schema["enum"][0].upper())
        if "maxLength" in schema:
            yield "é" * (schema["maxLength"] + 1)
        if schema.get("minLength"):
            yield ""
        if "{1,128}" in schema.get("pattern", ""):
            yield from ("", "x" * 129, "a/b", "a\nb", "..")
    elif kind in ("integer", "number"):
        yield from ("1", True, schema["minimum"] - 1, schema["maximum"] * 10 + 1, -(10**30), 1e300)
        if kind == "integer":
            yield schema["minimum"] + 0.5
    elif kind == "object":
        most = schema["maxProperties"]
        yield from ("x", 5, {"": "x"}, {"a": 1}, {"a": None}, {"a": "x\x00"}, {"a\x00": "x"}, {"a": "\udfff"})
        yield from ({str(n): "" for n in range(most + 1)}, {"x" * 65: ""}, {"a": "x" * 257})
    elif kind == "array":
        yield from ("x", 5, [])
        yield from ([5], [None], ["x"], [[]], [ITEM] * (schema["maxItems"] + 1))


def bodies(document: Schema) -> dict[str, Schema]:
    """The schema of the body of each endpoint that takes one."""
    return {
        path: resolved(document, item["post"]["requestBody"]["content"]["application/json"]["schema"])
        for path, item in document["paths"].items()
        if "requestBody" in item.get("post", {})
    }


def post(api: httpx.Client, path: str, body: Any) -> httpx.Response:
    return api.post(path, content=json.dumps(body).encode(), headers=JSON)


def test_every_field_of_every_body(api: httpx.Client, document: Schema) -> None:
    found = bodies(document)
    assert found.keys() == VALID.keys(), "say here what a valid body is"
    tried = 0
    for path, schema in found.items():
        for name, field in schema["properties"].items():
            for value in bad_values(resolved(document, field)):
                problem = assert_problem(post(api, path, {**VALID[path], name: value}), 422)
                told = [error["pointer"] for error in problem["errors"]]
                assert any(pointer == "#" or pointer.startswith(f"#/{name}") for pointer in told), (name, value)
                assert problem["retryable"] is False
                tried += 1
        assert_problem(post(api, path, {**VALID[path], "no_such_field": 1}), 422)
        for name in schema.get("required", ()):
            assert_problem(post(api, path, {k: v for k, v in VALID[path].items() if k != name}), 422)
    assert tried > 150


def test_every_field_of_a_batchs_item(api: httpx.Client, document: Schema) -> None:
    fields = document["components"]["schemas"]["BatchItem"]["properties"]
    bad = [(name, value) for name, field in fields.items() for value in bad_values(resolved(document, field))]
    bad += TOO_LARGE.items()
    for start in range(0, len(bad), 256):
        part = bad[start : start + 256]
        items = [{**ITEM, "custom_id": f"item-{n}", name: value} for n, (name, value) in enumerate(part)]
        answer = post(api, "/batches", {"items": items})
        assert answer.status_code == 200, answer.text  # all are refused, so there is nothing to wait for
        for (name, value), place in zip(part, answer.json()["items"], strict=True):
            problem = place["problem"]
            assert problem is not None, (name, value)
            assert problem["status"] == (413 if name in TOO_LARGE and value == TOO_LARGE[name] else 422)
            told = [error["pointer"] for error in problem["errors"]]
            start_of_item = f"#/items/{place['index']}"
            assert any(p == start_of_item or p.startswith(f"{start_of_item}/{name}") for p in told), (name, told)


def bad_texts(schema: Schema) -> Iterator[str]:
    """What a parameter with this schema must not take, as it stands in a query."""
    kind = schema["type"]
    if kind in ("integer", "number"):
        yield from ("", "x", "nan", "inf", "1_0", "²", "0x1", " 1", "1,5", "\x00", "9" * 400 + "x")
        yield str(schema["minimum"] - 1)
        if "maximum" in schema:
            yield str(schema["maximum"] + 1)
    elif kind == "boolean":
        yield from ("", "1", "yes", "TRUE", "\x00")
    elif kind == "array":
        yield from ("", ",", "\x00", "nothing of it", "💩", ",".join(["x"] * 200))
    else:
        yield "a\x00b"
        if schema.get("minLength") or ("pattern" in schema and schema["pattern"] != r"^[^\u0000]*$"):
            yield ""
        if "enum" in schema or ("pattern" in schema and "maxLength" not in schema):
            yield from ("a/b\n", "..", "x" * 1000)
        if "maxLength" in schema:
            yield "x" * (schema["maxLength"] + 1)


def test_every_parameter_of_every_query(api: httpx.Client, document: Schema) -> None:
    tried = set()
    for path, item in document["paths"].items():
        concrete = filled(path)
        for method in item.keys() - {"parameters"}:
            operation = item[method]
            for parameter in operation.get("parameters", ()):
                if parameter.get("in") != "query":
                    continue
                name = parameter["name"]
                for text in bad_texts(parameter["schema"]):
                    response = api.request(method, f"{concrete}?{name}={quote(text)}", json=VALID.get(path))
                    problem = assert_problem(response, 422, "invalid_request")
                    told = [error["pointer"] for error in problem["errors"]]
                    assert all(pointer.startswith(f"?{name}") for pointer in told), (path, name, text, told)
                    tried.add((path, name))
            if any(parameter.get("in") == "query" for parameter in operation.get("parameters", ())):
                response = api.request(method, f"{concrete}?no_such=1", json=VALID.get(path))
                assert_problem(response, 422, "invalid_request")
    assert len(tried) >= 20


def test_every_name_in_every_path(api: httpx.Client, document: Schema) -> None:
    names = ["%00", "%FF", "%F0%9F%92%A9%00", "x" * 3000, "%0A", "..%2f..%2fetc%2fpasswd", "%2e%2e", "nobody-has-this"]
    tried = 0
    for path, item in document["paths"].items():
        if "{" not in path:
            continue
        for method in item.keys() - {"parameters"}:
            for name in names:
                before, _, after = path.partition("{")
                response = api.request(method, before + name + after.partition("}")[2])
                # nothing that is wrong in a name is worse than its not being there
                assert response.status_code in (404, 405), (path, name, response.text)
                assert response.headers["Content-Type"] == "application/problem+json"
                tried += 1
    assert tried > 100


def test_every_body_of_another_kind(api: httpx.Client, document: Schema) -> None:
    for path in bodies(document):
        limit = 32 * MIB if path == "/batches" else MIB
        assert_problem(api.post(path, content=b"{", headers=JSON), 400, "malformed_json")
        assert_problem(api.post(path, content=DEEP.encode(), headers=JSON), 400, "malformed_json")
        assert_problem(api.post(path, content=b'{"run_id": "\xff"}', headers=JSON), 400, "malformed_json")
        assert_problem(api.post(path, content=b"[]", headers=JSON), 422, "invalid_request")
        for media_type in ("text/plain", "application/xml", "multipart/form-data; boundary=x", "application/jsonx"):
            response = api.post(path, content=b"{}", headers={"Content-Type": media_type})
            assert_problem(response, 415, "unsupported_media_type")
        too_large = api.post(path, content=b" " * (limit + 1), headers=JSON)
        assert_problem(too_large, 413, "body_too_large")
        if path != "/batches":
            assert_problem(api.post(path, content=b" " * 10_000_000, headers=JSON), 413, "body_too_large")


def test_a_body_of_just_the_largest_size_is_read(api: httpx.Client) -> None:
    padded = json.dumps(VALID["/submissions"]).encode()
    sent = api.post("/submissions", content=padded + b" " * (MIB - len(padded)), headers=JSON)
    assert sent.status_code == 202
    padded = json.dumps(VALID["/batches"]).encode()
    sent = api.post("/batches", content=padded + b" " * (32 * MIB - len(padded)), headers=JSON)
    assert sent.status_code == 202


def test_every_slow_body_is_given_up_on(keyed: Keyed, document: Schema) -> None:
    url, token = httpx.URL(keyed.url), keyed.key("slow-bodies")

    def send_part(path: str) -> bytes:
        with socket.create_connection((url.host, url.port or 80), timeout=60) as slow:
            slow.sendall(request("POST", path, token, b"{", 100))
            return slow.makefile("rb").read()

    paths = list(bodies(document))
    with ThreadPoolExecutor(len(paths)) as pool:
        for answer in pool.map(send_part, paths):
            assert answer.startswith(b"HTTP/1.1 408"), answer
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "body_too_slow"


def test_every_other_method_is_refused_with_those_that_there_are(api: httpx.Client, document: Schema) -> None:
    for path, item in document["paths"].items():
        concrete = filled(path)
        offered = {method.upper() for method in item if method != "parameters"}
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "BREW"} - offered:
            response = api.request(method, concrete)
            assert_problem(response, 405, "method_not_allowed")
            assert offered <= set(response.headers["Allow"].split(", "))


@pytest.mark.parametrize("accept", ["text/html", "application/xml;q=0.9, image/*", "*/*;q=0", "no such thing", ""])
def test_whatever_is_accepted_the_answer_is_as_documented(api: httpx.Client, accept: str) -> None:
    headers = {"Accept": accept, "Accept-Language": "tlh", "Accept-Charset": "utf-16"}
    found = api.get("/meta", headers=headers)
    assert (found.status_code, found.headers["Content-Type"]) == (200, "application/json")
    assert_problem(api.get("/nowhere", headers=headers), 404, "not_found")
