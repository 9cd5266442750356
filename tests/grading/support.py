"""Shorthands for tests of the states: slots without processes, claims, reports."""

from evaluator.report import Report, Timing
from evaluator.verdicts import Verdict
from grading import jobs
from grading.celery_app import COMPILE_QUEUE
from grading.db import Database
from grading.jobs import Claim, NewEpisode, NewSubmission, SlotIdentity
from grading.models import Attempt, Episode, Slot, Submission
from grading.settings import Leases
from grading.states import SlotRole, SlotState

SECRET = b"a secret of the tests"
PROJECT = "project"
TASK = "level1/19_ReLU"
LEASES = Leases(lease_s=30, slot_lease_s=3600)
# every lease has run out as soon as it is given
LAPSED = Leases(lease_s=0, slot_lease_s=3600)


def open_slot(
    db: Database, name: str = "gpu-0", kind: str = "h200", incarnation: str = "first", lanes: int = 1
) -> Slot:
    """A slot that may take work, as a live worker would hold it."""
    identity = SlotIdentity(name, incarnation, kind, "mock", "host", 0, f"gpu.{kind}.host.{name}", lanes=lanes)
    jobs.register_slot(db, identity, LEASES)
    return jobs.set_slot_state(db, name, incarnation, SlotState.READY)


def open_builder(db: Database, name: str = "builder-0", incarnation: str = "first") -> Slot:
    """A builder that may take work."""
    identity = SlotIdentity(name, incarnation, "builder", "mock", "host", 0, COMPILE_QUEUE, role=SlotRole.BUILDER)
    jobs.register_slot(db, identity, LEASES)
    return jobs.set_slot_state(db, name, incarnation, SlotState.READY)


def submit(db: Database, code: str = "code", **more: object) -> Submission:
    if "episode_id" not in more:
        more.setdefault("task_id", TASK)
    return jobs.submit(db, SECRET, NewSubmission(**{"project_id": PROJECT, "code": code} | more)).row  # type: ignore[arg-type]


def new_episode(db: Database, **more: object) -> Episode:
    given = {"project_id": PROJECT, "task_id": TASK, "problem": "write a kernel", "max_turns": 3} | more
    return jobs.create_episode(db, NewEpisode(**given)).row  # type: ignore[arg-type]


def claim(db: Database, slot: Slot, leases: Leases = LEASES) -> Claim | None:
    return jobs.claim(db, slot.id, slot.incarnation, leases)


def must_claim(db: Database, slot: Slot, leases: Leases = LEASES) -> Claim:
    found = claim(db, slot, leases)
    assert found is not None
    return found


def report(verdict: Verdict = Verdict.CORRECT, speedup: float = 2.0) -> Report:
    timing = Timing(1.0, 1.0 / speedup, speedup, (speedup, speedup), pairs=3) if verdict is Verdict.CORRECT else None
    return Report(verdict, "some feedback", timing=timing, environment={"gpu": "mock"}, phases={"format": 0.1})


def row(db: Database, submission_id: str) -> Submission:
    with db.read() as session:
        found = session.get(Submission, submission_id)
        assert found is not None
        return found


def episode(db: Database, episode_id: str) -> Episode:
    with db.read() as session:
        found = session.get(Episode, episode_id)
        assert found is not None
        return found


def attempts(db: Database, submission_id: str) -> list[Attempt]:
    from grading.queries import attempts as read

    with db.read() as session:
        return list(read(session, submission_id))
