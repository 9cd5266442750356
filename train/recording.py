"""The files of a run: `rollouts-rankN.jsonl`, an episode a line, and `suspicious.jsonl`, with the code."""

from __future__ import annotations

import fcntl
import json
import os
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from train.records import BadRecord, EpisodeRecord

SUSPICIOUS = "suspicious.jsonl"
NAME = re.compile(r"rollouts-rank(\d+)\.jsonl")


def rank_file(folder: Path, rank: int = 0) -> Path:
    """Where a rank's episodes are."""
    return folder / f"rollouts-rank{rank}.jsonl"


class Recorder:
    """Appends to one rank's file, whole lines only, each flushed. Used again for the same folder it goes on there."""

    def __init__(self, folder: Path, rank: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.session = uuid.uuid4().hex[:12]
        self.rank = rank
        self._folder = folder
        self._file = rank_file(folder, rank).open("a+b")
        _cut_to_last_line(self._file.fileno())

    def write(self, episodes: Sequence[EpisodeRecord]) -> None:
        """Keep episodes; they are on file when it returns."""
        for episode in episodes:
            self._file.write(episode.to_line().encode())
        self._file.flush()

    def write_suspicious(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Keep what looks like gaming, for somebody to read; one file for all ranks of a host."""
        if not entries:
            return
        with (self._folder / SUSPICIOUS).open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _cut_to_last_line(file.fileno())
            for entry in entries:
                file.write((json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n").encode())

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def read_run(folder: Path) -> list[EpisodeRecord]:
    """All ranks' episodes, without those that a resumed run has played again. Raises BadRecord, FileNotFoundError."""
    files = sorted((int(found[1]), path) for path in folder.iterdir() if (found := NAME.fullmatch(path.name)))
    if not files:
        raise FileNotFoundError(f"{folder}: no rollouts-rankN.jsonl")
    return [episode for _, path in files for episode in _still_true(list(read_file(path)))]


def read_file(path: Path) -> Iterator[EpisodeRecord]:
    """All episodes of one file, in order; a last line that was cut off is left out. Raises BadRecord."""
    with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith("\n"):
                return
            try:
                yield EpisodeRecord.from_line(line)
            except BadRecord as error:
                raise BadRecord(f"{path}, line {number}: {error}") from None


def read_suspicious(folder: Path) -> list[dict[str, Any]]:
    """What was set aside; empty where nothing was."""
    path = folder / SUSPICIOUS
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def _still_true(episodes: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
    """A session that goes on at a checkpoint takes back what others had played beyond it.

    Evaluation comes before the checkpoint of its step is written, so that of the same step stands.
    """
    kept: list[EpisodeRecord] = []
    seen: set[str] = set()
    for episode in episodes:
        if episode.phase == "train" and episode.session not in seen:
            seen.add(episode.session)
            kept = [one for one in kept if one.session == episode.session or not _beyond(one, episode.step)]
        kept.append(episode)
    return kept


def _beyond(episode: EpisodeRecord, step: int) -> bool:
    return episode.step > step or (episode.step == step and episode.phase == "train")


def _cut_to_last_line(file: int) -> None:
    """Remove the rest of a line that a killed program left behind."""
    size = os.fstat(file).st_size
    end = size
    while end > 0:
        start = max(0, end - 65536)
        at = os.pread(file, end - start, start).rfind(b"\n")
        if at >= 0:
            end = start + at + 1
            break
        end = start
    if end < size:
        os.ftruncate(file, end)
