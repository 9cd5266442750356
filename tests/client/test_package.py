"""The client stands alone."""

import subprocess
import sys
from importlib.metadata import requires

PROGRAM = """
import sys
import kernel_grader_client, kernel_grader_client.cli.app
server = {"app", "grading", "evaluator", "workers", "launcher", "flask", "celery", "sqlalchemy", "torch", "triton"}
sys.exit(", ".join(sorted(server & set(sys.modules))) or None)
"""


def test_it_loads_nothing_of_the_server() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_it_asks_for_httpx_typer_and_rich_alone() -> None:
    assert {line.partition(">")[0] for line in requires("kernel-grader-client") or []} == {"httpx", "typer", "rich"}
