"""One finding of the doctor."""

from dataclasses import dataclass
from typing import Literal, Self

State = Literal["ok", "warning", "failed"]


@dataclass(frozen=True)
class Check:
    """`remedy` says what to do; only a check that is well has none."""

    name: str
    state: State
    detail: str
    remedy: str = ""

    def __post_init__(self) -> None:
        if (self.state == "ok") == bool(self.remedy):
            raise ValueError(f"{self.name}: a remedy for what is not well, and only for that")

    @property
    def failed(self) -> bool:
        return self.state == "failed"

    @classmethod
    def ok(cls, name: str, detail: str) -> Self:
        return cls(name, "ok", detail)

    @classmethod
    def warning(cls, name: str, detail: str, remedy: str) -> Self:
        return cls(name, "warning", detail, remedy)

    @classmethod
    def failure(cls, name: str, detail: str, remedy: str) -> Self:
        return cls(name, "failed", detail, remedy)
