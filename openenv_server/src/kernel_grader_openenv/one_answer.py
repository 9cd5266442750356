"""Keeps answers and requests of a WebSocket session together where a client has stopped waiting (ASGI middleware).

OpenEnv's server answers requests in turn, however late; a client that has timed out (openenv-core 0.3.0 does not hang
up then) reads the answer to its last request as that to its next. So requests are read while one is being answered,
and an answer is sent only when the client waits for one (`knocking`):

- another request means that nobody waits for the first one's answer any more: it is dropped;
- the same request again is that one: it is answered once;
- an answer later than `late_s` is not sent: the connection is closed, and a new one takes the episode up again.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from kernel_grader_openenv.knocking import EXTENSION, NobodyListens

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]
Knock = Callable[[], Awaitable[None]]

TRY_AGAIN_LATER = 1013
REASON = "the answer is late: connect again, reset with episode_id, and send the source again"


@dataclass
class Request:
    """One that the application has not answered yet. `arrived` is when it was last heard."""

    text: str | None
    arrived: float
    abandoned: asyncio.Event = field(default_factory=asyncio.Event)


class OneAnswer:
    """Wraps an application whose sessions are at `/ws`."""

    def __init__(self, app: App, late_s: float) -> None:
        self._app = app
        self._late_s = late_s

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket" or scope["path"] != "/ws":
            await self._app(scope, receive, send)
            return
        knock = scope.get("extensions", {}).get(EXTENSION, {}).get("knock")
        conversation = Conversation(receive, send, knock, self._late_s)
        reading = asyncio.create_task(conversation.read())
        try:
            await self._app(scope, conversation.receive, conversation.send)
        finally:
            reading.cancel()


class Conversation:
    """One connection, seen from between client and application. Without a `knock` answers are sent as they come."""

    def __init__(self, receive: Receive, send: Send, knock: Knock | None, late_s: float) -> None:
        self._receive, self._send, self._knock, self._late_s = receive, send, knock, late_s
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._open: deque[Request] = deque()
        self._over = False

    async def read(self) -> None:
        """Take in what the client sends, until it is gone."""
        while not self._over:
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                self._over = True
                self._abandon()
            elif message["type"] == "websocket.receive" and not self._is_new(message.get("text")):
                continue
            self._inbox.put_nowait(message)

    async def receive(self) -> Message:
        """The application's next message."""
        return await self._inbox.get()

    async def send(self, message: Message) -> None:
        """What the application sends: each `websocket.send` answers its oldest open request."""
        if self._over:
            return
        if message["type"] == "websocket.send" and self._open:
            if not await self._is_waited_for(self._open[0]):
                self._open.popleft()
                return
            if time.monotonic() - self._open.popleft().arrived > self._late_s:
                message = {"type": "websocket.close", "code": TRY_AGAIN_LATER, "reason": REASON}
        if message["type"] == "websocket.close":
            self._over = True
        await self._send(message)

    async def _is_waited_for(self, request: Request) -> bool:
        """Once that is known, which may take until the client's next request. Closes where it never will be."""
        if self._knock is None or request.abandoned.is_set():
            return not request.abandoned.is_set()
        knocking = asyncio.ensure_future(self._knock())
        leaving = asyncio.ensure_future(request.abandoned.wait())
        await asyncio.wait({knocking, leaving}, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if request.abandoned.is_set():
            knocking.cancel()
            return False
        try:
            await knocking
        except NobodyListens:
            request.arrived = -math.inf
        return True

    def _is_new(self, text: str | None) -> bool:
        if self._open and self._open[-1].text == text:
            self._open[-1].arrived = time.monotonic()
            return False
        self._abandon()
        self._open.append(Request(text, time.monotonic()))
        return True

    def _abandon(self) -> None:
        for request in self._open:
            request.abandoned.set()
