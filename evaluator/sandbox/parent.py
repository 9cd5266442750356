"""Dying with the parent: the death signal, armed without the race in which the parent is already gone."""

import os
import select
import signal
from dataclasses import dataclass
from typing import Self

from evaluator.sandbox import kernel


@dataclass(frozen=True)
class Parent:
    """Taken by the parent before it forks; `pidfd` turns readable when that process ends (None on old kernels).

    A pidfd works where `getppid` cannot: in a new PID namespace the parent's number is 0, dead or alive.
    """

    pid: int
    pidfd: int | None

    @classmethod
    def here(cls) -> Self:
        """This process, as the parent of those it will fork."""
        try:
            return cls(os.getpid(), os.pidfd_open(os.getpid()))
        except OSError:
            return cls(os.getpid(), None)

    def alive(self) -> bool:
        """Whether the parent still runs, asked from a child."""
        if self.pidfd is not None:
            return not select.select([self.pidfd], [], [], 0)[0]
        return os.getppid() in (self.pid, 0)

    def die_together(self) -> None:
        """Arm SIGKILL for the parent's death in the calling process; ends it at once if the parent is gone.

        The kernel clears the signal on setuid, so this is called again after it.
        """
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if not self.alive():
            os._exit(1)
