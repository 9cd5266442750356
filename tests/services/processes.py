"""Whether processes that a test has started or found are still there."""

import psutil


def alive(process: psutil.Process) -> bool:
    """Whether it runs; who adopted an orphan may take a while to bury it."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
