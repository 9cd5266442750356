"""Counters and histograms of what ended, as metrics for Prometheus."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from app.services.tallies import PHASE_BUCKETS_S, WAIT_BUCKETS_S, Tally
from evaluator.verdicts import Verdict
from grading.celery_app import BUILD, GRADE
from grading.states import UNFINISHED, AttemptEnd, SubmissionStatus

PREFIX = "kernel_grader"
# told as 0 before the first of a day: to Prometheus a counter that appears as 1 has not risen, and no alert follows
FORESEEN = (
    *(("endings", SubmissionStatus.COMPLETED, verdict) for verdict in Verdict),
    *(
        ("endings", status, "")
        for status in SubmissionStatus
        if status not in (*UNFINISHED, SubmissionStatus.COMPLETED)
    ),
    *(("attempts", kind, end) for kind in (GRADE, BUILD) for end in AttemptEnd),
    *(("extensions", cache) for cache in ("hit", "miss")),
)


def today(tally: Tally) -> Iterator[Metric]:
    """Counters that begin anew at midnight, UTC."""
    tally = Counter({tuple(map(str, labels)): 0 for labels in FORESEEN} | tally)
    families = {
        what: CounterMetricFamily(f"{PREFIX}_{name}", about, labels=labels)
        for what, name, about, labels in (
            ("endings", "endings", "Submissions that ended, by status and verdict.", ["status", "verdict"]),
            ("attempts", "attempts", "Attempts of what ended, by outcome.", ["kind", "outcome"]),
            ("busy_ms", "slot_busy_seconds", "Time under attempts, over lanes.", ["slot", "kind"]),
            ("extensions", "build_extensions", "Extensions that builders delivered, from cache or not.", ["cache"]),
            ("refusals", "rule_refusals", "Submissions refused, by rule.", ["rule"]),
        )
    }
    for (what, *labels), value in sorted(tally.items()):
        if what in families:
            families[what].add_metric(labels, value / 1000 if what == "busy_ms" else value)
    yield from families.values()
    yield _verdicts(tally)
    wait = HistogramMetricFamily(f"{PREFIX}_queue_wait_seconds", "From being taken in to being started.", labels=[])
    _fill(wait, "wait", [], WAIT_BUCKETS_S, tally)
    yield wait
    phases = HistogramMetricFamily(f"{PREFIX}_phase_seconds", "Phases of builds and grades.", labels=["phase"])
    for name in sorted(labels[1] for labels in tally if labels[0] == "phase_count"):
        _fill(phases, "phase", [name], PHASE_BUCKETS_S, tally)
    yield phases


def _verdicts(tally: Tally) -> Metric:
    verdicts = CounterMetricFamily(
        f"{PREFIX}_verdicts", "Verdicts, and the stage that each was reached at.", labels=["stage", "verdict"]
    )
    for (what, *labels), count in sorted(tally.items()):
        if what == "endings" and labels[1]:
            verdicts.add_metric([str(Verdict(labels[1]).stage), labels[1]], count)
    return verdicts


def _fill(family: HistogramMetricFamily, what: str, labels: list[str], bounds: tuple[float, ...], tally: Tally) -> None:
    buckets = [(str(bound), float(tally[f"{what}_bucket", *labels, str(bound)])) for bound in bounds]
    everything = float(tally[f"{what}_count", *labels])
    family.add_metric(labels, [*buckets, ("+Inf", everything)], float(tally[f"{what}_sum", *labels]))
