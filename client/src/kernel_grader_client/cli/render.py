"""How submissions look in a terminal."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from kernel_grader_client.models import Result, Submission

STYLES = {
    "correct": "bold green",
    "incorrect": "bold red",
    "rejected_timing": "bold magenta",
    "timeout": "bold yellow",
}
OTHER_VERDICT = "bold red"
NO_VERDICT = "bold yellow"


def style(submission: Submission) -> str:
    """The colour of a verdict."""
    if submission.verdict is None:
        return NO_VERDICT if submission.finished else "cyan"
    return STYLES.get(submission.verdict, OTHER_VERDICT)


def progress(submission: Submission) -> str:
    """Where an unfinished submission is, in one line."""
    parts = [submission.status]
    if submission.place is not None:
        parts.append(f"place {submission.place.position} in the queue")
        if submission.place.eta_s is not None:
            parts.append(f"about {_span(submission.place.eta_s)}")
    elif submission.phase:
        parts.append(submission.phase)
    if submission.attempt > 1:
        parts.append(f"attempt {submission.attempt}")
    return ", ".join(parts)


def outcome(submission: Submission) -> RenderableType:
    """What a submission came to, as a panel."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("verdict", Text(submission.verdict or submission.status, style=style(submission)))
    table.add_row("reward", "none: it was not graded" if submission.reward is None else f"{submission.reward:.3f}")
    if submission.failure is not None:
        table.add_row("reason", Text(str(submission.failure)))
    for name, value in _measured(submission.result):
        table.add_row(name, value)
    table.add_row("took", _took(submission))
    if submission.feedback:
        table.add_row("feedback", Text(submission.feedback))
    for warning in submission.result.warnings if submission.result else ():
        table.add_row("warning", Text(str(warning), style="yellow"))
    return Panel(table, title=f"{submission.task_id}  {submission.id}", border_style=style(submission), expand=False)


def show(console: Console, submission: Submission) -> None:
    console.print(outcome(submission))


def _measured(result: Result | None) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    if result is None:
        return rows
    if result.speedup is not None:
        spread = "  (95 %: {:.3f} to {:.3f})".format(*result.speedup_ci95) if result.speedup_ci95 else ""
        rows.append(("speedup", f"{result.speedup:.3f}{spread}"))
    if result.t_new_ms is not None and result.t_ref_ms is not None:
        rows.append(("times", f"yours {result.t_new_ms:.4g} ms, reference {result.t_ref_ms:.4g} ms"))
    if result.roofline_frac is not None:
        rows.append(("roofline", f"{100 * result.roofline_frac:.1f} % of what the {result.bound} allows"))
    if result.max_abs_err is not None:
        rows.append(("error", f"at most {result.max_abs_err:.3g}"))
    if result.suspicious:
        rows.append(("note", "suspicious: it is to be reviewed"))
    return rows


def _took(submission: Submission) -> str:
    timings, environment = submission.timings, submission.environment or {}
    parts = [f"{_span(timings.get('queue_wait_s') or 0)} waiting", f"{_span(timings.get('eval_s') or 0)} grading"]
    device = environment.get("gpu") or environment.get("device")
    return ", ".join(parts) + (f", on {device}" if device else "")


def _span(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
