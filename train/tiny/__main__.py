"""`python -m train.tiny`: a whole training run in minutes, on a CPU or on one GPU, without any download.

A policy of some thousand weights is made on the spot and taught to write kernels at random; then GRPO teaches it, by
what the grader says, which kernel is right for which task. In the middle the run is stopped and goes on from its
checkpoint. It shows that the loop learns, nothing about writing kernels.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from kernel_grader_client import KernelGraderError
from rich.console import Console

from launcher.demo_server import OwnServer, OwnServerError
from train.tiny.run import Demo, DemoSettings


def main(
    output: Annotated[Path, typer.Option(help="a folder that is new or empty")] = Path(".data/train-demo"),
    url: Annotated[str | None, typer.Option(help="a grader that runs; without it one is started")] = None,
    updates: Annotated[int, typer.Option(min=2, help="half of them before the stop, half after it")] = 24,
    generations: Annotated[int, typer.Option(min=2, help="episodes of a task in an update")] = 8,
    seed: int = 0,
    cpu: Annotated[bool, typer.Option(help="keep the policy off the GPU")] = False,
) -> None:
    """Train the tiny policy and report."""
    console = Console()
    if output.exists() and any(output.iterdir()):
        raise SystemExit(f"--output {output}: is not empty; name another folder, or remove it")
    with ExitStack() as stack:
        try:
            if url is None:
                console.print("Starting a grader of its own ...")
                url = stack.enter_context(OwnServer()).url
            Demo(DemoSettings(output, url, updates, generations, seed, cpu), console).run()
        except (OwnServerError, KernelGraderError) as error:
            raise SystemExit(f"the grader: {error}") from None


if __name__ == "__main__":
    typer.run(main)
