"""Which server the commands speak to."""

from __future__ import annotations

from dataclasses import dataclass

import typer

from kernel_grader_client.aio import AsyncKernelGrader
from kernel_grader_client.client import KernelGrader


@dataclass(frozen=True)
class Connection:
    """What the options before the command say."""

    url: str
    api_key: str | None
    patience_s: float

    def open(self) -> KernelGrader:
        """A client that returns ungraded submissions instead of raising."""
        return KernelGrader(self.url, self.api_key, on_failure="none", patience_s=self.patience_s)

    def open_async(self) -> AsyncKernelGrader:
        return AsyncKernelGrader(self.url, self.api_key, on_failure="none", patience_s=self.patience_s)


def connection(context: typer.Context) -> Connection:
    found: Connection = context.obj
    return found
