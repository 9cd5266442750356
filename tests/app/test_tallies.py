"""What is counted of the day: exactly what ended, once, in the right buckets, whatever a submission calls things."""

import time
from dataclasses import replace

from prometheus_client.core import Metric

from app.services.gauges import DatabaseCollector
from app.services.tallies import DayTallies, count
from evaluator.run_time_rules import RunTimeRule
from evaluator.verdicts import Verdict
from grading import jobs
from grading.db import Database
from grading.models import Slot
from grading.settings import Leases
from tests.grading.support import must_claim, open_builder, open_slot, report, submit


def samples(metrics: dict[str, Metric], name: str) -> dict[tuple[str, ...], float]:
    return {(s.name.removeprefix("kernel_grader_"), *s.labels.values()): s.value for s in metrics[name].samples}


def counted(metrics: dict[str, Metric], name: str) -> dict[tuple[str, ...], float]:
    """Without what is told as 0 because it may come."""
    return {labels: value for labels, value in samples(metrics, name).items() if value}


def grade(db: Database, slot: Slot, verdict: Verdict, phases: dict[str, float], *rules: str) -> None:
    submit(db)
    claim = must_claim(db, slot)
    time.sleep(0.002)  # busy for at least a millisecond
    jobs.finish(db, claim.submission_id, claim.fence, replace(report(verdict), phases=phases, rules=list(rules)))


def test_the_day_is_counted_by_rule_phase_wait_and_attempt(db: Database) -> None:
    slot, tallies = open_slot(db), DayTallies()
    grade(db, slot, Verdict.CORRECT, {"timing": 0.7, "compile hostile_1": 1.0, "x" * 99: 1.0, "format": 0.001})
    grade(db, slot, Verdict.FORMAT_VIOLATION, {"format": 0.2}, "no-model-new", "escape")
    grade(db, slot, Verdict.FORMAT_VIOLATION, {}, "no-model-new")
    grade(db, slot, Verdict.INCORRECT, {}, RunTimeRule.PRECISION)
    grade(db, slot, Verdict.INCORRECT, {})
    with db.read() as session:
        first = tallies.read(session)
        assert first == tallies.read(session)
        assert first == DayTallies().read(session), "another process counts otherwise"
        assert not count(session, 2**60, None)
    refusals = {key[1]: number for key, number in first.items() if key[0] == "refusals"}
    assert refusals == {"no-model-new": 2, "escape": 1, "precision-downgrade": 1}

    metrics = {metric.name: metric for metric in DatabaseCollector(db).collect()}
    phases = samples(metrics, "kernel_grader_phase_seconds")
    assert {key[1] for key in phases} == {"timing", "format"}
    assert phases["phase_seconds_bucket", "timing", "0.5"] == 0
    assert phases["phase_seconds_bucket", "timing", "1.0"] == 1
    assert phases["phase_seconds_count", "format"] == phases["phase_seconds_bucket", "format", "+Inf"] == 2
    waits = samples(metrics, "kernel_grader_queue_wait_seconds")
    assert waits["queue_wait_seconds_count",] == 5
    assert samples(metrics, "kernel_grader_attempts")["attempts_total", "grade", "verdict"] == 5
    assert counted(metrics, "kernel_grader_verdicts") == {
        ("verdicts_total", "ok", "correct"): 1,
        ("verdicts_total", "format", "format_violation"): 2,
        ("verdicts_total", "correctness", "incorrect"): 2,
    }
    busy = samples(metrics, "kernel_grader_slot_busy_seconds")
    assert busy == {("slot_busy_seconds_total", slot.id, "grade"): first["busy_ms", slot.id, "grade"] / 1000}


def test_extensions_are_counted_by_whether_the_cache_had_them(db: Database) -> None:
    slot, builder = open_slot(db), open_builder(db)
    for compiled, found in ((2, 0), (0, 2), (1, 1)):
        submit(db, language="cuda")
        built = must_claim(db, builder)
        jobs.make_ready(db, built.submission_id, built.fence, [], {"build": 1.0}, compiled=compiled, found=found)
        claim = must_claim(db, slot)
        jobs.finish(db, claim.submission_id, claim.fence, report())
    metrics = {metric.name: metric for metric in DatabaseCollector(db).collect()}
    found_by = samples(metrics, "kernel_grader_build_extensions")
    assert found_by == {("build_extensions_total", "hit"): 3, ("build_extensions_total", "miss"): 3}


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
