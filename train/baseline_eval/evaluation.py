"""Plays what has not been played yet, several episodes at a time, and puts each on file as soon as it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from kernel_grader_client import KernelGrader

from train.baseline_eval.models import Model
from train.episodes import Episodes
from train.plays import Answer, Opening, Play, record_of, suspicious_of
from train.recording import Recorder, rank_file, read_file
from train.records import EpisodeRecord, Stamp, now
from train.settings import keep

SETTINGS = "evaluation.json"


@dataclass(frozen=True)
class Evaluation:
    """What is evaluated. `settings` is what its figures depend on; it is kept, and held against on a second start."""

    folder: Path
    openings: Sequence[Opening]
    settings: dict[str, Any]
    run_id: str
    step: int = 0

    def left(self) -> list[Opening]:
        """What has no verdict on file yet. Raises OtherSettings, BadRecord."""
        keep(self.folder / SETTINGS, self.settings)
        ended = {(done.task_id, done.sample) for done in self.episodes() if not done.failed}
        return [opening for opening in self.openings if (opening.task_id, opening.sample) not in ended]

    def episodes(self) -> list[EpisodeRecord]:
        """All that are on file, in the order in which they ended. Raises BadRecord."""
        path = rank_file(self.folder)
        return list(read_file(path)) if path.exists() else []


def evaluate(
    evaluation: Evaluation,
    left: Sequence[Opening],
    model: Model,
    grader: KernelGrader,
    *,
    parallel: int,
    on_ended: Callable[[EpisodeRecord], None] = lambda episode: None,
) -> None:
    """Play what is left of it, `parallel` conversations at a time. What is on file when it raises is not `left` again.

    Raises ModelError, Unavailable, Refused.
    """
    groups = list(_groups(left, model.side_by_side))
    threads = max(1, parallel // model.side_by_side)
    stopping = Event()
    with Recorder(evaluation.folder) as recorder, ThreadPoolExecutor(threads) as pool:
        waiting: set[Future[list[Play]]] = set()
        try:
            while groups or waiting:
                while groups and len(waiting) < threads:
                    waiting.add(pool.submit(play, groups.pop(0), model, grader, evaluation.run_id, stopping))
                ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                # what ended well is kept before anything that did not is raised
                for future in sorted(ended, key=lambda each: each.exception() is not None):
                    _keep(evaluation, recorder, future.result(), on_ended)
        finally:
            stopping.set()


def play(openings: Sequence[Opening], model: Model, grader: KernelGrader, run_id: str, stopping: Event) -> list[Play]:
    """Play these side by side to their ends, or as far as they are when `stopping` is set.

    Raises ModelError, Unavailable, Refused.
    """
    episodes = Episodes(grader, run_id=run_id)
    plays = episodes.open(openings)
    while not stopping.is_set() and (active := [each for each in plays if each.active]):
        answered: list[tuple[Play, Answer]] = []
        for each, answer in zip(active, model.answers(active), strict=True):
            if answer is None:
                each.stopped = True
            else:
                answered.append((each, answer))
        if answered:
            asked, answers = zip(*answered, strict=True)
            episodes.grade(asked, answers)
    return plays


def _keep(
    evaluation: Evaluation, recorder: Recorder, plays: Sequence[Play], on_ended: Callable[[EpisodeRecord], None]
) -> None:
    stamp = Stamp(now(), recorder.session, evaluation.step, recorder.rank, "eval", evaluation.run_id)
    for each in plays:
        episode = record_of(each, stamp, max(each.rewards) if each.rewards else None)
        recorder.write([episode])
        recorder.write_suspicious(suspicious_of(each, stamp))
        on_ended(episode)


def _groups(openings: Sequence[Opening], size: int) -> Iterator[Sequence[Opening]]:
    for begin in range(0, len(openings), size):
        yield openings[begin : begin + size]
