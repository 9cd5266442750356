"""Dashboard and alert rules ask for what a real scrape holds: names, labels and values of labels."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select

from evaluator.run_time_rules import RunTimeRule
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
# a server that never failed does not tell of it; all else is told as 0 before the first, or no alert would follow that
RARE = {"500"}
# what stays as it is while an installation does its work
STEADY = {"kernel_grader_database_up", "kernel_grader_slots", "kernel_grader_slot_lanes"}

Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]


class Scrapes(NamedTuple):
    """Two of one server, by name and labels: before anything happened, and while a bit of everything does."""

    before: Samples
    after: Samples


def expressions() -> Iterator[tuple[str, str]]:
    yield from ((rule["alert"], rule["expr"]) for rule in RULES)
    yield from ((panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"])


@pytest.fixture(scope="module")
def scrapes() -> Iterator[Scrapes]:
    settings = {"KERNEL_ENV_EVALUATOR": "mock", "KERNEL_ENV_BUILDERS": "1", "KERNEL_ENV_IDLE_LOOK_S": "0.5"}
    with (
        postgres.database() as url,
        OwnServer(DATABASE_URL=url, **settings) as server,
        httpx.Client(base_url=server.url, timeout=90, trust_env=False) as client,
    ):
        wait_for(lambda: slot_states(client) == ["ready", "ready"], 60, "slots")
        before = scrape(client)
        with ThreadPoolExecutor(1) as pool:
            running, *waiting = happen(client)
            note_canary(url)
            waiter = pool.submit(client.get, f"/submissions/{running}", params={"wait": 60})
            wait_for(lambda: sum(scrape(client)["kernel_grader_waiting_requests"].values()) == 1, 30, "a waiter")
            after = scrape(client)
            for submission_id in (*waiting, running):
                client.post(f"/submissions/{submission_id}/cancel")
            assert waiter.result().json()["status"] == "cancelled"
        yield Scrapes(before, after)


def slot_states(client: httpx.Client) -> list[str]:
    return [slot["state"] for slot in client.get("/workers").json()["data"]]


def happen(client: httpx.Client) -> list[str]:
    """One of each ending; then one runs and others wait, whose ids are returned."""

    def send(code: str, wait: int = 60, language: str = "triton") -> dict[str, Any]:
        body = {"task_id": TASK, "code": code, "language": language}
        answer: dict[str, Any] = client.post("/submissions", params={"wait": wait}, json=body).json()
        return answer

    for _ in range(2):  # the second time from the cache
        assert send(cuda_source(), language="cuda")["status"] == "completed"
    assert send("import subprocess")["verdict"] == "format_violation"
    assert send(source("rejected_timing"))["verdict"] == "rejected_timing"
    assert send(source("fault code=device_fault"))["status"] == "failed"
    client.get("/submissions/sub_none")
    wait_for(lambda: slot_states(client) == ["ready", "ready"], 60, "the end of the quarantine")
    ids = [send(source("correct eval_s=30", salt), 0)["id"] for salt in range(3)]
    wait_for(lambda: client.get(f"/submissions/{ids[0]}").json()["status"] == "running", 60, "a grade that runs")
    return ids


def note_canary(url: str) -> None:
    """As a GPU's worker does; the mock has no device to look at."""
    db = Database(url.replace("postgresql://", "postgresql+psycopg://"))
    with db.read() as session:
        slot = session.scalars(select(Slot)).first()
    assert slot is not None
    found = {"kernels": {}, "drift_frac": 0.01, "noise_floor_frac": 0.002, "throttle": ["hot"]}
    jobs.note_canary(db, slot.id, slot.incarnation, found)
    db.dispose()


def scrape(client: httpx.Client) -> Samples:
    found: Samples = defaultdict(dict)
    for family in text_string_to_metric_families(client.get("/metrics").text):
        for sample in family.samples:
            found[sample.name][tuple(sorted(sample.labels.items()))] = sample.value
    return found


def families(samples: Samples) -> dict[str, Samples]:
    """The samples of each of our metrics."""
    found: dict[str, Samples] = defaultdict(dict)
    for name, values in samples.items():
        if name.startswith("kernel_grader_"):
            found[re.sub(r"_(total|bucket|sum|count)$", "", name)][name] = values
    return found


def test_real_submissions_move_every_metric(scrapes: Scrapes) -> None:
    before, after = families(scrapes.before), families(scrapes.after)
    assert {name for name in after if after[name] == before.get(name)} == STEADY


def test_every_metric_is_documented_with_its_labels(scrapes: Scrapes) -> None:
    rows = re.findall(r"^\| `(kernel_grader_\w+)` \| (.*?) \|", (REPOSITORY / "docs" / "metrics.md").read_text(), re.M)
    documented = {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}
    found = {
        name: {label for values in samples.values() for labels in values for label, _ in labels} - {"le"}
        for name, samples in families(scrapes.after).items()
    }
    assert {re.sub(r"_total$", "", name): labels for name, labels in documented.items()} == found
    rules = {str(rule) for rule in RunTimeRule}
    assert rules <= set(re.findall(r"`([a-z-]+)`", (REPOSITORY / "docs" / "grading.md").read_text()))


def test_what_happened_is_counted(scrapes: Scrapes) -> None:
    def gained(name: str, **labels: str) -> float:
        key = tuple(sorted(labels.items()))
        return scrapes.after[name][key] - scrapes.before[name].get(key, 0.0)

    assert gained("kernel_grader_verdicts_total", stage="timing", verdict="rejected_timing") == 1
    assert gained("kernel_grader_rule_refusals_total", rule="no-model-new") == 1
    assert gained("kernel_grader_rule_refusals_total", rule="claimed-time") == 1
    assert gained("kernel_grader_build_extensions_total", cache="hit") == 1
    assert gained("kernel_grader_build_extensions_total", cache="miss") == 1
    assert gained("kernel_grader_attempts_total", kind="build", outcome="built") == 2
    assert gained("kernel_grader_attempts_total", kind="grade", outcome="verdict") == 4
    assert gained("kernel_grader_attempts_total", kind="grade", outcome="fault") == 2
    assert gained("kernel_grader_endings_total", status="failed", verdict="") == 1
    assert sum(scrapes.after["kernel_grader_slot_faults_total"].values()) == 2
    assert gained("kernel_grader_queue_wait_seconds_count") == 5
    assert gained("kernel_grader_phase_seconds_count", phase="build") == 2
    assert sum(scrapes.after["kernel_grader_queue_depth"].values()) == 2
    assert sum(scrapes.after["kernel_grader_slot_running"].values()) == 1


def test_every_metric_label_and_value_is_in_a_real_scrape(scrapes: Scrapes) -> None:
    asked = 0
    scraped = {name: [dict(labels) for labels in values] for name, values in scrapes.after.items()}
    for where, expression in expressions():
        labels: set[str] = set()
        for name, selector in METRIC.findall(expression):
            asked += 1
            assert scraped.get(name), f"{where}: nothing called {name}"
            labels |= {label for sample in scraped[name] for label in sample}
            for label, _, value in re.findall(r'(\w+)(=~?)"([^"]*)"', selector):
                values = {sample.get(label) for sample in scraped[name]}
                assert values - {None}, f"{where}: {name} has no label {label}"
                assert value in RARE or set(value.split("|")) <= values, f"{where}: {name} has no {label}={value}"
        for group in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression):
            assert set(re.split(r",\s*", group)) <= labels, f"{where}: {group}"
    assert asked > 30


def test_every_metric_of_ours_is_shown_or_watched(scrapes: Scrapes) -> None:
    shown = {name for _, expression in expressions() for name, _ in METRIC.findall(expression)}
    unseen = {name for name in families(scrapes.after) if not any(seen.startswith(name) for seen in shown)}
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
