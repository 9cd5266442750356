"""No endpoint shows or touches another project's objects: every route of the application is tried, also a new one."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from werkzeug.routing import Rule

from app.context import make_context
from app.factory import create_app
from grading.settings import Settings
from tests.app.conftest import Keyed
from tests.app.test_bad_input import assert_problem
from tests.app.test_episodes import TASK, source

RUN = "hush-run"
SLOW = source("correct eval_s=60\n# hush-code")
# what stands in paths and is nobody's
PUBLIC = {"task_id": TASK, "path": "index.css"}
# what a list may be filtered by
FILTERS = {"ids": "submission_id", "run_id": "run_id", "episode_id": "episode_id", "batch_id": "batch_id"}


@pytest.fixture(scope="module")
def ours(keyed: Keyed) -> Iterator[httpx.Client]:
    with keyed.client("hush-ours", "admin") as made:
        yield made


@pytest.fixture(scope="module")
def theirs(keyed: Keyed) -> Iterator[httpx.Client]:
    """Everything that a key of another project could allow."""
    with keyed.client("theirs", "admin") as made:
        yield made


@pytest.fixture(scope="module")
def objects(ours: httpx.Client) -> Iterator[dict[str, str]]:
    """One of everything, by the name that it has in paths, with work that is still going on."""
    labels = {"labels": {"hush-label": "hush"}}
    episode = ours.post("/episodes", json={"task_id": TASK, "run_id": RUN, **labels}).json()
    running = ours.post("/submissions", json={"episode_id": episode["id"], "code": SLOW, **labels}).json()
    item = {"custom_id": "hush-item", "task_id": TASK, "code": SLOW, "run_id": RUN}
    batch = ours.post("/batches", json={"items": [item]}).json()
    yield {
        "episode_id": episode["id"],
        "submission_id": running["id"],
        "batch_id": batch["id"],
        "run_id": RUN,
    }
    assert ours.post(f"/runs/{RUN}/cancel").json()["cancelled"] == 2


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> list[Rule]:
    """Every route of the application itself, documented or not."""
    folder = tmp_path_factory.mktemp("routes")
    settings = {"KERNEL_ENV_DATA_DIR": str(folder), "KERNEL_ENV_EVALUATOR": "mock", "DATABASE_URL": ""}
    return list(create_app(make_context(Settings.load(settings))).url_map.iter_rules())


def methods(rule: Rule) -> set[str]:
    return (rule.methods or set()) - {"OPTIONS"}


def address(rule: Rule, values: Mapping[str, str]) -> str:
    """The path of a route, every name in it filled in. A name that nobody has explained here fails the test."""
    path = str(rule.rule)
    for name in rule.arguments:
        known = {**values, **PUBLIC}
        assert name in known, f"{rule.rule}: whose is {name}? Say so in `objects` or in PUBLIC"
        converter = next(part for part in path.split("<")[1:] if part.partition(">")[0].rpartition(":")[2] == name)
        path = path.replace(f"<{converter.partition('>')[0]}>", known[name])
    return path


def everything(ours: httpx.Client, objects: Mapping[str, str]) -> list[Any]:
    """What its owner sees of each, less what goes on by itself."""
    places = {"episode_id": "episodes", "submission_id": "submissions", "batch_id": "batches"}
    found = [ours.get(f"/{folder}/{objects[name]}").json() for name, folder in places.items()]
    assert found[0]["status"] == "active"
    assert found[1]["error"] is None
    assert found[2]["ended"] == 0
    return [(row["id"], row["created_at"], row.get("labels"), row.get("error")) for row in found]


def test_every_route_to_an_object_is_closed_to_others(
    rules: list[Rule], objects: dict[str, str], ours: httpx.Client, theirs: httpx.Client
) -> None:
    before, tried = everything(ours, objects), 0
    for rule in rules:
        if not rule.arguments & objects.keys():
            continue
        for method in methods(rule):
            response = theirs.request(method, address(rule, objects))
            if method == "HEAD":
                assert (response.status_code, response.content) == (404, b"")
            else:
                assert_problem(response, 404, "not_found")
            assert not any(word in response.text for word in ("hush-label", "hush-item", "hush-code"))
            tried += 1
    assert tried >= 20
    assert everything(ours, objects) == before


def test_no_other_route_tells_of_them(
    rules: list[Rule], objects: dict[str, str], ours: httpx.Client, theirs: httpx.Client
) -> None:
    def tells(client: httpx.Client, path: str, query: Mapping[str, str] | None = None) -> bool:
        response = client.get(path, params=query)
        assert response.status_code == 200, path
        return any(word in response.text for word in ("hush", *(objects[n] for n in objects if n != "run_id")))

    documented = theirs.get("/openapi.json").json()["paths"]
    told = set()
    for rule in rules:
        if "GET" not in methods(rule) or rule.arguments & objects.keys():
            continue
        path = address(rule, objects)
        parameters = {p["name"] for p in documented.get(path, {}).get("get", {}).get("parameters", ()) if "name" in p}
        queries = [{name: objects[FILTERS[name]]} for name in FILTERS.keys() & parameters]
        for query in [{}, *queries]:
            assert not tells(theirs, path, query), (path, query)
            if tells(ours, path, query):
                told.add((path, *query))
    # the words would have been found, had they been there
    assert told >= {("/episodes",), ("/submissions",), ("/submissions", "batch_id"), ("/submissions", "ids")}


@pytest.fixture
def strangers(keyed: Keyed) -> Iterator[httpx.Client]:
    """A third project, which has a run of the same name."""
    with keyed.client("strangers", "admin") as made:
        yield made


def test_nothing_can_be_made_of_them(
    rules: list[Rule], objects: dict[str, str], ours: httpx.Client, strangers: httpx.Client
) -> None:
    turn = {"episode_id": objects["episode_id"], "code": source("correct")}
    bodies: dict[str, list[tuple[dict[str, Any], str | None]]] = {
        "/episodes": [({"task_id": TASK, "run_id": RUN}, None)],
        "/submissions": [(turn, "not_found"), ({"task_id": TASK, "code": SLOW, "dedupe": "run", "run_id": RUN}, None)],
        "/batches": [({"items": [{"custom_id": "a", **turn}]}, None)],
    }
    makers = {str(rule.rule) for rule in rules if "POST" in methods(rule) and not rule.arguments}
    assert makers == bodies.keys(), "say what a stranger could try there"
    before = everything(ours, objects)
    for path, tries in bodies.items():
        for body, code in tries:
            response = strangers.post(path, json=body)
            if code is not None:
                assert_problem(response, 404, code)
            made = response.json()
            assert not any(name in json.dumps(made) for name in (objects["submission_id"], objects["batch_id"]))
            if path == "/batches":
                assert made["items"][0]["problem"]["code"] == "not_found"
    # the same name of a run is another run: theirs ends, and ours goes on
    assert strangers.get(f"/runs/{RUN}").json()["episodes"]["active"] == 1
    assert strangers.post(f"/runs/{RUN}/cancel").json()["cancelled"] == 1
    assert everything(ours, objects) == before
