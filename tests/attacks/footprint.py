"""What a judge in this process and its runners hold and leave lying about."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil

from evaluator.sandbox import processes

# What attacks of the corpus try to leave in folders that everybody may write to.
LEAVINGS = ("filler-", "breach-", "sitecustomize", "usercustomize")


@dataclass(frozen=True)
class Footprint:
    """What this process and its runners hold: what must be the same before and after."""

    descriptors: int
    children: frozenset[str]
    ports: frozenset[int]
    left: frozenset[str]
    memory_bytes: int

    @classmethod
    def take(cls, uids: frozenset[int]) -> "Footprint":
        """`uids` are those that this process's runners have."""
        me = psutil.Process()
        family = [me, *me.children(recursive=True)]
        strays = processes.running(lambda process: process.uid in uids and not process.gone)
        left = [path for folder in ("/dev/shm", tempfile.gettempdir(), "/var/tmp") for path in Path(folder).iterdir()]
        mine = (f"-{os.getpid()}-", *LEAVINGS)
        return cls(
            descriptors=me.num_fds(),
            children=frozenset(" ".join(child.cmdline()) for child in family[1:]),
            ports=frozenset(c.laddr.port for one in family for c in one.net_connections() if c.status == "LISTEN"),
            left=frozenset(
                [
                    *(str(path) for path in left if any(mark in path.name for mark in mine)),
                    *(f"pid {process.pid}" for process in strays),
                ]
            ),
            memory_bytes=me.memory_info().rss,
        )
