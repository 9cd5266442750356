"""What one confined process is granted: a frozen, JSON-able record made by the trusted side."""

from dataclasses import asdict, dataclass
from typing import Any, Self

GIB = 1024**3


@dataclass(frozen=True)
class Policy:
    """Grants of one runner or builder. Sizes in bytes.

    `uid`/`gid`: the slot's own unprivileged identity, or None to keep the caller's (ordinary user).
    `device`: keep the devices of NVIDIA and a `/dev/shm` shared with the judge until `enter_after_device`; no PID
    namespace is expected then, because legacy CUDA IPC fails across one.
    `readable`: absolute paths visible read-only besides the system's and Python's own.
    `bring`: (name, path) pairs copied into the scratch before privileges are dropped.
    `cgroup_dirs`: directories of the `Cgroup` that the process puts itself into first; the two flags say which of
    its limits hold.
    `shielded_pids`: processes that must not be signalled even by the same user (the caller's parent always is).
    `fallback_scratch`: the folder on disk used as scratch where no private mount is possible; whoever holds the
    leash creates and removes it.
    """

    uid: int | None = None
    gid: int | None = None
    device: bool = False
    readable: tuple[str, ...] = ()
    bring: tuple[tuple[str, str], ...] = ()
    cgroup_dirs: tuple[str, ...] = ()
    cgroup_limits_memory: bool = False
    cgroup_limits_processes: bool = False
    shielded_pids: tuple[int, ...] = ()
    fallback_scratch: str | None = None
    scratch_bytes: int = 4 * GIB
    shm_bytes: int = 1 * GIB
    memory_bytes: int = 16 * GIB
    file_bytes: int = 2 * GIB
    open_files: int = 4096
    processes: int = 512

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        values = dict(data)
        for name in ("readable", "cgroup_dirs", "shielded_pids"):
            values[name] = tuple(values.get(name, ()))
        values["bring"] = tuple((str(name), str(path)) for name, path in values.get("bring", ()))
        return cls(**values)
