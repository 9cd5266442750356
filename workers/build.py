"""Builds one claimed submission, and hands it on to the graders or writes down how it ended, by fence."""

import contextlib
from collections.abc import Callable

from structlog import get_logger

from evaluator.builder import Builder, Built
from evaluator.report import Report
from grading import jobs
from grading.errors import FenceLost
from grading.jobs import Claim
from workers.evaluators import connect_builder
from workers.grade import announcing, faults_told, held, record, ring_for, spared, until_written
from workers.lease import Lease
from workers.products import publish
from workers.runtime import Runtime

log = get_logger(__name__)


def build(here: Runtime, claim: Claim, begun: Callable[[], None]) -> str | None:
    """Build, record, announce; see `workers.grade.grade`. A source that cannot be built ends here, with its verdict."""
    with contextlib.closing(connect_builder(here.config)) as builder, held(here, claim, builder.abort) as lease:
        try:
            begun()
            outcome = faults_told(lambda: spared(here, claim) or _build(here, builder, claim, lease))
            if isinstance(outcome, Built):
                return _hand_on(here, claim, outcome, lease)
            lease.ending()
            return record(here, claim, outcome)
        except FenceLost as error:
            log.warning("build_dropped", detail=error.detail)
            return None


def _build(here: Runtime, builder: Builder, claim: Claim, lease: Lease) -> Built | Report:
    return builder.build(claim.source, claim.architectures, announcing(here, claim, lease.on_phase))


def _hand_on(here: Runtime, claim: Claim, built: Built, lease: Lease) -> str:
    """The products first, so that whoever sees a row that is ready finds them. Raises FenceLost."""
    until_written(lambda: publish(here, built.prebuilt))
    lease.ending()
    counts = {"compiled": built.compiled, "found": built.found}
    row = until_written(
        lambda: jobs.make_ready(here.db, claim.submission_id, claim.fence, built.prebuilt, built.phases, **counts)
    )
    here.evaluations.lifecycle("ready", row)
    ring_for(here, claim)
    return str(row.status)
