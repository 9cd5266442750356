"""A training step against real workers: all of it is graded at once, and outlives a grader that is started again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from kernel_grader_client import KernelGrader
from sqlalchemy import func, select

from grading.models import Attempt, Submission
from grading.states import UNFINISHED
from launcher.ports import free_port
from tests.conftest import empty
from tests.services.api_alone import end_api, start_api, url
from tests.services.broker import Broker
from tests.services.installation import TASK, Installation, Process, installation, source, wait_for
from train.recording import read_run
from train.records import EpisodeRecord
from train.rollouts import KernelRollouts, RolloutSettings
from train.tasks import Stage
from train.tiny.fragments import fragment_tokenizer
from train.tiny.model import random_policy
from train.trainer import TrainSettings, make_trainer

pytestmark = pytest.mark.usefixtures("one_thread")

EPISODES, WORKERS = 64, 2
PROGRAMS = [f"```python\n{source(f'correct speedup={1 + n} eval_s=0.1')}```\n" for n in range(8)]


@pytest.fixture
def here(postgres_url: str, broker: Broker, tmp_path: Path) -> Iterator[Installation]:
    """An installation with a reaper and one API, without workers."""
    empty(postgres_url)
    with installation(postgres_url, broker, tmp_path, PORT=str(free_port())) as made:
        made.start_reaper()
        yield made


def start_workers(here: Installation) -> list[Process]:
    workers = [here.start_worker(number, ready=False) for number in range(WORKERS)]
    for worker in workers:
        worker.wait_logged("slot_ready")
    return workers


def train(here: Installation, folder: Path, run_id: str, **item: Any) -> list[EpisodeRecord]:
    """One update from 64 episodes of a turn each; their records, in order."""
    tokenizer = fragment_tokenizer(PROGRAMS)
    settings = RolloutSettings(run_id, 512, turn_tokens=1, max_turns=1, tries=1, item=item)
    with KernelGrader(url(here), trust_env=False) as grader, KernelRollouts(grader, settings, folder) as rollouts:
        training = TrainSettings(
            folder, updates=1, tasks_per_update=1, generations=EPISODES, micro_batch=EPISODES,
            use_cpu=True, gradient_checkpointing=False,
        )  # fmt: skip
        model = random_policy(tokenizer, seed=3, width=32)
        trainer = make_trainer(model, tokenizer, rollouts, training, [Stage("one", (TASK,))])
        trainer.train()
    assert trainer.state.global_step == 1
    return read_run(folder)


def ended(here: Installation, run_id: str) -> int:
    """How many of a run's submissions have ended."""
    count = select(func.count()).where(Submission.run_id == run_id, Submission.status.not_in(UNFINISHED))
    with here.db.read() as session:
        return session.scalar(count) or 0


def in_the_middle(here: Installation, run_id: str, act: Callable[[], None]) -> threading.Thread:
    """A thread that acts as soon as some of a run have been graded."""

    def wait_and_act() -> None:
        wait_for(lambda: ended(here, run_id) > 4, 120, "the first grades")
        act()

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


def graded_at_once(here: Installation, folder: Path) -> None:
    """The whole step is one batch, and all workers are at it together."""
    records = train(here, folder, "at-once")
    assert len(records) == EPISODES
    assert all(record.return_ is not None for record in records)
    with here.db.read() as session:
        rows = list(session.scalars(select(Submission).where(Submission.run_id == "at-once")))
        attempts = list(session.scalars(select(Attempt)))
    assert len({row.batch_id for row in rows}) == 1
    assert {row.id for row in rows} == {record.turns[0].submission_id for record in records}
    changes = [(one.started_at_ms, 1) for one in attempts] + [(one.ended_at_ms or 0, -1) for one in attempts]
    running = list(accumulate(change for _, change in sorted(changes)))
    assert max(running) == len({one.slot_id for one in attempts}) == WORKERS


def outlives_a_restart(here: Installation, folder: Path, parts: list[Process]) -> list[Process]:
    """API and workers are killed in the middle, and started again: every episode has its reward."""
    left: list[int] = []
    started: list[Process] = []

    def restart() -> None:
        for worker in parts[1:]:
            worker.kill()
        end_api(parts[0], signal.SIGKILL)
        left.append(EPISODES - ended(here, "restarted"))
        started.extend([start_api(here), *start_workers(here)])

    thread = in_the_middle(here, "restarted", restart)
    records = train(here, folder, "restarted")
    thread.join()
    assert left[0] > 0, "the step was over before the grader was"
    assert len(records) == EPISODES
    assert not any(record.failed for record in records)
    assert ended(here, "restarted") == EPISODES, "a source was sent twice"
    return started


def lost_for_good(here: Installation, folder: Path, workers: list[Process]) -> None:
    """The workers are killed in the middle and stay away: what they leave has no reward, and the step ends."""

    def lose() -> None:
        for worker in workers:
            worker.kill()

    thread = in_the_middle(here, "lost", lose)
    records = train(here, folder, "lost", deadline_s=10.0)
    thread.join()
    failed = [record for record in records if record.failed]
    assert 0 < len(failed) < EPISODES
    assert all((one.return_, one.best_reward, one.turns[0].reward) == (None, None, None) for one in failed)
    assert all("[deadline" in (one.turns[0].failed or "") for one in failed)


def test_steps_whatever_becomes_of_the_grader(here: Installation, tmp_path: Path) -> None:
    parts = [start_api(here), *start_workers(here)]
    graded_at_once(here, tmp_path / "at-once")
    parts = outlives_a_restart(here, tmp_path / "restarted", parts)
    lost_for_good(here, tmp_path / "lost", parts[1:])
