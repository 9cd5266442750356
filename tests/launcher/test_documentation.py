"""The documentation names what there is."""

import re

import pytest

from grading.environment import Reader
from grading.settings import load
from launcher.commands import REPOSITORY


def test_every_setting_is_in_the_table_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[str] = set()
    original = Reader._read

    def recording(self: Reader, kind: str, name: str, *more: object) -> object:
        read.add(name)
        return original(self, kind, name, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Reader, "_read", recording)
    load({})
    text = (REPOSITORY / "docs" / "configuration.md").read_text()
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE))
    assert documented == read | {"KERNEL_ENV_FLOWER_PORT"}


def test_places_that_the_readme_names_exist() -> None:
    text = (REPOSITORY / "README.md").read_text()
    table = text.partition("## To change X")[2]
    named = {name for name in re.findall(r"`([\w./]+)`", table) if "/" in name and not name.startswith(".")}
    links = set(re.findall(r"\]\(([\w./]+)\)", text))
    missing = {name for name in named | links if not (REPOSITORY / name).exists()}
    assert not missing
