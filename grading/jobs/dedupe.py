"""Reusing a verdict: the same source for the same task within one run need not be graded twice."""

from typing import cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from evaluator.reward import RewardMode, reward
from evaluator.version import VERSION
from grading.jobs.episodes import take_turn
from grading.jobs.rows import leave_queue, number_ending
from grading.models import Episode, Submission
from grading.states import SubmissionStatus

LOOKED_AT = 8


def reuse_verdict(session: Session, row: Submission, episode: Episode | None) -> bool:
    """End a row that was just added with the verdict of an equal one of its run; False where there is none.

    It takes its episode's turn and its batch's number like any verdict, and its reward is computed by its own setting.
    """
    with session.no_autoflush:
        earlier = _equal(session, row)
        if earlier is None or earlier.verdict is None:
            return False
        row.log = earlier.log
    result = earlier.result or {}
    row.deduped_from = earlier.id
    row.stage, row.verdict, row.speedup = earlier.stage, earlier.verdict, earlier.speedup
    row.result, row.environment, row.phases = earlier.result, earlier.environment, earlier.phases
    row.reward = reward(
        earlier.verdict,
        speedup=earlier.speedup,
        roofline_frac=result.get("roofline_frac"),
        mode=cast(RewardMode, row.reward_mode),
        partial_credit=row.partial_credit,
    )
    row.status, row.finished_at_ms = SubmissionStatus.COMPLETED, row.created_at_ms
    leave_queue(row)
    if episode is not None:
        take_turn(episode, row.speedup, row.created_at_ms)
    number_ending(session, row)
    return True


def _equal(session: Session, row: Submission) -> Submission | None:
    """The newest grade of the same run, task, source, language and GPU kind by this version of the grader."""
    if row.run_id is None:
        return None
    candidates = session.scalars(
        select(Submission)
        .where(
            Submission.project_id == row.project_id,
            Submission.run_id == row.run_id,
            Submission.code_sha == row.code_sha,
            Submission.status == SubmissionStatus.COMPLETED,
            Submission.task_id == row.task_id,
            Submission.language == row.language,
            Submission.gpu_kind == row.gpu_kind if row.gpu_kind else Submission.gpu_kind.is_(None),
            Submission.deduped_from.is_(None),
        )
        .order_by(Submission.id.desc())
        .limit(LOOKED_AT)
    ).all()
    # the whole source is compared: 12 digits of a hash can be made to collide
    fits = (c for c in candidates if c.code == row.code and (c.environment or {}).get("grader") == VERSION)
    return next(fits, None)
