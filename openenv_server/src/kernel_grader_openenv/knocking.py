"""A WebSocket protocol for uvicorn that can ask, before it sends an answer, whether somebody waits for one.

WebSocket has no word for that: pings are answered by a client's library, whether the program behind it listens or
not. But the library that OpenEnv's clients use (websockets, its asyncio client) reads ahead only so far: it stops
reading the connection while more than 16 frames of a message lie unread. So the answer's message is begun with more
frames than that, all of them blank (leading blanks mean nothing in JSON), and a ping behind them: its pong comes at
once where a program waits in `recv`, and not before the program's next `recv` where it has given up on the last one.
Only then the answer itself follows, as the end of the message. A library that reads ahead without end answers the
ping, and is sent its answer as by any server.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

EXTENSION = "kernel_grader.knock"
# twice what websockets' asyncio client lets lie unread (its max_queue)
FRAMES = 32
# of the 4,096 that websockets takes for one message
FRAMES_MAX = 3_000
BLANK = b" "


class NobodyListens(Exception):
    """So many answers were begun and not waited for that this message cannot grow further."""


class KnockingProtocol(WebSocketsSansIOProtocol):
    """Offers applications `scope["extensions"][EXTENSION]["knock"]`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._frames = 0  # of the message that is begun
        self._pings: dict[bytes, asyncio.Event] = {}

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if self.response.status_code == 101:
            self.scope["extensions"][EXTENSION] = {"knock": self.knock}

    def handle_pong(self, event: Any) -> None:
        ponged = self._pings.pop(bytes(event.data), None)
        if ponged is None:
            super().handle_pong(event)
        else:
            ponged.set()

    async def knock(self) -> None:
        """Begin the next message, and return once the client waits for it. Raises NobodyListens.

        The next `websocket.send` of the application ends the message; it must be text.
        """
        if self._frames + FRAMES > FRAMES_MAX:
            raise NobodyListens
        for _ in range(FRAMES):
            if self._frames:
                self.conn.send_continuation(BLANK, fin=False)
            else:
                self.conn.send_text(BLANK, fin=False)
            self._frames += 1
        # the first pong: all of the frames have arrived; the second: and more is read
        await self._ping()
        await self._ping()

    async def send(self, message: Any) -> None:
        """As uvicorn's; the end of a message that is begun goes behind its beginning."""
        await self.writable.wait()
        ends = self._frames and message["type"] == "websocket.send"
        if not ends or self.disconnected or self.close_sent:
            await super().send(message)
            return
        self.conn.send_continuation(message["text"].encode(), fin=True)
        self._frames = 0
        self._flush()

    async def _ping(self) -> None:
        payload, ponged = os.urandom(8), asyncio.Event()
        self._pings[payload] = ponged
        self.conn.send_ping(payload)
        self._flush()
        try:
            await ponged.wait()
        finally:
            self._pings.pop(payload, None)

    def _flush(self) -> None:
        self.transport.write(b"".join(self.conn.data_to_send()))
