"""What the launcher says once it serves: what it chose, where the data lies, what to try."""

from rich.console import Console
from rich.text import Text

from launcher.plan import Plan


def show(console: Console, plan: Plan) -> None:
    """A short table and one command to copy; no line is cut or folded, since paths are copied too."""
    settings = plan.settings
    rows = {
        "API": f"{plan.url}  (documentation: {plan.url}/docs)",
        "evaluator": f"{settings.evaluator}  ({plan.evaluator_why}), slots: {_list(settings.gpus)}",
        "tasks": str(settings.kernelbench_dir),
        "database": _database(plan),
        "broker": plan.broker.source if plan.broker else "REDIS_URL",
        "data": str(settings.data_dir),
        "logs": str(plan.log_dir),
    }
    if plan.flower_port:
        rows["Flower"] = f"http://127.0.0.1:{plan.flower_port}"
    width = max(map(len, rows))
    console.print()
    for name, value in rows.items():
        console.print(Text.assemble((name.ljust(width), "bold"), "  ", value), soft_wrap=True)
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
