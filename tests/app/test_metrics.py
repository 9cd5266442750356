"""What Prometheus reads."""

import httpx
from prometheus_client.parser import text_string_to_metric_families

from app.services.gauges import DatabaseCollector
from evaluator.verdicts import Verdict
from grading import jobs
from grading.db import Database
from tests.app.test_episodes import TASK, grade, source
from tests.grading.support import must_claim, open_slot, report, submit


def read(api: httpx.Client) -> dict[tuple[str, ...], float]:
    """Every sample by name and label values."""
    response = api.get("/metrics")
    assert response.headers["Content-Type"].startswith("text/plain")
    families = text_string_to_metric_families(response.text)
    return {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}


def test_requests_refusals_and_endings_are_counted(api: httpx.Client) -> None:
    before = read(api)
    grade(api, task_id=TASK, code=source("incorrect"))
    api.get("/submissions/sub_nothing")
    api.get("/nowhere")
    after = read(api)

    def gained(*name: str) -> float:
        return after.get(name, 0.0) - before.get(name, 0.0)

    assert gained("kernel_grader_requests_total", "POST", "/submissions", "200") == 1
    assert gained("kernel_grader_requests_total", "GET", "/submissions/<id:submission_id>", "404") == 1
    assert gained("kernel_grader_requests_total", "GET", "none", "404") == 1
    assert gained("kernel_grader_refusals_total", "not_found") == 2
    assert gained("kernel_grader_request_seconds_count", "/metrics") == 1
    assert gained("kernel_grader_endings_total", "completed", "incorrect") == 1
    assert after["kernel_grader_slots", "grader", "ready"] == 1
    assert after["kernel_grader_slots", "grader", "lost"] == 0
    assert after["kernel_grader_database_up",] == 1
    assert after["kernel_grader_waiting_requests",] == 0


def test_endings_are_counted_once_however_often_one_looks(db: Database) -> None:
    collector, slot = DatabaseCollector(db), open_slot(db)
    for verdict, count in ((Verdict.CORRECT, 1), (Verdict.INCORRECT, 2), (Verdict.INCORRECT, 3)):
        submit(db)
        claim = must_claim(db, slot)
        jobs.finish(db, claim.submission_id, claim.fence, report(verdict))
        gauges = {metric.name: metric for metric in collector.collect()}
        assert sum(sample.value for sample in gauges["kernel_grader_endings"].samples) == count
    submit(db)
    gauges = {metric.name: metric for metric in collector.collect()}
    assert {s.labels["status"]: s.value for s in gauges["kernel_grader_unfinished"].samples}["queued"] == 1
    assert sum(sample.value for sample in gauges["kernel_grader_queue_depth"].samples) == 1


def test_without_the_database_that_is_what_is_told() -> None:
    away = Database("postgresql+psycopg://nobody@127.0.0.1:1/nothing")
    assert [(metric.name, metric.samples[0].value) for metric in DatabaseCollector(away).collect()] == [
        ("kernel_grader_database_up", 0.0)
    ]
