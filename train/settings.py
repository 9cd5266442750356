"""Settings that cannot be, told in a sentence; and those under which a folder was begun."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class SettingsError(ValueError):
    """A setting is out of its range, or two do not go together; the text names them and what to do."""


class OtherSettings(SettingsError):
    """The folder was begun under other settings; the text names what differs."""


def keep(path: Path, settings: Mapping[str, Any], *, anew: bool = False) -> None:
    """Keep a run's settings, as JSON has them, in its folder. Raises OtherSettings where it holds others.

    `anew` puts them in the place of others: nothing was made under those.
    """
    now = json.loads(json.dumps(settings))
    if path.is_file() and not anew:
        before = json.loads(path.read_text())
        if differ := [name for name in before | now if before.get(name) != now.get(name)]:
            told = ", ".join(f"{name} was {before.get(name)!r} and is {now.get(name)!r}" for name in differ)
            raise OtherSettings(f"{path.parent} was begun with other settings ({told}): name another folder")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(now, indent=1) + "\n")


def at_least(settings: object, least: float, *names: str) -> None:
    """Raises SettingsError for the first of these settings that is lower."""
    for name in names:
        value = getattr(settings, name)
        if value < least:
            raise SettingsError(f"{name}: at least {least:g}, not {value:g}")


def told(text: str) -> dict[str, str]:
    """The metadata of a field that has this line in `--help`."""
    return {"help": text}
