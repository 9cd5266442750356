"""Rows of the first release keep their meaning through every migration, up and down, on both databases."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from grading import jobs
from grading.db import Database
from grading.models import Base
from launcher.demo_server import OwnServer
from tests.grading.support import must_claim, open_builder, open_slot, submit
from tests.migrations.first_release import ANSWERS, FIRST, SAVED, answered, fill, migrate, read
from tests.services import postgres

# what the sources of the rows that waited or ran ask the mock evaluator for
STILL_TO_COME = {
    "running": ("correct", 3.0),
    "waiting_next_turn": ("correct", 4.0),
    "waiting_high": ("correct", 1.5),
    "waiting_normal": ("incorrect", None),
    "waiting_low": ("correct", 2.0),
    "waiting_cuda": ("correct", 2.0),
}
HELD = {"going_episode", "held_episode"}  # episodes that go on


@pytest.fixture(params=["postgres", "sqlite"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database of the first release, without rows."""
    if request.param == "sqlite":
        db = Database(f"sqlite:///{tmp_path / 'old.db'}")
        migrate(db, FIRST)
        yield db
        db.dispose()
        return
    with postgres.database() as url:
        db = Database(url.replace("postgresql://", "postgresql+psycopg://"))
        migrate(db, FIRST)
        yield db
        db.dispose()


def test_up_and_down_again_changes_no_row_and_the_schema_is_that_of_the_models(old: Database) -> None:
    fill(old)
    before = read(old)
    assert all(before.values()), "a table without a row proves nothing"
    migrate(old, "head")
    with old.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": False})
        assert compare_metadata(context, Base.metadata) == []
    migrate(old, FIRST)
    assert read(old) == before


def test_an_upgraded_installation_answers_as_before_and_grades_what_waited_and_what_ran(old: Database) -> None:
    later_ms = fill(old)
    url = old.engine.url.render_as_string(hide_password=False)
    # a builder beside the grader, so that what is to be built goes another way than the rest
    settings = {"KERNEL_ENV_EVALUATOR": "mock", "KERNEL_ENV_BUILDERS": "1", "KERNEL_ENV_REAP_S": "0.5"}
    settings |= {"KERNEL_ENV_LEASE_S": "2", "KERNEL_ENV_RENEW_S": "0.5", "DATABASE_URL": url}
    with OwnServer(**settings) as server, httpx.Client(base_url=server.url, timeout=90, trust_env=False) as api:
        for name in ANSWERS.keys() - STILL_TO_COME.keys() - HELD:
            then = answered(name, later_ms)
            then.pop("queue", None)  # what waits in vain has a place of its own now
            assert as_then(today(api, then["id"]), then) == then, name
        for name, (verdict, speedup) in STILL_TO_COME.items():
            found = api.get(f"/submissions/{ANSWERS[name]['id']}?wait=60").json()
            assert (found["status"], found["verdict"]) == ("completed", verdict), name
            assert found["result"]["speedup"] == (None if speedup is None else pytest.approx(speedup, rel=0.01)), name
        lost = api.get(f"/submissions/{ANSWERS['running']['id']}/attempts").json()["data"]
        assert [attempt["outcome"] for attempt in lost] == ["lost", "verdict"]
        goes_on(api)
        repeats(api)
        assert api.get(f"/batches/{SAVED['tables']['batches'][0]['id']}").json()["counts"]["refused"] == 1


def test_a_release_without_builders_finds_what_builders_had_in_its_own_words(old: Database) -> None:
    migrate(old, "head")
    builder = open_builder(old)
    open_slot(old)
    ready, compiling, queued = (submit(old, language="cuda") for _ in range(3))
    claim = must_claim(old, builder)
    jobs.make_ready(old, claim.submission_id, claim.fence, [], {"build": 1.0})
    assert claim.submission_id == ready.id
    assert must_claim(old, builder).submission_id == compiling.id
    migrate(old, FIRST)
    rows = read(old)
    found = {row["id"]: row for row in rows["submissions"]}
    assert [found[each.id]["status"] for each in (ready, compiling, queued)] == ["ready", "compiling", "queued"]
    assert {(row["lane"], row["needs_build"]) for row in found.values()} == {('[1, null, "project", null]', False)}
    assert [row["outcome"] for row in rows["attempts"]] == ["handed_back", None]
    assert [row["id"] for row in rows["slots"]] == ["gpu-0"], "a builder would be taken for a GPU"


def today(api: httpx.Client, name: str) -> Any:
    """What is told of an object now."""
    return api.get(f"/{'submissions' if name.startswith('sub_') else 'episodes'}/{name}").json()


def as_then(told: Any, then: Any) -> Any:
    """Without what answers have had added since."""
    if isinstance(told, dict) and isinstance(then, dict):
        return {key: as_then(told[key], then[key]) for key in then.keys() & told.keys()}
    return told


def goes_on(api: httpx.Client) -> None:
    """The episode whose third turn waited has that turn now, and takes its last one."""
    episode_id = ANSWERS["going_episode"]["id"]
    saved = ANSWERS["going_episode"]["history"]
    found = api.get(f"/episodes/{episode_id}").json()
    assert found["history"][: len(saved)] == saved
    assert (found["turn"], found["status"], len(found["history"])) == (4, "active", 3)
    code = api.get(f"/submissions/{ANSWERS['right']['id']}/code").text
    last = api.post("/submissions?wait=60", json={"episode_id": episode_id, "code": code, "turn": 4}).json()
    assert (last["verdict"], last["turn"]) == ("correct", 4)
    assert api.get(f"/episodes/{episode_id}").json()["status"] == "finished"
    again = api.get(f"/episodes/{ANSWERS['held_episode']['id']}").json()
    assert [turn["submission_id"] for turn in again["history"]] == [ANSWERS["running"]["id"]]


def repeats(api: httpx.Client) -> None:
    """A client that repeats a request of the time before the upgrade gets what it made then."""
    waited = ANSWERS["waiting_next_turn"]
    code = api.get(f"/submissions/{waited['id']}/code").text
    headers = {"Idempotency-Key": "turn-3"}
    again = api.post("/submissions", json={"episode_id": waited["episode_id"], "code": code}, headers=headers)
    assert (again.json()["id"], again.headers["Idempotency-Replayed"]) == (waited["id"], "true")
    assert api.post(f"/submissions/{ANSWERS['wrong']['id']}/regrade").json()["regrade_of"] == ANSWERS["wrong"]["id"]
