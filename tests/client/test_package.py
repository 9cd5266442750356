"""The client stands alone."""

import subprocess
import sys
from importlib.metadata import requires, version
from importlib.resources import files

import kernel_grader_client

PROGRAM = """
import importlib, pkgutil, sys
import kernel_grader_client
for module in pkgutil.walk_packages(kernel_grader_client.__path__, "kernel_grader_client."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
server = {"app", "grading", "evaluator", "workers", "launcher", "flask", "celery", "sqlalchemy", "torch", "triton"}
sys.exit(", ".join(sorted(server & set(sys.modules))) or None)
"""


def test_it_loads_nothing_of_the_server() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_it_asks_for_httpx_typer_and_rich_alone() -> None:
    assert {line.partition(">")[0] for line in requires("kernel-grader-client") or []} == {"httpx", "typer", "rich"}


def test_type_checkers_are_told_that_it_is_typed() -> None:
    assert (files("kernel_grader_client") / "py.typed").is_file()


def test_the_version_is_said_once() -> None:
    assert version("kernel-grader-client") == kernel_grader_client.__version__
