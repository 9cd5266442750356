"""A control group around one runner: limits, freezing, killing. Version 2, with limits from version 1 where mixed."""

import contextlib
import errno
import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

_MOUNTS: Final = Path("/proc/self/mountinfo")
_PREFIX: Final = "kernel-grader-"
_MAIN: Final = f"{_PREFIX}main"
_POLL_S: Final = 0.0001

#: controller -> ((file, value to write; {n} is the limit), ...), per version of the hierarchy
_LIMITS_V2: Final = {
    "memory": (("memory.max", "{n}"), ("memory.swap.max", "0"), ("memory.oom.group", "1")),
    "pids": (("pids.max", "{n}"),),
}
_LIMITS_V1: Final = {
    "memory": (("memory.limit_in_bytes", "{n}"), ("memory.memsw.limit_in_bytes", "{n}")),
    "pids": (("pids.max", "{n}"),),
}
_OPTIONAL: Final = ("memory.swap.max", "memory.oom.group", "memory.memsw.limit_in_bytes")


@dataclass
class Cgroup:
    """`core` is the version-2 folder (freeze, kill); `limiting` maps a controller to the folder that limits it.

    The maker holds a file lock on `core`: a folder without one was left by a crash, and the next maker clears it away.
    """

    core: Path
    limiting: dict[str, Path] = field(default_factory=dict)
    lock_fd: int | None = None

    @classmethod
    def create(cls, name: str, *, memory_bytes: int, processes: int) -> Self:
        """A fresh group below this process's own. Raises OSError where none may be made."""
        unified = _unified_folder()
        with _locked(unified):
            available = _enable_controllers(unified)
            _sweep(unified)
            core = unified / f"{_PREFIX}{name}-{secrets.token_hex(4)}"
            core.mkdir()
            group = cls(core, lock_fd=_lock(core))
        try:
            for controller, amount in (("memory", memory_bytes), ("pids", processes)):
                group._limit(controller, amount, v2=controller in available)
        except OSError:
            group.remove()
            raise
        return group

    def folders(self) -> tuple[str, ...]:
        """Where a process writes itself to join: every hierarchy in use."""
        return tuple(str(folder) for folder in dict.fromkeys([self.core, *self.limiting.values()]))

    def freeze(self, deadline_s: float) -> None:
        """Stop every process, and return once the kernel says that all stand still. Raises TimeoutError."""
        self._set_frozen("1", deadline_s)

    def thaw(self) -> None:
        """Let them go on; does not wait, since being let go is the runner's start signal."""
        (self.core / "cgroup.freeze").write_text("0")

    def kill(self) -> None:
        """SIGKILL every process at once, frozen ones too; those being forked are caught."""
        try:
            (self.core / "cgroup.kill").write_text("1")
        except FileNotFoundError:
            self._kill_one_by_one()

    def members(self) -> list[int]:
        """Process ids that are still in it (zombies are not)."""
        pids: set[int] = set()
        for folder in self.folders():
            with contextlib.suppress(FileNotFoundError):
                pids.update(int(line) for line in Path(folder, "cgroup.procs").read_text().split())
        return sorted(pids)

    def memory_kills(self) -> int:
        """How many processes of it the kernel has killed so far for exceeding its memory."""
        folder = self.limiting.get("memory")
        if folder is None:
            return 0
        counters = folder / ("memory.events" if folder == self.core else "memory.oom_control")
        words = counters.read_text().split()
        return int(words[words.index("oom_kill") + 1]) if "oom_kill" in words else 0

    def remove(self) -> None:
        """Remove the empty folders; one that still has members raises OSError."""
        for folder in self.folders():
            with contextlib.suppress(FileNotFoundError):
                _remove_tree(Path(folder))
        if self.lock_fd is not None:
            os.close(self.lock_fd)
            self.lock_fd = None

    def _set_frozen(self, value: str, deadline_s: float) -> None:
        (self.core / "cgroup.freeze").write_text(value)
        end = time.monotonic() + deadline_s
        while f"frozen {value}" not in (self.core / "cgroup.events").read_text():
            if time.monotonic() > end:
                raise TimeoutError(f"{self.core.name} did not freeze within {deadline_s} s")
            time.sleep(_POLL_S)

    def _kill_one_by_one(self) -> None:
        """For kernels before 5.14: freeze, so that nobody forks, then signal each."""
        with contextlib.suppress(TimeoutError):
            self.freeze(deadline_s=1.0)
        for pid in self.members():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        self.thaw()

    def _limit(self, controller: str, amount: int, *, v2: bool) -> None:
        if v2:
            folder, files = self.core, _LIMITS_V2[controller]
        else:
            parent = _legacy_folder(controller)
            if parent is None:
                return
            folder, files = parent / self.core.name, _LIMITS_V1[controller]
            folder.mkdir()
        for file, value in files:
            if file in _OPTIONAL and not (folder / file).exists():
                continue
            (folder / file).write_text(value.format(n=amount))
        self.limiting[controller] = folder


def _own_paths() -> dict[str, str]:
    """Controllers of each hierarchy ("" for version 2) -> this process's path in it."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    return {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}


def _mount_of(kind: str, option: str) -> Path | None:
    """Where the hierarchy of that file-system type and super option is mounted."""
    for line in _MOUNTS.read_text().splitlines():
        left, _, right = line.partition(" - ")
        fields, (found_kind, _, options) = left.split(), right.split(" ", 2)
        if found_kind == kind and (not option or option in options.split(",")):
            return Path(fields[4])
    return None


def _unified_folder() -> Path:
    mount = _mount_of("cgroup2", "")
    path = _own_paths().get("")
    if mount is None or path is None:
        raise OSError(errno.ENOENT, "no version 2 control groups are mounted")
    folder = mount / path.lstrip("/")
    return folder.parent if folder.name == _MAIN else folder


def _legacy_folder(controller: str) -> Path | None:
    mount = _mount_of("cgroup", controller)
    paths = [path for controllers, path in _own_paths().items() if controller in controllers.split(",")]
    if mount is None or not paths:
        return None
    own = mount / paths[0].lstrip("/")
    return own if own.is_dir() else None


def _enable_controllers(folder: Path) -> set[str]:
    """Hand memory and pids to the groups below `folder`; returns which of them those have."""
    control = folder / "cgroup.subtree_control"
    offered = set((folder / "cgroup.controllers").read_text().split())
    for controller in {"memory", "pids"} & offered - set(control.read_text().split()):
        try:
            control.write_text(f"+{controller}")
        except OSError as error:
            if error.errno != errno.EBUSY or not _make_room(folder):
                continue
            with contextlib.suppress(OSError):
                control.write_text(f"+{controller}")
    return set(control.read_text().split())


def _make_room(folder: Path) -> bool:
    """A group cannot have both members and limited children. At the top of a container all members are ours: move."""
    if _own_paths().get("") != "/":
        return False
    leaf = folder / _MAIN
    leaf.mkdir(exist_ok=True)
    for pid in (folder / "cgroup.procs").read_text().split():
        with contextlib.suppress(OSError):
            (leaf / "cgroup.procs").write_text(pid)
    return True


def _sweep(unified: Path) -> None:
    """Kill and remove groups whose maker is gone."""
    for core in unified.glob(f"{_PREFIX}*"):
        if core.name == _MAIN:
            continue
        with contextlib.suppress(OSError):
            fd = _lock(core)
            try:
                stale = Cgroup(core, {name: folder for name in _LIMITS_V1 if (folder := _legacy_twin(name, core))})
                stale.kill()
                stale.remove()
            finally:
                os.close(fd)


def _lock(folder: Path, *, wait: bool = False) -> int:
    """A locked descriptor of the folder. Raises BlockingIOError where another holds it, unless it may wait."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(fd)
        raise
    return fd


@contextlib.contextmanager
def _locked(unified: Path) -> Iterator[None]:
    """One maker at a time: a group that is made but not locked yet would look like a stale one."""
    fd = _lock(unified, wait=True)
    try:
        yield
    finally:
        os.close(fd)


def _legacy_twin(controller: str, core: Path) -> Path | None:
    parent = _legacy_folder(controller)
    return parent / core.name if parent and (parent / core.name).is_dir() else None


def _remove_tree(folder: Path) -> None:
    """Remove a group and those below it; the kernel may need a moment to let go of killed members."""
    for child in [entry for entry in folder.iterdir() if entry.is_dir()]:
        _remove_tree(child)
    end = time.monotonic() + 2.0
    while True:
        try:
            folder.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise
            time.sleep(0.002)
        else:
            return
