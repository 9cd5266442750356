"""How the demo looks in a terminal."""

from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

PROBLEM_LINES = 30


def show_problem(console: Console, episode: dict[str, Any]) -> None:
    """The head of the prompt, as a policy would get it."""
    lines = episode["problem"].splitlines()
    text = "\n".join(lines[:PROBLEM_LINES])
    more = f"… {len(lines) - PROBLEM_LINES} more lines" if len(lines) > PROBLEM_LINES else None
    title = f"problem: {episode['task_id']}, {episode['max_turns']} turns"
    console.print(Panel(Markdown(text), title=title, subtitle=more, border_style="blue"))


def show_turn(console: Console, number: int, what: str, source: str, submission: dict[str, Any]) -> None:
    """One kernel and what became of it."""
    console.rule(f"turn {number}: {what}")
    console.print(Syntax(source.strip(), "python", background_color="default"))
    console.print(_outcome(submission))


def _outcome(submission: dict[str, Any]) -> Panel:
    result, error = submission["result"], submission["error"]
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("verdict", str(submission["verdict"] or submission["status"]))
    table.add_row("stage", str(submission["stage"]))
    if error:
        table.add_row("error", Text(f"{error['title']}: {error['detail']}"))
    if result:
        table.add_row("feedback", Text(result["feedback"]))
        if result["speedup"] is not None:
            table.add_row("speedup", f"{result['speedup']:.3f}  ({_times(result)})")
    reward = submission["reward"]
    table.add_row("reward", "none: it was not graded" if reward is None else f"{reward:.3f}")
    table.add_row("took", _took(submission))
    return Panel(table, border_style="green" if submission["verdict"] == "correct" else "red", expand=False)


def _times(result: dict[str, Any]) -> str:
    return f"reference {result['t_ref_ms']:.4g} ms, yours {result['t_new_ms']:.4g} ms"


def _took(submission: dict[str, Any]) -> str:
    timings, environment = submission["timings"], submission["environment"] or {}
    spans = [f"{timings['queue_wait_s'] or 0:.2f} s waiting", f"{timings['eval_s'] or 0:.2f} s grading"]
    if device := environment.get("gpu") or environment.get("device"):
        spans.append(f"on {device}")
    return ", ".join(spans)


def show_end(console: Console, episode: dict[str, Any]) -> None:
    """How the episode stands after its last turn."""
    best = episode["best_speedup"]
    console.print(
        f"\nThe episode is [bold]{episode['status']}[/]; "
        + ("no turn was correct." if best is None else f"its best speedup is {best:.3f}.")
    )
