"""Follows a submission to its end, with a line that says where it is."""

from __future__ import annotations

from rich.console import Console

from kernel_grader_client.cli import render
from kernel_grader_client.client import KernelGrader
from kernel_grader_client.models import Submission

LOOK_S = 1.0


def follow(grader: KernelGrader, submission: Submission, console: Console) -> Submission:
    """Wait for the end. A terminal shows a live line; elsewhere each change is a line of its own."""
    if not console.is_terminal:
        return _in_lines(grader, submission, console)
    with console.status(render.progress(submission)) as line:
        while not submission.finished:
            submission = grader.wait(submission, LOOK_S)
            line.update(render.progress(submission))
    return submission


def _in_lines(grader: KernelGrader, submission: Submission, console: Console) -> Submission:
    said = ""
    while not submission.finished:
        if (now := render.progress(submission)) != said:
            console.print(f"{submission.id}: {now}", soft_wrap=True)
            said = now
        submission = grader.wait(submission, LOOK_S)
    return submission


def exit_code(submission: Submission) -> int:
    """0 only for a correct kernel; 1 for another verdict, 3 for none."""
    if submission.correct:
        return 0
    return 1 if submission.graded else 3
