"""The commands of docker-compose.yml, run for real: they come up healthy and grade a kernel between them."""

import json
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from launcher.ports import free_port
from tests.compose.reading import raw, read_env, services
from tests.compose.stack import Stack
from tests.compose.test_file import make_env
from tests.services import postgres
from tests.services.installation import REPOSITORY, TASK, wait_for

# programs of their images, none of ours: what is ours about them is configuration, which other tests read
FOREIGN = {"postgres", "prometheus", "grafana"}
RELU = (REPOSITORY / "examples" / "relu.py").read_text()
MARKER = "a-source-that-nobody-else-may-read"
MISSING = "nvidia-smi does not find GPU 0"
# what Flower's page asks for
FIRST_PAGE = {
    "draw": 1,
    "start": 0,
    "length": 15,
    "search[value]": "",
    "order[0][column]": 0,
    "columns[0][data]": "name",
}
DRAINED = ("worker-cpu", "compile", "flower", "reaper", "api")


@pytest.fixture
def variables(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What `make env` wrote, with names of our own on a database server that others use too."""
    assert make_env(tmp_path / ".env").returncode == 0
    name = f"kernel_grader_test_{secrets.token_hex(6)}"
    mine = {"POSTGRES_DB": name, "POSTGRES_USER": f"{name}_owner", "WORKER_DB_USER": f"{name}_worker"}
    quick = {"KERNEL_ENV_LOG_LEVEL": "debug", "KERNEL_ENV_EVAL_LOG": str(tmp_path / "evaluations.jsonl")}
    quick |= {"KERNEL_ENV_BUILDERS": "1", "KERNEL_ENV_GPUS": "0", "KERNEL_ENV_EVALUATOR": "cpu"}
    made = {**read_env((tmp_path / ".env").read_text()), **mine, **quick, "KERNEL_ENV_HOST": "compose"}
    with postgres.server() as admin:
        # as the image makes it
        postgres.execute(admin, f"CREATE ROLE {name}_owner LOGIN SUPERUSER PASSWORD '{made['POSTGRES_PASSWORD']}'")
        postgres.execute(admin, f"CREATE DATABASE {name} OWNER {name}_owner")
        try:
            yield {**made, "postgres:5432": urlsplit(admin).netloc.rpartition("@")[2]}
        finally:
            postgres.execute(admin, f"DROP DATABASE {name} WITH (FORCE)")
            for role in ("worker", "owner"):
                postgres.execute(admin, f"DROP ROLE IF EXISTS {name}_{role}")


@pytest.fixture
def stack(variables: dict[str, str], tmp_path: Path) -> Iterator[Stack]:
    ports = {name: str(free_port()) for name in ("PORT", "FLOWER_PORT", "REDIS_PORT")}
    hosts = {"postgres:5432": variables["postgres:5432"], "redis:6379": f"127.0.0.1:{ports['REDIS_PORT']}"}
    folder = tmp_path / "stack"
    folder.mkdir()
    made = Stack(services(variables), folder, hosts, ports)
    yield made
    made.kill()


@pytest.mark.timeout(600)
def test_the_file_grades_a_kernel(stack: Stack, variables: dict[str, str]) -> None:
    started = {"redis", "migrate", "api", "reaper", "worker-cpu", "compile", "flower", "worker"}
    assert started | FOREIGN == set(raw()["services"]), "a service that this test does not start"
    stack.start("redis")
    stack.wait_healthy("redis")
    stack.run("migrate")
    for name in DRAINED:
        stack.start(name)
    stack.wait_healthy("api", "flower", "compile", "worker-cpu", "reaper")

    url = f"http://127.0.0.1:{stack.environment('api')['PORT']}"
    with httpx.Client(base_url=url, timeout=90, trust_env=False) as client:
        assert client.post("/submissions", json={}).status_code == 401
        headers = {"Authorization": f"Bearer {variables['API_KEY']}"}
        body = {"task_id": TASK, "run_id": "run-1", "code": f"{RELU}\n# {MARKER}\n"}
        graded = client.post("/submissions", params={"wait": 60}, json=body, headers=headers).json()
        graded = client.get(f"/submissions/{graded['id']}", params={"wait": 60}, headers=headers).json()
        assert (graded["status"], graded["verdict"]) == ("completed", "correct"), graded
        assert graded["environment"]["device"] == "cpu"
        slots = {slot["role"]: slot["host"] for slot in client.get("/workers", headers=headers).json()["data"]}
        assert slots == {"grader": "compose", "builder": "compose"}
        metrics = client.get("/metrics", headers={"Authorization": f"Bearer {variables['METRICS_KEY']}"})
        assert 'kernel_grader_endings_total{status="completed",verdict="correct"} 1.0' in metrics.text

    flower = f"http://127.0.0.1:{stack.environment('flower')['FLOWER_PORT']}"
    assert httpx.get(f"{flower}/tasks", trust_env=False).status_code == 401
    login = (variables["FLOWER_USER"], variables["FLOWER_PASSWORD"])
    with httpx.Client(base_url=flower, auth=login, trust_env=False, timeout=30) as client:
        (task,) = client.get("/tasks/datatable", params=FIRST_PAGE).json()["data"]
        shown = [task[name] for name in ("name", "state", "kwargs", "result")]
        assert shown == ["grade", "SUCCESS", f"{graded['id']}, attempt 1", "correct"]
        queues = ("gpu.cpu.compose.0", "compile")
        wait_for(lambda: all(name in client.get("/broker").text for name in queues), 60, "queues in Flower")

    assert stack.stop("redis") == {"redis": 0}
    wait_for(lambda: "Connection refused" in stack.log("worker-cpu"), 60, "an outage", lambda: stack.log("worker-cpu"))
    stack.start("redis")
    stack.wait_healthy("redis")
    assert stack.stop(*DRAINED) == dict.fromkeys(DRAINED, 0)
    stack.run("migrate")  # as at every start
    stack.start("worker")
    if list(Path("/dev").glob("nvidia[0-9]*")):
        stack.wait_healthy("worker")
    else:
        wait_for(lambda: MISSING in stack.log("worker"), 60, MISSING, lambda: stack.log("worker"))
        assert stack.check("worker").returncode == 1
    logged_by_all = "".join(stack.log(name) for name in started) + Path(variables["KERNEL_ENV_EVAL_LOG"]).read_text()
    secret = {name: value for name, value in variables.items() if re.search(r"PASSWORD|SECRET|_KEY$", name)}
    told = {name for name, value in {**secret, "source": MARKER}.items() if value in logged_by_all}
    assert not told, f"logs tell {told}"
    events(Path(variables["KERNEL_ENV_EVAL_LOG"]).read_text(), graded["id"])
    events(stack.log("worker-cpu"), graded["id"])


def events(text: str, submission_id: str) -> None:
    """Every line of ours about a submission says which, of which run, in which attempt."""
    read = [json.loads(line) for line in text.splitlines() if line.startswith("{") and submission_id in line]
    lines = [line for line in read if not line.get("logger", "").startswith("celery.")]
    assert "step" in [line["event"] for line in lines]
    for line in lines:
        assert line["submission_id"] == submission_id, line
        assert (line["run_id"], line["episode_id"]) == ("run-1", None), line
        assert line["attempt"] >= (0 if line["event"] == "queued" else 1), line
