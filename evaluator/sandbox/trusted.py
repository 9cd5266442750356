"""What a trusted process does for its own protection."""

from evaluator.sandbox import kernel


def protect_from_same_user() -> None:
    """Close this process's memory and environment in /proc to other processes of its user (root excepted).

    Lasts until exec; children by fork inherit it. Workers, judges and zygotes call it first thing.
    """
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
