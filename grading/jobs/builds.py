"""What builders make: products by their hash, rows that are ready for a device, and which devices to build for."""

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from evaluator.prebuilt import ARCHITECTURES_MAX, DEFAULT_ARCHITECTURE, Prebuilt
from grading.clock import now_ms
from grading.db import Database
from grading.errors import FenceLost
from grading.jobs.load import takes_work
from grading.jobs.queue_lanes import built
from grading.jobs.rows import close_attempt, leave_queue, lock_submission
from grading.models import Attempt, BuildProduct, Slot, Submission
from grading.states import AttemptEnd, SlotRole, SubmissionStatus

PAGE = 100


def architectures(session: Session, row: Submission) -> tuple[str, ...]:
    """Of every device that may take the row now; where there is none, of those that ever might have."""
    fits = select(Slot).where(Slot.role == SlotRole.GRADER)
    if row.gpu_kind is not None:
        fits = fits.where(Slot.kind == row.gpu_kind)
    slots = session.scalars(fits.where(takes_work())).all() or session.scalars(fits).all()
    found = sorted({architecture_of(slot) for slot in slots}) or [DEFAULT_ARCHITECTURE]
    return tuple(found[:ARCHITECTURES_MAX])


def architecture_of(slot: Slot) -> str:
    """What is built for a grader."""
    return str(slot.environment.get("compute_capability") or DEFAULT_ARCHITECTURE)


def prebuilt_for(row: Submission, slot: Slot) -> Prebuilt | None:
    """What a builder made of a row for this grader's device, if it did."""
    made = [Prebuilt.from_json(each) for each in (row.builds or {}).get("prebuilt", [])]
    return next((each for each in made if each.architecture == architecture_of(slot)), None)


def follows_build(session: Session, row: Submission) -> bool:
    """Whether the claim that a row gets now goes on where a build has just ended: it is the same attempt."""
    if row.builds is None:
        return False
    last = select(Attempt.outcome).where(Attempt.submission_id == row.id, Attempt.fence == row.fence)
    return session.scalar(last) is AttemptEnd.BUILT


def make_ready(
    db: Database,
    submission_id: str,
    fence: int,
    made: Sequence[Prebuilt],
    phases: Mapping[str, float],
    *,
    compiled: int = 0,
    found: int = 0,
) -> Submission:
    """Hand a built row on to the graders, once its products are stored; ring for it after this returns.

    May be repeated, as by a caller whose connection broke. Raises FenceLost.
    """
    with db.write() as session:
        row = lock_submission(session, submission_id)
        if row.fence == fence and row.status is SubmissionStatus.READY:
            return row
        if row.fence != fence or row.status is not SubmissionStatus.COMPILING:
            raise FenceLost(f"submission {submission_id} is {row.status} under fence {row.fence}")
        close_attempt(session, row, AttemptEnd.BUILT)
        prebuilt = [each.to_json() for each in made]
        row.builds = {"prebuilt": prebuilt, "phases": dict(phases), "compiled": compiled, "found": found}
        row.status, row.lane = SubmissionStatus.READY, built(row.lane)
        leave_queue(row)
        session.flush()
        return row


def store_product(db: Database, sha256: str, content: bytes) -> None:
    """Keep a product for the workers of every host; one that is there already counts as used now."""
    try:
        with db.write() as session:
            now = now_ms(session)
            if not _use(session, sha256, now):
                session.add(BuildProduct(sha256=sha256, size_bytes=len(content), content=content, used_at_ms=now))
    except IntegrityError:
        return  # another builder was first


def load_product(db: Database, sha256: str) -> bytes | None:
    """The content, as stored; None where it was forgotten."""
    with db.write() as session:
        _use(session, sha256, now_ms(session))
        return session.scalar(select(BuildProduct.content).where(BuildProduct.sha256 == sha256))


def prune_products(db: Database, max_bytes: int) -> int:
    """Forget the least recently used products until the rest fits; returns how many went."""
    with db.read() as session:
        if _size(session) <= max_bytes:
            return 0
    gone = 0
    with db.write() as session:
        left = _size(session)
        oldest = select(BuildProduct.sha256, BuildProduct.size_bytes).order_by(BuildProduct.used_at_ms).limit(PAGE)
        for sha256, size_bytes in session.execute(oldest).all():
            if left <= max_bytes:
                break
            session.execute(delete(BuildProduct).where(BuildProduct.sha256 == sha256))
            left, gone = left - size_bytes, gone + 1
    return gone


def _use(session: Session, sha256: str, now: int) -> bool:
    used = update(BuildProduct).where(BuildProduct.sha256 == sha256).values(used_at_ms=now)
    statement = used.returning(BuildProduct.sha256).execution_options(synchronize_session=False)
    return session.scalar(statement) is not None


def _size(session: Session) -> int:
    return int(session.scalars(select(func.coalesce(func.sum(BuildProduct.size_bytes), 0))).one())
