"""The confined process's own side: it builds its walls in two halves, around the creation of its CUDA context."""

import os
from collections.abc import Callable, Collection
from functools import partial
from itertools import pairwise

from evaluator.sandbox import filesystem, identity, kernel, landlock, namespaces, rlimits, seccomp, visible
from evaluator.sandbox.isolation import Isolation, Wall
from evaluator.sandbox.parent import Parent
from evaluator.sandbox.policy import Policy


class Confinement:
    """Confines the calling process, which must be a single-threaded fork that will run candidate code.

        confinement = Confinement(policy, parent)          # parent = Parent.here(), taken before the fork
        confinement.enter_before_device(keep_fds=[channel.fileno()])
        ...                                                # CUDA context, mapping of the judge's buffers
        isolation = confinement.enter_after_device()       # tell the judge, then load the candidate

    Each wall that cannot be built is recorded with its reason; whether that is enough is for `Isolation.missing`
    and the judge to say, before any candidate code runs. OSError is raised only where going on would leave the
    process in a state of which nothing sure can be said.
    """

    def __init__(self, policy: Policy, parent: Parent, *, no_pid_namespace: str = "") -> None:
        """`no_pid_namespace` is the reason that `fork_into_pid_namespace` gave, if it gave one."""
        self.policy = policy
        self.scratch = policy.fallback_scratch or filesystem.SCRATCH
        self._parent = parent
        self._no_pid_namespace = no_pid_namespace
        self._walls: dict[str, Wall] = {}

    def enter_before_device(self, keep_fds: Collection[int] = ()) -> None:
        """Everything that needs a single thread; CUDA may start afterwards, the caller keeps its identity so far.

        Standard input becomes /dev/null; descriptors other than 0, 1, 2 and `keep_fds` are closed. Afterwards the
        working directory, HOME and all caches are `self.scratch`.
        """
        self._attempt("cgroup", self._join_cgroup)
        self._attempt("process_group", self._lead_group)
        self._attempt("death_signal", self._arm)
        self._attempt("descriptors", lambda: self._close_others(keep_fds))
        self._record_pid_namespace()
        brought = filesystem.bring_files(self.policy)
        self._leave_namespaces()
        self._enter_filesystem()
        for name, content in brought:
            with open(f"{self.scratch}/{name}", "wb") as file:
                file.write(content)
        identity.set_environment(self.scratch)

    def enter_after_device(self) -> Isolation:
        """The rest, irrevocable: private /dev/shm, own uid, death signal, no new privileges, system calls, Landlock."""
        self._attempt("shm", self._cover_shm)
        self._attempt("uid", self._become_slot_user)
        self._attempt("capabilities", self._clear_capabilities)
        self._attempt("death_signal", self._arm)
        if self._parent.pidfd is not None:
            os.close(self._parent.pidfd)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        self._attempt("no_new_privileges", self._refuse_new_privileges)
        self._attempt("landlock", self._enter_landlock)
        self._attempt("rlimits", lambda: rlimits.apply(self.policy, own_uid=self._in_force("uid")))
        self._record_memory_and_processes()
        self._attempt("seccomp", self._filter_calls)
        identity.set_environment(self.scratch)
        return Isolation(dict(self._walls))

    def _attempt(self, name: str, build: Callable[[], str | None]) -> None:
        """Build one wall; `build` returns a note, and raises OSError with the reason where it cannot."""
        try:
            self._walls[name] = Wall(True, build() or "")
        except OSError as error:
            self._walls[name] = Wall(False, str(error))

    def _in_force(self, name: str) -> bool:
        return name in self._walls and self._walls[name].in_force

    def _join_cgroup(self) -> str:
        if not self.policy.cgroup_dirs:
            raise OSError("no writable cgroup was given")
        for folder in self.policy.cgroup_dirs:
            with open(f"{folder}/cgroup.procs", "w") as file:
                file.write("0")
        return ", ".join(self.policy.cgroup_dirs)

    def _lead_group(self) -> None:
        """A session of its own; seccomp keeps descendants from leaving it, so killing the group misses none."""
        if os.getsid(0) != os.getpid():
            os.setsid()

    def _arm(self) -> str:
        self._parent.die_together()
        return "SIGKILL with the parent"

    def _close_others(self, keep_fds: Collection[int]) -> str:
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        kept = sorted({0, 1, 2, *keep_fds} | ({self._parent.pidfd} if self._parent.pidfd is not None else set()))
        for low, high in pairwise([*kept, os.sysconf("SC_OPEN_MAX")]):
            os.closerange(low + 1, high)
        return f"all but {len(kept)}"

    def _record_pid_namespace(self) -> None:
        own = namespaces.in_own_pid_namespace()
        reason = self._no_pid_namespace or ("CUDA IPC fails across one" if self.policy.device else "not asked for")
        self._walls["pid_namespace"] = Wall(own, "" if own else reason)

    def _leave_namespaces(self) -> None:
        """Each namespace by itself, so that one refusal does not cost the others."""
        note = "as root"
        if os.geteuid() != 0:
            note = "in a user namespace"
            try:
                namespaces.enter_user_namespace()
            except OSError as error:
                self._walls.update(dict.fromkeys(namespaces.NAMESPACES, Wall(False, str(error))))
                return
        for name, flag in namespaces.NAMESPACES.items():
            self._attempt(name, partial(self._unshare, flag, note))

    @staticmethod
    def _unshare(flag: int, note: str) -> str:
        kernel.unshare(flag)
        return note

    def _enter_filesystem(self) -> None:
        """A private root, whose scratch dies with it; the folder on disk where there is none."""
        self._walls["proc"] = Wall(False, "no mount namespace")
        if self._in_force("filesystem"):
            self._attempt("filesystem", self._new_root)
        if self._in_force("filesystem"):
            self.scratch = filesystem.SCRATCH
            self._walls["scratch"] = Wall(True, f"tmpfs, {self.policy.scratch_bytes} bytes")
            return
        if self.policy.fallback_scratch is None:
            raise OSError("no private file system and no folder to fall back to")
        self._walls["scratch"] = Wall(False, f"{self.policy.fallback_scratch} on disk")

    def _new_root(self) -> str:
        shared_proc = filesystem.enter_private_root(self.policy)
        self._walls["proc"] = Wall(not shared_proc, shared_proc)
        return "read-only, only what a kernel needs"

    def _cover_shm(self) -> str:
        if not self._in_force("filesystem"):
            raise OSError("no mount namespace")
        if self.policy.device:
            filesystem.cover_shm(self.policy)
        return f"tmpfs, {self.policy.shm_bytes} bytes"

    def _become_slot_user(self) -> str:
        if self.policy.uid is None or self.policy.gid is None:
            raise OSError("no uid of its own was granted")
        if not self._in_force("filesystem") and (closed := visible.closed_to_others()):
            raise OSError(f"Python needs {closed}, which other users cannot reach")
        os.chown(self.scratch, self.policy.uid, self.policy.gid)
        identity.become(self.policy.uid, self.policy.gid)
        return str(self.policy.uid)

    def _clear_capabilities(self) -> None:
        kernel.clear_capabilities()
        if os.geteuid() == 0:
            raise OSError("none held, but still uid 0")

    @staticmethod
    def _refuse_new_privileges() -> None:
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)

    def _enter_landlock(self) -> str:
        """Where the root is private it holds only what may be read; else the same view of the machine is enforced."""
        private = self._in_force("filesystem")
        view, _ = visible.machine_view(self.policy.readable)
        readable = ["/"] if private else [*view, "/proc", self.scratch]
        devices = visible.device_nodes(gpu=self.policy.device)
        return landlock.restrict(
            readable=readable, writable=[self.scratch, *(["/dev/shm"] if private else [])], devices=devices
        )

    def _record_memory_and_processes(self) -> None:
        """What bounds memory and processes depends on which of cgroup, uid and data segment could be had."""
        policy, joined = self.policy, self._in_force("cgroup")
        if joined and policy.cgroup_limits_memory:
            memory = Wall(True, f"cgroup, {policy.memory_bytes} bytes")
        elif not policy.device:
            memory = Wall(self._in_force("rlimits"), f"data segment, {policy.memory_bytes} bytes a process")
        else:
            memory = Wall(False, "no memory cgroup, and CUDA allows no limit of the process's own")
        if joined and policy.cgroup_limits_processes:
            processes = Wall(True, f"cgroup, {policy.processes}")
        else:
            processes = Wall(self._in_force("rlimits") and os.geteuid() != 0, f"limit of the user, {policy.processes}")
        self._walls.update(memory=memory, processes=processes)

    def _filter_calls(self) -> str:
        """Shielded pids mean nothing in a PID namespace, where the numbers belong to the runner's own children."""
        own = namespaces.in_own_pid_namespace()
        return seccomp.install(() if own else (self._parent.pid, *self.policy.shielded_pids))
