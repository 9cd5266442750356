"""What a step's episodes add up to, as metrics of the trainer's log: `kernel/*`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from train.records import EpisodeRecord

STAGES = ("format", "compile", "runtime", "timeout", "correctness", "timing", "ok")
Log = Callable[[str, float], None]


def log(episodes: Sequence[EpisodeRecord], tell: Log) -> None:
    """Tell each value by itself; the trainer averages them, over all processes. Shares are from 0 to 1.

    What has no value for an episode (a speedup without a correct kernel) is left out of its mean.
    """
    for episode in episodes:
        tell("kernel/failed", float(episode.failed))
        tell("kernel/turns", float(len(episode.turns)))
        if episode.failed:
            continue
        tell("kernel/correct", float(episode.correct))
        tell("kernel/suspicious", float(any(turn.suspicious for turn in episode.turns)))
        _tell_if(tell, "kernel/return", episode.return_)
        _tell_if(tell, "kernel/reward_best", episode.best_reward)
        _tell_if(tell, "kernel/speedup", episode.best_speedup)
    turns = [turn for episode in episodes for turn in episode.turns]
    for turn in turns:
        tell("kernel/truncated", float(turn.truncated))
        tell("kernel/no_code", float(not turn.has_code))
        if turn.stage is not None:
            for stage in STAGES:
                tell(f"kernel/stage/{stage}", float(turn.stage == stage))
        if turn.correct:
            _tell_if(tell, "kernel/roofline_frac", turn.roofline_frac)


def _tell_if(tell: Log, name: str, value: float | None) -> None:
    if value is not None:
        tell(name, value)
