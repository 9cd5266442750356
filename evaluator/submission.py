"""What the evaluator is given to grade."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, cast

from evaluator.prebuilt import Prebuilt

Language = Literal["triton", "cuda"]
LANGUAGES: tuple[Language, ...] = ("triton", "cuda")


@dataclass(frozen=True)
class Submission:
    """One complete Python source that defines `ModelNew`, for one task.

    `seed_key` is the hex HMAC(server secret, submission id), from which every hidden seed is derived; the server
    secret itself never reaches a worker. `prebuilt` is what a builder made of the source for the device at hand, if one
    did: whoever uses it checks that it fits and that its files are what their hashes say.
    """

    submission_id: str
    task_id: str
    code: str
    language: Language
    seed_key: str
    prebuilt: Prebuilt | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        if data["language"] not in LANGUAGES:
            raise ValueError(f"language: one of {', '.join(LANGUAGES)}, not {data['language']!r}")
        return cls(
            submission_id=str(data["submission_id"]),
            task_id=str(data["task_id"]),
            code=str(data["code"]),
            language=cast(Language, data["language"]),
            seed_key=str(data["seed_key"]),
            prebuilt=Prebuilt.from_json(data["prebuilt"]) if data.get("prebuilt") else None,
        )
