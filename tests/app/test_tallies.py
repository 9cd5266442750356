"""What is counted of the day: exactly what ended, once, in the right buckets, whatever a submission calls things."""

import time

from prometheus_client.core import Metric

from app.services.gauges import DatabaseCollector
from app.services.tallies import DayTallies, count
from evaluator.static import check, render
from evaluator.static.render import rules_of
from evaluator.verdicts import Verdict
from grading import jobs
from grading.db import Database
from grading.settings import Leases
from tests.grading.support import must_claim, open_slot, report, submit


def samples(metrics: dict[str, Metric], name: str) -> dict[tuple[str, ...], float]:
    return {(s.name.removeprefix("kernel_grader_"), *s.labels.values()): s.value for s in metrics[name].samples}


def grade(db: Database, slot: str, verdict: Verdict, phases: dict[str, float], feedback: str = "said") -> None:
    submit(db)
    claim = must_claim(db, slot)
    time.sleep(0.002)  # busy for at least a millisecond
    made = report(verdict)
    object.__setattr__(made, "phases", phases)
    object.__setattr__(made, "feedback", feedback)
    jobs.finish(db, claim.submission_id, claim.fence, made)


def test_the_day_is_counted_by_rule_phase_wait_and_attempt(db: Database) -> None:
    slot, tallies = open_slot(db), DayTallies()
    grade(db, slot, Verdict.CORRECT, {"timing": 0.7, "compile hostile_1": 1.0, "x" * 99: 1.0, "format": 0.001})
    refused = render(check("import subprocess\nx = '[patching]. '\n", "triton"))
    grade(db, slot, Verdict.FORMAT_VIOLATION, {"format": 0.2}, refused)
    grade(db, slot, Verdict.FORMAT_VIOLATION, {}, "torch.relu was called in forward")
    with db.read() as session:
        first = tallies.read(session)
        assert first == tallies.read(session)
        assert first == DayTallies().read(session), "another process counts otherwise"
        assert not count(session, 2**60, None)
    assert first["refusals", "at-run-time"] == 1
    assert first["refusals", "no-model-new"] == 1
    assert ("refusals", "patching") not in first

    metrics = {metric.name: metric for metric in DatabaseCollector(db).collect()}
    phases = samples(metrics, "kernel_grader_phase_seconds")
    assert {key[1] for key in phases} == {"timing", "format"}
    assert phases["phase_seconds_bucket", "timing", "0.5"] == 0
    assert phases["phase_seconds_bucket", "timing", "1.0"] == 1
    assert phases["phase_seconds_count", "format"] == phases["phase_seconds_bucket", "format", "+Inf"] == 2
    waits = samples(metrics, "kernel_grader_queue_wait_seconds")
    assert waits["queue_wait_seconds_count",] == 3
    assert samples(metrics, "kernel_grader_attempts")["attempts_total", "grade", "verdict"] == 3
    assert samples(metrics, "kernel_grader_verdicts") == {
        ("verdicts_total", "ok", "correct"): 1,
        ("verdicts_total", "format", "format_violation"): 2,
    }
    busy = samples(metrics, "kernel_grader_slot_busy_seconds")
    assert busy == {("slot_busy_seconds_total", slot.id, "grade"): first["busy_ms", slot.id, "grade"] / 1000}


def test_the_midnight_begins_anew(db: Database) -> None:
    slot, tallies = open_slot(db), DayTallies()
    grade(db, slot, Verdict.CORRECT, {})
    with db.read() as session:
        today = tallies.read(session)
        tallies._until_ms = 1  # as it was yesterday
        tallies._settled["wait_count",] += 1000
        assert tallies.read(session) == today


def test_a_slot_that_is_no_longer_heard_of_is_lost(db: Database) -> None:
    open_slot(db, "alive")
    silent = open_slot(db, "silent")
    jobs.renew_slot(db, silent.id, silent.incarnation, Leases(slot_lease_s=0))
    metrics = {metric.name: metric for metric in DatabaseCollector(db).collect()}
    found = {key[1:]: value for key, value in samples(metrics, "kernel_grader_slots").items() if value}
    assert found == {("ready", "grader"): 1, ("lost", "grader"): 1}


def test_what_a_canary_found_is_told_per_slot(db: Database) -> None:
    slot = open_slot(db)
    found = {"kernels": {}, "drift_frac": 0.25, "noise_floor_frac": 0.01, "throttle": ["hot"]}
    jobs.note_canary(db, slot.id, slot.incarnation, found)
    metrics = {metric.name: metric for metric in DatabaseCollector(db).collect()}
    assert samples(metrics, "kernel_grader_canary_drift_frac") == {("canary_drift_frac", slot.id): 0.25}
    assert samples(metrics, "kernel_grader_canary_throttled") == {("canary_throttled", slot.id): 1.0}


def test_rules_are_those_that_refused_whatever_the_source_says() -> None:
    findings = check("import subprocess\nimport os\neval('[patching]. ')\n", "triton")
    wanted = {found.rule for found in findings if found.severity == "error"}
    assert set(rules_of(render(findings))) == wanted
    assert rules_of("- line 1: [patching]. ") == []
