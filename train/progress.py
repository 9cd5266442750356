"""How far training is: a bar on a terminal, a line per update elsewhere."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from transformers import TrainerCallback
from transformers.utils import logging

SHOWN = ("kernel/return", "kernel/correct", "kernel/speedup", "kernel/failed")


class Progress(TrainerCallback):  # type: ignore[misc]  # transformers is not looked into
    """Counts updates, shows the latest rewards, and `say` what is being done within an update.

    Of several processes only the first one shows anything.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, quiet=os.environ.get("RANK", "0") != "0")
        self._bar = Bar(
            TextColumn("updates"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> Progress:
        logging.disable_progress_bar()  # transformers' own would stand in this one's way
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """What is being done right now; a terminal shows it, a log does not."""
        self._bar.update(self._task, description=text)

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self._bar.update(self._task, completed=state.global_step, total=state.max_steps)

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self._bar.update(self._task, completed=state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **more: Any) -> None:
        if not state.is_world_process_zero or not logs:
            return
        values = {name: logs.get(name, logs.get(f"eval_{name}")) for name in SHOWN}
        told = [f"{name.rpartition('/')[2]} {value:.3g}" for name, value in values.items() if value is not None]
        if told:
            # before training transformers does not know how many updates there will be
            at = f"{state.global_step} of {state.max_steps}" if state.max_steps else str(state.global_step)
            what = "evaluated after update" if any(name.startswith("eval_") for name in logs) else "update"
            self._console.print(f"{what} {at}: {', '.join(told)}", highlight=False)
