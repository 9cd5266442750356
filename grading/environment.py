"""Reads single environment variables and says, in one sentence, what a wrong one takes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from environs import Env, EnvError, validate

S = TypeVar("S", bound=str)


class SettingsError(Exception):
    """A setting that the start stops at."""

    def __init__(self, name: str, takes: str) -> None:
        super().__init__(f"{name} takes {takes}.")
        self.name = name


class Reader:
    """Typed look-ups in one environment. An empty variable counts as unset, as in compose files."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = {name: value for name, value in environ.items() if value.strip()}

    def _read(self, kind: str, name: str, default: Any, takes: str, *checks: Callable[[Any], Any]) -> Any:
        if name not in self._environ:
            return default
        value = self._environ[name].strip()
        try:
            return getattr(_Fixed(name, value), kind)(name, validate=list(checks))
        except (EnvError, ValueError) as error:
            raise SettingsError(name, f"{takes}, not {value[:80]!r}") from error

    def text(self, name: str, default: str) -> str:
        return cast(str, self._read("str", name, default, "a text"))

    def optional_text(self, name: str) -> str | None:
        return cast(str | None, self._read("str", name, None, "a text"))

    def path(self, name: str, default: Path) -> Path:
        return cast(Path, self._read("path", name, default, "a path"))

    def optional_path(self, name: str) -> Path | None:
        return cast(Path | None, self._read("path", name, None, "a path"))

    def flag(self, name: str, *, default: bool) -> bool:
        return cast(bool, self._read("bool", name, default, "0 or 1"))

    def optional_flag(self, name: str) -> bool | None:
        return cast(bool | None, self._read("bool", name, None, "0 or 1"))

    def integer(self, name: str, default: int, *, low: int, high: int) -> int:
        takes = f"a whole number from {low} to {high}"
        return cast(int, self._read("int", name, default, takes, validate.Range(low, high)))

    def number(self, name: str, default: float, *, low: float, high: float) -> float:
        takes = f"a number from {low:g} to {high:g}"
        return cast(float, self._read("float", name, default, takes, validate.Range(low, high)))

    def choice(self, name: str, default: S, choices: Sequence[S]) -> S:
        takes = f"one of {', '.join(choices)}"
        return cast(S, self._read("str", name, default, takes, validate.OneOf(choices)))

    def integers(self, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """A comma list of different whole numbers, such as `0,1`."""
        takes = "a comma list of different whole numbers such as 0,1"
        raw = self._read("list", name, [str(item) for item in default], takes)
        try:
            found = tuple(int(item) for item in raw)
        except ValueError as error:
            raise SettingsError(name, takes) from error
        if not found or min(found) < 0 or len(set(found)) != len(found):
            raise SettingsError(name, takes)
        return found

    def names(self, name: str, known: Collection[str]) -> tuple[str, ...]:
        """A comma list of known words, empty by default."""
        takes = f"a comma list of {', '.join(known)}"
        found = tuple(item.strip() for item in self._read("list", name, [], takes) if item.strip())
        if unknown := [item for item in found if item not in known]:
            raise SettingsError(name, f"{takes}, not {unknown[0][:80]!r}")
        return found


class _Fixed(Env):
    """environs over one given value instead of the process's own environment."""

    def __init__(self, name: str, value: str) -> None:
        super().__init__()
        self._given = {name: value}

    def _get_value(self, env_key: str, default: Any) -> Any:
        return self._given.get(env_key, default)


def default_evaluator() -> Any:
    """`gpu` where the NVIDIA driver has made a device node, else `cpu`; asks nothing of torch."""
    return "gpu" if any(Path("/dev").glob("nvidia[0-9]*")) else "cpu"
