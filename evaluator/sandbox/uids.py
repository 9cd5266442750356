"""One unprivileged uid per slot, held by a file lock that a crash cannot leave behind."""

import fcntl
import os
from pathlib import Path
from typing import Final, Self

from evaluator.errors import GraderFault
from evaluator.sandbox import processes

#: A range that systemd's documentation leaves unused (https://systemd.io/UIDS-GIDS/).
FIRST_UID: Final = 60578
LAST_UID: Final = 61183
#: One place for all graders of a machine, since uids are the machine's.
LOCK_FOLDER: Final = Path("/run/lock/kernel-grader-uids")


class SlotUid:
    """A uid (and gid of the same number) that nobody else uses while this object is open."""

    def __init__(self, uid: int, lock_fd: int) -> None:
        self.uid = uid
        self._lock_fd = lock_fd

    @classmethod
    def take(cls, folder: Path = LOCK_FOLDER) -> Self:
        """The lowest uid of the range that is free and has no process, dead or alive, left by a crashed grader.

        The dead ones count as well: until somebody awaits them they use up the user's process limit.
        Needs root. Raises GraderFault where all are taken, OSError where the lock folder cannot be made.
        """
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        in_use = {process.uid for process in processes.listed()}
        for uid in range(FIRST_UID, LAST_UID + 1):
            fd = os.open(folder / str(uid), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                continue
            if uid in in_use:
                processes.kill_user(uid, uid)
                os.close(fd)
                continue
            return cls(uid, fd)
        raise GraderFault("no_free_uid", f"all of {FIRST_UID} to {LAST_UID} are taken")

    def release(self) -> None:
        """Let others have the uid."""
        os.close(self._lock_fd)
