"""Carries out what the steps ask for: over a connection that blocks, and over one for an event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, TypeVar

import httpx

from kernel_grader_client import resources, wire
from kernel_grader_client.models import Submission
from kernel_grader_client.options import OnFailure
from kernel_grader_client.protocol import Protocol
from kernel_grader_client.steps import Call, Pause, Reply, Steps

T = TypeVar("T")


class Settled:
    """What both kinds of connection know: the contract, and what becomes of a submission without a verdict."""

    def __init__(self, protocol: Protocol, on_failure: OnFailure) -> None:
        self.protocol = protocol
        self._raises = on_failure == "raise"

    def checked(self, submission: Submission) -> Submission:
        """Itself. Raises NotGraded where it ended without a verdict and that is to be raised."""
        return submission.require_verdict() if self._raises else submission


class Connection(Settled):
    """Safe to share between threads."""

    def __init__(self, http: httpx.Client, protocol: Protocol, on_failure: OnFailure) -> None:
        super().__init__(protocol, on_failure)
        self._http = http

    def close(self) -> None:
        self._http.close()

    def run(self, steps: Steps[T]) -> T:
        """Take the steps one after another; what they return."""
        try:
            wanted = next(steps)
            while True:
                wanted = steps.send(self._do(wanted))
        except StopIteration as stop:
            result: T = stop.value
            return result

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        return self.run(self.protocol.get(path, params))

    def pages(self, path: str, filters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The rows of all pages of a list."""
        cursor: str | None = None
        while True:
            rows, cursor = self.run(resources.page(self.protocol, path, filters, cursor))
            yield from rows
            if cursor is None:
                return

    def _do(self, wanted: Call | Pause) -> Reply:
        if isinstance(wanted, Pause):
            time.sleep(wanted.seconds)
            return Reply()
        try:
            return wire.reply(self._http.request(**wire.arguments(wanted)))
        except httpx.TransportError as error:
            return Reply(error=error)


class AsyncConnection(Settled):
    """The same with coroutines, for one event loop."""

    def __init__(self, http: httpx.AsyncClient, protocol: Protocol, on_failure: OnFailure) -> None:
        super().__init__(protocol, on_failure)
        self._http = http

    async def close(self) -> None:
        await self._http.aclose()

    async def run(self, steps: Steps[T]) -> T:
        """Take the steps one after another; what they return."""
        try:
            wanted = next(steps)
            while True:
                wanted = steps.send(await self._do(wanted))
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        return await self.run(self.protocol.get(path, params))

    async def pages(self, path: str, filters: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """The rows of all pages of a list."""
        cursor: str | None = None
        while True:
            rows, cursor = await self.run(resources.page(self.protocol, path, filters, cursor))
            for row in rows:
                yield row
            if cursor is None:
                return

    async def _do(self, wanted: Call | Pause) -> Reply:
        if isinstance(wanted, Pause):
            await asyncio.sleep(wanted.seconds)
            return Reply()
        try:
            return wire.reply(await self._http.request(**wire.arguments(wanted)))
        except httpx.TransportError as error:
            return Reply(error=error)
