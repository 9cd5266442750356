"""By what a runner can be found and killed, however it forked: cgroup, uid and process group, as a plain record."""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from evaluator.errors import GraderFault
from evaluator.sandbox import processes
from evaluator.sandbox.cgroup import Cgroup
from evaluator.sandbox.processes import Process

# A fork bomb of processes with torch in them takes a machine of two cores more than ten seconds to take apart.
KILL_DEADLINE_S = 60.0
_POLL_S = 0.002


@dataclass(frozen=True)
class Hold:
    """What is known of one runner; each part is None or empty where the machine does not offer it.

    `leader_started` is the leader's start in clock ticks since boot, which tells it from a later process of its pid.
    """

    leader_pid: int | None = None
    leader_started: int = 0
    uid: int | None = None
    cgroup_core: str | None = None
    cgroup_limiting: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, leader: Process | None, uid: int | None, cgroup: Cgroup | None) -> Self:
        return cls(
            leader_pid=leader.pid if leader else None,
            leader_started=leader.started if leader else 0,
            uid=uid,
            cgroup_core=str(cgroup.core) if cgroup else None,
            cgroup_limiting=tuple((name, str(folder)) for name, folder in cgroup.limiting.items()) if cgroup else (),
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(**{**data, "cgroup_limiting": tuple((name, path) for name, path in data["cgroup_limiting"])})

    def kill(self, *, subreaper: int | None = None, spare: Iterable[int] = ()) -> None:
        """SIGKILL all of it; returns once nothing runs. Raises GraderFault where something survives.

        `subreaper`: a process that adopts orphans (the zygote). Those of its descendants that are in no group of
        `spare` (other live runners' pids) die too: for machines where nothing better keeps a runner together.
        """
        end = time.monotonic() + KILL_DEADLINE_S
        spared = frozenset(spare)
        while True:
            self._kill_once()
            left = self.remaining(subreaper=subreaper, spare=spared)
            if not left:
                return
            for process in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process.pid, signal.SIGKILL)
            if time.monotonic() > end:
                raise GraderFault("runner_survived", f"pids {[process.pid for process in left]} withstand SIGKILL")
            time.sleep(_POLL_S)

    def strike(self) -> None:
        """SIGKILL all of it at once and do not wait: those that multiply must be dead before anybody counts them."""
        cgroup = self._cgroup()
        if cgroup is not None:
            cgroup.kill()
        if self.leader_pid is not None:
            processes.signal_group(self.leader_pid, self.leader_started, signal.SIGKILL)

    def remaining(self, *, subreaper: int | None = None, spare: Iterable[int] = ()) -> list[Process]:
        """What still runs of it."""
        members = self._members()
        found = {process.pid: process for process in processes.running(lambda process: self._owns(process, members))}
        if subreaper is not None:
            spared = {os.getpgid(subreaper), *spare}
            strays = [process for process in processes.descendants(subreaper) if process.group not in spared]
            found.update((process.pid, process) for process in strays)
        return list(found.values())

    def _owns(self, process: Process, members: frozenset[int]) -> bool:
        if process.pid in members or (self.uid is not None and process.uid == self.uid):
            return True
        return process.group == self.leader_pid and process.started >= self.leader_started

    def _members(self) -> frozenset[int]:
        cgroup = self._cgroup()
        return frozenset(cgroup.members()) if cgroup else frozenset()

    def _cgroup(self) -> Cgroup | None:
        if self.cgroup_core is None or not Path(self.cgroup_core).is_dir():
            return None
        return Cgroup(Path(self.cgroup_core), {name: Path(folder) for name, folder in self.cgroup_limiting})

    def _kill_once(self) -> None:
        self.strike()
        if self.uid is not None and self.remaining():
            processes.kill_user(self.uid, self.uid)
