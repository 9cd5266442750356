"""Reads docker-compose.yml as Compose does: merges, then variables of `.env`."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from launcher.commands import REPOSITORY

FILE = "docker-compose.yml"
VARIABLE = re.compile(r"\$(?:(?P<escaped>\$)|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?:(?P<how>:?-|:\?)(?P<more>[^}]*))?\})")


class Unset(Exception):
    """A variable that Compose would stop at, with its message."""


@cache
def raw(file: str = FILE) -> dict[str, Any]:
    """A file of the repository with its merges done, variables as they stand."""
    found: dict[str, Any] = yaml.safe_load((REPOSITORY / file).read_text())
    return found


def services(variables: Mapping[str, str]) -> dict[str, Any]:
    """Every service with its variables filled in. Raises Unset."""
    filled: dict[str, Any] = fill(raw()["services"], variables)
    return filled


def fill(node: Any, variables: Mapping[str, str]) -> Any:
    """The same structure with `${…}` replaced and `$$` halved in every string."""
    if isinstance(node, dict):
        return {key: fill(value, variables) for key, value in node.items()}
    if isinstance(node, list):
        return [fill(value, variables) for value in node]
    return VARIABLE.sub(lambda match: _value(match, variables), node) if isinstance(node, str) else node


def _value(match: re.Match[str], variables: Mapping[str, str]) -> str:
    if match["escaped"]:
        return "$"
    value = variables.get(match["name"], "")
    if match["how"] == "-":  # set to nothing is set
        return variables.get(match["name"], match["more"])
    if not value and match["how"] == ":?":
        raise Unset(f"{match['name']}: {match['more']}")
    return value or (match["more"] or "" if match["how"] == ":-" else "")


def read_env(text: str) -> dict[str, str]:
    """The variables of a `.env` file."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)
