"""Stopping work that somebody no longer wants. The raised fence makes a running grade write nothing."""

from collections.abc import Callable, Sequence

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from grading.clock import now_ms
from grading.db import Database
from grading.errors import NotFound
from grading.jobs.episodes import end_episode, lock_episode
from grading.jobs.rows import end_without_verdict, lock_submission
from grading.models import IS_UNFINISHED, Episode, Submission
from grading.states import AttemptEnd, EpisodeStatus, SubmissionStatus


def cancel_submission(db: Database, project_id: str, submission_id: str) -> Submission:
    """Cancel a waiting or running submission; one that has ended stays as it is. Raises NotFound.

    The caller publishes the cancellation, so that the runner dies within a second; without the hint the grade stops
    at its next look at the fence.
    """
    with db.write() as session:
        submission = lock_submission(session, submission_id, project_id)
        if not submission.status.finished:
            end_cancelled(session, submission)
        return submission


def cancel_episode(db: Database, project_id: str, episode_id: str) -> tuple[Episode, list[Submission]]:
    """End an episode and cancel what it has in flight. Returns it and the submissions that this ended."""
    with db.write() as session:
        episode = lock_episode(session, episode_id, project_id)
        found = select(Submission.id).where(Submission.episode_id == episode.id, IS_UNFINISHED)
        ended = _cancel_each(session, session.scalars(found).all())
        end_episode(episode, EpisodeStatus.CANCELLED, now_ms(session))
        return episode, ended


def cancel_run(
    db: Database, project_id: str, run_id: str, on_ended: Callable[[Submission], None] | None = None
) -> int:
    """Cancel everything unfinished of a run, one transaction per object; returns how many submissions it ended.

    `on_ended` is called after each commit. Raises NotFound where the run has no episode and no submission.
    """
    with db.read() as session:
        episodes = session.scalars(_unfinished_episodes(project_id, run_id)).all()
        submissions = session.scalars(
            select(Submission.id).where(
                Submission.project_id == project_id,
                Submission.run_id == run_id,
                IS_UNFINISHED,
            )
        ).all()
        if not episodes and not submissions and not _run_exists(session, project_id, run_id):
            raise NotFound(f"there is no run {run_id}")
    ended: list[Submission] = []
    for episode_id in episodes:
        ended += cancel_episode(db, project_id, episode_id)[1]
    done = {submission.id for submission in ended}
    for submission_id in submissions:
        if submission_id not in done:
            submission = cancel_submission(db, project_id, submission_id)
            if submission.status is SubmissionStatus.CANCELLED:
                ended.append(submission)
    for submission in ended:
        if on_ended is not None:
            on_ended(submission)
    return len(ended)


def _unfinished_episodes(project_id: str, run_id: str) -> Select[str]:
    return select(Episode.id).where(
        Episode.project_id == project_id, Episode.run_id == run_id, Episode.status == EpisodeStatus.ACTIVE
    )


def _run_exists(session: Session, project_id: str, run_id: str) -> bool:
    return any(
        session.scalar(select(kind.id).where(kind.project_id == project_id, kind.run_id == run_id).limit(1))
        for kind in (Episode, Submission)
    )


def _cancel_each(session: Session, ids: Sequence[str]) -> list[Submission]:
    locked = [lock_submission(session, submission_id) for submission_id in ids]
    ended = [submission for submission in locked if not submission.status.finished]
    for submission in ended:
        end_cancelled(session, submission)
    return ended


def end_cancelled(session: Session, submission: Submission) -> None:
    """End a locked, unfinished row as cancelled."""
    end_without_verdict(
        session,
        submission,
        SubmissionStatus.CANCELLED,
        AttemptEnd.CANCELLED,
        code="cancelled",
        title="Cancelled on request",
        detail="the submission was cancelled before it had a verdict",
        retryable=False,
    )
