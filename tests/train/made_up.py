"""Episodes as records, for what only counts them."""

from typing import Any

from train.records import EpisodeRecord, TurnRecord


def turn(number: int, verdict: str | None, speedup: float | None = None, **more: Any) -> TurnRecord:
    """A turn with this verdict; None is one that was not graded."""
    reward = None if verdict is None else 1.0 if verdict == "correct" else 0.0
    stages = {"correct": "ok", "incorrect": "correctness", "format_violation": "format", "rejected_timing": "timing"}
    given: dict[str, Any] = {
        "submission_id": f"sub_{number}",
        "stage": None if verdict is None else stages[verdict],
        "reward": reward,
        "roofline_frac": None,
        "suspicious": False,
        "rules": (),
        "feedback": "",
        "code_sha256": "0" * 64,
        "has_code": True,
        "tokens": 10,
        "truncated": False,
        "failed": "we failed" if verdict is None else None,
    }
    return TurnRecord(turn=number, verdict=verdict, speedup=speedup, **{**given, **more})


def episode(task_id: str, *turns: TurnRecord, **more: Any) -> EpisodeRecord:
    """An episode of these turns."""
    given: dict[str, Any] = {
        "time": "2026-01-01T00:00:00Z",
        "session": "one",
        "step": 0,
        "rank": 0,
        "phase": "eval",
        "run_id": "run",
        "episode_id": "ep_1",
        "level": int(task_id[5]),
        "language": "triton",
        "prompt": "",
        "seed": None,
        "return_": None,
        "prompt_tokens": 0,
        "completion_tokens": 0,
    }
    return EpisodeRecord(task_id=task_id, turns=turns, **{**given, **more})
