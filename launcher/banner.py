"""What the launcher says once it serves: what it chose, where the data lies, what to try."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from launcher.plan import Plan


def show(console: Console, plan: Plan) -> None:
    """A short table and one command to copy."""
    settings = plan.settings
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("API", f"{plan.url}  (documentation: {plan.url}/docs)")
    table.add_row("evaluator", f"{settings.evaluator}  ({plan.evaluator_why}), slots: {_list(settings.gpus)}")
    table.add_row("tasks", str(settings.kernelbench_dir))
    table.add_row("database", _database(plan))
    table.add_row("broker", plan.broker.source if plan.broker else "REDIS_URL")
    table.add_row("data", str(settings.data_dir))
    table.add_row("logs", str(plan.log_dir))
    if plan.flower_port:
        table.add_row("Flower", f"http://127.0.0.1:{plan.flower_port}")
    console.print()
    console.print(table)
    # not part of the table: a line to copy must not be cut or folded
    console.print(Text.assemble("\n", ("Try it:  ", "bold"), (_curl(plan), "green")), soft_wrap=True)
    console.print("Ctrl-C stops everything; the data stays.\n")


def _curl(plan: Plan) -> str:
    """One line that opens an episode and shows its prompt, without any tool but curl."""
    return f"curl -s {plan.url}/episodes -H 'Content-Type: application/json' -d '{{\"task_id\": \"level1/19_ReLU\"}}'"


def _database(plan: Plan) -> str:
    url = plan.settings.database_url
    if url.startswith("sqlite:///"):
        return f"SQLite, {url.removeprefix('sqlite:///')}"
    return f"Postgres, {url.rpartition('@')[2].removeprefix('postgresql+psycopg://')}"


def _list(numbers: tuple[int, ...]) -> str:
    return ", ".join(str(number) for number in numbers)
