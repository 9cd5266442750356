"""The table of rules names tests that exist and every endpoint, and every kind of refusal is met by a test."""

import ast
import re
from pathlib import Path

import httpx

from app.error_codes import ErrorCode
from launcher.commands import REPOSITORY

TESTS = REPOSITORY / "tests"
TABLE = (REPOSITORY / "docs" / "contract.md").read_text()
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", TABLE)))
ROW = re.compile(r"^\| (?!rule \|)([^|]+) \| ([^|]+) \|$", re.MULTILINE)
# a mistake of ours, what a rule without a code of its own would become, and a server that has not moved for half a
# minute: no request brings these about
NEVER = {ErrorCode.INTERNAL, ErrorCode.CONFLICT, ErrorCode.BUSY}


def test_each_test_of_the_table_is_there() -> None:
    for file, test in NAMED:
        module = ast.parse((TESTS / file).read_text())
        assert test in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}, (file, test)


def test_each_rule_is_held_by_a_test() -> None:
    rows = ROW.findall(TABLE)
    assert len(rows) > 40
    for rule, held_by in rows:
        assert re.search(r"`[\w/]+\.py::test_\w+`", held_by), rule


def test_each_endpoint_is_in_the_table(api: httpx.Client) -> None:
    told = set(re.findall(r"`(/[^` ]*)`", TABLE))
    assert set(api.get("/openapi.json").json()["paths"]) - told == set()


def test_each_refusal_is_met_by_a_test_over_http() -> None:
    sources = "".join(path.read_text() for path in Path(TESTS / "app").glob("test_*.py") if path != Path(__file__))
    for kind in set(ErrorCode) - NEVER:
        assert f'"{kind.code}"' in sources, kind.code
