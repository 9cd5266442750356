"""The document that clients are generated from, and its page."""

import re

import httpx
from openapi_spec_validator import validate

ROUTES = {
    ("post", "/episodes"),
    ("get", "/episodes/{episode_id}"),
    ("post", "/submissions"),
    ("get", "/submissions/{submission_id}"),
    ("get", "/tasks"),
    ("get", "/tasks/{task_id}"),
    ("get", "/healthz"),
}


def test_the_document_is_valid_openapi_3_1(api: httpx.Client) -> None:
    document = api.get("/openapi.json").json()
    validate(document)
    assert document["openapi"].startswith("3.1")
    assert {(method, path) for path, item in document["paths"].items() for method in item} >= ROUTES


def test_every_refusal_is_documented_as_a_problem(api: httpx.Client) -> None:
    document = api.get("/openapi.json").json()
    for name, response in document["components"]["responses"].items():
        assert list(response["content"]) == ["application/problem+json"], name


def test_the_page_needs_nobody_elses_server(api: httpx.Client) -> None:
    page = api.get("/docs", follow_redirects=True)
    assert page.status_code == 200
    sources = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert sources
    for source in sources:
        assert source.startswith("/docs/")
        assert api.get(source).status_code == 200
