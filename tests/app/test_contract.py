"""The server against its own OpenAPI document: every endpoint, every check of schemathesis, with keys."""

import os
import subprocess
import sys
from pathlib import Path

from grading.db import Database
from grading.keys import NewKey, make_key
from launcher.commands import REPOSITORY
from launcher.demo_server import OwnServer
from tests.services import postgres

EXAMPLES = 4
# a generated wait may be for days, and a generated GPU is nobody's
SETTINGS = {"KERNEL_ENV_EVALUATOR": "mock", "KERNEL_ENV_AUTH": "1", "KERNEL_ENV_WAIT_MAX_S": "0.1"}


def test_whatever_is_sent_the_answer_is_as_documented(tmp_path: Path) -> None:
    with postgres.database() as url, OwnServer(DATABASE_URL=url, **SETTINGS) as server:
        db = Database(url.replace("postgresql://", "postgresql+psycopg://"))
        token = make_key(db, NewKey("contract", "schemathesis", ("admin",)))[1]
        db.dispose()
        done = schemathesis(server.url, token, tmp_path)
    assert done.returncode == 0, done.stdout[:9000]
    assert " 28 selected / 28 total" in done.stdout


def schemathesis(url: str, token: str, folder: Path) -> subprocess.CompletedProcess[str]:
    options = [
        f"{url}/openapi.json",
        f"--header=Authorization: Bearer {token}",
        "--checks=all",
        f"--max-examples={EXAMPLES}",
        "--seed=1",
        "--no-shrink",
        "--continue-on-failure",
        "--suppress-health-check=all",
        "--warnings=off",
    ]
    hooks = {"SCHEMATHESIS_HOOKS": "tests.app.contract_hooks", "PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1"}
    program = "from schemathesis.cli import schemathesis; schemathesis()"
    return subprocess.run(
        [sys.executable, "-c", program, "run", *options],
        cwd=folder,
        env={**os.environ, **hooks},
        capture_output=True,
        text=True,
        timeout=280,
    )
