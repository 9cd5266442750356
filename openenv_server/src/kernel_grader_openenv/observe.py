"""From a session's answer to the fields of an observation."""

from __future__ import annotations

from typing import Any

from kernel_grader_client import EpisodeState, Submission

from kernel_grader_openenv.episode import Told

RESULT = (
    "correct",
    "speedup",
    "speedup_ci95",
    "t_ref_ms",
    "t_new_ms",
    "t_min_ms",
    "bound",
    "roofline_frac",
    "ref_roofline_frac",
    "roofline_violation",
    "suspicious",
    "max_abs_err",
    "custom_kernel_share",
)


def fields(told: Told) -> dict[str, Any]:
    """Arguments of KernelObservation."""
    found: dict[str, Any] = {
        "outcome": told.outcome,
        "detail": told.detail,
        "code_sha": told.code_sha,
        "done": told.episode.done,
        "reward": None,
    }
    found |= _of_episode(told.episode)
    return found if told.submission is None else found | _of_submission(told.submission)


def state(episode: EpisodeState | None) -> dict[str, Any]:
    """Arguments of KernelState."""
    if episode is None:
        return {}
    names = ("task_id", "split", "language", "turn", "max_turns", "done", "best_speedup")
    return {
        "episode_id": episode.id,
        "step_count": len(episode.history),
        "history": list(episode.raw["history"]),
        **{name: getattr(episode, name) for name in names},
    }


def _of_episode(episode: EpisodeState) -> dict[str, Any]:
    names = ("task_id", "split", "language", "problem", "turn", "max_turns", "best_speedup")
    return {
        "episode_id": episode.id,
        "prompt": episode.raw.get("next_prompt") or episode.problem,
        **{name: getattr(episode, name) for name in names},
    }


def _of_submission(submission: Submission) -> dict[str, Any]:
    environment, failure, result = submission.environment or {}, submission.failure, submission.result
    found: dict[str, Any] = {
        "reward": submission.reward,
        "submission_id": submission.id,
        "graded_turn": submission.turn if submission.graded else None,
        "status": submission.status,
        "stage": submission.stage,
        "verdict": submission.verdict,
        "feedback": submission.feedback,
        "gpu": environment.get("gpu"),
        "gpu_id": environment.get("gpu_id"),
        "queue_wait_s": submission.timings.get("queue_wait_s"),
        "eval_s": submission.timings.get("eval_s"),
        "error_code": failure.code if failure else None,
        "retryable": failure.retryable if failure else None,
    }
    return found if result is None else found | {name: getattr(result, name) for name in RESULT}
