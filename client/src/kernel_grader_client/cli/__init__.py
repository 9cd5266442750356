"""`kernel-grader`: the command line."""

from kernel_grader_client.cli.app import main

__all__ = ["main"]
