"""The trusted side's hold on one runner after another: uid, cgroup and scratch, to freeze and to kill it by."""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from evaluator.errors import GraderFault
from evaluator.sandbox import processes
from evaluator.sandbox.cgroup import Cgroup
from evaluator.sandbox.hold import Hold
from evaluator.sandbox.policy import Policy
from evaluator.sandbox.processes import Process
from evaluator.sandbox.scratch import Scratch
from evaluator.sandbox.uids import SlotUid

FREEZE_DEADLINE_S = 5.0
_POLL_S = 0.0005


class Leash:
    """Made once per slot; what this machine does not offer is left out, and the runner's `Isolation` says so.

    `take`, then for each runner `policy` (the zygote forks with it), `attach`, `freeze` and `thaw`, `kill`; `close`.
    """

    def __init__(self, scratch: Scratch, uid: SlotUid | None, cgroup: Cgroup | None, grants: dict[str, Any]) -> None:
        self._scratch = scratch
        self._uid = uid
        self._cgroup = cgroup
        self._grants = grants
        self._leader: Process | None = None
        self._former_memory_kills = 0

    @classmethod
    def take(cls, name: str, *, memory_bytes: int, processes: int = 512) -> Self:
        """Take what the machine offers; `name` (letters, digits, dashes) is for people who look at cgroups.

        Raises GraderFault where no uid is free.
        """
        uid = cgroup = None
        if os.geteuid() == 0:
            with contextlib.suppress(OSError):
                uid = SlotUid.take()
        with contextlib.suppress(OSError):
            cgroup = Cgroup.create(name, memory_bytes=memory_bytes, processes=processes)
        grants = {"memory_bytes": memory_bytes, "processes": processes}
        return cls(Scratch.take(name), uid, cgroup, grants)

    def policy(self, **grants: Any) -> Policy:
        """The policy of the next runner: this leash's uid, cgroup and an emptied scratch; `grants` set other fields."""
        self._scratch.empty()
        limiting = self._cgroup.limiting if self._cgroup else {}
        self._former_memory_kills = self._cgroup.memory_kills() if self._cgroup else 0
        return Policy(
            uid=self._uid.uid if self._uid else None,
            gid=self._uid.uid if self._uid else None,
            cgroup_dirs=self._cgroup.folders() if self._cgroup else (),
            cgroup_limits_memory="memory" in limiting,
            cgroup_limits_processes="pids" in limiting,
            fallback_scratch=str(self._scratch.path),
            shielded_pids=(os.getpid(), os.getppid()),
            **{**self._grants, **grants},
        )

    def attach(self, pid: int) -> None:
        """Name the runner that was forked, by its pid as seen here; it leads (or will lead) a group of its own."""
        self._leader = Process.read(pid)

    @property
    def hold(self) -> Hold:
        """What the runner can be found by, for `Warden.watch`."""
        return Hold.of(self._leader, self._uid.uid if self._uid else None, self._cgroup)

    def freeze(self, deadline_s: float = FREEZE_DEADLINE_S) -> None:
        """Return once every process of the runner stands still. Raises GraderFault where one does not."""
        try:
            if self._cgroup is not None:
                self._cgroup.freeze(deadline_s)
            elif self._leader is not None:
                _stop_group(self._leader, deadline_s)
        except TimeoutError as error:
            raise GraderFault("runner_not_frozen", str(error)) from error

    def thaw(self) -> None:
        """Let the runner go on; returns at once."""
        if self._cgroup is not None:
            self._cgroup.thaw()
        elif self._leader is not None:
            processes.signal_group(self._leader.pid, self._leader.started, signal.SIGCONT)

    def out_of_memory(self) -> bool:
        """Whether the kernel killed something of this runner for its memory (known with a cgroup only)."""
        return self._cgroup is not None and self._cgroup.memory_kills() > self._former_memory_kills

    def kill(self, *, subreaper: int | None = None, spare: Iterable[int] = ()) -> None:
        """Kill all of the runner, frozen or not, and empty its scratch; see `Hold.kill`."""
        self.hold.kill(subreaper=subreaper, spare=spare)
        if self._cgroup is not None:
            self._cgroup.thaw()
        self._leader = None
        self._scratch.empty()

    def close(self) -> None:
        """Kill what runs; give back uid, cgroup and scratch."""
        self.kill()
        if self._cgroup is not None:
            self._cgroup.remove()
        if self._uid is not None:
            self._uid.release()
        self._scratch.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _stop_group(leader: Process, deadline_s: float) -> None:
    end = time.monotonic() + deadline_s
    processes.signal_group(leader.pid, leader.started, signal.SIGSTOP)
    while any(processes.running(lambda process: process.group == leader.pid and process.state not in "Tt")):
        if time.monotonic() > end:
            raise TimeoutError(f"the group of {leader.pid} did not stop within {deadline_s} s")
        time.sleep(_POLL_S)
