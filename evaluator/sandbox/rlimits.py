"""Resource limits of a confined process. Never the address space: CUDA reserves terabytes of it."""

import os
import resource
from pathlib import Path

from evaluator.sandbox.policy import Policy


def apply(policy: Policy, *, own_uid: bool) -> str:
    """Lower soft and hard limits alike; returns a note about what they are.

    The process limit counts all processes of the user, so without a uid of its own what runs already is added. The
    data segment is bounded only where neither a cgroup bounds memory nor CUDA maps its own.
    """
    processes = policy.processes if own_uid else policy.processes + _tasks_of_user(os.getuid())
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: policy.file_bytes,
        resource.RLIMIT_NOFILE: policy.open_files,
        resource.RLIMIT_NPROC: processes,
    }
    if not policy.device and not policy.cgroup_limits_memory:
        wanted[resource.RLIMIT_DATA] = policy.memory_bytes
    for limit, value in wanted.items():
        _, hard = resource.getrlimit(limit)
        capped = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (capped, capped))
    return f"{policy.open_files} files, {policy.file_bytes} bytes a file, {processes} processes, no core"


def _tasks_of_user(uid: int) -> int:
    count = 0
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if process.stat().st_uid == uid:
                count += sum(1 for _ in (process / "task").iterdir())
        except OSError:
            continue  # it ended meanwhile
    return count
