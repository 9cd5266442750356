"""What is told, and what goes on, without a worker, without the broker and without the database."""

import signal
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import func, select

from grading.db import Database
from grading.migrate import upgrade
from grading.models import Submission
from tests.app.test_bad_input import TASK, assert_problem
from tests.services import postgres
from tests.services.api_alone import Alone, alone
from tests.services.broker import Broker
from tests.services.installation import wait_for

BODY = {"task_id": TASK, "code": "x"}


@pytest.fixture
def lone(postgres_url: str, broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alone]:
    with alone(postgres_url, broker, tmp_path_factory.mktemp("health")) as made:
        yield made


def test_without_a_broker_or_a_worker_work_is_taken_in(lone: Alone) -> None:
    ready = lone.api.get("/readyz").json()
    assert (ready["status"], ready["broker"], ready["workers"]) == ("ok", True, 1)
    with lone.here.db.write() as session:
        session.delete(session.merge(lone.slot))
    ready = lone.api.get("/readyz")
    assert (ready.status_code, ready.json()["status"], ready.json()["workers"]) == (200, "degraded", 0)
    assert lone.api.post("/submissions", json=BODY).status_code == 202
    lone.here.broker.kill()
    ready = lone.api.get("/readyz")
    assert (ready.status_code, ready.json()["status"], ready.json()["broker"]) == (200, "degraded", False)
    made = lone.api.post("/submissions", json=BODY)
    assert made.status_code == 202
    assert lone.api.get(f"/submissions/{made.json()['id']}?wait=0.5").json()["status"] == "queued"
    assert lone.api.post(f"/submissions/{made.json()['id']}/cancel").json()["status"] == "cancelled"


def test_without_the_database_that_is_what_is_told(
    session_broker: Broker, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with postgres.database() as plain:
        url = plain.replace("postgresql://", "postgresql+psycopg://")
        db = Database(url)
        upgrade(db)
        db.dispose()
        with alone(url, session_broker, tmp_path_factory.mktemp("away")) as lone:
            kept = lone.api.post("/submissions", json=BODY).json()["id"]
            set_reachable(plain, False)
            assert_problem(lone.api.get("/readyz"), 503, "unavailable")
            for response in (
                lone.api.post("/submissions", json=BODY),
                lone.api.post("/batches", json={"items": [{"custom_id": "a", **BODY}]}),
                lone.api.post("/episodes", json={}),
                lone.api.get(f"/submissions/{kept}"),
                lone.api.get("/queue"),
            ):
                problem = assert_problem(response, 503, "unavailable")
                assert problem["retryable"] is True
                assert int(response.headers["Retry-After"]) >= 1
            assert lone.api.get("/healthz").json()["status"] == "ok"
            assert "kernel_grader_database_up 0.0" in lone.api.get("/metrics").text
            assert lone.api.get("/openapi.json").status_code == 200
            set_reachable(plain, True)
            wait_for(lambda: lone.api.get("/readyz").status_code == 200, 30, "the database to be found again")
            assert lone.api.get(f"/submissions/{kept}").json()["status"] == "queued"


def set_reachable(url: str, reachable: bool) -> None:
    """Let everybody into a database again, or put everybody out."""
    server, _, name = url.rpartition("/")
    admin = f"{server}/postgres"
    postgres.execute(admin, f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS {str(reachable).lower()}')
    if not reachable:
        postgres.execute(admin, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")


def test_what_was_answered_survives_the_api(lone: Alone) -> None:
    answered = []
    for number in range(20):
        response = lone.api.post("/submissions", json={**BODY, "code": f"# {number}"})
        assert response.status_code == 202
        answered.append(response.json()["id"])
    batch = lone.api.post("/batches", json={"items": [{"custom_id": str(n), **BODY} for n in range(20)]}).json()
    lone.restart(signal.SIGKILL)
    with httpx.Client(base_url=lone.api.base_url, timeout=60, trust_env=False) as api:
        for name in answered:
            assert api.get(f"/submissions/{name}").json()["status"] == "queued"
        assert api.get(f"/batches/{batch['id']}").json()["counts"]["queued"] == 20
    with lone.here.db.read() as session:
        assert session.scalars(select(func.count()).select_from(Submission)).one() == 40


def test_every_answer_names_the_version_of_the_api(lone: Alone) -> None:
    for path in ("/healthz", "/readyz", "/meta", "/tasks", "/nowhere", "/openapi.json", "/metrics", "/docs/"):
        assert lone.api.get(path).headers["API-Version"] == lone.api.get("/meta").json()["api_version"], path
