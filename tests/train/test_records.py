"""The files of a run: whole lines, a cut last one, and what a resumed run plays again."""

from dataclasses import replace
from pathlib import Path

import pytest

from train.recording import Recorder, read_file, read_run, read_suspicious
from train.records import BadRecord, EpisodeRecord, TurnRecord

TURN = TurnRecord(1, "sub_1", "correct", "ok", 1.3, 2.0, 0.5, False, (), "fine\nindeed", "0" * 64, True, 7, False)
FAILED = replace(TURN, turn=2, verdict=None, stage=None, reward=None, speedup=None, failed="the worker was lost")
EPISODE = EpisodeRecord(
    "2026-01-01T00:00:00Z", "", 0, 0, "train", "run", "ep_1", "level1/19_ReLU", 1, "triton", "Write …", 3,
    (TURN, replace(TURN, turn=2, reward=0.0, verdict="incorrect", rules=("a", "b"))), 1.3, 100, 14,
)  # fmt: skip


def write(folder: Path, *steps: int, phase: str = "train", rank: int = 0) -> str:
    """Play an episode for each step in one session; its name."""
    with Recorder(folder, rank) as recorder:
        recorder.write(
            [
                replace(EPISODE, session=recorder.session, step=step, phase=phase, rank=rank)  # type: ignore[arg-type]
                for step in steps
            ]
        )
        return recorder.session


def test_a_record_survives_its_line() -> None:
    line = EPISODE.to_line()
    assert line.count("\n") == 1
    assert EpisodeRecord.from_line(line) == EPISODE
    assert '"return": 1.3' in line
    assert (EPISODE.best_reward, EPISODE.best_speedup, EPISODE.correct) == (1.3, 2.0, True)


def test_what_was_not_graded_has_no_reward() -> None:
    assert replace(EPISODE, turns=(FAILED,)).best_reward is None
    for wrong in ({"reward": 0.0}, {"failed": None}, {"verdict": "incorrect"}):
        with pytest.raises(BadRecord, match="it failed and has neither"):
            replace(FAILED, **wrong)


def test_a_killed_writer_costs_its_last_line_alone(tmp_path: Path) -> None:
    write(tmp_path, 0, 1)
    path = tmp_path / "rollouts-rank0.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    assert [one.step for one in read_run(tmp_path)] == [0]
    write(tmp_path, 1, 2)
    assert [one.step for one in read_run(tmp_path)] == [0, 1, 2]
    path.write_text("{}\n" + path.read_text())
    with pytest.raises(BadRecord, match="line 1: turns"):
        list(read_file(path))


def test_a_resumed_run_takes_back_what_it_plays_again(tmp_path: Path) -> None:
    first = write(tmp_path, 0, 1, 2, 3)
    write(tmp_path, 2, phase="eval")
    write(tmp_path, 3, phase="eval")
    other = write(tmp_path, 0, 1, 2, 3, rank=1)
    second = write(tmp_path, 2, 3, 4)
    kept = [(one.rank, one.step, one.session) for one in read_run(tmp_path) if one.phase == "train"]
    assert kept == [
        *[(0, step, first) for step in (0, 1)],
        *[(0, step, second) for step in (2, 3, 4)],
        *[(1, step, other) for step in range(4)],
    ]
    assert [one.step for one in read_run(tmp_path) if one.phase == "eval"] == [2]


def test_suspicious_turns_of_all_ranks_share_a_file(tmp_path: Path) -> None:
    assert read_suspicious(tmp_path) == []
    for rank in (0, 1):
        with Recorder(tmp_path, rank) as recorder:
            recorder.write_suspicious([{"rank": rank, "code": "x = '\n'"}])
    assert [one["rank"] for one in read_suspicious(tmp_path)] == [0, 1]
