"""Dashboard and alert rules ask for what a real scrape holds: names, labels and values of labels."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select

from grading import jobs
from grading.db import Database
from grading.models import Slot
from launcher.commands import REPOSITORY
from launcher.demo_server import OwnServer
from tests.compose.reading import raw
from tests.services import postgres
from tests.services.installation import TASK, cuda_source, source, wait_for

MONITORING = REPOSITORY / "docker"
RULES = yaml.safe_load((MONITORING / "prometheus" / "alerts.yml").read_text())["groups"][0]["rules"]
PANELS = json.loads((MONITORING / "grafana" / "dashboards" / "kernel_grader.json").read_text())["panels"]
METRIC = re.compile(r"(kernel_grader_\w+)(?:\{([^}]*)\})?")
# values that only trouble brings
RARE = {"quarantined|lost", "lost|fault", "failed", "500"}

Samples = dict[str, list[dict[str, str]]]


def expressions() -> Iterator[tuple[str, str]]:
    yield from ((rule["alert"], rule["expr"]) for rule in RULES)
    yield from ((panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"])


@pytest.fixture(scope="module")
def scraped() -> Iterator[Samples]:
    """The labels of every sample that Prometheus reads, by name, of a server at which a bit of everything happened."""
    settings = {"KERNEL_ENV_EVALUATOR": "mock", "KERNEL_ENV_BUILDERS": "1"}
    with (
        postgres.database() as url,
        OwnServer(DATABASE_URL=url, **settings) as server,
        httpx.Client(base_url=server.url, timeout=90, trust_env=False) as client,
    ):
        happen(client)
        note_canary(url)
        yield scrape(client)


def happen(client: httpx.Client) -> None:
    def send(code: str, wait: int, language: str = "triton") -> dict[str, Any]:
        body = {"task_id": TASK, "code": code, "language": language}
        answer: dict[str, Any] = client.post("/submissions", params={"wait": wait}, json=body).json()
        return answer

    wait_for(lambda: len(client.get("/workers").json()["data"]) == 2, 60, "slots")
    assert send(cuda_source(), 60, "cuda")["status"] == "completed"
    assert send("import subprocess", 60)["verdict"] == "format_violation"
    assert send(source("rejected_timing"), 60)["verdict"] == "rejected_timing"
    client.get("/submissions/sub_none")
    for salt in range(3):  # one runs, others wait
        send(source("correct eval_s=30", salt), 0)


def note_canary(url: str) -> None:
    """As a GPU's worker does; the mock has no device to look at."""
    db = Database(url.replace("postgresql://", "postgresql+psycopg://"))
    with db.read() as session:
        slot = session.scalars(select(Slot)).first()
    assert slot is not None
    jobs.note_canary(db, slot.id, slot.incarnation, {"kernels": {}, "drift_frac": 0.01})
    db.dispose()


def scrape(client: httpx.Client) -> Samples:
    found: Samples = defaultdict(list)
    for family in text_string_to_metric_families(client.get("/metrics").text):
        for sample in family.samples:
            found[sample.name].append(sample.labels)
    return found


def test_every_metric_label_and_value_is_in_a_real_scrape(scraped: Samples) -> None:
    asked = 0
    for where, expression in expressions():
        labels: set[str] = set()
        for name, selector in METRIC.findall(expression):
            asked += 1
            assert scraped[name], f"{where}: nothing called {name}"
            labels |= {label for sample in scraped[name] for label in sample}
            for label, _, value in re.findall(r'(\w+)(=~?)"([^"]*)"', selector):
                values = {sample.get(label) for sample in scraped[name]}
                assert values - {None}, f"{where}: {name} has no label {label}"
                assert value in RARE or set(value.split("|")) <= values, f"{where}: {name} has no {label}={value}"
        for group in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression):
            assert set(re.split(r",\s*", group)) <= labels, f"{where}: {group}"
    assert asked > 30


def test_every_metric_of_ours_is_shown_or_watched(scraped: Samples) -> None:
    shown = {name for _, expression in expressions() for name, _ in METRIC.findall(expression)}
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in scraped if name.startswith("kernel_grader_")}
    unseen = {name for name in families if not any(seen.startswith(name) for seen in shown)}
    assert unseen == {"kernel_grader_unfinished"}  # the queue's depth by another cut


def test_legends_name_labels_that_the_expression_keeps() -> None:
    for panel in PANELS:
        for target in panel["targets"]:
            named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            kept = re.findall(r"\bby \(([^)]*)\)", target["expr"])
            assert not kept or named <= set(re.split(r",\s*", kept[0])), panel["title"]


def test_alerts_say_how_bad_and_what() -> None:
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names)
    for rule in RULES:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"]["summary"]
    text = (REPOSITORY / "docs" / "operations.md").read_text()
    assert not [name for name in names if f"`{name}`" not in text], "operations.md says what to do about each"


def test_services_find_each_other() -> None:
    config = yaml.safe_load((MONITORING / "prometheus" / "prometheus.yml").read_text())
    job = config["scrape_configs"][0]
    (target,) = job["static_configs"][0]["targets"]
    host, port = target.split(":")
    assert raw()["services"][host]["environment"]["PORT"] == port
    command = raw()["services"]["prometheus"]["command"][0]
    assert f"> {job['authorization']['credentials_file']} " in command
    assert all((MONITORING / "prometheus" / name).exists() for name in config["rule_files"])
    (source_,) = yaml.safe_load((MONITORING / "grafana/provisioning/datasources/prometheus.yml").read_text())[
        "datasources"
    ]
    assert source_["url"] == "http://prometheus:9090"
    used = {panel["datasource"]["uid"] for panel in PANELS}
    assert used == {source_["uid"]}
    (provider,) = yaml.safe_load((MONITORING / "grafana/provisioning/dashboards/kernel_grader.yml").read_text())[
        "providers"
    ]
    assert any(provider["options"]["path"] in volume for volume in raw()["services"]["grafana"]["volumes"])
