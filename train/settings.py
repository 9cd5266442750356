"""Settings that cannot be, told in a sentence."""

from __future__ import annotations


class SettingsError(ValueError):
    """A setting is out of its range, or two do not go together; the text names them and what to do."""


def at_least(settings: object, least: float, *names: str) -> None:
    """Raises SettingsError for the first of these settings that is lower."""
    for name in names:
        value = getattr(settings, name)
        if value < least:
            raise SettingsError(f"{name}: at least {least:g}, not {value:g}")


def told(text: str) -> dict[str, str]:
    """The metadata of a field that has this line in `--help`."""
    return {"help": text}
