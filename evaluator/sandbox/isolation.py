"""Which walls stood around a candidate: a frozen record that travels with every result."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

#: Every wall that can be named in REQUIRE_ISOLATION, with what it keeps out.
WALLS: Final[Mapping[str, str]] = {
    "descriptors": "file descriptors of the parent",
    "death_signal": "outliving the parent",
    "process_group": "being missed when the group is killed",
    "cgroup": "being missed by freeze and kill",
    "memory": "using more host memory than granted",
    "processes": "fork bombs",
    "rlimits": "huge files, core dumps, too many open files",
    "scratch": "writing to a disk that outlives the run",
    "filesystem": "seeing or writing files beyond what a kernel needs",
    "network": "reaching any host, the database and the broker included",
    "ipc": "System V and POSIX message objects of others",
    "pid_namespace": "seeing processes outside, outliving the runner",
    "proc": "seeing processes of other users",
    "shm": "reading shared memory of others",
    "uid": "acting with the rights of the grader's user",
    "capabilities": "acting with any privilege",
    "no_new_privileges": "gaining privileges through setuid programs",
    "seccomp": "system calls that no kernel needs",
    "landlock": "files, signals and sockets beyond the scratch, even for the same user",
}


@dataclass(frozen=True)
class Wall:
    """One wall: in force or not, and how it was built or why it is missing."""

    in_force: bool
    detail: str = ""


@dataclass(frozen=True)
class Isolation:
    """The walls by name. A wall that is not listed was never attempted and counts as missing."""

    walls: Mapping[str, Wall]

    def __post_init__(self) -> None:
        if unknown := set(self.walls) - set(WALLS):
            raise ValueError(f"unknown walls: {', '.join(sorted(unknown))}")

    def missing(self, required: Iterable[str]) -> tuple[str, ...]:
        """Those of `required` that are not in force, in the given order; an unknown name raises ValueError."""
        names = tuple(required)
        if unknown := [name for name in names if name not in WALLS]:
            raise ValueError(f"unknown walls: {', '.join(unknown)}; known: {', '.join(WALLS)}")
        return tuple(name for name in names if name not in self.walls or not self.walls[name].in_force)

    def to_json(self) -> dict[str, Any]:
        """`{wall: {"in_force": bool, "detail": str}}`, the `isolation` of a result's environment."""
        return {name: {"in_force": wall.in_force, "detail": wall.detail} for name, wall in self.walls.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Mapping[str, Any]]) -> Self:
        """Read what `to_json` wrote; raises ValueError, KeyError or TypeError for anything else."""
        walls = {name: Wall(bool(wall["in_force"]), str(wall["detail"])[:300]) for name, wall in data.items()}
        return cls(walls)
