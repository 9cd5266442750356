"""The invariants that hold whatever dies when, looked for in the database once all work has ended."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sqlalchemy import select

from grading.db import Database
from grading.models import Attempt, Batch, Episode, IdempotencyKey, Submission
from grading.states import AttemptEnd, EpisodeStatus, SubmissionStatus

COUNTED = (AttemptEnd.LOST, AttemptEnd.FAULT)


def violations(db: Database) -> list[str]:
    """Every breach of an invariant, as a sentence; empty where all hold."""
    with db.read() as session:
        submissions = session.scalars(select(Submission)).all()
        attempts: dict[str, list[Attempt]] = defaultdict(list)
        for attempt in session.scalars(select(Attempt).order_by(Attempt.submission_id, Attempt.fence)):
            attempts[attempt.submission_id].append(attempt)
        episodes = session.scalars(select(Episode)).all()
        batches = session.scalars(select(Batch)).all()
        keys = session.scalars(select(IdempotencyKey)).all()
    found = [text for row in submissions for text in _of_submission(row, attempts[row.id])]
    found += [text for episode in episodes for text in _of_episode(episode, submissions)]
    found += [text for batch in batches for text in _of_batch(batch, submissions)]
    made = [key.object_id for key in keys]
    found += [f"{len(made) - len(set(made))} objects were made by two keys"] if len(made) != len(set(made)) else []
    return found


def _of_submission(row: Submission, attempts: Sequence[Attempt]) -> Iterator[str]:
    name = f"{row.id} ({row.status})"
    ends = [attempt.outcome for attempt in attempts]
    completed = row.status is SubmissionStatus.COMPLETED
    if not row.status.finished or row.finished_at_ms is None:
        yield f"{name} has not ended"
    if (row.queue, row.rung_at_ms, row.lease_until_ms, row.phase) != (None, None, None, None):
        yield f"{name} still holds a place in a queue or a lease"
    if completed != (row.verdict is not None) or completed != (row.reward is not None):
        yield f"{name} has verdict {row.verdict} and reward {row.reward}"
    if None in ends:
        yield f"{name} has an attempt that never ended: {ends}"
    if ends.count(AttemptEnd.VERDICT) > 1 or (AttemptEnd.VERDICT in ends and ends[-1] is not AttemptEnd.VERDICT):
        yield f"{name} was graded on after its verdict: {ends}"
    if completed and (not attempts or attempts[-1].fence != row.fence):
        yield f"{name} was ended under fence {row.fence}, which no attempt holds"
    numbers = [1 + at - ends[:at].count(AttemptEnd.BUILT) for at in range(len(ends))]
    if [attempt.number for attempt in attempts] != numbers or row.attempt != max(numbers, default=0):
        yield f"{name} counts {row.attempt} attempts and has {[attempt.number for attempt in attempts]}: {ends}"
    blamed = completed and ends[-1:] == [AttemptEnd.FAULT]
    if row.losses != sum(end in COUNTED for end in ends) - blamed:
        yield f"{name} counts {row.losses} losses and has {ends}"
    for earlier, later in pairwise(attempts):
        if earlier.ended_at_ms is None or earlier.ended_at_ms > later.started_at_ms:
            yield f"{name} was graded twice at once: attempts {earlier.number} and {later.number}"


def _of_episode(episode: Episode, submissions: Sequence[Submission]) -> Iterator[str]:
    graded = [row for row in submissions if row.episode_id == episode.id and row.status is SubmissionStatus.COMPLETED]
    if sorted(row.turn or 0 for row in graded) != list(range(1, len(graded) + 1)):
        yield f"{episode.id} has verdicts for the turns {sorted(row.turn or 0 for row in graded)}"
    if episode.turns_used != len(graded):
        yield f"{episode.id} counts {episode.turns_used} turns and has {len(graded)} verdicts"
    if (episode.status is EpisodeStatus.FINISHED) != (len(graded) == episode.max_turns):
        yield f"{episode.id} is {episode.status} after {len(graded)} of {episode.max_turns} turns"
    speedups = [row.result["speedup"] for row in graded if row.result and row.result["speedup"] is not None]
    if episode.best_speedup != max(speedups, default=None):
        yield f"{episode.id} has best speedup {episode.best_speedup} of {speedups}"


def _of_batch(batch: Batch, submissions: Sequence[Submission]) -> Iterator[str]:
    endings = [row.batch_ending or 0 for row in submissions if row.batch_id == batch.id]
    endings += [entry["ending"] for entry in batch.refused.values()]
    if sorted(endings) != list(range(1, batch.size + 1)) or batch.endings != batch.size:
        yield f"{batch.id} of {batch.size} counts {batch.endings} endings and has {sorted(endings)}"
