"""Text from outside, made fit to be stored: candidates print what no database takes."""

from typing import TypeAlias

Storable: TypeAlias = "dict[str, Storable] | list[Storable] | str | int | float | bool | None"


def storable(value: object) -> Storable:
    """The same JSON value without NUL characters and lone surrogates, which Postgres refuses in text and JSON."""
    if isinstance(value, str):
        return value.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {str(storable(str(key))): storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    if value is None or isinstance(value, int | float):
        return value
    raise TypeError(f"{type(value).__name__} is no JSON value")
