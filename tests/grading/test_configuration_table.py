"""docs/configuration.md has every variable that any of our programs or compose files reads, and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from grading.environment import Reader
from grading.settings import Settings
from tests.services.installation import REPOSITORY

CODE = (
    "app",
    "client/src",
    "docker",
    "evaluator",
    "grading",
    "launcher",
    "migrations",
    "openenv_server/src",
    "train",
    "workers",
)
OURS = re.compile(r"KERNEL_(ENV|GRADER)_[A-Z_]+")
ENVIRONMENTS = ("environ", "os.environ")
# set by the program that starts several trainers at once, and by a runner's parent for the runner
SURROUNDINGS = {"WORLD_SIZE", "TRITON_CACHE_DIR"}


def documented() -> dict[str, str]:
    """The tables' variables and defaults."""
    text = (REPOSITORY / "docs" / "configuration.md").read_text()
    rows = re.findall(r"^\| ((?:`[A-Z_0-9]+`(?:, )?)+) \| (.*?) \|", text, re.MULTILINE)
    return {name: default for names, default in rows for name in re.findall(r"`([A-Z_0-9]+)`", names)}


def literals(path: Path) -> Iterator[str]:
    """Names of variables that a module spells out: those with our prefixes, and what it looks up in an environment."""
    tree = ast.parse(path.read_text())
    constants = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and OURS.fullmatch(str(node.value)):
            yield str(node.value)
        key = looked_up(node)
        key = constants.get(ast.unparse(key), key) if key is not None else None
        if isinstance(key, ast.Constant) and str(key.value).isupper():
            yield str(key.value)


def looked_up(node: ast.AST) -> ast.expr | None:
    """The key of `environ.get(key)` or of `environ[key]` where it is read."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        owner, key = node.func.value, node.args[0]
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        owner, key = node.value, node.slice
    else:
        return None
    return key if ast.unparse(owner) in ENVIRONMENTS else None


def spelled_out() -> set[str]:
    paths = [path for folder in CODE for path in (REPOSITORY / folder).rglob("*.py")]
    return {name for path in [*paths, REPOSITORY / "modal_app.py"] for name in literals(path)}


def composed() -> set[str]:
    """What docker-compose.yml and its like take from their surroundings."""
    return {name for text in compose_files() for name in re.findall(r"(?<!\$)\$\{([A-Z_]+)", text)}


def compose_files() -> list[str]:
    return [path.read_text() for path in sorted(REPOSITORY.glob("docker-compose*.yml"))]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Every variable that the services' settings are read from, with its default."""
    found: dict[str, object] = {}
    original = Reader._read

    def recording(self: Reader, kind: str, name: str, default: object, *more: object) -> object:
        found[name] = default
        return original(self, kind, name, default, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Reader, "_read", recording)
    Settings.load({})
    return found


def test_every_variable_is_in_the_table_and_the_reverse(read: dict[str, object]) -> None:
    known = {*read, *spelled_out(), *composed(), "COMPOSE_PROFILES"} - SURROUNDINGS
    assert len(read) > 50
    assert known >= {"KERNEL_ENV_FLOWER_PORT", "KERNEL_GRADER_URL", "NO_COLOR", "POSTGRES_PASSWORD"}
    assert known == documented().keys()


def test_defaults_are_those_of_the_code(read: dict[str, object]) -> None:
    told = documented()
    for name, default in read.items():
        said = told[name].strip("`")
        if default is None:
            assert re.match(r"none|made once|off on", said), name
        elif isinstance(default, bool | int | float) and re.fullmatch(r"[\d.]+", said):
            assert float(said) == default, name


def test_defaults_of_docker_compose_are_those_of_the_file() -> None:
    told = documented()
    for name, default in re.findall(r"(?<!\$)\$\{([A-Z_]+):?-([^}]+)\}", "".join(compose_files())):
        assert told[name].strip("`") == default, name
